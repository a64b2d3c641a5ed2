// The bench's held requests: each on a connection of its own, which nothing else uses.
import { connect, type Socket } from 'node:net'

/** Milliseconds in which a refusal would come. */
const REFUSAL_MS = 1000

/** Sends GET requests that the server holds, one after the other. @throws Error when one is answered */
export async function holdRequests(url: string, paths: readonly string[]): Promise<{ readonly release: () => void }> {
  const { hostname, port } = new URL(url)
  const sockets: Socket[] = []
  for (const path of paths) {
    const socket = connect(Number(port), hostname)
    sockets.push(socket)
    await new Promise((resolve, reject) => {
      socket.once('error', reject)
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`, resolve)
    })
  }
  await new Promise((resolve) => {
    setTimeout(resolve, REFUSAL_MS)
  })
  if (sockets.some(({ bytesRead }) => bytesRead > 0)) throw new Error('a request was answered that should be held')
  return {
    release() {
      for (const socket of sockets) socket.destroy()
    },
  }
}
