// engine/fanout: the rows of a broadcast: what is sent, who carries it on, and what it came to so far. The first two are
// there while it is under way. Others say whom it has moved and started: each is written in the commit of that move or
// start, under a guard, so whoever carries the broadcast on moves and starts nobody a second time.
import { createHash, randomUUID } from 'node:crypto'
import type { EventAnswer } from '../../api/events.ts'
import type { Turn } from '../../definitions/expressions/expression.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { Caller } from '../../model/caller.ts'
import type { ContextId } from '../../model/context.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { outcomesPrefix, type PendingOutcome } from '../../model/pending.ts'
import { partitionOf, type RowWrite, type StoredRow } from '../../model/rows.ts'
import type { Store } from '../../ports/store.ts'
import { drawnFrom, type Drawn } from '../idempotency/kept-answer.ts'
import type { SentToAll } from '../pending/unclaimed-events.ts'
import { allRows, Marks } from '../tasks/fan-out.ts'
import type { TaskAddress } from '../tasks/task.ts'
import { RowTaken, standOf, type RowsOf } from '../turn/message.ts'
import type { Item, Outcomes } from './outcomes.ts'

export interface BroadcastEvent {
  readonly event: string
  readonly input: JsonObject
  readonly untyped: boolean
  readonly tags: readonly string[]
  readonly caller: Caller
  readonly eventId: string
  /** Key of the row of its receipt; null: it has none. */
  readonly receipt: string | null
  readonly traceparent?: string | undefined
}

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

export class BroadcastRows {
  /** Of the row of its key, with which the keys of all its rows begin. */
  readonly key: string
  /** That of the key, where contexts are started, too, so that the guards of starts meet. */
  readonly partition: number
  readonly #store: Store
  readonly #expiresAt: number
  readonly #drawn: Drawn
  readonly #moves: Marks
  readonly #earlier = new Map<string, Item>()
  readonly #startedIds = new Set<ContextId>()

  constructor(store: Store, key: string, { expiresAt, drawn }: Pick<StoredBroadcast, 'expiresAt' | 'drawn'>) {
    this.key = key
    this.partition = partitionOf(key, store.partitions)
    this.#store = store
    this.#expiresAt = expiresAt
    this.#drawn = drawn
    this.#moves = movesOf(store, key)
  }

  /** Under the key of the call: what is answered. */
  answer(value: string | null, expects: string | null): RowWrite {
    return { ...this.#at('idempotency', this.key), value, expects }
  }

  get task(): TaskAddress {
    return this.#at('broadcasts', this.key)
  }

  event(stored: StoredBroadcast | null): RowWrite {
    return { ...this.#at('items', eventKey(this.key)), value: stored && JSON.stringify(stored) }
  }

  summary(summary: Summary): RowWrite {
    return { ...this.#at('items', summaryKey(this.key)), value: JSON.stringify(summary) }
  }

  /** Reads what was done before this server carried it on: starts, and moves of contexts with higher ids than that. */
  async load(after: ContextId): Promise<readonly Item[]> {
    for await (const { key, value } of this.#moves.behind(after)) {
      const item = itemOf(value)
      if (item === null) continue
      this.#earlier.set(key, item)
      if (item.answer === 'executions') this.#startedIds.add(item.stand.contextId)
    }
    return [...this.#earlier.values()].sort((one, other) => one.at - other.at)
  }

  /** What was done to those contexts, as far as anything was. @throws FluxError `unavailable` */
  async doneTo(ids: readonly ContextId[]): Promise<Item[]> {
    const rows = await Promise.all(ids.map((id) => this.#moves.read(id)))
    return rows.flatMap((row) => (row ? itemsIn(row.value) : []))
  }

  /** Whether that context was moved or started before. */
  hasReached(id: ContextId): boolean {
    return this.#earlier.has(this.#moves.keyOf(id)) || this.#startedIds.has(id)
  }

  hasStarted(flux: CompiledFlux): boolean {
    return this.#earlier.has(this.#startedKey(flux))
  }

  /**
   * What the start of that service is evaluated with. Whoever carries the broadcast on comes to the same key, and so to
   * the partition in which the guard of an earlier start is.
   */
  drawnFor({ package: folder, fluxName }: CompiledFlux): () => Turn {
    return drawnFrom(this.#drawn, JSON.stringify([folder, fluxName]))
  }

  /** That context, if an earlier try started it, of whose commit nobody heard; else null. @throws FluxError `unavailable` */
  async startedAs(flux: CompiledFlux, id: ContextId): Promise<Item | null> {
    const partition = id % this.#store.partitions
    const row = await this.#store.readRow({ partition, space: 'items', key: this.#startedKey(flux) })
    const item = row && itemOf(row.value)
    return item?.answer === 'executions' && item.stand.contextId === id ? item : null
  }

  readonly moved: RowsOf = (applied, record, flux) => {
    const { id: contextId, updatedAt: at } = record
    const item: Item =
      applied.kind === 'kept'
        ? { answer: 'pending', kept: { contextId, expiresAt: applied.expiresAt }, at }
        : { answer: 'transitions', stand: standOf({ record, flux }), at }
    return [this.#moves.write(contextId, JSON.stringify(item), this.#expiresAt)]
  }

  readonly started: RowsOf = (_, record, flux) => {
    const { fluxName } = flux
    const item = { answer: 'executions', stand: standOf({ record, flux }), fluxName, at: record.updatedAt }
    return [this.#start(flux, record.id % this.#store.partitions, JSON.stringify(item))]
  }

  /**
   * Makes sure that no try of the broadcast starts the service any more, in whatever partition: a start with a key lies
   * in that of its key. Gives what was started before. @throws FluxError `unavailable`
   */
  async settleStart(flux: CompiledFlux): Promise<Item[]> {
    const settle = async (partition: number) => {
      const rows = [this.#start(flux, partition, NOT_STARTED)]
      const outcome = await this.#store.commit({ writes: [], rows })
      return 'row' in outcome && outcome.row.value !== null ? itemsIn(outcome.row.value) : []
    }
    return (await Promise.all(Array.from({ length: this.#store.partitions }, (_, at) => settle(at)))).flat()
  }

  /** What was done already, where that is why it was refused now; `item` null: whoever carries it on ruled it out. */
  doneBefore(error: unknown): { readonly item: Item | null } | null {
    const isTaken = error instanceof RowTaken && error.space === 'items'
    return isTaken && error.value !== null ? { item: itemOf(error.value) } : null
  }

  #at<S extends 'idempotency' | 'broadcasts' | 'items'>(space: S, key: string) {
    return { space, key, partition: this.partition, expiresAt: this.#expiresAt }
  }

  #start(flux: CompiledFlux, partition: number, value: string): RowWrite {
    return { ...this.#at('items', this.#startedKey(flux)), partition, expects: null, value }
  }

  #startedKey({ package: folder, fluxName }: CompiledFlux): string {
    const service = JSON.stringify([folder, fluxName])
    return startedPrefix(this.key) + createHash('sha256').update(service).digest('hex')
  }
}

/** The context that the event moved, or that keeps it; null: it started one. */
export const receiverOf = (item: Item): ContextId | null =>
  item.answer === 'pending' ? item.kept.contextId : item.answer === 'transitions' ? item.stand.contextId : null

/** In place of an item: the service must not be started any more. */
const NOT_STARTED = 'null'

/** Null: nothing was done, and nothing will be. */
function itemOf(value: string): Item | null {
  const item: Item | null = JSON.parse(value)
  return item
}

function itemsIn(value: string): Item[] {
  const item = itemOf(value)
  return item === null ? [] : [item]
}

/**
 * Starts, and moves of contexts with higher ids than that, under that key of a row: of the partitions that can be
 * reached. @throws FluxError `unavailable` when none can
 */
export async function itemsInReach(store: Store, rowKey: string, after: ContextId): Promise<Item[]> {
  const moves = movesOf(store, rowKey)
  const ofPartition = async (partition: number) => {
    const items: Item[] = []
    for await (const { value } of moves.behind(after, partition)) items.push(...itemsIn(value))
    return items
  }
  const read = await Promise.allSettled(Array.from({ length: store.partitions }, (_, at) => ofPartition(at)))
  const [first] = read
  if (first?.status === 'rejected' && read.every(({ status }) => status === 'rejected')) throw first.reason
  return read.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])).sort((one, other) => one.at - other.at)
}

// No row of the number of repeats is called so.
const eventKey = (key: string): string => `${key}=`
const summaryKey = (key: string): string => `${key}$`

/** Of the rows of all that were moved; those of starts come behind. */
export const movedPrefix = (rowKey: string): string => `${rowKey}:`

/** Behind all contexts. */
export const startedPrefix = (rowKey: string): string => `${rowKey}:s`

const movesOf = (store: Store, rowKey: string): Marks => new Marks(store, 'items', movedPrefix(rowKey))

/** What became of what an event left pending, by the keys of the rows. */
export async function outcomesOf(store: Store, rowKey: string): Promise<ReadonlyMap<string, PendingOutcome>> {
  const outcomes = new Map<string, PendingOutcome>()
  for await (const { key, value } of allRows(store, { space: 'items', prefix: outcomesPrefix(rowKey) }))
    outcomes.set(key, JSON.parse(value))
  return outcomes
}

type RowPlace = Pick<StoredRow, 'key' | 'partition'>

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
