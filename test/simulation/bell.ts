// The alarm clock of servers that share a store: any of them may hear that a context will be due, or none; and each
// looks by itself now and then.
import type { AlarmClock, Clock } from '../../src/ports/clock.ts'
import type { Scheduler } from './scheduler.ts'

/** Milliseconds without a ring after which a server looks by itself, about, and after a ring that failed. */
const SWEEP_MS = 5_000
const RETRY_MS = 1_000
/** Milliseconds: what is due later is heard of again in time. */
const HORIZON_MS = 30_000

export interface BellParts {
  readonly scheduler: Scheduler
  /** The server's own. */
  readonly clock: Clock
  /** Those that may hear it. */
  readonly servers: readonly { readonly bell: Bell }[]
  /** How often nobody does. */
  readonly unheard: () => number
}

export class Bell implements AlarmClock {
  readonly #parts: BellParts
  #ring: (() => Promise<number | null>) | null = null
  #ringing: Promise<void> | null = null
  #isWanted = false
  #callOff: (() => void) | null = null

  constructor(parts: BellParts) {
    this.#parts = parts
  }

  start(ring: () => Promise<number | null>): void {
    this.#ring = ring
    this.look()
  }

  set(due: number): void {
    const { scheduler, servers, unheard } = this.#parts
    const { now, random } = scheduler
    if (due >= now + HORIZON_MS || random.chance(unheard())) return
    scheduler.after(due - now, null, () => {
      random.pick(servers)?.bell.look()
    })
  }

  async close(): Promise<void> {
    this.#ring = null
    this.#callOff?.()
    await this.#ringing
  }

  /** Looks for due contexts, and once more if it is asked to meanwhile. */
  look(): void {
    if (this.#ring === null) return
    if (this.#ringing === null) this.#ringing = this.#look(this.#ring)
    else this.#isWanted = true
  }

  async #look(ring: () => Promise<number | null>): Promise<void> {
    const { scheduler, clock } = this.#parts
    this.#callOff?.()
    this.#isWanted = false
    let pause = RETRY_MS
    try {
      const next = await ring()
      if (next !== null) this.set(next)
      pause = this.#isWanted ? 0 : SWEEP_MS * (0.9 + scheduler.random.next() * 0.2)
    } catch {
      this.#isWanted = false
    }
    this.#ringing = null
    this.#callOff = clock.after(pause, () => this.look())
  }
}
