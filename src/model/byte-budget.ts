// model: a bound on the bytes that something may hold at once. What would pass it is refused, and may be asked for again.
import { overloaded } from './failure.ts'

export class ByteBudget {
  readonly #limit: number
  readonly #what: string
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

  /** Whether so many bytes more would fit. What alone is larger than the whole budget fits while nothing else is held: else it never could. */
  fits(bytes: number): boolean {
    return this.#held === 0 || this.#held + bytes <= this.#limit
  }

  /**
   * Takes so many bytes until the function that it gives is called, once.
   * @throws FluxError `overloaded` when they don't fit
   */
  take(bytes: number): () => void {
    if (!this.fits(bytes)) throw overloaded(`the server holds too much of ${this.#what} at present`)
    this.#held += bytes
    let taken = bytes
    return () => {
      this.#held -= taken
      taken = 0
    }
  }
}
