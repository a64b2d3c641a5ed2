// store/lmdb: what a group writes lies side by side in one buffer, which the next group uses again.

const ARENA_BYTES = 256 * 1024

/** What may take more has a buffer of its own. */
const SHARED_BYTES = 64 * 1024

export class Arena {
  #bytes = Buffer.allocUnsafeSlow(ARENA_BYTES)
  #used = 0

  /**
   * Takes what `fill` writes from `start` on, `most` bytes at most; `fill` gives where that ends.
   * The result is there until the arena is cleared.
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

  /** What was written is needed no more. */
  clear(): void {
    this.#used = 0
  }

  /** Leaves the buffer to those who still read it. */
  renew(): void {
    this.#bytes = Buffer.allocUnsafeSlow(ARENA_BYTES)
    this.#used = 0
  }
}
