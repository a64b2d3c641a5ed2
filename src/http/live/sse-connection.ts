// http: one stream of moves, to one reader. What a slow reader has not taken is bounded, and so is what all readers take in
// a second: beyond that, moves are counted and not written, and the reader is told how many they were.
import type { MoveFilters } from '../../api/streams.ts'
import { byeOf, droppedOf, type Shown, type SseChunk } from './sse-chunk.ts'

/** Where the bytes of a stream go. */
export interface Sink {
  /** Bytes that the reader has not taken yet. */
  readonly writableLength: number
  write(bytes: Uint8Array): unknown
  /** Ends the answer. */
  end(): unknown
}

export interface OpenRequest {
  /** Whose share of the streams it counts for. */
  readonly scope: string
  readonly filters: MoveFilters
  /** Where the reader goes on; null: from now on. */
  readonly from: string | null
  /** Whether the reader may see secured services. It throws when it may not read any more. */
  readonly mayReadAll: () => boolean
  /** Called when all servers tell of their commits, with the first bytes. Null: the reader is gone. */
  readonly begin: (opening: string) => Sink | null
}

/**
 * Bytes that may wait for a reader. What is written to readers who are shown the same is in memory once, so they count as
 * one.
 */
const [MIN_QUEUED_BYTES, MAX_QUEUED_BYTES, ALL_QUEUED_BYTES] = [65_536, 1_048_576, 134_217_728]

/**
 * Bytes a second that all streams together are given. A write of so many costs a few hundredths of a processor, so senders
 * of events do not notice how many read. One reader may have all of it: about 100,000 moves a second.
 */
const ALL_BYTES_PER_SECOND = 32_000_000

/** What one reader may be given now. */
interface Bounds {
  /** Bytes that may wait for it. */
  readonly queued: number
  /** Bytes that it has earned since it was given something. */
  readonly earned: number
  /** Bytes that it may save while there is little for it. */
  readonly most: number
}

/** For a reader that is given what came before, as it takes it. */
export const UNBOUNDED: Bounds = { queued: Infinity, earned: 0, most: Infinity }

/** `groups`: kinds of readers. `elapsed`: milliseconds since they were given something. */
export function boundsOf(readers: number, groups: number, elapsed: number): Bounds {
  const queued = Math.max(MIN_QUEUED_BYTES, Math.min(MAX_QUEUED_BYTES, ALL_QUEUED_BYTES / groups))
  const perSecond = ALL_BYTES_PER_SECOND / readers
  return { queued, earned: (perSecond * elapsed) / 1000, most: Math.max(perSecond, queued) }
}

export class SseConnection {
  readonly request: OpenRequest
  readonly #sink: Sink
  shown: Shown
  /** Behind the last move that it was given, or that was not for it. */
  place: string
  /** Whether it is given what the feed gives; else it still reads what came before. */
  isLive = false
  #dropped = 0
  /** Bytes that it may be given now. Less than nothing: the last chunk was larger. */
  #allowance = Infinity
  isOver = false
  #onDrained = () => {}

  constructor(request: OpenRequest, sink: Sink, shown: Shown, place: string) {
    this.request = request
    this.#sink = sink
    this.shown = shown
    this.place = place
  }

  /** Writes the chunks, or counts them as dropped, if too much waits for the reader, or it has had its share. */
  give(chunks: readonly SseChunk[], { queued, earned, most }: Bounds): void {
    this.#allowance = Math.min(this.#allowance + earned, most)
    for (const chunk of chunks) {
      if (this.#allowance <= 0 || this.#sink.writableLength >= queued) {
        this.#dropped += chunk.count
        continue
      }
      this.#allowance -= chunk.bytes.length
      this.#writeDropped()
      this.#write(chunk.bytes)
    }
  }

  /** Tells how many moves were dropped, if any were, and the reader takes what is written. */
  tellDropped(): void {
    if (this.#isTaken) this.#writeDropped()
  }

  /** Writes something small that is no move, unless the reader takes nothing. */
  tell(text: string): void {
    if (this.#isTaken) this.#write(Buffer.from(text))
  }

  /** Resolves when the reader has taken what was written, or is gone. */
  async taken(): Promise<void> {
    if (this.#isTaken || this.isOver) return
    await new Promise<void>((resolve) => {
      this.#onDrained = resolve
    })
  }

  /** To be called when the reader has taken everything. */
  onDrained(): void {
    this.#writeDropped()
    this.#onDrained()
  }

  /** Ends it, and says why. */
  end(reason: string): void {
    if (this.isOver) return
    this.#writeDropped()
    this.#write(Buffer.from(byeOf(reason)))
    this.close()
    this.#sink.end()
  }

  /** The reader is gone. */
  close(): void {
    this.isOver = true
    this.#onDrained()
  }

  get #isTaken(): boolean {
    return this.#sink.writableLength < MIN_QUEUED_BYTES
  }

  #writeDropped(): void {
    if (this.#dropped === 0) return
    const text = droppedOf(this.#dropped)
    this.#dropped = 0
    this.#write(Buffer.from(text))
  }

  #write(bytes: Uint8Array): void {
    if (!this.isOver) this.#sink.write(bytes)
  }
}
