// store/redis: combines the commands of one turn of the event loop into few writes. A separate write to the socket
// costs more than the rest of a command, but Redis should be able to start before a long turn has ended.
//
// - A commit is one round trip. What many contexts request in one turn of the event loop is sent in few writes
//   (`write-coalescer.ts`), because a write to a socket costs more than the rest of the request. This is not ioredis's
//   pipelining, which creates an object for each batch and waits for all its replies.
import type { Socket } from 'node:net'
import { mastersOf, type Connection } from './connection.ts'

/** Most commands in one write. */
const PIECE = 16

export class WriteCoalescer {
  readonly #connection: Connection
  #held: readonly Pick<Socket, 'cork' | 'uncork'>[] | null = null
  #commands = 0

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Must be called before each command. Delays the command until the turn has ended or enough others have been added.
   */
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
