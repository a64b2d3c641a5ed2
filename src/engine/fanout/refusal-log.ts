// engine/fanout: logs refused events and webhooks. The number of lines per second is bounded.
import type { Failure } from '../../model/failure.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'

/** Maximum number of lines for one reason, and the milliseconds to which it applies. */
const MOST_LINES = 10
const WINDOW_MS = 1000

/** Statuses 409, 422 and 429: refusals of events by id whose cause an operator may have to find. */
const LOGGED: ReadonlySet<Failure['kind']> = new Set(['conflict', 'invalid', 'busy'])

/** Whether the refusal of an event by id with this failure is logged. */
export const isLogged = ({ kind }: Failure): boolean => LOGGED.has(kind)

interface Window {
  lines: number
  leftOut: number
}

export class RefusalLog {
  readonly #log: Log
  readonly #clock: Clock
  /** Open windows, by message and reason. */
  readonly #windows = new Map<string, Window>()

  constructor({ log, clock }: { readonly log: Log; readonly clock: Clock }) {
    this.#log = log
    this.#clock = clock
  }

  /**
   * Logs at most 10 lines a second for each reason. At the end of the second, the number of omitted lines is logged.
   * @param kind the reason, one of a small set
   * @param fields computes the fields; called only for a line that is written
   */
  async log(
    message: string,
    kind: string,
    fields: () => object | Promise<object>,
    level: 'info' | 'error' = 'info',
  ): Promise<void> {
    const key = `${message}: ${kind}`
    const window = this.#windows.get(key) ?? this.#open(key, { message, kind, level })
    if (window.lines >= MOST_LINES) {
      window.leftOut += 1
      return
    }
    window.lines += 1
    try {
      this.#log[level](message, await fields())
    } catch (error) {
      this.#log[level](message, { reason: kind, error })
    }
  }

  #open(key: string, { message, kind, level }: { message: string; kind: string; level: 'info' | 'error' }): Window {
    const window: Window = { lines: 0, leftOut: 0 }
    this.#windows.set(key, window)
    this.#clock.after(WINDOW_MS, () => {
      this.#windows.delete(key)
      if (window.leftOut > 0)
        this.#log[level](`${message}, and others like it`, { reason: kind, leftOut: window.leftOut })
    })
    return window
  }
}
