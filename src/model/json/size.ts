// model: counts the bytes of JSON text before the text is made, and stops at a limit.

/** The result of a function or a script has more bytes as JSON than is allowed. */
export class ResultTooLarge extends Error {
  override readonly name = 'ResultTooLarge'
  constructor(maxBytes: number) {
    super(`the result has more than ${maxBytes} bytes as JSON`)
  }
}

/** Characters that are longer in JSON than in UTF-8. */
// oxlint-disable-next-line no-control-regex -- control characters are escaped in JSON
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/

/**
 * Counts down from a limit. Each method subtracts the bytes of its argument.
 * @throws ResultTooLarge (from each method) when no bytes are left
 */
export class SizeCount {
  readonly #maxBytes: number
  #left: number

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
    this.#left = maxBytes
  }

  /** Subtracts the bytes of a text without escapes, and two for its quotes, or for the brackets of an object. */
  text(bytes: number): void {
    this.#take(bytes + 2)
  }

  /**
   * Subtracts the brackets and commas of a list. It fails at once if the elements would exceed the limit at a byte
   * each.
   */
  list(length: number): void {
    const commas = Math.max(0, length - 1)
    this.atLeast(length + commas + 2)
    this.#take(commas + 2)
  }

  /** Subtracts a key of an object, its colon and, unless it is the first key, the comma before it. */
  key(key: string, isFirst: boolean): void {
    this.scalar(key)
    this.#take(isFirst ? 1 : 2)
  }

  /** Fails if fewer bytes than that are left; subtracts nothing. */
  atLeast(bytes: number): void {
    if (bytes > this.#left) throw new ResultTooLarge(this.#maxBytes)
  }

  /** Subtracts a text, a number, true, false or null. */
  scalar(value: unknown): void {
    if (typeof value !== 'string') this.#take(String(value).length)
    else {
      // Each character has at least one byte, so a text that is much too long is not scanned.
      this.atLeast(value.length)
      this.#take(ESCAPED.test(value) ? Buffer.byteLength(JSON.stringify(value)) : Buffer.byteLength(value) + 2)
    }
  }

  /**
   * A replacer for `JSON.stringify` of a value with its own `toJSON`. It ends the call early when too much is produced,
   * and subtracts nothing: the result is counted separately.
   */
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
