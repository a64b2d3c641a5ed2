// store/lmdb: the bytes of the records that a group writes lie side by side in one buffer, which the next group uses again.

const ARENA_BYTES = 256 * 1024

export class Arena {
  #bytes = Buffer.allocUnsafeSlow(ARENA_BYTES)
  #used = 0

  /** Takes what `fill` writes from `start` on, `most` bytes at most; it gives where that ends. */
  write(most: number, fill: (bytes: Buffer, start: number) => number): Buffer {
    if (this.#used + most > this.#bytes.length) this.renew(most)
    const start = this.#used
    this.#used = fill(this.#bytes, start)
    return this.#bytes.subarray(start, this.#used)
  }

  /** What was written is needed no more. */
  clear(): void {
    this.#used = 0
    if (this.#bytes.length > ARENA_BYTES) this.renew()
  }

  /** Leaves the buffer to those who still read it. */
  renew(most = 0): void {
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(ARENA_BYTES, most))
    this.#used = 0
  }
}
