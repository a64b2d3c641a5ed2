// engine/pending: an event that is held for whoever comes to wait for it: its row, which is the event, and the rows by
// which it is found. One partition is its home, where it is decided who takes it. The keys of look-up rows begin with the
// name of the event, so one read shows whether any event of that name is held: what a commit of a context costs goes with
// what is held, and not with what the context waits for.
//
// Each other partition has a token, the look-up row of the first tag. A context of that partition takes the event in a
// commit that replaces the token by the mark that it is taken, so whoever replaces the token by another makes sure that
// a commit that was prepared before can't be made any more. Tokens are written before the event, and deleted after it.
import { createHash, randomUUID } from 'node:crypto'
import { pendingView } from '../../api/contexts.ts'
import { denial, type Role } from '../../model/caller.ts'
import type { ContextId } from '../../model/context.ts'
import { heldCopyKey, pendingRowKey, scopeIn, type PendingEvent, type PendingRow } from '../../model/pending.ts'
import { partitionOf, type RowWrite } from '../../model/rows.ts'
import { SECURED, heardEvents } from '../record/index-keys.ts'

export interface HeldEvent extends PendingEvent {
  readonly expiresAt: number
  /** Of its sender. */
  readonly roles: readonly Role[]
  /** Who is about to take it, of another partition than its home; null: nobody. */
  readonly claim: {
    readonly contextId: ContextId
    /** Epoch milliseconds from which on others find out what became of it. */
    readonly until: number
    /** Tells claims of the same context apart. */
    readonly by: string
  } | null
}

/** The event, and the text of its row: guards compare that. */
export interface HeldRow {
  readonly text: string
  readonly event: HeldEvent
}

/** Row of the list. `byToken`: its sender may use secured services; others do not see it. */
export interface ListedHeld extends PendingRow {
  readonly byToken?: boolean
}

/** What a look-up row says. */
export interface Lookup {
  readonly home: number
  /** Of the first one, in another partition than the home. */
  readonly token?: string
  /** In its place, once a context of that partition took it. */
  readonly taken?: ContextId
}

/** What an event has, held or kept by a context. */
const anyPending = pendingView.omit({ contextId: true, fluxName: true })

/** @throws Error for a text that is no such row */
export function heldRowOf(text: string): HeldRow {
  const event: HeldEvent = JSON.parse(text)
  anyPending.parse(event)
  return { text, event }
}

/** @throws Error for a text that is no such row */
export function listedHeldOf(value: string): ListedHeld {
  const listed: ListedHeld = JSON.parse(value)
  pendingView.parse(listed)
  return listed
}

export function lookupOf(value: string): Lookup {
  const lookup: Lookup = JSON.parse(value)
  return lookup
}

const lookupText = (lookup: Lookup): string => JSON.stringify(lookup)
export const newToken = (home: number): string => lookupText({ home, token: randomUUID() })
export const takenBy = (home: number, taken: ContextId): string => lookupText({ home, taken })

/** Where it is decided who takes it: with the answer that is kept under its key, if it has one. */
export const homeOf = ({ eventId, receipt }: PendingEvent, partitions: number): number =>
  partitionOf(receipt ?? eventId, partitions)

/** In the space `held`, and at the end of its keys in `lookups`. Sorts by arrival. */
export const heldKeyOf = ({ receivedAt, eventId, receipt }: PendingEvent): string =>
  pendingRowKey({ receivedAt, eventId, contextId: null }, scopeIn(receipt))

/** Whether its sender may use secured services. */
export const isOfToken = ({ roles }: Pick<HeldEvent, 'roles'>): boolean => denial({ roles }, 'invoke') === null

/** Of hashes in keys. Another text with the same hash leads to an event that the context does not take. */
const HASH_CHARACTERS = 16
/** Characters of the key of a look-up row before that of the held event: hash of the name, sender, hash of the tag. */
const PREFIX_CHARACTERS = 2 * HASH_CHARACTERS + 't::'.length

const shortHashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARACTERS)

/** `tag` null: of events without tags. */
const tagText = (tag: string | null): string => (tag === null ? '' : `#${tag}`)

const prefixOf = (eventHash: string, byToken: boolean, tagHash: string): string =>
  `${eventHash}${byToken ? 't' : 'o'}:${tagHash}:`

/** One for each tag. The first is that of the token. */
export function lookupKeysOf(event: HeldEvent): readonly string[] {
  const [eventHash, byToken, heldKey] = [shortHashOf(event.event), isOfToken(event), heldKeyOf(event)]
  const tags = event.tags.length > 0 ? [...new Set(event.tags)] : [null]
  return tags.map((tag) => prefixOf(eventHash, byToken, shortHashOf(tagText(tag))) + heldKey)
}

/** What a context waits for: what the keys of the look-up rows of each event begin with, by the hash of its name. */
export type Wanted = ReadonlyMap<string, ReadonlySet<string>>

/**
 * By the index keys of the context. A state that takes any event takes none that is held. Contexts of secured services
 * look only at events whose senders may use them.
 */
export function wantedBy(indexKeys: readonly string[]): Wanted {
  const senders = indexKeys.includes(SECURED) ? [true] : [true, false]
  const [wanted, hashes] = [new Map<string, Set<string>>(), new Map<string, string>()]
  const hashOf = (text: string) => {
    const hash = hashes.get(text) ?? shortHashOf(text)
    hashes.set(text, hash)
    return hash
  }
  for (const { event, tag } of heardEvents(indexKeys)) {
    const eventHash = hashOf(event)
    const prefixes = wanted.get(eventHash) ?? new Set()
    for (const byToken of senders) prefixes.add(prefixOf(eventHash, byToken, hashOf(tagText(tag))))
    wanted.set(eventHash, prefixes)
  }
  return wanted
}

/** The key of the held event, if the context may take what the look-up row leads to; else null. */
export const wantedKeyIn = (wanted: Wanted, key: string): string | null =>
  wanted.get(key.slice(0, HASH_CHARACTERS))?.has(key.slice(0, PREFIX_CHARACTERS)) ? key.slice(PREFIX_CHARACTERS) : null

/** The row of its token in that partition. `expects`: what must be there; `value`: what is there then. */
export const tokenRow = (
  event: HeldEvent,
  partition: number,
  given: Pick<RowWrite, 'expects' | 'value'> = { value: null },
): RowWrite => ({
  partition,
  space: 'lookups',
  key: lookupKeysOf(event)[0] ?? '',
  expiresAt: event.expiresAt,
  ...given,
})

/** Its rows in that partition: at its home those that hold it, elsewhere those that lead to it. None must be there. */
export function rowsOf(event: HeldEvent, partition: number, partitions: number): RowWrite[] {
  const [home, key] = [homeOf(event, partitions), heldKeyOf(event)]
  const at = { partition, expiresAt: event.expiresAt }
  const lookups = lookupKeysOf(event).map((lookup) => ({ ...at, space: 'lookups', key: lookup }) as const)
  const value = lookupText({ home })
  if (partition !== home)
    return lookups.map((row, place) => ({
      ...row,
      ...(place === 0 ? { expects: null, value: newToken(home) } : { value }),
    }))
  const { eventId, event: name, tags, receivedAt, expiresAt } = event
  const shown = { eventId, event: name, contextId: null, package: null, fluxName: null, tags, receivedAt, expiresAt }
  const listed: ListedHeld = { ...shown, byToken: isOfToken(event) }
  return [
    { ...at, space: 'held', key, expects: null, value: JSON.stringify(event) },
    { ...at, space: 'pending', key, value: JSON.stringify(listed) },
    // Of an event whose sender gave it an id, another of that id may be held at the same time.
    { ...at, space: 'copies', key: heldCopyKey(eventId, key), value: key },
    ...lookups.map((row) => ({ ...row, value })),
  ]
}

/** Removes them. `text`: its row as it must be; left out: whatever it is. */
export const removalOf = (event: HeldEvent, partition: number, partitions: number, text?: string): RowWrite[] =>
  rowsOf(event, partition, partitions).map(({ space, key }) => ({
    partition,
    space,
    key,
    value: null,
    expiresAt: null,
    ...(space === 'held' && text !== undefined && { expects: text }),
  }))
