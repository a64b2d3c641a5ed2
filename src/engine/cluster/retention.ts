// engine/cluster: deletes, at regular intervals, contexts that finished longer ago than the retention time, and expired rows.
import type { Deps, EngineParts } from '../contexts/deps.ts'

/** Maximum number of contexts, or rows, deleted in one request. */
const MAX_PURGED_AT_ONCE = 500
/** Bounds of the interval between purges, which is a tenth of the retention time. */
const EVERY_MS = { min: 1_000, max: 60_000 }

export class Retention {
  readonly #parts: Deps & Pick<EngineParts, 'retention'>
  #stopped = false
  #purging: Promise<void> = Promise.resolve()
  #cancelTimer: (() => void) | null = null

  constructor(parts: Deps & Pick<EngineParts, 'retention'>) {
    this.#parts = parts
  }

  start(): void {
    this.#purging = this.#purge().then(() => this.#schedule())
  }

  /** Resolves when the purge in progress has ended. */
  stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer?.()
    return this.#purging
  }

  #schedule(): void {
    const { clock, retention } = this.#parts
    if (this.#stopped) return
    this.#cancelTimer = clock.after(Math.min(Math.max(retention / 10, EVERY_MS.min), EVERY_MS.max), () => this.start())
  }

  async #purge(): Promise<void> {
    const { store, clock, log, retention } = this.#parts
    try {
      let purged = 1
      while (purged > 0 && !this.#stopped)
        purged = await store.purge({ endedBefore: clock.now() - retention, limit: MAX_PURGED_AT_ONCE })
      let swept = 1
      while (swept > 0 && !this.#stopped) swept = await store.sweepRows({ now: clock.now(), limit: MAX_PURGED_AT_ONCE })
    } catch (error) {
      log.error('finished contexts could not be purged; trying again later', { error })
    }
  }
}
