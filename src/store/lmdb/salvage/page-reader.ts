// store/lmdb: reads bytes of the data file. Pages that are requested in sequence are read many at once.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { PageError } from './page-layout.ts'
import { messageOf } from '../../../model/error-message.ts'

/** Pages that are read at once: the overhead of a read is larger than the cost of its bytes. */
const AHEAD = 32

export class PageReader {
  /** The size of the file in bytes. */
  readonly size: number
  readonly #descriptor: number
  /** The pages of the last read. */
  #ahead = { first: 0, count: 0, bytes: Buffer.alloc(0) }
  /** The last page that was requested in sequence. */
  #last = -1

  /** @throws Error when the file cannot be opened */
  constructor(file: string) {
    this.#descriptor = openSync(file, 'r')
    this.size = fstatSync(this.#descriptor).size
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  /** Reads bytes. `what`: names them in the message. @throws PageError */
  read(position: number, length: number, what: string): Buffer {
    const bytes = Buffer.allocUnsafe(length)
    let read = 0
    try {
      read = position + length > this.size ? 0 : readSync(this.#descriptor, bytes, 0, length, position)
    } catch (cause) {
      throw new PageError(`${what} can't be read: ${messageOf(cause)}`, { cause })
    }
    if (read < length) throw new PageError(`${what} lies beyond the end of the file, ${this.size} bytes`)
    return bytes
  }

  /** Reads a page. Its bytes are valid until the next page is requested. @throws PageError */
  pageInOrder(number: number, pageBytes: number): Buffer {
    const isNext = number === this.#last + 1
    this.#last = number
    if (isNext && !this.#isAhead(number)) this.#readAhead(number, pageBytes)
    if (!this.#isAhead(number)) return this.read(number * pageBytes, pageBytes, `page ${number}`)
    const start = (number - this.#ahead.first) * pageBytes
    return this.#ahead.bytes.subarray(start, start + pageBytes)
  }

  #isAhead(number: number): boolean {
    return number >= this.#ahead.first && number < this.#ahead.first + this.#ahead.count
  }

  #readAhead(first: number, pageBytes: number): void {
    const bytes = this.#ahead.bytes.length > 0 ? this.#ahead.bytes : Buffer.allocUnsafe(AHEAD * pageBytes)
    let read = 0
    try {
      read = readSync(this.#descriptor, bytes, 0, bytes.length, first * pageBytes)
    } catch {
      // The error is reported when the unreadable page is read alone.
    }
    this.#ahead = { first, count: Math.floor(read / pageBytes), bytes }
  }
}
