// alarms: searches the store for due contexts, on request and at regular intervals; one search at a time.
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import { throttled } from './throttled.ts'

/** Time between two searches when none is requested. */
const SWEEP_MS = 5_000
/** Time until the next search after one that failed. */
const RETRY_MS = 1_000

export interface RingerOptions {
  /**
   * Dispatches the contexts that are due. Resolves to the time at which the next one will be due; null if there is
   * none.
   */
  ring(): Promise<number | null>
  /** Sets the alarm for that time, in epoch milliseconds. */
  set(due: number): void
  readonly clock: Clock
  readonly log: Log
}

export class Ringer {
  readonly #options: RingerOptions
  readonly #onFailure: (error: unknown) => void
  /** When the last search began, in epoch milliseconds. */
  #began = -Infinity
  #isRequestedAgain = false
  #closed = false
  #searching: Promise<void> | null = null
  #cancel = () => {}

  constructor(options: RingerOptions) {
    this.#options = options
    this.#onFailure = throttled((error) => options.log.error('looking for due contexts failed', { error }))
  }

  /**
   * Requests a search that begins at that time (epoch milliseconds) or later.
   * @throws Error when it is closed
   */
  demand(time: number): void {
    if (this.#closed) throw new Error('this server is closing')
    if (this.#began >= time) return
    if (this.#searching === null) this.look()
    else this.#isRequestedAgain = true
  }

  /** Starts a search. None may be running. */
  look(): void {
    this.#cancel()
    this.#searching = this.#look()
  }

  async #look(): Promise<void> {
    const { clock, ring, set } = this.#options
    this.#began = clock.now()
    this.#isRequestedAgain = false
    let pause = RETRY_MS
    try {
      const next = await Promise.resolve().then(ring)
      if (next !== null) set(next)
      // A random offset keeps servers from searching at the same time.
      pause = this.#isRequestedAgain ? 0 : SWEEP_MS * (0.9 + Math.random() * 0.2)
    } catch (error) {
      this.#onFailure(error)
    }
    this.#searching = null
    if (!this.#closed) this.#cancel = clock.after(pause, () => this.look())
  }

  /** Starts no further search, and waits for one that is running. */
  async close(): Promise<void> {
    this.#closed = true
    this.#cancel()
    await this.#searching
  }
}
