// model: a bound on how many of one thing there may be at once. What would pass it is refused at once, never queued.
// Where a scope is named, it has at most half of them (rounded up), so that no caller keeps out all others.
import { overloaded } from './failure.ts'

export class CountBound {
  readonly #limit: number
  readonly #what: string
  /** The scope of each that was taken. */
  readonly #scopes: (string | undefined)[] = []

  /** `what` completes the sentence "the server has too many … at present" in the refusal. */
  constructor({ limit, what }: { readonly limit: number; readonly what: string }) {
    this.#limit = limit
    this.#what = what
  }

  /** Whether there are as many as may be. */
  get isFull(): boolean {
    return this.#scopes.length >= this.#limit
  }

  /**
   * Counts one more until `release` is called, for the same scope.
   * @throws FluxError `overloaded` when there are as many as may be, or the scope has its half
   */
  take(scope?: string): void {
    if (this.isFull) throw overloaded(`the server has too many ${this.#what} at present`)
    if (scope !== undefined && this.#scopes.filter((one) => one === scope).length >= this.#limit / 2)
      throw overloaded(`half of the ${this.#what} that the server may have are this caller's`)
    this.add(scope)
  }

  /** Counts one more, whether or not there are too many: it was accepted before. */
  add(scope?: string): void {
    this.#scopes.push(scope)
  }

  release(scope?: string): void {
    this.#scopes.splice(this.#scopes.lastIndexOf(scope), 1)
  }
}
