// store/lmdb: reads bytes of the data file. Pages that are asked for one after the other are read many at once.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { PageError } from './page-layout.ts'
import { messageOf } from '../../../model/error-message.ts'

/** Pages that are read at once: each read costs more than the bytes that it gives. */
const AHEAD = 32

export class PageReader {
  /** Bytes. */
  readonly size: number
  readonly #descriptor: number
  /** The pages that were read at once last. */
  #ahead = { first: 0, count: 0, bytes: Buffer.alloc(0) }
  /** The page that was last asked for in order. */
  #last = -1

  /** @throws Error when the file can't be opened */
  constructor(file: string) {
    this.#descriptor = openSync(file, 'r')
    this.size = fstatSync(this.#descriptor).size
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  /** `what`: for the message; a number is that of a page. @throws PageError */
  read(position: number, length: number, what: string | number, bytes: Buffer = Buffer.allocUnsafe(length)): Buffer {
    const name = () => (typeof what === 'number' ? `page ${what}` : what)
    let read = 0
    try {
      read = position + length > this.size ? 0 : readSync(this.#descriptor, bytes, 0, length, position)
    } catch (cause) {
      throw new PageError(`${name()} can't be read: ${messageOf(cause)}`, {
        cause,
      })
    }
    if (read < length) throw new PageError(`${name()} lies beyond the end of the file, ${this.size} bytes`)
    return bytes
  }

  /** A page, whose bytes stay there until the next is asked for. @throws PageError */
  pageInOrder(number: number, pageBytes: number): Buffer {
    const isNext = number === this.#last + 1
    this.#last = number
    if (isNext && !this.#isAhead(number)) this.#readAhead(number, pageBytes)
    if (!this.#isAhead(number)) return this.read(number * pageBytes, pageBytes, number)
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
      // Told when the page that can't be read is read by itself.
    }
    this.#ahead = { first, count: Math.floor(read / pageBytes), bytes }
  }
}
