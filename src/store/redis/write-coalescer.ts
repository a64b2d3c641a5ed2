// store/redis: what is sent in one turn of the event loop goes to Redis in few pieces. A write to a socket of its own
// for each costs more than all else about it; but Redis should begin before this process has come to the end of a long
// turn.
import type { Socket } from 'node:net'
import { mastersOf, type Connection } from './connection.ts'

/** Commands in one piece. */
const PIECE = 16

export class WriteCoalescer {
  readonly #connection: Connection
  #held: readonly Pick<Socket, 'cork' | 'uncork'>[] | null = null
  #commands = 0

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Holds back the command that follows, until the turn has ended or enough others have come. */
  hold(): void {
    if (this.#held === null) {
      this.#held = mastersOf(this.#connection).flatMap(({ status, stream }) => (status === 'ready' ? [stream] : []))
      for (const stream of this.#held) stream.cork()
      setImmediate(() => this.#release())
    } else if (this.#commands === PIECE) {
      for (const stream of this.#held) {
        stream.uncork()
        stream.cork()
      }
      this.#commands = 0
    }
    this.#commands += 1
  }

  #release(): void {
    for (const stream of this.#held ?? []) stream.uncork()
    this.#held = null
    this.#commands = 0
  }
}
