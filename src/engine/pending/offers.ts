// engine/pending: offers an event that is held for nobody to one context, which takes it in its own commit or not at all.
// In the partition in which the event is held, that commit removes it. In others, a claim keeps the rest away meanwhile.
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import type { RowWrite, StoredRow } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import { RowTaken, standOf, type MessageOutcome, type RowsOf } from '../turn/message.ts'
import { indexKeysOf } from '../record/index-keys.ts'
import { isUnreadableRow } from '../record/unreadable.ts'
import { homeOf, lookupOf, removalOfHome, takenBy, tokenKeyOf, type HeldEvent, type HeldRow } from './held-event.ts'
import type { HeldStore } from './held-store.ts'

export interface OffersParts {
  readonly held: HeldStore
  readonly mailboxes: Pick<Mailboxes, 'post'>
  readonly clock: Clock
  readonly log: Log
  /** A claim was given up, so others may have passed over the event that wait for it. */
  readonly onReleased: (event: HeldEvent, by: ContextId) => void
}

/** A look-up row, and the key of the event that it leads to. */
export interface FoundLookup {
  readonly row: StoredRow
  readonly heldKey: string
}

export type Offered =
  /** The context took it. `indexKeys`: of the context as it is now. */
  | { readonly kind: 'taken'; readonly indexKeys: readonly string[] }
  /** Nobody can take it any more. `held`: false: nothing is left of it but this row. */
  | { readonly kind: 'gone'; readonly isLeftOver: boolean }
  /** Others are at it, or it is not for this context. */
  | { readonly kind: 'passed' }
  /** The context does not wait for it any more. */
  | { readonly kind: 'notWaiting' }

const GONE: Offered = { kind: 'gone', isLeftOver: false }
const LEFT_OVER: Offered = { kind: 'gone', isLeftOver: true }
const PASSED: Offered = { kind: 'passed' }
const NOT_WAITING: Offered = { kind: 'notWaiting' }

export class Offers {
  readonly #parts: OffersParts

  constructor(parts: OffersParts) {
    this.#parts = parts
  }

  /** @throws FluxError `unavailable` */
  async offer({ row, heldKey }: FoundLookup, id: ContextId): Promise<Offered> {
    const { held } = this.#parts
    const found = await this.#read(row, heldKey)
    if (found === 'damaged') return PASSED
    if (found === null) return LEFT_OVER
    const free = await held.unclaimed(found)
    if (free === 'taken') return GONE
    if (free === null) return PASSED
    const isAtHome = id % held.partitions === free.home
    return isAtHome
      ? this.#give(free, id, removalOfHome(free.event, held.partitions, free.text))
      : this.#giveAway(free, id)
  }

  async #read({ value }: StoredRow, heldKey: string): Promise<HeldRow | 'damaged' | null> {
    try {
      return await this.#parts.held.read(lookupOf(value).home, heldKey)
    } catch (error) {
      if (isUnreadableRow(error, { space: 'held', key: heldKey }, this.#parts.log)) return 'damaged'
      throw error
    }
  }

  /** In another partition: under a claim, which is given up if the context does not take it. */
  async #giveAway(free: HeldRow, id: ContextId): Promise<Offered> {
    const { held, onReleased } = this.#parts
    const [{ event, home }, partition] = [free, id % held.partitions]
    // Read before the claim: a token that others replace from now on makes that claim void.
    const token = await held.tokenOf(event, partition)
    if (token === null) return PASSED
    const claimed = await held.claim(free, id)
    if (claimed === null) return PASSED
    const at = { partition, space: 'lookups', key: tokenKeyOf(event), expiresAt: event.expiresAt } as const
    let offered: Offered = PASSED
    try {
      offered = await this.#give(claimed, id, [{ ...at, expects: token, value: takenBy(home, id) }])
    } catch (error) {
      await this.#giveUp(claimed, id)
      throw error
    }
    if (offered.kind === 'taken') await held.finish(event)
    else if (offered.kind !== 'gone') {
      await held.release(claimed)
      onReleased(event, id)
    }
    return offered
  }

  /** The commit may still arrive: the claim is made void before it is given up. */
  async #giveUp(claimed: HeldRow, id: ContextId): Promise<void> {
    const { held, log, onReleased } = this.#parts
    try {
      if ((await held.unclaimed(claimed, true)) !== 'taken') onReleased(claimed.event, id)
    } catch (error) {
      log.debug('a claim of a pending event is left until it is over', { error })
    }
  }

  /** Sends it to the context, which writes the rows if it takes it. */
  async #give(held: HeldRow, id: ContextId, taking: readonly RowWrite[]): Promise<Offered> {
    const { mailboxes } = this.#parts
    const { event: name, eventId, input, untyped, tags, roles } = held.event
    const message = { type: 'EVENT', name, eventId, input, untyped, tags, caller: { roles }, isHeld: true } as const
    const rows: RowsOf = (_, record, flux) => {
      const outcome = { became: 'moved', ...standOf({ record, flux }), at: record.updatedAt } as const
      return [...taking, ...this.#parts.held.outcomeRows(held.event, outcome)]
    }
    try {
      return await this.#became(held, await mailboxes.post(id, message, { rows }))
    } catch (error) {
      if (error instanceof RowTaken) return PASSED
      const kind = error instanceof FluxError ? error.failure.kind : null
      // It was purged, or its mailbox is full: the next who looks tries again.
      if (kind === 'notFound' || kind === 'busy') return NOT_WAITING
      throw error
    }
  }

  async #became(row: HeldRow, { moved, failure, record, flux }: MessageOutcome): Promise<Offered> {
    const { held, clock, log } = this.#parts
    const { event } = row
    if (moved) {
      if (homeOf(event, held.partitions) === record.id % held.partitions) await this.#gather(event)
      return { kind: 'taken', indexKeys: indexKeysOf(record, flux) }
    }
    if (failure?.kind === 'conflict') return NOT_WAITING
    if (failure?.kind !== 'invalid') return PASSED
    const reason = `context ${record.id} can't take it: ${failure.detail}`
    const ended = await held.end(row, { became: 'expired', at: clock.now(), reason })
    if (!ended) return PASSED
    const { eventId, event: name } = event
    log.info('a pending event expired', {
      eventId,
      event: name,
      contextId: record.id,
      fluxName: record.fluxName,
      reason,
    })
    return GONE
  }

  /** Rows that are left over lead nowhere, and expire with the event. */
  async #gather(event: HeldEvent): Promise<void> {
    await this.#parts.held.gather(event).catch((error: unknown) => {
      this.#parts.log.debug('look-up rows of an event that was taken are left over', { error })
    })
  }
}
