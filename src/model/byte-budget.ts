// model: limits the bytes that are held at the same time. What does not fit is refused, or waits.
import { overloaded } from './failure.ts'

/** A share of a budget, which can grow and shrink. */
export interface BudgetShare {
  /**
   * Sets the size of the share.
   * @throws FluxError `overloaded` when it does not fit; the share is then unchanged
   */
  resize(bytes: number): void
  /** Releases the whole share. */
  release(): void
}

export class ByteBudget {
  readonly #limit: number
  readonly #what: string
  /** In the order of arrival. */
  readonly #waiting: { readonly bytes: number; readonly resolve: (release: () => void) => void }[] = []
  #held = 0

  /** `what` completes the sentence "the server holds too much of …" in the refusal. */
  constructor({ bytes, what }: { readonly bytes: number; readonly what: string }) {
    this.#limit = bytes
    this.#what = what
  }

  /** Number of bytes held. */
  get held(): number {
    return this.#held
  }

  /**
   * Whether so many more bytes fit. A request larger than the whole budget fits while nothing else is held, since it
   * could never be served otherwise.
   */
  fits(bytes: number): boolean {
    return this.#held === 0 || this.#held + bytes <= this.#limit
  }

  /**
   * Takes so many bytes. The returned function releases them; it must be called once.
   * @throws FluxError `overloaded` when they don't fit
   */
  take(bytes: number): () => void {
    const share = this.hold()
    share.resize(bytes)
    return share.release
  }

  /** Takes so many bytes if they fit and no caller is waiting; null otherwise. */
  tryTake(bytes: number): (() => void) | null {
    return this.#waiting.length === 0 && this.fits(bytes) ? this.take(bytes) : null
  }

  /** Takes so many bytes as soon as they fit, after all earlier callers. */
  async wait(bytes: number): Promise<() => void> {
    return (
      this.tryTake(bytes) ??
      new Promise((resolve) => {
        this.#waiting.push({ bytes, resolve })
      })
    )
  }

  /** Returns an empty share. */
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

  #serve() {
    for (let first = this.#waiting[0]; first !== undefined && this.fits(first.bytes); first = this.#waiting[0]) {
      this.#waiting.shift()
      first.resolve(this.take(first.bytes))
    }
  }
}
