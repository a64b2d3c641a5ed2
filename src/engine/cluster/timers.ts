// engine/cluster: wakes contexts that are due. The store knows which ones; the alarm clock only determines when it is queried.
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import type { Deps, EngineParts } from '../contexts/deps.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import type { Redelivery } from './redelivery.ts'
import { isUnreadable } from '../record/unreadable.ts'

/**
 * Maximum number of due contexts in one claim, and the milliseconds for which a claim hides them from other servers.
 */
const CLAIM = { limit: 256, hideForMs: 10_000 }
/** Milliseconds until a failed notification of a parent is repeated. */
const NOTIFY_AGAIN_MS = 1_000

export interface TimersParts extends Deps, Pick<EngineParts, 'alarm'> {
  readonly mailboxes: Pick<Mailboxes, 'post'>
  readonly redelivery: Pick<Redelivery, 'deliver'>
}

export class Timers {
  readonly #parts: TimersParts
  /** Contexts whose wake-up is in progress. */
  readonly #waking = new Set<ContextId>()
  #onRoom: (() => void) | null = null

  constructor(parts: TimersParts) {
    this.#parts = parts
  }

  /**
   * Wakes all contexts that are due now. Resolves with the time at which to query the store again, epoch milliseconds,
   * or null. The last wake-ups may still be in progress then.
   */
  async dispatchDue(): Promise<number | null> {
    const { store, clock } = this.#parts
    for (;;) {
      // A few slow wake-ups do not delay the others.
      if (this.#waking.size > CLAIM.limit / 2)
        await new Promise<void>((resolve) => {
          this.#onRoom = resolve
        })
      const limit = CLAIM.limit - this.#waking.size
      const { ids, next } = await store.claimDue({ now: clock.now(), limit, hideFor: CLAIM.hideForMs })
      if (ids.length === 0) return next
      for (const id of ids) void this.#wake(id)
    }
  }

  /**
   * Notifies a parent that a relative has ended. It is a hint: the store keeps the notification until the parent
   * answers it.
   */
  notifyParent(id: ContextId): void {
    const { mailboxes, alarm, clock, log } = this.#parts
    mailboxes.post(id, { type: 'WAKE' }).catch((error: unknown) => {
      log.warn('a parent could not be notified of an end; it will be notified again', { contextId: id, error })
      alarm.set(clock.now() + NOTIFY_AGAIN_MS)
    })
  }

  async #wake(id: ContextId): Promise<void> {
    const { mailboxes, redelivery, log } = this.#parts
    // Its claim has expired, but its wake-up is still in progress.
    if (this.#waking.has(id)) return
    this.#waking.add(id)
    try {
      await mailboxes.post(id, { type: 'WAKE' })
    } catch (error) {
      // The store returns it again when its claim has expired.
      if (error instanceof FluxError) {
        if (!isUnreadable(error, log)) log.error('a context could not be woken', { contextId: id, error })
      } else await redelivery.deliver(id, { type: 'WAKE' })
    }
    this.#waking.delete(id)
    if (this.#waking.size <= CLAIM.limit / 2) this.#onRoom?.()
  }
}
