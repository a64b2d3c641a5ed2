// store/redis: follows the feed of moves over a connection of its own, one for all readers of this server.
import { setTimeout as sleep } from 'node:timers/promises'
import type { FeedListener, MoveFeed } from '../../../ports/feeds.ts'
import type { Connection } from '../connection.ts'

/** Milliseconds for which Redis holds the question; the connection counts as dead later. */
const BLOCK_MS = 5000
/** Milliseconds until it is asked again after an error. */
const RETRY_MS = 500
const MAX_READ = 2000
const MAX_CHARACTERS = 1_048_576

/** Hands what comes behind a place to the listener, until the function that it gives is called. `key`: that of the stream. */
export function followMoves(
  feed: MoveFeed,
  connection: Connection,
  { from, key, listener }: { readonly from: string; readonly key: string; readonly listener: FeedListener },
): () => void {
  let isStopped = false
  connection.on('error', () => {})

  async function run(): Promise<void> {
    for (let [place, isCut] = [from, false]; ;) {
      if (isStopped) return
      try {
        // Waits until something is there, or for some seconds. What was trimmed before is left out here without a word,
        // or all is gone since the connection was lost: a read of the feed tells.
        if (!isCut) await connection.xread('COUNT', 1, 'BLOCK', BLOCK_MS, 'STREAMS', key, place)
        const page = await feed.read({ after: place, limit: MAX_READ, characters: MAX_CHARACTERS })
        if (isStopped) return
        isCut = page.isCut
        const gap = { id: page.items.length > 0 ? place : page.end, move: null, text: '' }
        const items = page.isGap ? [gap, ...page.items] : page.items
        place = items.at(-1)?.id ?? place
        if (items.length === 0) continue
        const paceMs = listener(items)
        if (!isCut) await pause(paceMs)
      } catch {
        // Redis is away, which the store logs, or it is stopped.
        isCut = false
        await pause(RETRY_MS)
      }
    }
  }

  void run()
  return () => {
    isStopped = true
    connection.disconnect()
  }
}

const pause = (milliseconds: number) => sleep(milliseconds, undefined, { ref: false })
