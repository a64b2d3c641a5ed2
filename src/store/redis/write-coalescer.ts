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

/**
 * Gives a function that must be called before each command. It delays the command until the turn has ended or enough others
 * have been added.
 */
export function writeCoalescer(connection: Connection): () => void {
  let held: readonly Pick<Socket, 'cork' | 'uncork'>[] | null = null
  let commands = 0

  function release(): void {
    for (const stream of held ?? []) stream.uncork()
    held = null
    commands = 0
  }

  return () => {
    if (held === null) {
      held = mastersOf(connection).flatMap(({ status, stream }) => (status === 'ready' ? [stream] : []))
      for (const stream of held) stream.cork()
      setImmediate(release)
    } else if (commands === PIECE) {
      for (const stream of held) {
        stream.uncork()
        stream.cork()
      }
      commands = 0
    }
    commands += 1
  }
}
