// alarms: the process's clock.
import type { Clock } from '../ports/clock.ts'

/** The longest that a timer of Node's can run; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** The time of the machine. A timer alone doesn't keep the process alive: a context may wait for years. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(milliseconds, callback) {
    let timer: NodeJS.Timeout
    const start = (left: number): void => {
      const length = Math.min(left, MAX_TIMER_MS)
      timer = setTimeout(() => {
        if (left > length) start(left - length)
        else callback()
      }, length).unref()
    }
    start(milliseconds)
    return () => clearTimeout(timer)
  },
}
