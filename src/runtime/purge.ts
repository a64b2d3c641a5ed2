// runtime: deletes contexts that have been finished for long enough, again and again.
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { Store } from '../ports/store.ts'

export interface PurgeParts {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds for which finished contexts stay readable. */
  readonly retention: number
  readonly ended: AbortSignal
}

/** Contexts deleted at once. */
const LIMIT = 500
/** Milliseconds between purges: a tenth of the retention, within these bounds. */
const EVERY_MS = { min: 1_000, max: 60_000 }

export async function purge(parts: PurgeParts): Promise<void> {
  const { store, clock, log, retention, ended } = parts
  try {
    let purged = 1
    while (purged > 0 && !ended.aborted) purged = await store.purge({ endedBefore: clock.now() - retention, limit: LIMIT })
  } catch (error) {
    log.error('finished contexts could not be purged; trying again later', { error })
  }
  if (ended.aborted) return
  const callOff = clock.after(Math.min(Math.max(retention / 10, EVERY_MS.min), EVERY_MS.max), () => {
    ended.removeEventListener('abort', callOff)
    void purge(parts)
  })
  ended.addEventListener('abort', callOff, { once: true })
}
