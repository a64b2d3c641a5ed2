// engine/fanout: the rows of a broadcast: what is sent, which server sends it, and its outcomes so far. The first two
// exist while it is under way. Others name the contexts that it moved and started: each is written in the commit of
// that move or start, under a guard, so a server that continues the broadcast moves and starts nothing a second time.
import { hash } from 'node:crypto'
import type { Turn } from '../../definitions/expressions/expression.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { Caller } from '../../model/caller.ts'
import type { ContextId } from '../../model/context.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { partitionOf, type RowWrite, type StoredRow } from '../../model/rows.ts'
import type { Store } from '../../ports/store.ts'
import { drawnFrom, type Drawn } from '../idempotency/kept-answer.ts'
import type { SentToAll } from '../pending/unclaimed-events.ts'
import { listed, Marks } from '../tasks/fan-out.ts'
import { RowTaken, type RowsOf } from '../turn/message.ts'
import { itemOf, type Item, type Outcomes } from './outcomes.ts'

export interface BroadcastEvent extends SentToAll {
  readonly input: JsonObject
  readonly caller: Caller
  readonly traceparent?: string | undefined
}

/** A broadcast, as it is stored when it begins. */
export interface StoredBroadcast {
  readonly sent: BroadcastEvent
  /** Contexts with higher ids came later: they do not get the event. */
  readonly upTo: ContextId
  /** Epoch milliseconds, of all its rows. */
  readonly expiresAt: number
  /** The random parts of the keys of the contexts that it starts. */
  readonly drawn: Drawn
}

/** Its outcomes so far. */
export interface Summary {
  /** Contexts that waited for it. */
  readonly matched: number
  /** How many of them it was sent to. */
  readonly dealt: number
  /** What it did to contexts with higher ids, and what it started, is not in the outcomes. */
  readonly cursor: ContextId
  readonly outcomes: Outcomes
  readonly isDone: boolean
}

export class BroadcastRows {
  /** Key of the row of its idempotency key, with which the keys of all its rows begin. */
  readonly key: string
  /** That of the key, where contexts are started, too, so that the guards of starts meet. */
  readonly partition: number
  readonly marks: Marks
  readonly #store: Store
  readonly #stored: StoredBroadcast

  constructor(store: Store, key: string, stored: StoredBroadcast) {
    this.key = key
    this.partition = partitionOf(key, store.partitions)
    this.marks = marksOf(store, key)
    this.#store = store
    this.#stored = stored
  }

  /** Under the key of the call: what is answered. */
  answer(value: string | null, expects: string | null): RowWrite {
    return { ...this.at('idempotency', this.key), value, expects }
  }

  event(stored: StoredBroadcast | null): RowWrite {
    return { ...this.at('items', eventKey(this.key)), value: stored && JSON.stringify(stored) }
  }

  summary(summary: Summary | null): RowWrite {
    return { ...this.at('items', summaryKey(this.key)), value: summary && JSON.stringify(summary) }
  }

  at<S extends 'idempotency' | 'broadcasts' | 'items'>(space: S, key: string) {
    return { space, key, partition: this.partition, expiresAt: this.#stored.expiresAt }
  }

  /** What was done to that context, if anything was. @throws FluxError `unavailable` */
  async doneTo(id: ContextId): Promise<Item | null> {
    const row = await this.marks.read(id)
    return row && itemIn(row.value)
  }

  /**
   * What the start of that service is evaluated with. A server that takes the broadcast over computes the same key, and
   * so finds the partition with the guard of an earlier start.
   */
  drawnFor(flux: CompiledFlux): () => Turn {
    return drawnFrom(this.#stored.drawn, serviceOf(flux))
  }

  /**
   * That context, if an earlier try, whose outcome is not known, started it; else null. @throws FluxError
   * `unavailable`
   */
  async startedAs(flux: CompiledFlux, id: ContextId): Promise<Item | null> {
    const row = await this.#store.readRow(this.#start(flux, id % this.#store.partitions, ''))
    const item = row && itemIn(row.value)
    return item?.answer === 'executions' && item.stand.contextId === id ? item : null
  }

  /** `instead`: the context got the event in place of a start of that service, which no later try makes. */
  readonly moved =
    (instead?: CompiledFlux): RowsOf =>
    (applied, record, flux) => {
      const { id: contextId, updatedAt: at } = record
      const item: Item =
        applied.kind === 'kept'
          ? { answer: 'pending', kept: { contextId, expiresAt: applied.expiresAt }, at }
          : itemOf('transitions', { record, flux })
      const text = JSON.stringify(item)
      const mark = this.marks.write(contextId, text, this.#stored.expiresAt)
      return instead ? [mark, this.#start(instead, contextId % this.#store.partitions, text)] : [mark]
    }

  readonly started: RowsOf = (_, record, flux) => {
    const item = itemOf('executions', { record, flux })
    return [this.#start(flux, record.id % this.#store.partitions, JSON.stringify(item))]
  }

  /**
   * Makes sure that no earlier try can still start one of the services, in any partition: a start with a key is written
   * in that of its key. Returns what was started. @throws FluxError `unavailable`
   */
  async settleStarts(services: readonly CompiledFlux[]): Promise<Item[]> {
    for (let partition = 0; partition < this.#store.partitions; partition += 1)
      for (const flux of services)
        await this.#store.commit({ writes: [], rows: [this.#start(flux, partition, NOT_STARTED)] })
    return listed(itemsOf(this.#store, this.key, LAST_ID))
  }

  /** The earlier outcome, if the refusal follows from it; null: a server that took it over has ruled it out. */
  doneBefore(error: unknown): Item | null | undefined {
    const isTaken = error instanceof RowTaken && error.space === 'items'
    return isTaken && error.value !== null ? itemIn(error.value) : undefined
  }

  #start(flux: CompiledFlux, partition: number, value: string) {
    const key = `${marksPrefix(this.key)}s${hash('sha256', serviceOf(flux))}`
    return { ...this.at('items', key), partition, expects: null, value }
  }
}

const serviceOf = ({ package: folder, fluxName }: CompiledFlux) => JSON.stringify([folder, fluxName])

/** In place of an item: the service must not be started any more. */
const NOT_STARTED = 'null'

/** Null: nothing was done, and nothing will be. */
const itemIn = (value: string): Item | null => JSON.parse(value)

/** Sorts behind all contexts, and before what was started. */
const LAST_ID = Number.MAX_SAFE_INTEGER

/** What was done to contexts with higher ids than that, and then what was started. @throws FluxError `unavailable` */
export async function* itemsOf(store: Store, rowKey: string, after: ContextId) {
  for await (const { key, value } of marksOf(store, rowKey).behind(after)) {
    const item = itemIn(value)
    // For a context that got the event in place of a start, the mark says so.
    const isTold = item !== null && item.answer !== 'executions' && key.startsWith(`${marksPrefix(rowKey)}s`)
    if (item && !isTold) yield item
  }
}

// No row of the number of repeats has this name.
const eventKey = (key: string) => `${key}=`
const summaryKey = (key: string) => `${key}$`

const marksPrefix = (rowKey: string) => `${rowKey}:`

const marksOf = (store: Store, rowKey: string) => new Marks(store, 'items', marksPrefix(rowKey))

/** Null: it is done, or was lost. */
export const readStored = (store: Store, { key, partition }: StoredRow): Promise<StoredBroadcast | null> =>
  readItem(store, partition, eventKey(key))

/** Null: it is done, and no context waited for it. */
export const readSummary = (store: Store, { key, partition }: StoredRow): Promise<Summary | null> =>
  readItem(store, partition, summaryKey(key))

async function readItem(store: Store, partition: number, key: string) {
  const row = await store.readRow({ partition, space: 'items', key })
  return row && JSON.parse(row.value)
}
