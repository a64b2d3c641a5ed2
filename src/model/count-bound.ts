// model: a bound on how many of one thing there may be at once. What would pass it is refused at once, never queued.
// Where a scope is named, it has at most half of them (rounded up), so that no caller keeps out all others.
import { overloaded } from './failure.ts'

export class CountBound {
  readonly #limit: number
  readonly #what: string
  #held = 0
  /** Of those that were taken for a scope, how many each has. */
  readonly #shares = new Map<string, number>()

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

  /**
   * Counts one more until `release` is called, for the same scope.
   * @throws FluxError `overloaded` when there are as many as may be, or the scope has its half
   */
  take(scope?: string): void {
    if (this.#held >= this.#limit) throw overloaded(`the server has too many ${this.#what} at present`)
    if (scope !== undefined && (this.#shares.get(scope) ?? 0) >= this.#limit / 2)
      throw overloaded(`half of the ${this.#what} that the server may have are this caller's`)
    this.add(scope)
  }

  /** Counts one more, whether or not there are too many: it was accepted before. */
  add(scope?: string): void {
    this.#held += 1
    if (scope !== undefined) this.#shares.set(scope, (this.#shares.get(scope) ?? 0) + 1)
  }

  release(scope?: string): void {
    this.#held -= 1
    if (scope === undefined) return
    const left = (this.#shares.get(scope) ?? 0) - 1
    if (left > 0) this.#shares.set(scope, left)
    else this.#shares.delete(scope)
  }
}
