// engine/turn: limits how much is decided before the event loop serves other work. Contexts that are woken or addressed
// together are decided in several turns of the event loop.

/** Steps of work after which the event loop is served, about 10 ms. */
const STEPS_A_LOOP = 300_000

export class Pace {
  readonly #waiting: (() => void)[] = []
  #spent = 0
  #isResting = false

  /** Runs the work now, or, if the limit is reached, after the event loop was served. The order is kept. */
  run(work: () => void): void {
    if (this.#isResting) this.#waiting.push(work)
    else work()
  }

  /**
   * Adds to the steps of work done. The sum is not reset in each turn of the event loop, because that would cost each
   * event.
   */
  spend(steps: number): void {
    this.#spent += steps
    if (this.#spent < STEPS_A_LOOP || this.#isResting) return
    this.#isResting = true
    setImmediate(() => this.#resume())
  }

  #resume(): void {
    this.#spent = 0
    this.#isResting = false
    while (!this.#isResting) {
      const work = this.#waiting.shift()
      if (!work) return
      work()
    }
  }
}
