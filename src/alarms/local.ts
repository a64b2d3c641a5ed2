// alarms: rings in this process, with one timer for the earliest due time. It never rings early by the clock.
import type { AlarmClock } from '../ports/alarm-clock.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'

/** After a ring that failed. */
const RETRY_MS = 1000

/** The clock may be set, or the machine sleep, while a timer runs: it looks at the clock at least so often. */
const MAX_SLEEP_MS = 60_000

export function localAlarm({ clock, log }: { readonly clock: Clock; readonly log: Log }): AlarmClock {
  let ring: (() => Promise<number | null>) | null = null
  let due = Infinity
  let cancel: (() => void) | null = null
  let ringing: Promise<void> | null = null

  const nap = (): void => {
    cancel?.()
    if (ring === null || ringing !== null || due === Infinity) return
    cancel = clock.after(Math.min(Math.max(Math.ceil(due - clock.now()), 0), MAX_SLEEP_MS), wake)
  }

  const wake = (): void => {
    if (ring === null || ringing !== null || clock.now() < due) nap()
    else ringing = look(ring)
  }

  const look = async (atDue: () => Promise<number | null>): Promise<void> => {
    // What is set from here on counts anew.
    due = Infinity
    try {
      const next = await Promise.resolve().then(atDue)
      due = Math.min(due, next ?? Infinity)
    } catch (error) {
      log.error('looking for due contexts failed', { error })
      due = Math.min(due, clock.now() + RETRY_MS)
    }
    ringing = null
    nap()
  }

  return {
    start(callback) {
      ring = callback
      // What became due while nobody rang, and when to ring next, only a look can tell.
      due = Math.min(due, clock.now())
      wake()
    },
    set(time) {
      if (time >= due) return
      due = time
      nap()
    },
    async close() {
      ring = null
      cancel?.()
      await ringing
    },
  }
}
