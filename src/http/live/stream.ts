// http: one stream of moves, to one reader. What a slow reader has not taken is bounded, and so is what all readers take in
// a second: beyond that, moves are counted and not written, and the reader is told how many they were.
import type { MoveFilters } from '../../api/streams.ts'
import { byeOf, droppedOf, type Piece } from './encode.ts'

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

/** Bytes that may wait for a reader where what is shown differs so often. */
export const queueBound = (groups: number): number =>
  Math.max(MIN_QUEUED_BYTES, Math.min(MAX_QUEUED_BYTES, ALL_QUEUED_BYTES / groups))

/** Milliseconds between two writes to the streams: each write costs more than the bytes of some moves. */
export const paceOf = (streams: number): number => Math.min(50 + streams, 250)

/**
 * Bytes a second that all streams together are given. A write of so many costs a few hundredths of a processor, so senders
 * of events do not notice how many read. One reader may have all of it: about 100,000 moves a second.
 */
const ALL_BYTES_PER_SECOND = 32_000_000

/** What one of so many readers may be given. */
interface Share {
  /** Bytes for the milliseconds that have passed. */
  readonly earned: number
  /** Bytes that it may save while there is little for it. */
  readonly most: number
}

/** The share of one of so many readers for so many milliseconds. `queued`: bytes that may wait for it. */
export function shareOf(
  readers: number,
  { elapsed, queued }: { readonly elapsed: number; readonly queued: number },
): Share {
  const perSecond = ALL_BYTES_PER_SECOND / readers
  return { earned: (perSecond * elapsed) / 1000, most: Math.max(perSecond, queued) }
}

export class LiveStream {
  readonly #sink: Sink
  readonly #onDrained: (() => void)[] = []
  /** Behind the last move that it was given, or that was not for it. */
  place: string
  #dropped = 0
  /** Bytes that it may be given now. Less than nothing: the last piece was larger. */
  #allowance = Infinity
  #isOver = false

  constructor(sink: Sink, place: string) {
    this.#sink = sink
    this.place = place
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /**
   * Writes the pieces, or counts them as dropped, if more than `queued` bytes wait for the reader, or it has had its share.
   * Without bounds: the reader is given them as it takes them.
   */
  give(pieces: readonly Piece[], bounds: { readonly queued: number; readonly share: Share } | null): void {
    if (bounds) this.#allowance = Math.min(this.#allowance + bounds.share.earned, bounds.share.most)
    for (const piece of pieces) {
      if (bounds && (this.#allowance <= 0 || this.#sink.writableLength >= bounds.queued)) {
        this.#dropped += piece.count
        continue
      }
      if (bounds) this.#allowance -= piece.bytes.length
      this.#writeDropped()
      this.#write(piece.bytes)
    }
  }

  /** Tells how many moves were dropped, if any were and the reader takes what is written. */
  tellDropped(): void {
    if (this.#sink.writableLength < MIN_QUEUED_BYTES) this.#writeDropped()
  }

  /** Writes something small that is no move, unless the reader takes nothing. */
  tell(text: string): void {
    if (this.#sink.writableLength < MIN_QUEUED_BYTES) this.#write(Buffer.from(text))
  }

  /** Resolves when the reader has taken what was written, or is gone. */
  taken(): Promise<void> {
    if (this.#sink.writableLength < MIN_QUEUED_BYTES || this.#isOver) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onDrained.push(resolve)
    })
  }

  /** To be called when the reader has taken everything. */
  onDrained(): void {
    this.#writeDropped()
    for (const resolve of this.#onDrained.splice(0)) resolve()
  }

  /** Ends it, and says why. */
  end(reason: string): void {
    if (this.#isOver) return
    this.#writeDropped()
    this.#write(Buffer.from(byeOf(reason)))
    this.close()
    this.#sink.end()
  }

  /** The reader is gone. */
  close(): void {
    this.#isOver = true
    for (const resolve of this.#onDrained.splice(0)) resolve()
  }

  #writeDropped(): void {
    if (this.#dropped === 0) return
    const text = droppedOf(this.#dropped)
    this.#dropped = 0
    this.#write(Buffer.from(text))
  }

  #write(bytes: Uint8Array): void {
    if (!this.#isOver) this.#sink.write(bytes)
  }
}
