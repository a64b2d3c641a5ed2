// testing: a clock that stands still until a test moves it.
import type { Clock } from '../ports/clock.ts'
import { idle, type UnderWay } from './idle.ts'

interface Timer {
  readonly at: number
  readonly callback: () => void
}

export class SimulatedClock implements Clock {
  #now: number
  #timers: Timer[] = []
  /** What goes on elsewhere without the clock. */
  readonly underWay = new Set<UnderWay>()

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

  /** As `AbortSignal.timeout`. */
  lateAfter(milliseconds: number): AbortSignal {
    const late = new AbortController()
    this.after(milliseconds, () => late.abort())
    return late.signal
  }

  /** Resolves when nothing goes on by itself while the clock stands still. */
  idle(): Promise<void> {
    return idle(() => [...this.underWay].map((each) => each()).find((change) => change !== null) ?? null)
  }

  /**
   * Moves on, and fires what becomes due, in order and each at its time. What a timer sets off in this process comes to
   * its end before the next one fires; what is under way elsewhere, before this resolves.
   * @param between waits before the next timer fires
   */
  async advance(milliseconds: number, between: () => Promise<void> = idle): Promise<void> {
    const end = this.#now + milliseconds
    await this.idle()
    for (let timer = this.#timers[0]; timer !== undefined && timer.at <= end; timer = this.#timers[0]) {
      this.#timers.shift()
      this.#now = Math.max(this.#now, timer.at)
      timer.callback()
      await between()
    }
    // Another advance may have gone further.
    this.#now = Math.max(this.#now, end)
    await this.idle()
  }

  /**
   * Jumps, as a machine's clock does that is set or that slept: timers that are passed over fire late, with the next
   * `advance`.
   */
  jump(milliseconds: number): void {
    this.#now += milliseconds
  }
}
