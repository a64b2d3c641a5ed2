// store/lmdb: a buffer for the bytes that a group of commits writes; the next group uses it again.

const ARENA_BYTES = 256 * 1024

/** A value that may take more bytes gets a buffer of its own. */
const SHARED_BYTES = 64 * 1024

export class Arena {
  #bytes = Buffer.allocUnsafeSlow(ARENA_BYTES)
  #used = 0

  /**
   * Lets `fill` write at most `most` bytes from `start` on, and returns these bytes; `fill` returns where they end.
   * They are valid until the arena is cleared.
   */
  write(most: number, fill: (bytes: Buffer, start: number) => number): Buffer {
    if (most > SHARED_BYTES) {
      const own = Buffer.allocUnsafeSlow(most)
      return own.subarray(0, fill(own, 0))
    }
    if (this.#used + most > ARENA_BYTES) this.renew()
    const start = this.#used
    this.#used = fill(this.#bytes, start)
    return this.#bytes.subarray(start, this.#used)
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
