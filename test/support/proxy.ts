// A bad line to a server on this machine: slow, or cut at the worst moment.
import { connect, createServer, type Socket } from 'node:net'
import { once } from 'node:events'

export interface Proxy {
  readonly port: number
  /** Milliseconds that each answer takes longer. */
  delay: number
  /**
   * Cuts the connection that sends a text of this kind, once the server has answered and before the answer arrives; so
   * many times.
   */
  cut(pattern: RegExp, times?: number): void
  /** Cuts the connection that sends a text of this kind, before the server hears of it; once. */
  swallow(pattern: RegExp): void
  /** Brings the server what was swallowed, and resolves once it has answered. */
  deliver(): Promise<void>
  /** Breaks all connections. */
  hangUp(): void
  /** Whether new connections are refused. */
  refuses: boolean
  /** How many pieces that match went to the server. */
  sent(pattern: RegExp): number
  close(): Promise<void>
}

export async function startProxy(target: number): Promise<Proxy> {
  const sockets = new Set<Socket>()
  const pieces: string[] = []
  let cutting: { pattern: RegExp; times: number } = { pattern: /^$/, times: 0 }
  let [swallowing, swallowed]: [RegExp | null, Buffer | null] = [null, null]
  const server = createServer((client) => {
    if (proxy.refuses) {
      client.destroy()
      return
    }
    const upstream = connect(target, '127.0.0.1')
    let cut = false
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(from)
          to.destroy()
        })
    }
    client.on('data', (data) => {
      pieces.push(data.toString('latin1'))
      if (swallowing?.test(data.toString('latin1'))) {
        ;[swallowing, swallowed] = [null, data]
        client.destroy()
        return
      }
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
    refuses: false,
    swallow(pattern) {
      swallowing = pattern
    },
    async deliver() {
      if (!swallowed) throw new Error('nothing was swallowed')
      const upstream = connect(target, '127.0.0.1')
      upstream.write(swallowed)
      await once(upstream, 'data')
      upstream.destroy()
    },
    cut(pattern, times = 1) {
      cutting = { pattern, times }
    },
    hangUp() {
      for (const socket of sockets) socket.destroy()
    },
    sent: (pattern) => pieces.filter((piece) => pattern.test(piece)).length,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return proxy
}
