// engine: how much is decided before other work of the process is served: contexts that are woken or addressed together
// are decided in several turns of the event loop.

/** Steps of work after which the event loop goes first. It is about a hundredth of a second. */
const STEPS_A_LOOP = 300_000

export class Pace {
  readonly #waiting: (() => void)[] = []
  #spent = 0
  #isResting = false

  /** Does it now, or else as soon as the event loop was served, in order. */
  run(work: () => void): void {
    if (this.#isResting) this.#waiting.push(work)
    else work()
  }

  /** So much was done. Counted over all turns of the event loop: to ask for a reset in each would cost each event. */
  spend(steps: number): void {
    this.#spent += steps
    if (this.#spent < STEPS_A_LOOP || this.#isResting) return
    this.#isResting = true
    setImmediate(() => this.#goOn())
  }

  #goOn(): void {
    this.#spent = 0
    this.#isResting = false
    while (!this.#isResting) {
      const work = this.#waiting.shift()
      if (!work) return
      work()
    }
  }
}
