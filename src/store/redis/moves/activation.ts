// store/redis: makes all servers of the namespace publish their commits while there are readers. A server says so on the
// channel that servers have, and the others confirm it; a key says it to servers that start later.
//
// - On Redis there is one stream of Redis for a namespace (`store/redis/moves/`). Each server appends after the
//   commit: all messages of a turn of the event loop at once, one append at a time (`outbox.ts`), and no commit waits
//   for that. What could not be appended is sent again. The script `append-moves.lua` knows the newest version of each
//   context in the feed: it appends nothing twice, and lets a move wait, for two seconds at most, for an earlier one
//   that another server has committed and not appended yet. So the order in the stream is that of the versions, and
//   the same for all readers.
// - A server that opens a stream makes all servers publish: it sets a key with a time to live, says so on the
//   channel of the commit feed, and waits until as many servers have confirmed as have got the message, for half a
//   second at most. A server confirms after it has appended what it had committed before. Servers that start look at
//   the key before they commit anything; servers with readers renew it, and say it again, every five seconds.
import { randomBytes } from 'node:crypto'
import type { MoveSignals } from '../feed.ts'

/** Milliseconds for which the confirmation of other servers is waited for. */
const PATIENCE_MS = 500

/**
 * Gives a function that resolves when all servers that can be reached publish, and have appended what they had committed.
 * `onActive`: this server publishes from now on; `since`: where the feed began. Resolves when what it has committed before
 * is in the feed.
 */
export function activation(signals: MoveSignals, onActive: (since: string) => Promise<void>) {
  /** What a confirmation does, by the name of the question. */
  const onConfirmed = new Map<string, () => void>()
  signals.onSignal((kind, name, since) => {
    if (kind === 'ok') onConfirmed.get(name)?.()
    if (kind !== 'on') return
    // When a confirmation is lost, the server that asks waits for as long as it would at most.
    onActive(since).then(
      () => signals.send('ok', name, since).catch(() => {}),
      () => {},
    )
  })

  return async (since: string) => {
    const name = randomBytes(9).toString('base64url')
    await new Promise<void>((resolve) => {
      let [confirmed, expected] = [0, Infinity]
      const timer = setTimeout(resolve, PATIENCE_MS)
      const check = () => {
        if (confirmed < expected) return
        clearTimeout(timer)
        resolve()
      }
      onConfirmed.set(name, () => {
        confirmed += 1
        check()
      })
      signals.send('on', name, since).then(
        (receivers) => {
          expected = receivers
          return check()
        },
        // No server can be reached: the feed says so itself.
        () => {},
      )
    })
    onConfirmed.delete(name)
  }
}
