// model: a bound on the bytes that something may hold at once. What would pass it is refused, and may be asked for
// again, or else waits.
import { overloaded } from './failure.ts'

/** A share of a budget, which may grow and shrink. */
export interface BudgetShare {
  /**
   * Holds so many bytes in all from now on.
   * @throws FluxError `overloaded` when they don't fit; the share stays as it was
   */
  resize(bytes: number): void
  /** Gives all of it back. */
  release(): void
}

interface Waiting {
  readonly bytes: number
  readonly resolve: (release: () => void) => void
}

export class ByteBudget {
  readonly #limit: number
  readonly #what: string
  /** First come, first served. */
  readonly #waiting: Waiting[] = []
  #held = 0

  /** `what` completes the sentence "the server holds too much of …" in the refusal. */
  constructor({ bytes, what }: { readonly bytes: number; readonly what: string }) {
    this.#limit = bytes
    this.#what = what
  }

  /** Bytes held at present. */
  get held(): number {
    return this.#held
  }

  /**
   * Whether so many bytes more would fit. What alone is larger than the whole budget fits while nothing else is held:
   * else it never could.
   */
  fits(bytes: number): boolean {
    return this.#held === 0 || this.#held + bytes <= this.#limit
  }

  /**
   * Takes so many bytes until the function that it gives is called, once.
   * @throws FluxError `overloaded` when they don't fit
   */
  take(bytes: number): () => void {
    const share = this.hold()
    share.resize(bytes)
    return share.release
  }

  /** Takes so many bytes if they fit and nobody waits for room; null if not. */
  tryTake(bytes: number): (() => void) | null {
    return this.#waiting.length === 0 && this.fits(bytes) ? this.take(bytes) : null
  }

  /** Takes so many bytes as soon as they fit, after all who came earlier. */
  wait(bytes: number): Promise<() => void> {
    const release = this.tryTake(bytes)
    return release
      ? Promise.resolve(release)
      : new Promise((resolve) => {
          this.#waiting.push({ bytes, resolve })
        })
  }

  /** A share that holds nothing yet. */
  hold(): BudgetShare {
    let own = 0
    const resize = (bytes: number) => {
      const others = this.#held - own
      if (bytes > own && others > 0 && others + bytes > this.#limit)
        throw overloaded(`the server holds too much of ${this.#what} at present`)
      this.#held = others + bytes
      const shrinks = bytes < own
      own = bytes
      if (shrinks) this.#serve()
    }
    return { resize, release: () => resize(0) }
  }

  #serve(): void {
    for (let first = this.#waiting[0]; first !== undefined && this.fits(first.bytes); first = this.#waiting[0]) {
      this.#waiting.shift()
      first.resolve(this.take(first.bytes))
    }
  }
}
