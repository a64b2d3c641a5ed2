// http: lines out of bytes as they come. It holds at most one line that isn't whole yet, whose length is bounded; what
// is longer is refused once, and passed over up to its end.
import { FluxError, tooLarge } from '../../model/failure.ts'

export const LINE_FEED = 10
const [RETURN, SPACE, TAB] = [13, 32, 9]

/** Parts of a line that isn't whole: of more, one is made, so that a line may come byte by byte. */
const MAX_PARTS = 256

/**
 * Bytes of empty lines between two lines. Compressed, they cost their sender next to nothing, and the server to read.
 */
const MAX_BLANK_BYTES = 1_048_576

export interface SplitterOptions {
  /** Bytes of a line, its end not counted. */
  readonly limit: number
  /** Told how many bytes are held of a line that isn't whole. @throws FluxError `overloaded`: the line is refused */
  readonly charge: (bytes: number) => void
}

export class LineSplitter {
  readonly #limit: number
  readonly #charge: (bytes: number) => void
  /** The parts of the line that isn't whole. */
  #parts: Buffer[] = []
  #length = 0
  /** The rest of the line is passed over: it was refused. */
  #skips = false
  /** Bytes of empty lines since the last line. */
  #blank = 0

  constructor({ limit, charge }: SplitterOptions) {
    this.#limit = limit
    this.#charge = charge
  }

  /**
   * The lines that end in the chunk, without their ends, and refusals of those that are too long. Empty lines are
   * passed over.
   * @throws FluxError `tooLarge` when there are too many empty lines
   */
  *take(chunk: Buffer): Generator<Buffer | FluxError, void> {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      const line = this.#finish(chunk.subarray(start, end))
      if (line !== null) yield line
      start = end + 1
    }
    const refusal = start < chunk.length ? this.#keep(chunk.subarray(start)) : null
    if (refusal !== null) yield refusal
  }

  /** Nothing more comes: what is left is a line. null: nothing is. */
  end(): Buffer | FluxError | null {
    return this.#finish(Buffer.alloc(0))
  }

  /** A refusal, if the line gets too long by it. */
  #keep(part: Buffer): FluxError | null {
    if (this.#skips) return null
    this.#parts.push(part)
    this.#length += part.length
    try {
      // The end of the line may have one more byte.
      if (this.#length > this.#limit + 1) throw this.#tooLong()
      this.#charge(this.#length)
    } catch (error) {
      if (!(error instanceof FluxError)) throw error
      this.#drop()
      this.#skips = true
      return error
    }
    if (this.#parts.length > MAX_PARTS) this.#parts = [Buffer.concat(this.#parts)]
    return null
  }

  #finish(last: Buffer): Buffer | FluxError | null {
    const refusal = this.#length > 0 ? this.#keep(last) : null
    if (this.#skips) {
      this.#skips = false
      return refusal
    }
    let line = last
    if (this.#length > 0) {
      line = Buffer.concat(this.#parts)
      this.#drop()
    }
    const bytes = line.length + 1
    if (line.at(-1) === RETURN) line = line.subarray(0, -1)
    if (line.length > this.#limit) return this.#tooLong()
    const isEmpty = line.every((byte) => byte === SPACE || byte === TAB || byte === RETURN)
    this.#blank = isEmpty ? this.#blank + bytes : 0
    if (this.#blank > MAX_BLANK_BYTES)
      throw tooLarge(`more than ${MAX_BLANK_BYTES} bytes of empty lines came between two lines`)
    return isEmpty ? null : line
  }

  #drop(): void {
    this.#parts = []
    this.#length = 0
    this.#charge(0)
  }

  #tooLong(): FluxError {
    return tooLarge(`the line is larger than ${this.#limit} bytes`)
  }
}
