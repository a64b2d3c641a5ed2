// model: a counting semaphore. Waiting callers are admitted in order.
import { overloaded } from './failure.ts'

export interface TurnstileOptions {
  /** Callers that may wait; further ones are refused. Left out: any number. */
  readonly waiting?: number
  /** Completes the sentence "the server has too many … at present" in the refusal. */
  readonly what?: string
}

export class Turnstile {
  readonly #refusal: string
  readonly #limit: number
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(places: number, { waiting = Infinity, what = 'callers' }: TurnstileOptions = {}) {
    this.#free = places
    this.#limit = waiting
    this.#refusal = `the server has too many ${what} at present`
  }

  /** Resolves when a place is free. @throws FluxError `overloaded` when as many wait as may */
  async enter(): Promise<void> {
    if (this.#free > 0) this.#free -= 1
    else if (this.#waiting.length >= this.#limit) throw overloaded(this.#refusal)
    else
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
      })
  }

  /** The next waiting caller takes over the place. */
  leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free += 1
  }

  /** Runs it when a place is free. @throws FluxError `overloaded` when as many wait as may; what it throws */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.enter()
    try {
      return await work()
    } finally {
      this.leave()
    }
  }
}
