// store/redis: what is asked for in one turn of the event loop goes to Redis in one piece. A write to a socket of its own for each costs more than all else about it.
import type { Socket } from 'node:net'
import { mastersOf, type Connection } from './connection.ts'

export class WriteCoalescer {
  readonly #connection: Connection
  #held: readonly Pick<Socket, 'cork' | 'uncork'>[] | null = null

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Holds back what is sent from here on, until the turn has ended. */
  hold(): void {
    if (this.#held) return
    this.#held = mastersOf(this.#connection).flatMap(({ status, stream }) => status === 'ready' ? [stream] : [])
    for (const stream of this.#held) stream.cork()
    setImmediate(() => this.#release())
  }

  #release(): void {
    for (const stream of this.#held ?? []) stream.uncork()
    this.#held = null
  }
}
