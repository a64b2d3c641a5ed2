// store/lmdb: the values of the data file. Each ends with a checksum, by which damage is found that lmdb does not notice.
// A group of commits writes its values into one buffer; the next group uses it again.
import { crc32 } from 'node:zlib'

const ARENA_BYTES = 256 * 1024

/** A value that may take more bytes gets a buffer of its own. */
const SHARED_BYTES = 64 * 1024

const CHECKSUM_BYTES = 4

export class Arena {
  #bytes = Buffer.allocUnsafeSlow(ARENA_BYTES)
  #used = 0

  /**
   * Lets `fill` write at most `most` bytes from `start` on, and returns these bytes with their checksum; `fill` returns
   * where they end. They are valid until the arena is cleared.
   */
  write(most: number, fill: (bytes: Buffer, start: number) => number): Buffer {
    if (most > SHARED_BYTES) {
      const own = Buffer.allocUnsafeSlow(most + CHECKSUM_BYTES)
      return own.subarray(0, seal(own, 0, fill(own, 0)))
    }
    if (this.#used + most + CHECKSUM_BYTES > ARENA_BYTES) this.renew()
    const start = this.#used
    this.#used = seal(this.#bytes, start, fill(this.#bytes, start))
    return this.#bytes.subarray(start, this.#used)
  }

  text(text: string): Buffer {
    // A UTF-16 unit takes at most 3 bytes in UTF-8.
    return this.write(3 * text.length, (bytes, start) => start + bytes.write(text, start))
  }

  /** Declares that the bytes are no longer needed. */
  clear(): void {
    this.#used = 0
  }

  /** Uses a new buffer from now on, because the old one is still being read. */
  renew(): void {
    this.#bytes = Buffer.allocUnsafeSlow(ARENA_BYTES)
    this.#used = 0
  }
}

const seal = (bytes: Buffer, start: number, end: number) => bytes.writeUInt32LE(crc32(bytes.subarray(start, end)), end)

/**
 * What was written. A buffer of lmdb is longer than its `length`, and has old data behind it.
 * @throws TypeError when the value is damaged
 */
export function unsealed(value: Buffer): Buffer {
  const content = value.subarray(0, Math.max(0, value.length - CHECKSUM_BYTES))
  if (value.length >= CHECKSUM_BYTES && crc32(content) === value.readUInt32LE(content.length)) return content
  throw new TypeError('a stored value is damaged')
}
