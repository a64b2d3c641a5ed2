// store/redis: follows the feed of moves over a connection of its own, one for all readers of this server.
import type { FeedItem, FeedListener, FeedPage } from '../../../ports/move-feed.ts'
import type { Connection } from '../connection.ts'
import { itemOf, type StreamEntry } from './place.ts'

export interface MoveTailParts {
  readonly connection: Connection
  /** Key of the stream. */
  readonly key: string
  readonly read: (request: { readonly after: string; readonly limit: number }) => Promise<FeedPage>
  readonly listener: FeedListener
}

/** Milliseconds for which Redis holds the question; the connection counts as dead later. */
const BLOCK_MS = 5000
/** Milliseconds until it is asked again after an error. */
const RETRY_MS = 500
const MAX_READ = 2000

export class MoveTail {
  readonly #parts: MoveTailParts
  #place: string
  /** The connection was lost: what is asked for may be kept no more. */
  #isDoubtful = false
  #isStopped = false

  constructor(parts: MoveTailParts, from: string) {
    this.#parts = parts
    this.#place = from
    const { connection } = parts
    connection.on('error', () => {})
    connection.on('close', () => {
      this.#isDoubtful = true
    })
    void this.#run()
  }

  stop(): void {
    this.#isStopped = true
    this.#parts.connection.disconnect()
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        const items = this.#isDoubtful ? await this.#check() : await this.#next()
        if (this.#isStopped) return
        if (items.length === 0) continue
        this.#place = items.at(-1)?.id ?? this.#place
        const pace = this.#parts.listener(items)
        if (items.length < MAX_READ) await pause(pace)
      } catch {
        // Redis is away, which the store logs, or it is stopped.
        this.#isDoubtful = true
        await pause(RETRY_MS)
      }
    }
  }

  async #next(): Promise<readonly FeedItem[]> {
    const { connection, key } = this.#parts
    const found = await connection.xread('COUNT', MAX_READ, 'BLOCK', BLOCK_MS, 'STREAMS', key, this.#place)
    // What was asked before the connection was lost is looked at again.
    if (this.#isDoubtful) return []
    return (found?.[0]?.[1] ?? []).map((entry: StreamEntry) => itemOf(entry))
  }

  /** As `#next`, and finds out whether something is missing. */
  async #check(): Promise<readonly FeedItem[]> {
    this.#isDoubtful = false
    const { items, end, isGap } = await this.#parts.read({ after: this.#place, limit: MAX_READ })
    if (!isGap) return items
    return [{ id: items.length > 0 ? this.#place : end, move: null, text: '' }, ...items]
  }
}

const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, milliseconds).unref()
  })
