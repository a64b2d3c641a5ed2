// engine: logs events and webhooks that are refused. The number of lines is bounded, however many are refused.
import type { Failure } from '../model/failure.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'

/** Lines for one reason, and milliseconds in which there are no more. */
const MOST_LINES = 10
const WINDOW_MS = 1000

/** Statuses 409, 422 and 429: refusals of events by id whose cause an operator may have to find. */
const LOGGED: ReadonlySet<Failure['kind']> = new Set(['conflict', 'invalid', 'busy'])

/** Whether it is logged. */
export const isLogged = ({ kind }: Failure): boolean => LOGGED.has(kind)

interface Window {
  lines: number
  leftOut: number
}

export class RefusalLog {
  readonly #log: Log
  readonly #clock: Clock
  /** By reason, for as long as its time runs. */
  readonly #windows = new Map<string, Window>()

  constructor({ log, clock }: { readonly log: Log; readonly clock: Clock }) {
    this.#log = log
    this.#clock = clock
  }

  /**
   * At most 10 lines a second for each reason; how many were left out is logged when the second is over.
   * @param kind the reason, of which there are few
   * @param fields what the line says; only worked out for one that is written
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
