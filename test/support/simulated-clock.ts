// A clock that stands still until a test moves it.
import type { Clock } from '../../src/ports/clock.ts'

interface Timer {
  readonly at: number
  readonly callback: () => void
}

export class SimulatedClock implements Clock {
  #now: number
  #timers: Timer[] = []

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now
  }

  /** When timers will fire, the earliest first. */
  get pending(): number[] {
    return this.#timers.map(({ at }) => at)
  }

  now(): number {
    return this.#now
  }

  after(milliseconds: number, callback: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, milliseconds), callback }
    // Behind those of the same time: they fire in the order in which they were set.
    const index = this.#timers.findIndex(({ at }) => at > timer.at)
    this.#timers.splice(index < 0 ? this.#timers.length : index, 0, timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  /**
   * Moves on, and fires what becomes due, in order and each at its time. What a timer sets off gets a turn of the event
   * loop before the next.
   */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds
    await turn()
    for (let timer = this.#timers[0]; timer !== undefined && timer.at <= end; timer = this.#timers[0]) {
      this.#timers.shift()
      this.#now = Math.max(this.#now, timer.at)
      timer.callback()
      await turn()
    }
    this.#now = end
  }

  /**
   * Jumps, as a machine's clock does that is set or that slept: timers that are passed over fire late, with the next
   * `advance`.
   */
  jump(milliseconds: number): void {
    this.#now += milliseconds
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
