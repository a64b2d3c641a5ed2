// A bad line to a server on this machine: slow, or cut at the worst moment.
import { connect, createServer, type Socket } from 'node:net'
import { once } from 'node:events'

export interface Proxy {
  readonly port: number
  /** Milliseconds that each answer takes longer. */
  delay: number
  /** Cuts the connection that sends a text of this kind, once the server has answered and before the answer arrives; so many times. */
  cut(pattern: RegExp, times?: number): void
  /** How many pieces that match went to the server. */
  sent(pattern: RegExp): number
  close(): Promise<void>
}

export async function startProxy(target: number): Promise<Proxy> {
  const sockets = new Set<Socket>()
  const pieces: string[] = []
  let cutting: { pattern: RegExp; times: number } = { pattern: /^$/, times: 0 }
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    let cut = false
    for (const [from, to] of [[client, upstream], [upstream, client]] as const) {
      sockets.add(from)
      from.on('error', () => {}).on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
    client.on('data', (data) => {
      pieces.push(data.toString('latin1'))
      if (cutting.times > 0 && cutting.pattern.test(data.toString('latin1'))) {
        cutting.times -= 1
        cut = true
      }
      upstream.write(data)
    })
    upstream.on('data', (data) => {
      if (cut) client.destroy()
      else if (proxy.delay > 0) setTimeout(() => client.write(data), proxy.delay)
      else client.write(data)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const proxy: Proxy = {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    delay: 0,
    cut(pattern, times = 1) { cutting = { pattern, times } },
    sent: (pattern) => pieces.filter((piece) => pattern.test(piece)).length,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return proxy
}
