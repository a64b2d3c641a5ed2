// model: a counting semaphore. Waiting callers are admitted in order.
import { overloaded } from './failure.ts'

export class Turnstile {
  readonly #options: { readonly waiting: number; readonly what?: string }
  readonly #waiting: (() => void)[] = []
  #free: number

  /**
   * `waiting`: callers that may wait; further ones are refused. `what` completes the sentence "the server has too many …
   * at present" in the refusal.
   */
  constructor(places: number, options: { readonly waiting: number; readonly what?: string } = { waiting: Infinity }) {
    this.#free = places
    this.#options = options
  }

  /** Runs it when a place is free. @throws FluxError `overloaded` when as many wait as may; what it throws */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const { waiting, what = 'callers' } = this.#options
    if (this.#free > 0) this.#free -= 1
    else if (this.#waiting.length >= waiting) throw overloaded(`the server has too many ${what} at present`)
    else
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
      })
    try {
      return await work()
    } finally {
      // The next one takes over the place.
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free += 1
    }
  }
}
