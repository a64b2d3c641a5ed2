// engine/pending: the rows and the commits of an unclaimed event, which was for all, reached no context, and waits for
// one. The protocol:
//
// 1. The event is a row of the space `held` in one partition, its home: that of the key of its receipt, if it has one,
//    so that it is written in the commit of the answer. Rows in `lookups` lead to it, one in each partition and for
//    each tag (`lookupRowsOf`). They are written before the event, and deleted after it.
// 2. A commit that gives a context a waiting key, in a partition with look-ups, has that context looked at afterwards
//    (`matching.ts`): it is offered what fits, in the order of arrival.
// 3. A context of the home takes the event in one commit with the row, which is deleted, so nothing else can take it.
// 4. In another partition the event is claimed first, in its row. The context takes it in a commit that writes the mark
//    of that claim, a row of its partition, under a guard that there is none. The commit also deletes a look-up row
//    that must be there, so nothing is taken after its time.
// 5. A server that finds a claim whose time is over writes its mark itself: either that fails, since the event is
//    taken, or a commit under the claim will never be accepted, however late it arrives.
// 6. Every server goes over all unclaimed events from time to time (`matching.ts`). That covers a crash after any
//    commit: each is of one partition.
//
// The keys of look-up rows begin with the name of the event, so one read shows whether any event of that name is
// unclaimed: what a commit of a context costs goes with what is unclaimed, and not with what the context waits for.
import { hash, randomUUID } from 'node:crypto'
import { pendingView } from '../../api/contexts.ts'
import { denial, type Role } from '../../model/caller.ts'
import type { ContextId, PendingEvent } from '../../model/context.ts'
import {
  heldCopyKey,
  outcomeRowKey,
  pendingRowKey,
  scopeIn,
  type PendingOutcome,
  type PendingRow,
} from '../../model/pending.ts'
import { partitionOf, type RowWrite } from '../../model/rows.ts'
import type { Deps } from '../contexts/deps.ts'
import { heardEvents, SECURED } from '../record/index-keys.ts'
import { readableOf } from '../record/unreadable.ts'

export interface UnclaimedEvent extends PendingEvent {
  readonly expiresAt: number
  /** The roles of its sender. */
  readonly roles: readonly Role[]
  /** The context of another partition than its home that is about to take it; null: there is none. */
  readonly claim: Claim | null
}

export interface Claim {
  readonly contextId: ContextId
  /** Epoch milliseconds after which other servers find out what became of it. */
  readonly until: number
  /** Distinguishes claims of the same context. */
  readonly by: string
}

/** The event, and the text of its row: guards compare that. */
export interface UnclaimedRow {
  readonly text: string
  readonly event: UnclaimedEvent
}

/** Row of the list. `byToken`: its sender may use secured services; others do not see it. */
export interface ListedPending extends PendingRow {
  readonly byToken?: boolean
}

/** What an event has, unclaimed or kept by a context. */
const anyPending = pendingView.omit({ contextId: true, fluxName: true })

/** @throws Error for a text that is no such row */
export function unclaimedRowOf(text: string): UnclaimedRow {
  const event: UnclaimedEvent = JSON.parse(text)
  anyPending.parse(event)
  return { text, event }
}

/** @throws Error for a text that is no such row */
export function listedPendingOf(value: string): ListedPending {
  const listed: ListedPending = JSON.parse(value)
  pendingView.parse(listed)
  return listed
}

/** The home of the event to which a look-up row leads. */
export function homeIn(value: string): number {
  const { home }: { readonly home: number } = JSON.parse(value)
  return home
}

/** The partition that decides which context takes it: that of the answer under its key, if it has one. */
export const homeOf = ({ eventId, receipt }: PendingEvent, partitions: number): number =>
  partitionOf(receipt ?? eventId, partitions)

/** In the space `held`, and at the end of its keys in `lookups`. Sorts by arrival. */
export const unclaimedKeyOf = ({ receivedAt, eventId, receipt }: PendingEvent): string =>
  pendingRowKey({ receivedAt, eventId, contextId: null }, scopeIn(receipt))

/** When the event of that key came, epoch milliseconds. */
export const arrivalIn = (key: string): number => Number(key.slice(0, key.indexOf(':')))

/** Whether its sender may use secured services. */
export const isOfToken = ({ roles }: Pick<UnclaimedEvent, 'roles'>): boolean => denial({ roles }, 'invoke') === null

/** Length of hashes in keys. Another text with the same hash leads to an event that the context does not take. */
export const HASH_CHARACTERS = 16
/** Characters of the key of a look-up row before that of the event: hash of the name, sender, hash of the tag. */
const PREFIX_CHARACTERS = 2 * HASH_CHARACTERS + 't::'.length

const shortHashOf = (text: string) => hash('sha256', text).slice(0, HASH_CHARACTERS)

/** `tag` null: of events without tags. */
const prefixOf = (event: string, byToken: boolean, tag: string | null) =>
  `${shortHashOf(event)}${byToken ? 't' : 'o'}:${shortHashOf(tag === null ? '' : `#${tag}`)}:`

/** The look-up rows in that partition, one for each tag. */
export function lookupRowsOf(event: UnclaimedEvent, partition: number, partitions: number): RowWrite[] {
  const tags = event.tags.length > 0 ? [...new Set(event.tags)] : [null]
  const value = JSON.stringify({ home: homeOf(event, partitions) })
  return tags.map((tag) => {
    const key = prefixOf(event.event, isOfToken(event), tag) + unclaimedKeyOf(event)
    return { partition, space: 'lookups', key, value, expiresAt: event.expiresAt }
  })
}

/**
 * What the keys of the look-up rows begin with whose events the context may take, by its index keys. A state that takes
 * any event takes none that is unclaimed. Contexts of secured services look only at events whose senders may use them.
 */
export function prefixesFor(indexKeys: readonly string[]): ReadonlySet<string> {
  const senders = indexKeys.includes(SECURED) ? [true] : [true, false]
  const heard = heardEvents(indexKeys)
  return new Set(heard.flatMap(({ event, tag }) => senders.map((byToken) => prefixOf(event, byToken, tag))))
}

/** The key of the event to which the look-up row leads, if it has one of the prefixes; else null. */
export const unclaimedKeyIn = (key: string, prefixes: ReadonlySet<string>): string | null =>
  prefixes.has(key.slice(0, PREFIX_CHARACTERS)) ? key.slice(PREFIX_CHARACTERS) : null

/** All its rows at its home. None must be there. */
export function homeRowsOf(event: UnclaimedEvent, partitions: number): RowWrite[] {
  const [partition, key] = [homeOf(event, partitions), unclaimedKeyOf(event)]
  const { eventId, event: name, tags, receivedAt, expiresAt } = event
  const at = { partition, expiresAt }
  const shown = { eventId, event: name, contextId: null, package: null, fluxName: null, tags, receivedAt, expiresAt }
  const listed: ListedPending = { ...shown, byToken: isOfToken(event) }
  return [
    { ...at, space: 'held', key, expects: null, value: JSON.stringify(event) },
    { ...at, space: 'pending', key, value: JSON.stringify(listed) },
    // If the sender gave the event an id, another event of that id may be unclaimed at the same time.
    { ...at, space: 'copies', key: heldCopyKey(eventId, key), value: key },
    ...lookupRowsOf(event, partition, partitions),
  ]
}

/** Removes the rows, whatever is in them. */
export const removalOf = (rows: readonly RowWrite[]): RowWrite[] =>
  rows.map(({ partition, space, key }) => ({ partition, space, key, value: null, expiresAt: null }))

/** Milliseconds for which a claim is left to the server that made it. */
const CLAIM_MS = 10_000

/** Receipts are written that much after the event came, at most. */
const RECEIPT_SLACK_MS = 600_000

export class UnclaimedStore {
  readonly #deps: Deps
  readonly #receiptsMs: number

  /** @param receiptsMs milliseconds for which receipts are kept */
  constructor(deps: Deps, receiptsMs: number) {
    this.#deps = deps
    this.#receiptsMs = receiptsMs
  }

  get #partitions() {
    return this.#deps.store.partitions
  }

  /** Null: no context can take it any more, or its row is damaged. */
  async read(home: number, key: string): Promise<UnclaimedRow | null> {
    const { store, log } = this.#deps
    const row = await store.readRow({ partition: home, space: 'held', key })
    return row && readableOf(row, 'held', log, unclaimedRowOf)
  }

  /**
   * Writes the look-up rows of all partitions but its home, and by `write` those of its home. False: `write` did not.
   */
  async add(
    event: UnclaimedEvent,
    write = async (rows: readonly RowWrite[]) => (await this.#commit(rows)).ok,
  ): Promise<boolean> {
    await this.#elsewhere(event, (partition) => lookupRowsOf(event, partition, this.#partitions))
    const isAdded = await write(homeRowsOf(event, this.#partitions))
    if (!isAdded) await this.clear(event)
    return isAdded
  }

  /** Removes its rows in all partitions but its home, which are of no more use. */
  clear(event: UnclaimedEvent): Promise<void> {
    const { claim } = event
    return this.#elsewhere(event, (partition) => {
      const rows = lookupRowsOf(event, partition, this.#partitions)
      const marks = claim ? [this.#mark(event, claim, 'taken')] : []
      return removalOf([...rows, ...marks.filter((mark) => mark.partition === partition)])
    })
  }

  /** The event as that context may take it: claimed, unless this is its home; null: another context was faster. */
  async claim(free: UnclaimedRow, contextId: ContextId): Promise<UnclaimedRow | null> {
    if (contextId % this.#partitions === homeOf(free.event, this.#partitions)) return free
    return this.#replaceClaim(free, { contextId, until: this.#deps.clock.now() + CLAIM_MS, by: randomUUID() })
  }

  /** The rows with which the context takes it in its commit. */
  taking(row: UnclaimedRow): RowWrite[] {
    const { event } = row
    const { claim } = event
    if (claim === null) return this.#removal(row)
    const [lookup] = lookupRowsOf(event, claim.contextId % this.#partitions, this.#partitions)
    const mark = this.#mark(event, claim, 'taken')
    return lookup ? [mark, { ...lookup, expects: lookup.value, value: null }] : [mark]
  }

  /**
   * The event without claim; null: it is taken and removed, or another server deals with it. A claim that is not
   * over is left alone, unless `isForced`. One that is made void can't lead to anything any more.
   */
  async unclaimed(row: UnclaimedRow, isForced = false): Promise<UnclaimedRow | null> {
    const { event } = row
    const { claim } = event
    if (claim === null) return row
    if (claim.until > this.#deps.clock.now() && !isForced) return null
    const voided = await this.#commit([this.#mark(event, claim, 'void')])
    if (voided.ok || !('row' in voided) || voided.row.value !== 'taken') return this.#replaceClaim(row, null)
    await this.#commit(removalOf(homeRowsOf(event, this.#partitions)))
    await this.clear(event)
    return null
  }

  /** Removes it, if it is as it was read, and notes why; false: it isn't. */
  async end(row: UnclaimedRow, outcome: PendingOutcome): Promise<boolean> {
    const { ok } = await this.#commit([...this.#removal(row), ...this.outcomeRows(row.event, outcome)])
    if (ok) await this.clear(row.event)
    return ok
  }

  /** For the commit that makes it true. */
  outcomeRows(event: UnclaimedEvent, outcome: PendingOutcome): RowWrite[] {
    const { receipt } = event
    const expiresAt = event.receivedAt + this.#receiptsMs + RECEIPT_SLACK_MS
    if (receipt === null) return []
    const partition =
      outcome.became === 'moved' ? outcome.contextId % this.#partitions : homeOf(event, this.#partitions)
    const key = outcomeRowKey(receipt, null)
    return [{ partition, space: 'items', key, value: JSON.stringify(outcome), expiresAt }]
  }

  /** The first mark of a claim that is written stays. */
  #mark({ expiresAt }: UnclaimedEvent, { contextId, by }: Claim, value: 'taken' | 'void'): RowWrite {
    return {
      partition: contextId % this.#partitions,
      space: 'marks',
      key: `claim:${by}`,
      expects: null,
      value,
      expiresAt,
    }
  }

  /** The writes that delete its rows in its home partition, if it is as it was read. */
  #removal({ event, text }: UnclaimedRow) {
    const rows = removalOf(homeRowsOf(event, this.#partitions))
    return rows.map((row) => (row.space === 'held' ? { ...row, expects: text } : row))
  }

  /** The event with that claim; null: its row is not as it was read. */
  async #replaceClaim({ text, event }: UnclaimedRow, claim: Claim | null) {
    const next = { ...event, claim }
    const value = JSON.stringify(next)
    const rows = homeRowsOf(next, this.#partitions).filter(({ space }) => space === 'held')
    const { ok } = await this.#commit(rows.map((row) => ({ ...row, expects: text })))
    return ok ? { text: value, event: next } : null
  }

  #commit(rows: readonly RowWrite[]) {
    return this.#deps.store.commit({ writes: [], rows })
  }

  /** Commits those rows in each partition but its home. */
  async #elsewhere(event: UnclaimedEvent, rowsIn: (partition: number) => readonly RowWrite[]): Promise<void> {
    const home = homeOf(event, this.#partitions)
    const all = Array.from({ length: this.#partitions }, (_, partition) => partition)
    const others = all.filter((partition) => partition !== home)
    await Promise.all(others.map((partition) => this.#commit(rowsIn(partition))))
  }
}
