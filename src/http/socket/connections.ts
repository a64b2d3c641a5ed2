// http: bounds the number of connections, and ends those whose clients read nothing.
//
// - Large answers hold shares of one budget (`model/byte-budget.ts`) until the connection has taken them, or closes.
//   `socket/connections.ts` disconnects clients that read nothing. Above 64 KB nothing is written in one piece, so the
//   progress of a slow socket is noticed.
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { overloaded } from '../../model/failure.ts'
import { hangUp } from './faults.ts'

/**
 * Connections above the limit that may be refused with an answer at the same time. Further ones are closed without one.
 */
const MAX_REFUSED_CONNECTIONS = 1000

/** How long a refused connection stays open, so that its client can read the answer. */
const REFUSED_OPEN_MS = 1000

/** Longest time between two checks of what clients have read. */
const MAX_CHECK_INTERVAL_MS = 1000

export interface ConnectionLimits {
  readonly maxConnections: number
  /** Milliseconds for which a client may read nothing of its answer. */
  readonly answerTimeout: number
}

/** The connections of one server. */
export class Connections {
  readonly #open = new Set<Socket>()
  readonly #refused = new WeakSet<Socket>()
  readonly #timer: NodeJS.Timeout

  constructor(server: Server, { maxConnections, answerTimeout }: ConnectionLimits) {
    server.maxConnections = maxConnections + MAX_REFUSED_CONNECTIONS
    server.on('connection', (socket) => {
      if (this.#open.size >= maxConnections) {
        this.#refused.add(socket)
        refuse(socket)
        return
      }
      this.#open.add(socket)
      socket.once('close', () => this.#open.delete(socket))
    })
    this.#timer = watchReaders(this.#open, answerTimeout)
  }

  /** Whether the connection was refused, so that its requests are not served. */
  isRefused(socket: Socket): boolean {
    return this.#refused.has(socket)
  }

  /** Ends connections on which nothing was ever received, because Node counts them as busy. */
  endUnused(): void {
    for (const socket of this.#open) if (socket.bytesRead === 0) socket.destroy()
  }

  /** To be called when the server has closed. */
  close(): void {
    clearInterval(this.#timer)
  }
}

/**
 * Ends connections whose clients read nothing of their answer for `patience` milliseconds. Answers are written in small
 * pieces, so any progress of a client is noticed. Checks are counted, not time, because no client can make progress
 * while the process is blocked.
 */
function watchReaders(sockets: ReadonlySet<Socket>, patience: number): NodeJS.Timeout {
  const every = Math.min(MAX_CHECK_INTERVAL_MS, patience / 4)
  const stuck = new WeakMap<Socket, { readonly taken: number; readonly looks: number }>()
  return setInterval(() => {
    for (const socket of sockets) {
      if (socket.writableLength === 0) {
        stuck.delete(socket)
        continue
      }
      const taken = socket.bytesWritten - socket.writableLength
      const before = stuck.get(socket)
      const looks = before?.taken === taken ? before.looks + 1 : 0
      if (looks * every >= patience) socket.destroy()
      else stuck.set(socket, { taken, looks })
    }
  }, every).unref()
}

/**
 * Answers at once that there are too many connections, without reading the request. The connection stays open for a
 * while, because closing it with unread data would discard the answer.
 */
function refuse(socket: Socket): void {
  hangUp(socket, overloaded('there are too many connections').failure, () => {
    const timer = setTimeout(() => socket.destroy(), REFUSED_OPEN_MS)
    socket.once('close', () => clearTimeout(timer))
  })
}
