// engine/pending: offers an event that is held for nobody to one context, which takes it in its own commit or not at all.
// In the partition in which the event is held, that commit removes it. In others, a claim keeps the rest away meanwhile.
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import type { RowWrite, StoredRow } from '../../model/rows.ts'
import type { Deps } from '../contexts/deps.ts'
import { indexKeysOf } from '../record/index-keys.ts'
import { isUnreadableRow } from '../record/unreadable.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import { RowTaken, standOf, type MessageOutcome, type RowsOf } from '../turn/message.ts'
import { homeOf, lookupOf, removalOf, takenBy, tokenRow, type HeldEvent, type HeldRow } from './held-event.ts'
import type { HeldStore } from './held-store.ts'

export interface OffersParts extends Deps {
  readonly mailboxes: Pick<Mailboxes, 'post'>
  readonly held: HeldStore
  /** A claim was given up, so others may have passed over the event that wait for it. */
  readonly onReleased: (event: HeldEvent, by: ContextId) => void
}

/** A look-up row, and the key of the event that it leads to. */
export interface FoundLookup {
  readonly row: StoredRow
  readonly heldKey: string
}

export type Offered =
  /** The context took it, and has these index keys now. */
  | { readonly indexKeys: readonly string[] }
  /** Nobody can take it any more. */
  | 'gone'
  /** Nothing is left of it but the look-up row. */
  | 'leftOver'
  /** Others are at it, or it is not for this context. */
  | 'passed'
  /** The context does not wait for it any more. */
  | 'notWaiting'

export class Offers {
  readonly #parts: OffersParts

  constructor(parts: OffersParts) {
    this.#parts = parts
  }

  /** @throws FluxError `unavailable` */
  async offer({ row, heldKey }: FoundLookup, id: ContextId): Promise<Offered> {
    const { held, log } = this.#parts
    let found: HeldRow | null
    try {
      found = await held.read(lookupOf(row.value).home, heldKey)
    } catch (error) {
      if (isUnreadableRow(error, { space: 'held', key: heldKey }, log)) return 'passed'
      throw error
    }
    if (found === null) return 'leftOver'
    const free = await held.unclaimed(found)
    if (free === 'taken') return 'gone'
    if (free === null) return 'passed'
    const home = homeOf(free.event, held.partitions)
    return id % held.partitions === home ? this.#giveAtHome(free, id, home) : this.#giveElsewhere(free, id, home)
  }

  async #giveAtHome(free: HeldRow, id: ContextId, home: number): Promise<Offered> {
    const { held, log } = this.#parts
    const offered = await this.#give(free, id, removalOf(free.event, home, held.partitions, free.text))
    if (typeof offered === 'object')
      await held.gather(free.event).catch((error: unknown) => {
        // They lead nowhere, and expire with the event.
        log.debug('look-up rows of an event that was taken are left over', { error })
      })
    return offered
  }

  /** In another partition: under a claim, which is given up if the context does not take it. */
  async #giveElsewhere(free: HeldRow, id: ContextId, home: number): Promise<Offered> {
    const { held } = this.#parts
    const partition = id % held.partitions
    // Read before the claim: a token that others replace from now on makes that claim void.
    const token = await held.tokenOf(free.event, partition)
    const claimed = token === null ? null : await held.claim(free, id)
    if (claimed === null) return 'passed'
    let offered: Offered = 'passed'
    try {
      const taking = tokenRow(free.event, partition, { expects: token, value: takenBy(home, id) })
      offered = await this.#give(claimed, id, [taking])
    } finally {
      if (offered !== 'gone') await this.#endClaim(claimed, id)
    }
    return offered
  }

  /** Removes an event that was taken. Else the claim is given up: made void before, since the commit may still arrive. */
  async #endClaim(claimed: HeldRow, id: ContextId): Promise<void> {
    const { held, log, onReleased } = this.#parts
    try {
      if ((await held.unclaimed(claimed, true)) !== 'taken') onReleased(claimed.event, id)
    } catch (error) {
      log.debug('a claim of a pending event is left until it is over', { error })
    }
  }

  /** Sends it to the context, which writes the rows if it takes it. */
  async #give(row: HeldRow, id: ContextId, taking: readonly RowWrite[]): Promise<Offered> {
    const { held, mailboxes } = this.#parts
    const { event: name, eventId, input, untyped, tags, roles } = row.event
    const message = { type: 'EVENT', name, eventId, input, untyped, tags, caller: { roles }, isHeld: true } as const
    const rows: RowsOf = (_, record, flux) => {
      const outcome = { became: 'moved', ...standOf({ record, flux }), at: record.updatedAt } as const
      return [...taking, ...held.outcomeRows(row.event, outcome)]
    }
    try {
      return await this.#became(row, await mailboxes.post(id, message, { rows }))
    } catch (error) {
      if (error instanceof RowTaken) return 'passed'
      const kind = error instanceof FluxError ? error.failure.kind : null
      // It was purged, or its mailbox is full: the next who looks tries again.
      if (kind === 'notFound' || kind === 'busy') return 'notWaiting'
      throw error
    }
  }

  async #became(row: HeldRow, { moved, failure, record, flux }: MessageOutcome): Promise<Offered> {
    const { held, clock, log } = this.#parts
    if (moved) return { indexKeys: indexKeysOf(record, flux) }
    if (failure?.kind === 'conflict') return 'notWaiting'
    if (failure?.kind !== 'invalid') return 'passed'
    const reason = `context ${record.id} can't take it: ${failure.detail}`
    const ended = await held.end(row, { became: 'expired', at: clock.now(), reason })
    if (!ended) return 'passed'
    const { eventId, event } = row.event
    const { id: contextId, fluxName } = record
    log.info('a pending event expired', { eventId, event, contextId, fluxName, reason })
    return 'gone'
  }
}
