// engine: lets in so many at a time; the others wait, in order.
export class Turnstile {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(places: number) {
    this.#free = places
  }

  /** Resolves at once, or when a place is free. */
  async enter(): Promise<void> {
    if (this.#free > 0) this.#free -= 1
    else
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
      })
  }

  /** Whoever waits takes the place over. */
  leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free += 1
  }
}
