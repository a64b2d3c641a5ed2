// model: a counting semaphore. Waiting callers are admitted in order.
export class Turnstile {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(places: number) {
    this.#free = places
  }

  /** Resolves when a place is free. */
  async enter(): Promise<void> {
    if (this.#free > 0) this.#free -= 1
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
}
