// alarms: the clock of this process.
import type { Clock } from '../ports/clock.ts'

/** Longest delay of a Node timer, in milliseconds; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** The system time. Its timers do not keep the process alive, since a context may wait for years. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(milliseconds, callback) {
    let timer: NodeJS.Timeout
    const start = (left: number): void => {
      const next = () => (left > MAX_TIMER_MS ? start(left - MAX_TIMER_MS) : callback())
      timer = setTimeout(next, Math.min(left, MAX_TIMER_MS)).unref()
    }
    start(milliseconds)
    return () => clearTimeout(timer)
  },
}
