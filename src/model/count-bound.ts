// model: a bound on how many of one thing there may be at once. What would pass it is refused at once, never queued.
import { overloaded } from './failure.ts'

export class CountBound {
  readonly #limit: number
  readonly #what: string
  #held = 0

  /** `what` completes the sentence "the server has too many … at present" in the refusal. */
  constructor({ limit, what }: { readonly limit: number; readonly what: string }) {
    this.#limit = limit
    this.#what = what
  }

  /** How many there are at present. */
  get held(): number {
    return this.#held
  }

  /** Whether there are as many as may be. */
  get isFull(): boolean {
    return this.#held >= this.#limit
  }

  /** Counts one more until `release` is called. @throws FluxError `overloaded` when there are as many as may be */
  take(): void {
    if (this.#held >= this.#limit) throw overloaded(`the server has too many ${this.#what} at present`)
    this.#held += 1
  }

  /** Counts one more, whether or not there are too many: it was accepted before. */
  add(): void {
    this.#held += 1
  }

  release(): void {
    this.#held -= 1
  }
}
