// model: events that are kept until a context waits for them, and the rows by which they are listed and found.
import { hash } from 'node:crypto'
import type { ContextId, PendingEvent } from './context.ts'

/** What a list shows of it. `contextId` null: no context waits for it yet. */
export interface PendingRow extends Pick<PendingEvent, 'eventId' | 'event' | 'tags' | 'receivedAt' | 'expiresAt'> {
  readonly contextId: ContextId | null
  readonly package: string | null
  readonly fluxName: string | null
}

/** Digits of the time of arrival in a key, so that keys sort by it. */
const ARRIVAL_CHARACTERS = 15

/** Characters of the key of a receipt that distinguish events with the same id by their senders. */
const SCOPE_CHARACTERS = 16

/** What identifies its sender in keys; null: its id alone does. */
export const scopeIn = (receipt: string | null): string | null => receipt?.slice(0, SCOPE_CHARACTERS) ?? null

const withScope = (key: string, scope: string | null) => (scope === null ? key : `${key}:${scope}`)

/** Key in the spaces `pending` and `held`: rows sort by arrival. `scope`: as `scopeIn`. */
export const pendingRowKey = (
  { receivedAt, eventId, contextId }: Pick<PendingRow, 'receivedAt' | 'eventId' | 'contextId'>,
  scope: string | null,
): string => withScope(`${String(receivedAt).padStart(ARRIVAL_CHARACTERS, '0')}:${eventId}:${contextId ?? '-'}`, scope)

/** What the keys of the copies of an event begin with. */
export const copiesPrefix = (eventId: string): string => `${hash('sha256', eventId)}:`

/** Key in the space `copies`, of one that a context keeps; the value is the key of the pending row. */
export const copyRowKey = (eventId: string, contextId: ContextId, scope: string | null): string =>
  withScope(`${copiesPrefix(eventId)}${contextId}`, scope)

/** The key for an unclaimed event; the key of its row, which names the sender, follows. */
export const heldCopyKey = (eventId: string, heldKey: string): string => `${copiesPrefix(eventId)}-:${heldKey}`

/** What a key in the space `copies` says. */
export type Copy = ({ readonly heldKey: string } | { readonly contextId: ContextId }) & {
  readonly scope: string | null
}

export function copyIn(key: string): Copy {
  const [, place = '', ...rest] = key.split(':')
  if (place !== '-') return { contextId: Number(place), scope: rest[0] ?? null }
  // The id of the event may have colons.
  const [end = '', last] = [rest.at(-1), rest.at(-2)]
  return { heldKey: rest.join(':'), scope: last === '-' && end.length === SCOPE_CHARACTERS ? end : null }
}

/**
 * What became of an event that was pending. Written for its receipt, in the commit in which it ceased to be pending.
 */
export type PendingOutcome =
  | {
      readonly became: 'moved'
      readonly contextId: ContextId
      readonly state: string
      /** Epoch milliseconds. */
      readonly at: number
    }
  | { readonly became: 'expired'; readonly at: number; readonly reason: string }
  | { readonly became: 'withdrawn'; readonly at: number }

/** What the keys of the outcomes of an event begin with, in the space `items`. */
export const outcomesPrefix = (receipt: string): string => `${receipt}?`

/** Key of an outcome in the space `items`. `contextId`: the context for which it was pending; null: none yet. */
export const outcomeRowKey = (receipt: string, contextId: ContextId | null): string =>
  `${outcomesPrefix(receipt)}${contextId ?? '-'}`
