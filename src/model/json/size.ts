// model: counts the bytes of JSON text before the text is made, and stops at a bound.

/** What a function or a script returned has more bytes as JSON than it may. */
export class ResultTooLarge extends Error {
  override readonly name = 'ResultTooLarge'
  constructor(maxBytes: number) {
    super(`the result has more than ${maxBytes} bytes as JSON`)
  }
}

/** Characters that are longer in JSON than in UTF-8. */
// oxlint-disable-next-line no-control-regex -- these are meant
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/

/**
 * Each method takes what it is told of from the bytes that are left. @throws ResultTooLarge when there are none left
 */
export class SizeCount {
  readonly #maxBytes: number
  #left: number

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
    this.#left = maxBytes
  }

  /** Text of so many bytes, none of them escaped, and two more around it: quotes, or the brackets of an object. */
  text(bytes: number): void {
    this.#take(bytes + 2)
  }

  /** The brackets and commas of a list; fails at once for one whose elements alone would be too many. */
  list(length: number): void {
    const commas = Math.max(0, length - 1)
    this.atLeast(length + commas + 2)
    this.#take(commas + 2)
  }

  /** A key of an object, its colon, and the comma before all but the first. */
  key(key: string, isFirst: boolean): void {
    this.scalar(key)
    this.#take(isFirst ? 1 : 2)
  }

  /** Fails if so many bytes are to come, and takes none. */
  atLeast(bytes: number): void {
    if (bytes > this.#left) throw new ResultTooLarge(this.#maxBytes)
  }

  /** Text, a number, true, false or null. */
  scalar(value: unknown): void {
    if (typeof value !== 'string') this.#take(String(value).length)
    else {
      // Each character has a byte at least: what is much too long is never looked at.
      this.atLeast(value.length)
      this.#take(ESCAPED.test(value) ? Buffer.byteLength(JSON.stringify(value)) : Buffer.byteLength(value) + 2)
    }
  }

  /** For `JSON.stringify` of what has a `toJSON` of its own: ends it early. What comes out is counted all the same. */
  replacer(): (key: string, value: unknown) => unknown {
    let left = this.#left
    return (_, value) => {
      left -= typeof value === 'string' ? value.length : 1
      if (left < 0) throw new ResultTooLarge(this.#maxBytes)
      return value
    }
  }

  #take(bytes: number): void {
    this.#left -= bytes
    if (this.#left < 0) throw new ResultTooLarge(this.#maxBytes)
  }
}
