// store/redis: follows the feed of moves over a connection of its own, one for all readers of this server.
import type { FeedListener, FeedPage, FeedQuery } from '../../../ports/feeds.ts'
import type { Connection } from '../connection.ts'

export interface MoveTailParts {
  readonly connection: Connection
  /** Key of the stream. */
  readonly key: string
  readonly read: (request: FeedQuery) => Promise<FeedPage>
  readonly listener: FeedListener
}

/** Milliseconds for which Redis holds the question; the connection counts as dead later. */
const BLOCK_MS = 5000
/** Milliseconds until it is asked again after an error. */
const RETRY_MS = 500
const MAX_READ = 2000
const MAX_CHARACTERS = 1_048_576

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
    for (let isCut = false; !this.#isStopped;) {
      try {
        if (!isCut && !(await this.#hasMore())) continue
        const { items, ...page } = await this.#read()
        if (this.#isStopped) return
        isCut = page.isCut
        if (items.length === 0) continue
        this.#place = items.at(-1)?.id ?? this.#place
        const pace = this.#parts.listener(items)
        if (!isCut) await pause(pace)
      } catch {
        // Redis is away, which the store logs, or it is stopped.
        this.#isDoubtful = true
        isCut = false
        await pause(RETRY_MS)
      }
    }
  }

  /** Waits until something is there to be read, for some seconds at most. */
  async #hasMore(): Promise<boolean> {
    if (this.#isDoubtful) return true
    const { connection, key } = this.#parts
    const found = await connection.xread('COUNT', 1, 'BLOCK', BLOCK_MS, 'STREAMS', key, this.#place)
    // Where the connection was lost meanwhile, what was kept may be gone.
    return found !== null || this.#isDoubtful
  }

  /** What XREAD gives leaves out, without a word, what was trimmed before: a read of the feed tells. */
  async #read(): Promise<Pick<FeedPage, 'items' | 'isCut'>> {
    this.#isDoubtful = false
    const { read } = this.#parts
    const { items, end, isGap, isCut } = await read({ after: this.#place, limit: MAX_READ, characters: MAX_CHARACTERS })
    if (!isGap) return { items, isCut }
    return { items: [{ id: items.length > 0 ? this.#place : end, move: null, text: '' }, ...items], isCut }
  }
}

const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, milliseconds).unref()
  })
