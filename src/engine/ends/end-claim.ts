// engine/ends: the right of this server to send a webhook that is owed. Where other servers may be there, it is a row
// whose time is renewed: when this server dies, the webhook becomes due for others by itself.
import type { RowWrite } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { dueAt, isStillDue, rowsOfEnd, rowsOfMove, type DueWebhook } from './end-rows.ts'

export interface EndClaimParts {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds between heartbeats; null: no other server can be there, so nothing needs to be claimed. */
  readonly beat: number | null
}

/** Heartbeats for which a claim is left to a server that says nothing, and after which it is renewed. */
const CLAIM_BEATS = { held: 6, renewed: 2 }
/** Pauses before a commit is tried again: the first one, doubled each time up to `most`. */
const PAUSE_MS = { first: 500, most: 10_000 }

export class EndClaim {
  readonly #parts: EndClaimParts
  #row: DueWebhook
  #renewing: Promise<void> = Promise.resolve()
  #callOff: (() => void) | null = null
  #isResting = false

  private constructor(parts: EndClaimParts, row: DueWebhook) {
    this.#parts = parts
    this.#row = row
    this.#keep()
  }

  /** Null: it is not due any more, or another server was faster. @throws FluxError `unavailable` */
  static async take(parts: EndClaimParts, row: DueWebhook): Promise<EndClaim | null> {
    const { store, clock, beat } = parts
    if (beat === null) return isStillDue(row, await store.readRow(dueAt(row))) ? new EndClaim(parts, row) : null
    const claimed = { ...row, due: claimedUntil(clock, beat) }
    const { ok } = await store.commit({ writes: [], rows: rowsOfMove(row, claimed) })
    return ok ? new EndClaim(parts, claimed) : null
  }

  /** It is owed no more. */
  end(signal: AbortSignal): Promise<void> {
    return this.#settle(rowsOfEnd, signal)
  }

  /** The next attempt is due then. */
  putOff({ due, attempts }: Pick<DueWebhook, 'due' | 'attempts'>, signal: AbortSignal): Promise<void> {
    return this.#settle((row) => rowsOfMove(row, { ...row, due, attempts }), signal)
  }

  /** Leaves it to whoever comes next. @throws FluxError `unavailable` */
  async release(): Promise<void> {
    const { store, clock, beat } = this.#parts
    await this.#rest()
    if (beat === null) return
    await store.commit({ writes: [], rows: rowsOfMove(this.#row, { ...this.#row, due: Math.ceil(clock.now()) }) })
  }

  /**
   * Tries until it is done, or the signal aborts: the webhook would be sent again if it were not. A guard that fails
   * says that another server has taken it for abandoned.
   */
  async #settle(rowsFor: (row: DueWebhook) => RowWrite[], signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#parts
    await this.#rest()
    const rows = rowsFor(this.#row)
    for (let pause = PAUSE_MS.first; ; pause = Math.min(pause * 2, PAUSE_MS.most)) {
      try {
        await store.commit({ writes: [], rows })
        return
      } catch (error) {
        if (signal.aborted) throw error
        log.error('what became of a webhook at the end of a context could not be stored; trying again', {
          contextId: this.#row.contextId,
          error,
        })
        await pauseUntil(clock, pause, signal)
      }
    }
  }

  #keep(): void {
    const { clock, beat } = this.#parts
    if (beat === null) return
    this.#callOff = clock.after(beat * CLAIM_BEATS.renewed, () => {
      this.#renewing = this.#renew(beat)
    })
  }

  async #renew(beat: number): Promise<void> {
    const { store, clock, log } = this.#parts
    const renewed = { ...this.#row, due: claimedUntil(clock, beat) }
    this.#callOff = null
    try {
      const { ok } = await store.commit({ writes: [], rows: rowsOfMove(this.#row, renewed) })
      if (!ok) return
      this.#row = renewed
    } catch (error) {
      log.debug('the claim of a webhook could not be renewed', { contextId: this.#row.contextId, error })
    }
    if (!this.#isResting) this.#keep()
  }

  /** Renews it no more. */
  #rest(): Promise<void> {
    this.#isResting = true
    this.#callOff?.()
    return this.#renewing
  }
}

const claimedUntil = (clock: Clock, beat: number): number => Math.ceil(clock.now() + beat * CLAIM_BEATS.held)

/** Resolves after that time, or when the signal aborts. */
export function pauseUntil(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = () => {
      callOff()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const callOff = clock.after(milliseconds, done)
    signal.addEventListener('abort', done, { once: true })
  })
}
