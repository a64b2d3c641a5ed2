// store/redis: follows the feed of moves over a connection of its own, one for all readers of this server.
import { setTimeout as sleep } from 'node:timers/promises'
import type { FeedItem, FeedListener, MoveFeed } from '../../../ports/feeds.ts'
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
  let place = from
  /** The connection was lost: what is asked for may be kept no more. */
  let isDoubtful = false
  let isStopped = false
  connection.on('error', () => {})
  connection.on('close', () => {
    isDoubtful = true
  })

  /** Waits until something is there to be read, for some seconds at most. */
  async function hasMore(): Promise<boolean> {
    if (isDoubtful) return true
    const found = await connection.xread('COUNT', 1, 'BLOCK', BLOCK_MS, 'STREAMS', key, place)
    // Where the connection was lost meanwhile, what was kept may be gone.
    return found !== null || isDoubtful
  }

  /** What XREAD gives leaves out, without a word, what was trimmed before: a read of the feed tells. */
  async function readMore() {
    isDoubtful = false
    const { items, end, isGap, isCut } = await feed.read({ after: place, limit: MAX_READ, characters: MAX_CHARACTERS })
    const gap: FeedItem[] = isGap ? [{ id: items.length > 0 ? place : end, move: null, text: '' }] : []
    return { items: [...gap, ...items], isCut }
  }

  async function run(): Promise<void> {
    for (let isCut = false; ;) {
      if (isStopped) return
      try {
        if (!isCut && !(await hasMore())) continue
        const page = await readMore()
        if (isStopped) return
        isCut = page.isCut
        if (page.items.length === 0) continue
        place = page.items.at(-1)?.id ?? place
        const pace = listener(page.items)
        if (!isCut) await pause(pace)
      } catch {
        // Redis is away, which the store logs, or it is stopped.
        isDoubtful = true
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
