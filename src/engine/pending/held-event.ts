// engine/pending: an event that is held for whoever comes to wait for it: its row, which is the event, and the rows by
// which it is found. One partition is its home, where it is decided who takes it.
//
// Each other partition has a token, the look-up row of the first tag. A context of that partition takes the event in a
// commit that replaces the token by the mark that it is taken, so whoever replaces the token by another makes sure that
// a commit that was prepared before can't be made any more. Tokens are written before the event, and deleted after it.
import { randomUUID } from 'node:crypto'
import { pendingView } from '../../api/contexts.ts'
import { denial, type Role } from '../../model/caller.ts'
import type { ContextId } from '../../model/context.ts'
import { heldCopyKey, pendingRowKey, scopeIn, type PendingEvent, type PendingRow } from '../../model/pending.ts'
import { partitionOf, type RowWrite } from '../../model/rows.ts'
import { lookupKey } from './look-up-keys.ts'

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

/** The event as its row has it: guards compare the text. */
export interface HeldRow {
  readonly home: number
  readonly key: string
  readonly text: string
  readonly event: HeldEvent
}

/** Row of the list. `byToken`: its sender may use secured services; others do not see it. */
export interface ListedHeld extends PendingRow {
  readonly byToken?: boolean
}

/** @throws Error for a text that is no such row */
export function listedHeldOf(value: string): ListedHeld {
  const listed: ListedHeld = JSON.parse(value)
  pendingView.parse(listed)
  return listed
}

/** Where it is decided who takes it: with the answer that is kept under its key, if it has one. */
export const homeOf = ({ eventId, receipt }: PendingEvent, partitions: number): number =>
  partitionOf(receipt ?? eventId, partitions)

/** In the space `held`, and at the end of its keys in `lookups`. Sorts by arrival. */
export const heldKeyOf = ({ receivedAt, eventId, receipt }: PendingEvent): string =>
  pendingRowKey({ receivedAt, eventId, contextId: null }, scopeIn(receipt))

/** Of an event whose sender gave it an id, another of that id may be held at the same time. */
const copyKeyOf = (event: PendingEvent): string => heldCopyKey(event.eventId, heldKeyOf(event))

/** Whether its sender may use secured services. */
export const isOfToken = ({ roles }: Pick<HeldEvent, 'roles'>): boolean => denial({ roles }, 'invoke') === null

/** The first is that of the token. */
export function lookupKeysOf(event: HeldEvent): readonly string[] {
  const [heldKey, byToken] = [heldKeyOf(event), isOfToken(event)]
  const tags = event.tags.length > 0 ? [...new Set(event.tags)] : [null]
  return tags.map((tag) => lookupKey(event.event, { tag, byToken, heldKey }))
}

export const tokenKeyOf = (event: HeldEvent): string => lookupKeysOf(event)[0] ?? ''

/** What a look-up row says. */
export interface LookupFacts {
  readonly home: number
  /** Of the first one, in another partition than the home. */
  readonly token?: string
  /** In its place, once a context of that partition took it. */
  readonly taken?: ContextId
}

export function lookupOf(value: string): LookupFacts {
  const lookup: LookupFacts = JSON.parse(value)
  return lookup
}

export const newToken = (home: number): string => JSON.stringify({ home, token: randomUUID() } satisfies LookupFacts)
export const takenBy = (home: number, taken: ContextId): string => JSON.stringify({ home, taken } satisfies LookupFacts)

export const textOf = (event: HeldEvent): string => JSON.stringify(event)

/** What an event has, held or kept by a context. */
const anyPending = pendingView.omit({ contextId: true, fluxName: true })

/** @throws Error for a text that is no such row */
export function heldRowOf(home: number, key: string, text: string): HeldRow {
  const event: HeldEvent = JSON.parse(text)
  anyPending.parse(event)
  return { home, key, text, event }
}

/** The rows at its home, which hold the event: it must not be there. */
export function rowsOfHome(event: HeldEvent, partitions: number): RowWrite[] {
  const [home, key] = [homeOf(event, partitions), heldKeyOf(event)]
  const at = { partition: home, expiresAt: event.expiresAt }
  const { eventId, event: name, tags, receivedAt, expiresAt } = event
  const listed: ListedHeld = {
    eventId,
    event: name,
    contextId: null,
    package: null,
    fluxName: null,
    tags,
    receivedAt,
    expiresAt,
    byToken: isOfToken(event),
  }
  const value = JSON.stringify({ home } satisfies LookupFacts)
  return [
    { ...at, space: 'held', key, expects: null, value: textOf(event) },
    { ...at, space: 'pending', key, value: JSON.stringify(listed) },
    { ...at, space: 'copies', key: copyKeyOf(event), value: key },
    ...lookupKeysOf(event).map((lookup) => ({ ...at, space: 'lookups', key: lookup, value }) as const),
  ]
}

/** The look-up rows of another partition, whose token must not be there. */
export function rowsElsewhere(event: HeldEvent, partition: number, partitions: number): RowWrite[] {
  const home = homeOf(event, partitions)
  const at = { partition, space: 'lookups', expiresAt: event.expiresAt } as const
  return lookupKeysOf(event).map((key, place) =>
    place === 0
      ? { ...at, key, expects: null, value: newToken(home) }
      : { ...at, key, value: JSON.stringify({ home } satisfies LookupFacts) },
  )
}

/** Removes it from its home. `expects`: its row as it must be; left out: whatever it is. */
export function removalOfHome(event: HeldEvent, partitions: number, expects?: string): RowWrite[] {
  const at = { partition: homeOf(event, partitions), value: null, expiresAt: null }
  const key = heldKeyOf(event)
  return [
    { ...at, space: 'held', key, ...(expects !== undefined && { expects }) },
    { ...at, space: 'pending', key },
    { ...at, space: 'copies', key: copyKeyOf(event) },
    ...lookupKeysOf(event).map((lookup) => ({ ...at, space: 'lookups', key: lookup }) as const),
  ]
}

/** Removes its look-up rows from another partition. */
export const removalElsewhere = (event: HeldEvent, partition: number): RowWrite[] =>
  lookupKeysOf(event).map((key) => ({ partition, space: 'lookups', key, value: null, expiresAt: null }))
