// http: lines out of bytes as they come. It holds one chunk and at most one line that isn't whole yet, whose length is
// bounded; what is longer is refused once, and passed over up to its end.
import { FluxError } from '../../model/failure.ts'

const [LINE_FEED, RETURN, SPACE, TAB] = [10, 13, 32, 9]
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** Bytes that the first part of a line is given room for. */
const FIRST_BYTES = 1024

export interface SplitterOptions {
  /** Bytes of a line, its end not counted. */
  readonly limit: number
  /** Told how many bytes are held of a line that isn't whole. @throws FluxError `overloaded`: the line is refused */
  readonly charge: (bytes: number) => void
}

export class LineSplitter {
  readonly #limit: number
  readonly #charge: (bytes: number) => void
  readonly #chunks: Buffer[] = []
  /** In the first chunk. */
  #at = 0
  #partial = Buffer.alloc(0)
  #length = 0
  /** The rest of the line is passed over: it was refused. */
  #skips = false
  #isFirst = true
  #ends = 0
  /** Bytes since the last line that wasn't empty. */
  #blank = 0
  #isWhole = false
  #isBrokenOff = false

  constructor({ limit, charge }: SplitterOptions) {
    this.#limit = limit
    this.#charge = charge
  }

  /** Bytes of empty lines that came since the last line: a stream of nothing else is unpacked out of very little. */
  get blank(): number {
    return this.#blank
  }

  /** Bytes held. */
  get held(): number {
    return this.#partial.length + this.#chunks.reduce((sum, { length }) => sum + length, 0)
  }

  /** Ends of lines that were met, those of empty lines counted. */
  get ends(): number {
    return this.#ends
  }

  feed(chunk: Buffer): void {
    if (chunk.length > 0) this.#chunks.push(chunk)
  }

  /** Nothing more comes: what is left is a line. */
  end(): void {
    this.#isWhole = true
  }

  /** Nothing more comes. Lines that came whole are given still; what isn't whole is no line. */
  breakOff(): void {
    this.#isBrokenOff = true
    if (this.#chunks.length === 0) this.#drop()
  }

  /** Holds nothing any more. */
  clear(): void {
    this.#chunks.length = 0
    this.#at = 0
    this.breakOff()
  }

  /**
   * The next line, without its end; a refusal of one that is too long. Empty lines are passed over. null: it isn't there
   * yet. What it gives is good until the next call of `feed`.
   */
  next(): Buffer | FluxError | null {
    for (let chunk = this.#chunks[0]; chunk !== undefined; chunk = this.#chunks[0]) {
      if (this.#length === 0 && !this.#skips) this.#passBlank(chunk)
      const end = chunk.indexOf(LINE_FEED, this.#at)
      const part = chunk.subarray(this.#at, end === -1 ? undefined : end)
      this.#at = end + 1
      if (end === -1 || this.#at === chunk.length) {
        this.#chunks.shift()
        this.#at = 0
      }
      const line = end === -1 ? this.#keep(part) : this.#finish(part)
      if (line !== null) return line
    }
    if (this.#isBrokenOff) this.#drop()
    return this.#isWhole && this.#length > 0 ? this.#finish(Buffer.alloc(0)) : null
  }

  /** Lines of nothing but space: to look for the end of each by itself would take ten times as long. */
  #passBlank(chunk: Buffer): void {
    const start = this.#at
    for (let at = start; at < chunk.length - 1 && at - this.#at <= this.#limit && isSpace(chunk[at]); at += 1)
      if (chunk[at] === LINE_FEED) {
        this.#at = at + 1
        this.#ends += 1
      }
    this.#blank += this.#at - start
    if (this.#at !== start) this.#isFirst = false
  }

  /** A refusal, if the line gets too long by it. */
  #keep(part: Buffer): FluxError | null {
    if (this.#skips) return null
    const length = this.#length + part.length
    // One more: it may be the carriage return before the end.
    const failure = length > this.#limit + 1 + BYTE_ORDER_MARK.length ? tooLong(this.#limit) : this.#reserve(length)
    if (failure) {
      this.#drop()
      this.#skips = true
      this.#isFirst = false
      return failure
    }
    part.copy(this.#partial, this.#length)
    this.#length = length
    return null
  }

  /** Room grows by half at least, so that a line that comes byte by byte isn't copied again and again. */
  #reserve(length: number): FluxError | null {
    if (length <= this.#partial.length) return null
    const bytes = Math.max(length, FIRST_BYTES, Math.min(this.#partial.length * 1.5, this.#limit + 4))
    try {
      this.#charge(bytes)
    } catch (error) {
      if (error instanceof FluxError) return error
      throw error
    }
    const larger = Buffer.allocUnsafeSlow(Math.ceil(bytes))
    this.#partial.copy(larger, 0, 0, this.#length)
    this.#partial = larger
    return null
  }

  #finish(last: Buffer): Buffer | FluxError | null {
    this.#ends += 1
    if (this.#skips) {
      this.#skips = false
      return null
    }
    let line = last
    if (this.#length > 0) {
      const failure = this.#keep(last)
      if (failure) {
        this.#skips = false
        return failure
      }
      line = this.#partial.subarray(0, this.#length)
      this.#drop()
    }
    if (this.#isFirst && line.subarray(0, 3).equals(BYTE_ORDER_MARK)) line = line.subarray(3)
    this.#isFirst = false
    const bytes = line.length + 1
    if (line.at(-1) === RETURN) line = line.subarray(0, -1)
    if (line.length > this.#limit) return tooLong(this.#limit)
    const isEmpty = isBlank(line)
    this.#blank = isEmpty ? this.#blank + bytes : 0
    return isEmpty ? null : line
  }

  #drop(): void {
    if (this.#partial.length === 0) return
    this.#partial = Buffer.alloc(0)
    this.#length = 0
    this.#charge(0)
  }
}

const isSpace = (byte: number | undefined): boolean =>
  byte === LINE_FEED || byte === RETURN || byte === SPACE || byte === TAB

/** Most lines are seen by their first byte not to be. */
function isBlank(line: Buffer): boolean {
  for (let at = 0; at < line.length; at += 1) if (!isSpace(line[at])) return false
  return true
}

const tooLong = (limit: number) => new FluxError({ kind: 'tooLarge', detail: `the line is larger than ${limit} bytes` })
