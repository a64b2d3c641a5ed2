// alarms: an alarm clock in this process, with one timer for the earliest due time. By the clock, it never fires early.
import type { AlarmClock, Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'

/** Time until the next search after one that failed. */
const RETRY_MS = 1000

/**
 * Longest delay of one timer. The clock may be changed, or the machine may be suspended, while a timer runs, so the
 * clock is read at least this often.
 */
const MAX_SLEEP_MS = 60_000

export interface LocalAlarmOptions {
  readonly clock: Clock
  readonly log: Log
  /** Longest delay of one timer, milliseconds: one that is never set needs no bound. */
  readonly maxSleepMs?: number
}

export function localAlarm({ clock, log, maxSleepMs = MAX_SLEEP_MS }: LocalAlarmOptions): AlarmClock {
  let ring: (() => Promise<number | null>) | null = null
  let due = Infinity
  let cancel: (() => void) | null = null
  let searching: Promise<void> | null = null

  const schedule = (): void => {
    cancel?.()
    if (ring === null || searching !== null || due === Infinity) return
    cancel = clock.after(Math.min(Math.max(Math.ceil(due - clock.now()), 0), maxSleepMs), onTimer)
  }

  const onTimer = (): void => {
    if (ring === null || searching !== null || clock.now() < due) schedule()
    else searching = search(ring)
  }

  const search = async (atDue: () => Promise<number | null>): Promise<void> => {
    // Due times that are set from here on are not covered by this search.
    due = Infinity
    try {
      const next = await Promise.resolve().then(atDue)
      due = Math.min(due, next ?? Infinity)
    } catch (error) {
      log.error('looking for due contexts failed', { error })
      due = Math.min(due, clock.now() + RETRY_MS)
    }
    searching = null
    schedule()
  }

  return {
    start(callback) {
      ring = callback
      // Only a search shows what became due before the start, and when the next context is due.
      due = Math.min(due, clock.now())
      onTimer()
    },
    set(time) {
      if (time >= due) return
      due = time
      schedule()
    },
    async close() {
      ring = null
      cancel?.()
      await searching
    },
  }
}
