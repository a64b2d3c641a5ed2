// engine/pending: unclaimed events: what the rest of the engine does with them, and the offer of one to a context,
// which takes it in its own commit or not at all. `unclaimed-store.ts` describes the protocol.
import type { EventAnswer } from '../../api/events.ts'
import type { Caller } from '../../model/caller.ts'
import type { ContextId, PendingEvent } from '../../model/context.ts'
import { FluxError, unavailable } from '../../model/failure.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { Write } from '../../ports/store.ts'
import type { Deps, EngineParts } from '../contexts/deps.ts'
import { indexKeysOf, keysOfHearers } from '../record/index-keys.ts'
import { readableOf } from '../record/unreadable.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import { RowTaken, standOf, type MessageOutcome, type RowsOf } from '../turn/message.ts'
import { LookUps, type FoundEvent, type Offered } from './matching.ts'
import { homeIn, lookupRowsOf, UnclaimedStore, type UnclaimedEvent, type UnclaimedRow } from './unclaimed-store.ts'

interface UnclaimedEventsParts extends Deps {
  /** null: no other server can be there. */
  readonly beat: number | null
  readonly mailboxes: Mailboxes
  readonly given: EngineParts
}

/** An event as it is sent to all. `ttl`: milliseconds; null: it does not wait for a context. */
export interface SentToAll extends Pick<PendingEvent, 'eventId' | 'event' | 'input' | 'untyped' | 'tags'> {
  readonly caller: Pick<Caller, 'roles'>
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

/** Bytes of the input of an unclaimed event, as JSON. */
const MAX_INPUT_BYTES = 64 * 1024
/** Look-up rows of all events, for each that may be unclaimed, and at least: an event has one for each of its tags. */
const LOOKUPS_OF_EVENT = 4
const LEAST_LOOKUPS = 1000
/** Rows that are swept before an event is refused. */
const MAX_SWEPT = 500
/** Contexts that are looked at for an event that is new, or was given back. */
const MAX_CONTEXTS = 100
/** Tries to withdraw an event that contexts claim again and again. */
const MAX_TRIES = 20

/**
 * The answer to the sender of an event, which is unclaimed where it has a time to live, and reached no context.
 * @throws FluxError `tooLarge`
 */
export function unclaimedAnswer(
  { ttl, input }: Pick<SentToAll, 'ttl' | 'input'>,
  { answer, receivedAt }: Pick<EndOfBroadcast, 'answer' | 'receivedAt'>,
): EventAnswer {
  const { message, transitions, executions, pending } = answer
  if (ttl === null || transitions.length + executions.length + pending.length > 0) return answer
  if (Buffer.byteLength(JSON.stringify(input)) > MAX_INPUT_BYTES)
    throw new FluxError({
      kind: 'tooLarge',
      detail: `an event that is to be kept may have an input of ${MAX_INPUT_BYTES} bytes`,
    })
  return {
    ...answer,
    message: `${message}, kept for the first that waits for it`,
    pending: [{ contextId: null, expiresAt: receivedAt + ttl }],
  }
}

export class UnclaimedEvents {
  readonly #parts: UnclaimedEventsParts
  readonly #unclaimed: UnclaimedStore
  readonly #lookUps: LookUps

  constructor(parts: UnclaimedEventsParts) {
    this.#parts = parts
    this.#unclaimed = new UnclaimedStore(parts, parts.given.idempotency.kept)
    this.#lookUps = new LookUps({
      ...parts,
      unclaimed: this.#unclaimed,
      offer: (found, id) => this.#offer(found, id),
    })
  }

  start(): void {
    this.#lookUps.passes.within(0)
  }

  /** Offers no more events. */
  stop(): Promise<void> {
    return this.#lookUps.stop()
  }

  /** Contexts have come to wait, in a partition in which events are unclaimed. */
  onWaiting(writes: readonly Write[]): void {
    for (const { context } of writes)
      if (context.endedAt === null) void this.#lookUps.request(context.id, context.indexKeys)
  }

  /**
   * Ends a broadcast: an event with a time to live that reached no context is unclaimed from then on. Gives the answer
   * to the sender; null: another server has ended it meanwhile.
   * @throws FluxError `tooLarge`; `busy` when as many are unclaimed as may be; `unavailable`
   */
  async endBroadcast(
    { ttl, eventId, event, input, untyped, tags, caller: { roles } }: SentToAll,
    { answer, receivedAt, receipt, write }: EndOfBroadcast,
  ): Promise<EventAnswer | null> {
    const told = unclaimedAnswer({ ttl, input }, { answer, receivedAt })
    if (ttl === null || told === answer) {
      await write?.(answer, [])
      return answer
    }
    const expiresAt = receivedAt + ttl
    const added = { eventId, event, input, untyped, tags, receivedAt, expiresAt, receipt, roles, claim: null }
    await this.#requireRoom(added)
    try {
      if (!(await this.#unclaimed.add(added, write && ((rows) => write(told, rows))))) return null
    } finally {
      // It may be there also if that has failed.
      this.#lookUps.hurry()
    }
    // A context may have come to wait while it was written.
    await this.#announce(added, null)
    return told
  }

  /** Withdraws an unclaimed event; false: it isn't there any more. @throws FluxError `unavailable` */
  async withdraw(home: number, key: string, mayWithdraw: (event: UnclaimedEvent) => void): Promise<boolean> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const found = await this.#unclaimed.read(home, key)
      if (found === null) return false
      mayWithdraw(found.event)
      const free = await this.#unclaimed.unclaimed(found, true)
      const outcome = { became: 'withdrawn', at: this.#parts.clock.now() } as const
      if (free !== null && (await this.#unclaimed.end(free, outcome))) return true
    }
    throw unavailable('contexts are about to take the event')
  }

  /** Has contexts looked at that wait for the event. `but`: one that did not take it. */
  async #announce({ event, tags }: UnclaimedEvent, but: ContextId | null) {
    const { store, log } = this.#parts
    try {
      const any = keysOfHearers(event, tags).map((key) => [key])
      const { ids, rest } = await store.selectIds({ any, order: 'asc', limit: MAX_CONTEXTS })
      for (const id of ids) if (id !== but) void this.#lookUps.request(id, null)
      if (rest !== null) this.#lookUps.hurry()
    } catch (error) {
      log.debug('a pending event is offered later', { event, error })
      this.#lookUps.hurry()
    }
  }

  /** @throws FluxError `unavailable` */
  async #offer(found: FoundEvent, id: ContextId) {
    const unclaimed = this.#unclaimed
    const home = readableOf(found.row, 'lookups', this.#parts.log, homeIn)
    const read = home === null ? null : await unclaimed.read(home, found.key)
    if (read === null) return 'gone'
    const free = await unclaimed.unclaimed(read)
    const row = free && (await unclaimed.claim(free, id))
    if (row === null) return 'passed'
    let offered: Offered = 'passed'
    try {
      offered = await this.#give(row, id)
    } finally {
      await this.#conclude(row, id, offered)
    }
    return offered
  }

  /**
   * Removes what is left of an event that was taken. Else its claim is given up: made void before, since the commit may
   * still arrive. Other contexts may have passed over the event meanwhile.
   */
  async #conclude(row: UnclaimedRow, id: ContextId, offered: Offered) {
    const { event } = row
    try {
      if (event.claim !== null) {
        if (await this.#unclaimed.unclaimed(row, true)) void this.#announce(event, id)
      } else if (typeof offered !== 'string') await this.#unclaimed.clear(event)
    } catch (error) {
      this.#parts.log.debug('what an offer of a pending event leaves behind is removed later', { error })
    }
  }

  /** Sends it to the context, which writes the rows if it takes it. */
  async #give(row: UnclaimedRow, id: ContextId) {
    const { event: name, eventId, input, untyped, tags, roles } = row.event
    const message = { type: 'EVENT', name, eventId, input, untyped, tags, caller: { roles }, isHeld: true } as const
    const rows: RowsOf = (_, record, flux) => {
      const outcome = { became: 'moved', ...standOf({ record, flux }), at: record.updatedAt } as const
      return [...this.#unclaimed.taking(row), ...this.#unclaimed.outcomeRows(row.event, outcome)]
    }
    try {
      return await this.#became(row, await this.#parts.mailboxes.post(id, message, { rows }))
    } catch (error) {
      if (error instanceof RowTaken) return 'passed'
      const kind = error instanceof FluxError ? error.failure.kind : null
      // It was purged, or its mailbox is full: the next look tries again.
      if (kind === 'notFound' || kind === 'busy') return 'notWaiting'
      throw error
    }
  }

  async #became(row: UnclaimedRow, { moved, failure, record, flux }: MessageOutcome) {
    if (moved) return indexKeysOf(record, flux)
    if (failure?.kind === 'conflict') return 'notWaiting'
    if (failure?.kind !== 'invalid') return 'passed'
    const reason = `context ${record.id} can't take it: ${failure.detail}`
    if (await this.#unclaimed.end(row, { became: 'expired', at: this.#parts.clock.now(), reason })) {
      const { eventId, event } = row.event
      const { id: contextId, fluxName } = record
      this.#parts.log.info('a pending event expired', { eventId, event, contextId, fluxName, reason })
    }
    return 'passed'
  }

  /** Expired events count until they are swept, so that is done before an event is refused. */
  async #requireRoom(added: UnclaimedEvent, isSwept = false) {
    const { store, clock, given } = this.#parts
    const max = given.bounds.pending
    const lookups = (await store.countRows({ space: 'lookups' })) / store.partitions
    const maxLookups = Math.max(max * LOOKUPS_OF_EVENT, LEAST_LOOKUPS)
    const hasRoom = (await store.countRows({ space: 'held' })) < max
    if (hasRoom && lookups + lookupRowsOf(added, 0, 1).length <= maxLookups) return
    const detail = hasRoom ? 'unclaimed events have too many tags' : `${max} events are unclaimed already`
    if (isSwept) throw new FluxError({ kind: 'busy', detail, retryAfter: 1 })
    await store.sweepRows({ now: clock.now(), limit: MAX_SWEPT })
    await this.#requireRoom(added, true)
  }
}
