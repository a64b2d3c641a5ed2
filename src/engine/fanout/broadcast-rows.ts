// engine/fanout: the rows of a broadcast, beside those of whom it moved: what is sent, who carries it on, and what
// it came to so far. The first two are there while it is under way.
import { randomUUID } from 'node:crypto'
import type { EventAnswer } from '../../api/events.ts'
import type { ContextId } from '../../model/context.ts'
import { partitionOf, type RowWrite } from '../../model/rows.ts'
import type { Store } from '../../ports/store.ts'
import type { BroadcastEvent } from './broadcast-receivers.ts'
import type { SentToAll } from '../pending/held-events.ts'
import type { TaskAddress } from '../tasks/task.ts'
import { NO_OUTCOMES, type Outcomes } from './broadcast-tally.ts'
import type { Drawn } from '../idempotency/drawn-turn.ts'

export type KeptEvent = BroadcastEvent & SentToAll

/** A broadcast, as it is stored when it begins. */
export interface StoredBroadcast {
  readonly sent: KeptEvent
  /** Contexts with higher ids came later: they do not get the event. */
  readonly upTo: ContextId
  /** Contexts up to which it is answered when it is done; null: always. */
  readonly above: number | null
  /** Epoch milliseconds, of all its rows. */
  readonly expiresAt: number
  /** Of the keys of the contexts that it starts. */
  readonly drawn: Drawn
}

/** What it came to so far. */
export interface Summary {
  /** Contexts that waited for it. */
  readonly matched: number
  /** Those of them that it was sent to: all up to the id `cursor`. */
  readonly dealt: number
  readonly cursor: ContextId
  readonly outcomes: Outcomes
  readonly isDone: boolean
}

/** The keys of rows of one broadcast, all in the partition of its key. */
export class BroadcastRows {
  readonly key: string
  readonly partition: number
  readonly expiresAt: number

  constructor({ key, store, expiresAt }: { key: string; store: Pick<Store, 'partitions'>; expiresAt: number }) {
    this.key = key
    this.partition = partitionOf(key, store.partitions)
    this.expiresAt = expiresAt
  }

  /** Under the key of the call: what is answered. */
  answer(value: string | null, expects: string | null): RowWrite {
    return { ...this.#at('idempotency', this.key), value, expects }
  }

  get task(): TaskAddress {
    const { key, partition, expiresAt } = this
    return { space: 'broadcasts', key, partition, expiresAt }
  }

  event(stored: StoredBroadcast | null): RowWrite {
    return { ...this.#at('items', eventKey(this.key)), value: stored && JSON.stringify(stored) }
  }

  summary(summary: Summary | null): RowWrite {
    return { ...this.#at('items', summaryKey(this.key)), value: summary && JSON.stringify(summary) }
  }

  #at(space: RowWrite['space'], key: string): Omit<RowWrite, 'value'> {
    return { partition: this.partition, space, key, expiresAt: this.expiresAt }
  }
}

/** A broadcast that is to be carried out, as its rows have it. */
export interface RunFacts {
  readonly rows: BroadcastRows
  readonly stored: StoredBroadcast
  /** The row of the key, as it is. */
  readonly answer: string
  /** The row of the task as another server left it; null: it is new. */
  readonly before: string | null
}

// No row of an item, or of the number of repeats, is called so.
const eventKey = (key: string): string => `${key}=`
const summaryKey = (key: string): string => `${key}$`

interface RowPlace {
  readonly key: string
  readonly partition: number
}

/** Null: it is done, or was lost. */
export async function readStored(store: Store, { key, partition }: RowPlace): Promise<StoredBroadcast | null> {
  const row = await store.readRow({ partition, space: 'items', key: eventKey(key) })
  const stored: StoredBroadcast | null = row && JSON.parse(row.value)
  return stored
}

/** Null: nothing was counted yet. */
export async function readSummary(store: Store, { key, partition }: RowPlace): Promise<Summary | null> {
  const row = await store.readRow({ partition, space: 'items', key: summaryKey(key) })
  const summary: Summary | null = row && JSON.parse(row.value)
  return summary
}

export const summaryAtFirst = (matched: number): Summary => ({
  matched,
  dealt: 0,
  cursor: 0,
  outcomes: NO_OUTCOMES,
  isDone: false,
})

/** The answer that says that an event is accepted. */
export const acceptanceOf = ({ event, eventId }: KeptEvent, matched: number): EventAnswer => ({
  message: `'${event}' goes to ${matched} ${matched === 1 ? 'context' : 'contexts'}; its receipt tells how far it is`,
  transitions: [],
  executions: [],
  ignored: [],
  eventId,
  pending: [],
})

/** The row of the key. `answer` null: it is under way, and nobody was answered. */
export const answerText = (facts: {
  readonly hash: string
  readonly at: number
  readonly event: string
  readonly answer: EventAnswer | null
  readonly isAccepted?: true
  /** Tells it from what other tries of the same request write. */
  readonly by?: string
}): string => JSON.stringify({ ...facts, by: facts.by ?? randomUUID() })
