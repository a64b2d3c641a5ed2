// Servers of tests, for others to call.
import { once } from 'node:events'
import { Server as HttpServer } from 'node:http'
import type { Server } from 'node:net'
import { atEndOfTest } from './at-end.ts'

/** Ends all connections, too. */
export function shut(server: Server): void {
  if (server instanceof HttpServer) server.closeAllConnections()
  server.close()
}

/** Listens on a free port of this machine, until the end of the test that runs; gives the port. */
export async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEndOfTest(() => shut(server))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('it listens on no port')
  return address.port
}

/** One on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = new HttpServer()
  const port = await listening(server)
  await new Promise((resolve) => {
    server.close(resolve)
  })
  return port
}
