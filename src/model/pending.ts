// model: events that are kept until a context waits for them, and the rows by which they are listed and found.
import { createHash } from 'node:crypto'
import type { ContextId } from './context.ts'
import type { JsonObject } from './json/value.ts'

/** An event that a context keeps until it waits for it. */
export interface PendingEvent {
  readonly eventId: string
  readonly event: string
  readonly input: JsonObject
  /** Whether texts in the input are coerced to the declared types. */
  readonly untyped: boolean
  /** As they were sent. */
  readonly tags: readonly string[]
  /** Epoch milliseconds. */
  readonly receivedAt: number
  /** Epoch milliseconds; null: when the context ends. */
  readonly expiresAt: number | null
  /** Key of the row of its receipt; null: it has none. */
  readonly receipt: string | null
}

/** Of a context that keeps none: shared, so that it costs nothing. */
export const NO_PENDING: readonly PendingEvent[] = []

/** What a list shows of it. `contextId` null: nobody waits for it yet. */
export interface PendingRow extends Pick<PendingEvent, 'eventId' | 'event' | 'tags' | 'receivedAt' | 'expiresAt'> {
  readonly contextId: ContextId | null
  readonly package: string | null
  readonly fluxName: string | null
}

/** Digits of the time of arrival in a key, so that keys sort by it. */
const ARRIVAL_CHARACTERS = 15

/** Key in the spaces `pending` and `held`: rows sort by arrival. */
export const pendingRowKey = ({
  receivedAt,
  eventId,
  contextId,
}: Pick<PendingRow, 'receivedAt' | 'eventId' | 'contextId'>): string =>
  `${String(receivedAt).padStart(ARRIVAL_CHARACTERS, '0')}:${eventId}:${contextId ?? '-'}`

/** What the keys of the copies of an event begin with. */
export const copiesPrefix = (eventId: string): string => `${createHash('sha256').update(eventId).digest('hex')}:`

/** Key in the space `copies`; the value is the key of the pending row. */
export const copyRowKey = (eventId: string, contextId: ContextId | null): string =>
  `${copiesPrefix(eventId)}${contextId ?? '-'}`

/** What became of an event that was pending. Written for its receipt, in the commit in which it ceased to be pending. */
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

/** Key of an outcome in the space `items`. `contextId`: for whom it was pending; null: for nobody yet. */
export const outcomeRowKey = (receipt: string, contextId: ContextId | null): string =>
  `${outcomesPrefix(receipt)}${contextId ?? '-'}`
