// http: logs requests whose senders proved nothing: one line a second for each endpoint, whatever a stranger sends.
import type { Endpoint } from '../../model/webhook.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'

const WINDOW_MS = 1000

export interface Forgery {
  readonly method: string
  /** Without secrets. */
  readonly path: string
  /** Why the proof was not accepted, without secrets. */
  readonly reason: string
}

interface Window {
  /** Refused since the last line. */
  refused: number
  last: Forgery
}

export class ForgeryLog {
  readonly #log: Log
  readonly #clock: Clock
  /** Endpoints with a line in the last second. */
  readonly #windows = new Map<Endpoint, Window>()

  constructor({ log, clock }: { readonly log: Log; readonly clock: Clock }) {
    this.#log = log
    this.#clock = clock
  }

  /** Logs it at once, or, after a line of the same second, with others at the end of that second. */
  add(endpoint: Endpoint, forgery: Forgery): void {
    const window = this.#windows.get(endpoint)
    if (window) {
      window.refused += 1
      window.last = forgery
      return
    }
    this.#write(endpoint, { refused: 1, last: forgery })
  }

  #write(endpoint: Endpoint, window: Window): void {
    const { package: owner, fluxName, urlPath, verify } = endpoint
    const { refused, last } = window
    const { method, path, reason } = last
    const scheme = verify?.scheme ?? null
    const facts = { package: owner, fluxName, urlPath, scheme, method, path, reason, refused }
    this.#log.warn('a webhook was refused: its sender proved nothing', facts)
    window.refused = 0
    this.#windows.set(endpoint, window)
    this.#clock.after(WINDOW_MS, () => {
      if (window.refused === 0) this.#windows.delete(endpoint)
      else this.#write(endpoint, window)
    })
  }
}
