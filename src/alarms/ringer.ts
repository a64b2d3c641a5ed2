// alarms: looks for due contexts when it is requested, and when that was not for a while; one look at a time.
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import { throttled } from './throttled.ts'

/** Without a request, the time between two looks of a server. */
const SWEEP_MS = 5_000
/** Time until the next look after one that failed. */
const RETRY_MS = 1_000

export interface RingerOptions {
  /** Moves the contexts that are due. Gives when the next one will be. */
  ring(): Promise<number | null>
  /** Sets the alarm for that time. */
  set(due: number): void
  readonly clock: Clock
  readonly log: Log
}

export class Ringer {
  readonly #options: RingerOptions
  readonly #onFailure: (error: unknown) => void
  /** When the last look began. */
  #began = -Infinity
  #again = false
  #closed = false
  #looking: Promise<void> | null = null
  #cancel = () => {}

  constructor(options: RingerOptions) {
    this.#options = options
    this.#onFailure = throttled((error) => options.log.error('looking for due contexts failed', { error }))
  }

  /** Requests a look that begins at that time or later. @throws Error when it is closed */
  demand(time: number): void {
    if (this.#closed) throw new Error('this server is closing')
    if (this.#began >= time) return
    if (this.#looking === null) this.look()
    else this.#again = true
  }

  /** Looks at once. It must not be looking. */
  look(): void {
    this.#cancel()
    this.#looking = this.#look()
  }

  async #look(): Promise<void> {
    const { clock, ring, set } = this.#options
    this.#began = clock.now()
    this.#again = false
    let pause = RETRY_MS
    try {
      const next = await Promise.resolve().then(ring)
      if (next !== null) set(next)
      // Not all servers at once.
      pause = this.#again ? 0 : SWEEP_MS * (0.9 + Math.random() * 0.2)
    } catch (error) {
      this.#onFailure(error)
    }
    this.#looking = null
    if (!this.#closed) this.#cancel = clock.after(pause, () => this.look())
  }

  /** Looks no more, and waits for a look that runs. */
  async close(): Promise<void> {
    this.#closed = true
    this.#cancel()
    await this.#looking
  }
}
