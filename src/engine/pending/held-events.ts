// engine/pending: events that are held for whoever comes to wait for them: what the rest of the engine does with them.
import type { EventAnswer } from '../../api/events.ts'
import type { Caller } from '../../model/caller.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError, unavailable } from '../../model/failure.ts'
import type { PendingEvent } from '../../model/pending.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { Write } from '../../ports/store.ts'
import type { Deps } from '../contexts/deps.ts'
import { keysOfHearers } from '../record/index-keys.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import { homeOf, lookupKeysOf, rowsOf, type HeldEvent } from './held-event.ts'
import { HeldStore } from './held-store.ts'
import { HeldSweep } from './held-sweep.ts'
import { LookUps } from './look-ups.ts'
import { Offers } from './offers.ts'

export interface HeldEventsParts extends Deps {
  readonly mailboxes: Pick<Mailboxes, 'post'>
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
/** Rows that are swept before an event is refused. */
const MAX_SWEPT = 500
/** Contexts that are looked at for an event that was just held, or for one that was given back. */
const MAX_CONTEXTS = 100
/** Tries to withdraw an event that others claim again and again. */
const MAX_TRIES = 20

export class HeldEvents {
  readonly #deps: Deps
  readonly #held: HeldStore
  readonly #lookUps: LookUps
  readonly #sweep: HeldSweep
  /** How many may be held at once. */
  readonly #max: number
  /** Events that are being written, and the rows by which these are found. */
  readonly #coming = { events: 0, lookups: 0 }

  /** `receiptsMs`: milliseconds for which receipts are kept; `max`: events that may be held at once. */
  constructor(parts: HeldEventsParts, { receiptsMs, max }: { readonly receiptsMs: number; readonly max: number }) {
    const { store, clock, log, mailboxes } = parts
    const deps = { store, clock, log }
    this.#deps = deps
    this.#max = max
    const held = (this.#held = new HeldStore(deps, receiptsMs))
    const onReleased = (event: HeldEvent, by: ContextId) => void this.#offer(event, by)
    const offers = new Offers({ ...deps, mailboxes, held, onReleased })
    const lookUps = (this.#lookUps = new LookUps({ ...deps, offers, onMissed: () => this.#sweep.hurry() }))
    this.#sweep = new HeldSweep({ ...deps, held, lookUps })
  }

  start(): void {
    this.#sweep.start()
  }

  /** Offers no more events. */
  async stop(): Promise<void> {
    await Promise.all([this.#lookUps.stop(), this.#sweep.stop()])
  }

  /** Contexts have come to wait, in a partition in which events are held. */
  onWaiting(writes: readonly Write[]): void {
    for (const { context } of writes)
      if (context.endedAt === null) void this.#lookUps.request(context.id, context.indexKeys)
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
    const { partitions } = this.#held
    const lookups = lookupKeysOf(held).length * partitions
    this.#coming.events += 1
    this.#coming.lookups += lookups
    try {
      await this.#requireRoom()
      // Before the event itself: whoever finds that can rely on the others.
      await this.#held.spread(held)
      const isHeld = await write(rowsOf(held, homeOf(held, partitions), partitions))
      if (!isHeld) await this.#held.gather(held)
      // Somebody may have come to wait while it was written.
      else await this.#offer(held, null)
      return isHeld
    } finally {
      this.#coming.events -= 1
      this.#coming.lookups -= lookups
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
      const outcome = { became: 'withdrawn', at: this.#deps.clock.now() } as const
      if (free !== null && (await this.#held.end(free, outcome))) return true
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
    const { store, log } = this.#deps
    try {
      const any = keysOfHearers(event, tags)
      const ids = await store.waitingFor({ any, upTo: await store.highestId(), limit: MAX_CONTEXTS })
      for (const id of ids) if (id !== but) void this.#lookUps.request(id, null)
      if (ids.length === MAX_CONTEXTS) this.#sweep.hurry()
    } catch (error) {
      log.debug('a pending event is offered later', { event, error })
      this.#sweep.hurry()
    }
  }

  async #write(rows: readonly RowWrite[]): Promise<boolean> {
    const { ok } = await this.#deps.store.commit({ writes: [], rows })
    return ok
  }

  /** Expired events count until they are swept, so that is done before an event is refused. */
  async #requireRoom(): Promise<void> {
    const { store, clock } = this.#deps
    if ((await this.#excess()) === null) return
    await store.sweepRows({ now: clock.now(), limit: MAX_SWEPT })
    const detail = await this.#excess()
    if (detail !== null) throw new FluxError({ kind: 'busy', detail, retryAfter: 1 })
  }

  /** What there is too much of; null: nothing. */
  async #excess(): Promise<string | null> {
    const { store } = this.#deps
    const [max, coming] = [this.#max, this.#coming]
    const [events, lookups] = await Promise.all([
      store.countRows({ space: 'held' }),
      store.countRows({ space: 'lookups' }),
    ])
    if (events + coming.events > max) return `${max} events wait for somebody already`
    const maxLookups = Math.max(max * LOOKUPS_OF_EVENT, LEAST_LOOKUPS) * store.partitions
    return lookups + coming.lookups > maxLookups ? 'events that wait for somebody have too many tags' : null
  }
}

/** `ttl`: milliseconds; null: it is not held. */
export interface SentToAll extends Pick<EventToHold, 'eventId' | 'event' | 'input' | 'untyped' | 'tags' | 'caller'> {
  readonly ttl: number | null
}

export interface EndOfBroadcast {
  readonly answer: EventAnswer
  /** Epoch milliseconds. */
  readonly receivedAt: number
  /** Key of the row of its receipt; null: it has none. */
  readonly receipt: string | null
  /** Writes the answer, with rows in the same commit; false: that was refused. Left out: only the rows are written. */
  readonly write?: (answer: EventAnswer, rows: readonly RowWrite[]) => Promise<boolean>
}

/**
 * Ends a broadcast: an event with a time to live that reached nobody is held. Gives the answer to the sender; null: it
 * was to be held, and another server has ended it meanwhile. @throws FluxError as `HeldEvents.hold`
 */
export async function endBroadcast(
  heldEvents: Pick<HeldEvents, 'hold'>,
  { ttl, eventId, event, input, untyped, tags, caller }: SentToAll,
  { answer, receivedAt, receipt, write }: EndOfBroadcast,
): Promise<EventAnswer | null> {
  const { transitions, executions, pending } = answer
  if (ttl === null || transitions.length + executions.length + pending.length > 0) {
    await write?.(answer, [])
    return answer
  }
  const expiresAt = receivedAt + ttl
  const told: EventAnswer = {
    ...answer,
    message: `${answer.message}, kept for the first that waits for it`,
    pending: [{ contextId: null, expiresAt }],
  }
  const toHold = { eventId, event, input, untyped, tags, receivedAt, expiresAt, receipt, caller }
  return (await heldEvents.hold(toHold, write && ((rows) => write(told, rows)))) ? told : null
}
