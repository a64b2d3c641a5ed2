// store/redis: makes all servers of the namespace publish their commits while somebody reads. A server says so on the
// channel that servers have, and the others confirm it; a key says it to servers that start later.
//
// - On Redis there is one stream of Redis for a namespace (`store/redis/moves/`). Each server appends after the
//   commit: all messages of a turn of the event loop at once, one append at a time (`open-lines.ts`), and no commit waits
//   for that. What could not be appended is sent again. The script `append-moves.lua` knows the newest version of each
//   context in the feed: it appends nothing twice, and lets a move wait, for two seconds at most, for an earlier one
//   that another server has committed and not appended yet. So the order in the stream is that of the versions, and
//   the same for all readers.
// - Who opens a stream makes all servers publish (`activation.ts`): it sets a key with a time to live, says so on the
//   channel of the commit feed, and waits until as many servers have confirmed as have got the message, for half a
//   second at most. A server confirms after it has appended what it had committed before. Servers that start look at
//   the key before they commit anything; servers with readers renew it, and say it again, every five seconds.
import { randomBytes } from 'node:crypto'
import type { MoveSignals } from '../feed.ts'

export interface ActivationParts {
  readonly signals: MoveSignals
  /** This server publishes from now on; `since`: where the feed began. Resolves when what it has committed before is in the feed. */
  readonly onActive: (since: string) => Promise<void>
}

/** Milliseconds for which the confirmation of other servers is waited for. */
const PATIENCE_MS = 500

export class Activation {
  readonly #parts: ActivationParts
  /** Confirmations so far, by the name of the question. */
  readonly #asked = new Map<string, { confirmed: number; readonly check: () => void }>()

  constructor(parts: ActivationParts) {
    this.#parts = parts
    parts.signals.onSignal((kind, name, since) => {
      if (kind === 'on') void this.#confirm(name, since)
      else if (kind === 'ok') this.#count(name)
    })
  }

  /** Resolves when all servers that can be reached publish, and have appended what they had committed. */
  async spread(since: string): Promise<void> {
    const name = randomBytes(9).toString('base64url')
    await new Promise<void>((resolve) => {
      let expected = Infinity
      const timer = setTimeout(resolve, PATIENCE_MS)
      const check = () => {
        if ((this.#asked.get(name)?.confirmed ?? 0) < expected) return
        clearTimeout(timer)
        resolve()
      }
      this.#asked.set(name, { confirmed: 0, check })
      this.#parts.signals.send('on', name, since).then(
        (receivers) => {
          expected = receivers
          return check()
        },
        // Nobody can be reached: the feed says so itself.
        () => {},
      )
    })
    this.#asked.delete(name)
  }

  async #confirm(name: string, since: string): Promise<void> {
    await this.#parts.onActive(since)
    await this.#parts.signals.send('ok', name, since).catch(() => {})
  }

  #count(name: string): void {
    const asked = this.#asked.get(name)
    if (asked === undefined) return
    asked.confirmed += 1
    asked.check()
  }
}
