// http: one stream of moves, to one reader. What a slow reader has not taken is bounded: beyond that, moves are counted
// and not written, and the reader is told how many they were.
import { byeOf, droppedOf, type Piece } from './encode.ts'

/** Where the bytes of a stream go. */
export interface Sink {
  /** Bytes that the reader has not taken yet. */
  readonly queued: number
  write(bytes: Uint8Array): void
  /** Writes what was made for many readers. */
  share(piece: Piece): void
  /** Ends the answer. */
  end(): void
}

/**
 * Bytes that may wait for a reader. What is written to readers who are shown the same is in memory once, so they count as
 * one.
 */
const [MIN_QUEUED_BYTES, MAX_QUEUED_BYTES, ALL_QUEUED_BYTES] = [65_536, 1_048_576, 134_217_728]

/** Bytes that may wait for a reader where what is shown differs so often. */
export const queueBound = (groups: number): number =>
  Math.max(MIN_QUEUED_BYTES, Math.min(MAX_QUEUED_BYTES, ALL_QUEUED_BYTES / groups))

export class LiveStream {
  readonly #sink: Sink
  readonly #onDrained: (() => void)[] = []
  /** Behind the last move that it was given, or that was not for it. */
  place: string
  #dropped = 0
  #isOver = false

  constructor(sink: Sink, place: string) {
    this.#sink = sink
    this.place = place
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Writes the pieces, or counts them as dropped, if more than `bound` bytes wait for the reader. */
  give(pieces: readonly Piece[], bound: number): void {
    for (const piece of pieces) {
      if (this.#sink.queued >= bound) this.#dropped += piece.count
      else {
        this.#tellDropped()
        if (!this.#isOver) this.#sink.share(piece)
      }
    }
  }

  /** Writes something small that is no move, unless the reader takes nothing. */
  tell(text: string): void {
    if (this.#sink.queued < MIN_QUEUED_BYTES) this.#write(Buffer.from(text))
  }

  /** Resolves when the reader has taken what was written, or is gone. */
  taken(): Promise<void> {
    if (this.#sink.queued < MIN_QUEUED_BYTES || this.#isOver) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onDrained.push(resolve)
    })
  }

  /** To be called when the reader has taken everything. */
  onDrained(): void {
    this.#tellDropped()
    for (const resolve of this.#onDrained.splice(0)) resolve()
  }

  /** Ends it, and says why. */
  end(reason: string): void {
    if (this.#isOver) return
    this.#tellDropped()
    this.#write(Buffer.from(byeOf(reason)))
    this.close()
    this.#sink.end()
  }

  /** The reader is gone. */
  close(): void {
    this.#isOver = true
    for (const resolve of this.#onDrained.splice(0)) resolve()
  }

  #tellDropped(): void {
    if (this.#dropped === 0) return
    const text = droppedOf(this.#dropped)
    this.#dropped = 0
    this.#write(Buffer.from(text))
  }

  #write(bytes: Uint8Array): void {
    if (!this.#isOver) this.#sink.write(bytes)
  }
}
