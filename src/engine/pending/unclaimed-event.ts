// engine/pending: an unclaimed event: the row that is the event, and the rows by which it is found. One partition is its
// home, where it is decided which context takes it. The keys of look-up rows begin with the name of the event, so one
// read shows whether any event of that name is unclaimed: what a commit of a context costs goes with what is unclaimed,
// and not with what the context waits for.
import { hash } from 'node:crypto'
import { pendingView } from '../../api/contexts.ts'
import { denial, type Role } from '../../model/caller.ts'
import type { ContextId, PendingEvent } from '../../model/context.ts'
import { type PendingRow, heldCopyKey, pendingRowKey, scopeIn } from '../../model/pending.ts'
import { partitionOf, type RowWrite } from '../../model/rows.ts'
import { SECURED, heardEvents } from '../record/index-keys.ts'

export interface UnclaimedEvent extends PendingEvent {
  readonly expiresAt: number
  /** Of its sender. */
  readonly roles: readonly Role[]
  /** The context of another partition than its home that is about to take it; null: there is none. */
  readonly claim: Claim | null
}

export interface Claim {
  readonly contextId: ContextId
  /** Epoch milliseconds from which on other servers find out what became of it. */
  readonly until: number
  /** Tells claims of the same context apart. */
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

/** Where it is decided which context takes it: with the answer that is kept under its key, if it has one. */
export const homeOf = ({ eventId, receipt }: PendingEvent, partitions: number): number =>
  partitionOf(receipt ?? eventId, partitions)

/** In the space `held`, and at the end of its keys in `lookups`. Sorts by arrival. */
export const unclaimedKeyOf = ({ receivedAt, eventId, receipt }: PendingEvent): string =>
  pendingRowKey({ receivedAt, eventId, contextId: null }, scopeIn(receipt))

/** When the event came whose key that is, epoch milliseconds. */
export const arrivalIn = (key: string): number => Number(key.slice(0, key.indexOf(':')))

/** Whether its sender may use secured services. */
export const isOfToken = ({ roles }: Pick<UnclaimedEvent, 'roles'>): boolean => denial({ roles }, 'invoke') === null

/** Of hashes in keys. Another text with the same hash leads to an event that the context does not take. */
export const HASH_CHARACTERS = 16
/** Characters of the key of a look-up row before that of the event: hash of the name, sender, hash of the tag. */
const PREFIX_CHARACTERS = 2 * HASH_CHARACTERS + 't::'.length

const shortHashOf = (text: string): string => hash('sha256', text).slice(0, HASH_CHARACTERS)

/** `tag` null: of events without tags. */
const prefixOf = (event: string, byToken: boolean, tag: string | null): string =>
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
    // Of an event whose sender gave it an id, another of that id may be unclaimed at the same time.
    { ...at, space: 'copies', key: heldCopyKey(eventId, key), value: key },
    ...lookupRowsOf(event, partition, partitions),
  ]
}

/** Removes the rows, whatever is in them. */
export const removalOf = (rows: readonly RowWrite[]): RowWrite[] =>
  rows.map(({ partition, space, key }) => ({ partition, space, key, value: null, expiresAt: null }))
