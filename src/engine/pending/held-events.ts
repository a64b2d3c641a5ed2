// engine/pending: events that are held for whoever comes to wait for them: what the rest of the engine does with them.
import type { ContextId } from '../../model/context.ts'
import { FluxError, unavailable } from '../../model/failure.ts'
import type { Caller } from '../../model/caller.ts'
import type { PendingEvent } from '../../model/pending.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Store, Write } from '../../ports/store.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import { keysOfHearers } from '../record/index-keys.ts'
import { lookupKeysOf, rowsOfHome, type HeldEvent } from './held-event.ts'
import { HeldStore } from './held-store.ts'
import { HeldSweep } from './held-sweep.ts'
import { LookUps } from './look-ups.ts'
import { Offers } from './offers.ts'

export interface HeldEventsParts {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly mailboxes: Pick<Mailboxes, 'post'>
  /** Milliseconds for which receipts are kept. */
  readonly kept: number
  /** Events that may be held at once. */
  readonly max: number
}

/** An event with a time to live that moved and started nobody. `receivedAt`: epoch milliseconds. */
export interface EventToHold extends Omit<PendingEvent, 'expiresAt'> {
  readonly expiresAt: number
  readonly caller: Pick<Caller, 'roles'>
}

/** Bytes of the input of a held event, as JSON. */
const MAX_INPUT_BYTES = 64 * 1024
/** Look-up rows of all held events, for each that may be held, and at least: one event has one for each of its tags. */
const LOOKUPS_OF_EVENT = 4
const LEAST_LOOKUPS = 1000
/** Contexts that are looked at for an event that was just held, or for one that was given back. */
const MAX_CONTEXTS = 100

export class HeldEvents {
  readonly #parts: HeldEventsParts
  readonly #held: HeldStore
  readonly #lookUps: LookUps
  readonly #sweep: HeldSweep
  /** Events that are being written. */
  #coming = 0
  /** Rows by which these are found. */
  #comingLookups = 0

  constructor(parts: HeldEventsParts) {
    const { store, clock, log, mailboxes } = (this.#parts = parts)
    const held = (this.#held = new HeldStore(parts))
    const onReleased = (event: HeldEvent, by: ContextId) => void this.#offer(event, by)
    const offers = new Offers({ held, mailboxes, clock, log, onReleased })
    const lookUps = (this.#lookUps = new LookUps({ store, clock, log, offers, onMissed: () => this.#sweep.hurry() }))
    this.#sweep = new HeldSweep({ store, clock, log, held, lookUps })
  }

  start(): void {
    this.#sweep.start()
  }

  /** Offers no more events. */
  async stop(): Promise<void> {
    this.#lookUps.stop()
    await this.#sweep.stop()
    await this.#lookUps.idle()
  }

  /** Contexts have come to wait, in a partition in which events are held. */
  onWaiting(writes: readonly Write[]): void {
    for (const { context } of writes) if (context.endedAt === null) this.#lookUps.request(context.id, context.indexKeys)
  }

  /**
   * Holds the event: writes it by `write`, which may write more in the same commit and returns whether it was done.
   * @throws FluxError `tooLarge`; `busy` when as many are held as may be; `unavailable`
   */
  async hold(given: EventToHold, write = (rows: readonly RowWrite[]) => this.#write(rows)): Promise<boolean> {
    if (Buffer.byteLength(JSON.stringify(given.input)) > MAX_INPUT_BYTES)
      throw new FluxError({
        kind: 'tooLarge',
        detail: `an event that is to be kept may have an input of ${MAX_INPUT_BYTES} bytes`,
      })
    const { caller, ...event } = given
    const held: HeldEvent = { ...event, roles: caller.roles, claim: null }
    const lookups = lookupKeysOf(held).length * this.#held.partitions
    this.#coming += 1
    this.#comingLookups += lookups
    try {
      await this.#requireRoom()
      // Before the event itself: whoever finds that can rely on the others.
      await this.#held.spread(held)
      const isHeld = await write(rowsOfHome(held, this.#held.partitions))
      if (!isHeld) await this.#held.gather(held)
      // Somebody may have come to wait while it was written.
      else await this.#offer(held, null)
      return isHeld
    } finally {
      this.#coming -= 1
      this.#comingLookups -= lookups
    }
  }

  /** Withdraws a held event; false: nobody holds it any more. @throws FluxError `unavailable` */
  async withdraw(home: number, key: string, mayWithdraw: (event: HeldEvent) => void): Promise<boolean> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const found = await this.#held.read(home, key)
      if (found === null) return false
      mayWithdraw(found.event)
      const free = await this.#held.unclaimed(found, true)
      if (free === 'taken') return false
      if (free !== null && (await this.#held.end(free, { became: 'withdrawn', at: this.#parts.clock.now() })))
        return true
    }
    throw unavailable('others are about to take the event')
  }

  /** Whether the event is in the list still, though a context has taken it: what is left of it is about to go. */
  async isTaken(home: number, key: string): Promise<boolean> {
    const found = await this.#held.read(home, key)
    return found === null || (await this.#held.isTaken(found))
  }

  /** Has those looked at who wait for the event. `but`: one who did not take it. */
  async #offer({ event, tags }: HeldEvent, but: ContextId | null): Promise<void> {
    const { store, log } = this.#parts
    try {
      const any = keysOfHearers(event, tags)
      const ids = await store.waitingFor({ any, upTo: await store.highestId(), limit: MAX_CONTEXTS })
      for (const id of ids) if (id !== but) this.#lookUps.request(id, null)
      if (ids.length === MAX_CONTEXTS) this.#sweep.hurry()
    } catch (error) {
      log.debug('a pending event is offered later', { event, error })
      this.#sweep.hurry()
    }
  }

  async #write(rows: readonly RowWrite[]): Promise<boolean> {
    const { ok } = await this.#parts.store.commit({ writes: [], rows })
    return ok
  }

  /** Expired events count until they are swept, so that is done before an event is refused. */
  async #requireRoom(): Promise<void> {
    const { store, clock, max } = this.#parts
    const maxLookups = Math.max(max * LOOKUPS_OF_EVENT, LEAST_LOOKUPS) * store.partitions
    const hasRoom = async () => {
      const [held, lookups] = await Promise.all([
        store.countRows({ space: 'held' }),
        store.countRows({ space: 'lookups' }),
      ])
      return { forEvent: held + this.#coming <= max, forLookups: lookups + this.#comingLookups <= maxLookups }
    }
    let room = await hasRoom()
    if (room.forEvent && room.forLookups) return
    await store.sweepRows({ now: clock.now(), limit: MAX_SWEPT })
    room = await hasRoom()
    if (room.forEvent && room.forLookups) return
    if (room.forEvent)
      throw new FluxError({ kind: 'busy', detail: 'events that wait for somebody have too many tags', retryAfter: 1 })
    throw new FluxError({ kind: 'busy', detail: `${max} events wait for somebody already`, retryAfter: 1 })
  }
}

/** Tries to withdraw an event that others claim again and again. */
const MAX_TRIES = 20
/** Rows that are swept before an event is refused. */
const MAX_SWEPT = 500
