// engine: wakes contexts that are due. The store knows which; the alarm clock only says when to look.
import type { ContextId } from '../model/context.ts'
import { FluxError } from '../model/failure.ts'
import type { AlarmClock } from '../ports/alarm-clock.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { Store } from '../ports/store.ts'
import type { Mailboxes } from './mailboxes.ts'
import type { Redelivery } from './redelivery.ts'
import { isUnreadable } from './record/unreadable.ts'

/** Due contexts claimed at once, and for how long a claim keeps others away. */
const CLAIM = { limit: 256, hideForMs: 10_000 }
/** Milliseconds until a parent that could not be notified of an end is notified again. */
const NOTIFY_AGAIN_MS = 1_000

export interface TimersParts {
  readonly store: Store
  readonly mailboxes: Pick<Mailboxes, 'post'>
  readonly redelivery: Pick<Redelivery, 'deliver'>
  readonly alarm: AlarmClock
  readonly clock: Clock
  readonly log: Log
}

export class Timers {
  readonly #parts: TimersParts
  /** Wake-ups under way. */
  readonly #waking = new Set<ContextId>()
  #onRoom: (() => void) | null = null

  constructor(parts: TimersParts) {
    this.#parts = parts
  }

  /**
   * Wakes all that is due now. Gives when the next one will be, epoch milliseconds; the last wake-ups may still be
   * under way then.
   */
  async dispatchDue(): Promise<number | null> {
    const { store, clock } = this.#parts
    for (;;) {
      // Some that take long don't hold up the others.
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

  /** Tells a parent that a relative has ended. A hint only: the store keeps the notification until it is answered. */
  notifyParent(id: ContextId): void {
    const { mailboxes, alarm, clock, log } = this.#parts
    mailboxes.post(id, { type: 'WAKE' }).catch((error: unknown) => {
      log.warn('a parent could not be told of an end; it will be again', { contextId: id, error })
      alarm.set(clock.now() + NOTIFY_AGAIN_MS)
    })
  }

  async #wake(id: ContextId): Promise<void> {
    const { mailboxes, redelivery, log } = this.#parts
    // Its claim is over, and it is still under way.
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
