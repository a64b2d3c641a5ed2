// access: how many calls a token may make, and the like. A bucket holds one window's worth of calls and is refilled steadily; each
// server has its own.
import type { Quota } from '../model/caller.ts'
import { FluxError } from '../model/failure.ts'

export interface Rate {
  /** Calls in `window` seconds. */
  readonly limit: number
  readonly window: number
}

const WINDOW_SECONDS: { readonly [unit: string]: number } = { s: 1, m: 60 }

/** What `rateOf` reads, in words. */
export const RATE_FORM = 'a number of calls from 1 to 1000000 in a second or minute, such as 500/s or 30/m'

/** null: the text is no rate. */
export function rateOf(text: string): Rate | null {
  const [, number = '', unit = ''] = /^([1-9]\d{0,6})\/([sm])$/.exec(text) ?? []
  const window = WINDOW_SECONDS[unit]
  return window === undefined || Number(number) > 1_000_000 ? null : { limit: Number(number), window }
}

export class TokenBucket implements Quota {
  readonly #limit: number
  readonly #window: number
  readonly #now: () => number
  readonly #detail: string
  #left: number
  /** When it was refilled, epoch milliseconds. */
  #at: number

  /** `now` gives epoch milliseconds. `detail`: why nothing is left, if it is not of the calls of a token. */
  constructor({ limit, window }: Rate, now: () => number, detail?: string) {
    this.#limit = limit
    this.#window = window
    this.#now = now
    this.#detail = detail ?? `this token may make ${limit} calls in ${window === 1 ? 'a second' : 'a minute'}`
    this.#left = limit
    this.#at = now()
  }

  take(calls: number) {
    this.#refill()
    // More than it ever holds is taken when it is full, and paid back afterwards.
    const needed = Math.min(calls, this.#limit)
    if (this.#left < needed)
      throw new FluxError({
        kind: 'rateLimited',
        detail: this.#detail,
        retryAfter: this.#secondsUntil(needed),
      })
    this.#left -= calls
  }

  state() {
    this.#refill()
    const remaining = Math.max(0, Math.floor(this.#left))
    const reset = this.#left >= this.#limit ? 0 : this.#secondsUntil(remaining + 1)
    return { remaining, reset, limit: this.#limit, window: this.#window }
  }

  /** A clock that is set back gives nothing. */
  #refill() {
    const now = this.#now()
    const passed = Math.max(0, now - this.#at)
    this.#at = now
    this.#left = Math.min(this.#limit, this.#left + (passed / 1000) * (this.#limit / this.#window))
  }

  #secondsUntil(calls: number) {
    return Math.max(1, Math.ceil(((calls - this.#left) * this.#window) / this.#limit))
  }
}
