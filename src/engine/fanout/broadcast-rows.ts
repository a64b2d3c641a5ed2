// engine/fanout: the rows of a broadcast: what is sent, who carries it on, and what it came to so far. The first two are
// there while it is under way. Others (`BroadcastItems`) say whom it has moved and started: each is written in the commit
// of that move or start, under a guard, so whoever carries the broadcast on moves and starts nobody a second time.
import { randomUUID, createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EventAnswer } from '../../api/events.ts'
import type { ContextId } from '../../model/context.ts'
import { partitionOf, type RowWrite, type StoredRow } from '../../model/rows.ts'
import type { Store } from '../../ports/store.ts'
import type { Caller } from '../../model/caller.ts'
import type { JsonObject } from '../../model/json/value.ts'
import type { SentToAll } from '../pending/held-events.ts'
import type { TaskAddress } from '../tasks/task.ts'
import { NO_OUTCOMES, type Outcomes } from './outcomes.ts'
import { type Drawn, drawnFrom } from '../idempotency/kept-answer.ts'
import type { Turn } from '../../definitions/expressions/expression.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextRecord } from '../../model/record.ts'
import { outcomesPrefix, type PendingOutcome } from '../../model/pending.ts'
import { RowTaken, standOf, type RowsOf } from '../turn/message.ts'

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

type Stand = EventAnswer['transitions'][number]

/** What the event did to one context. */
type Item = (
  | { readonly answer: 'transitions'; readonly stand: Stand }
  | { readonly answer: 'executions'; readonly stand: Stand; readonly fluxName: string }
  | { readonly answer: 'pending'; readonly kept: EventAnswer['pending'][number] }
) & {
  /** Epoch milliseconds. */
  readonly at: number
}

/** Rows read at once. */
const ITEMS_AT_ONCE = 1000

interface ItemsFacts {
  readonly store: Store
  readonly rows: { readonly key: string; readonly expiresAt: number }
  readonly drawn: Drawn
}

export class BroadcastItems {
  readonly #store: Store
  readonly #rowKey: string
  readonly #expiresAt: number
  readonly #drawn: Drawn
  readonly #earlier = new Map<string, Item>()
  readonly #startedIds = new Set<ContextId>()

  constructor(facts: ItemsFacts) {
    this.#store = facts.store
    this.#rowKey = facts.rows.key
    this.#expiresAt = facts.rows.expiresAt
    this.#drawn = facts.drawn
  }

  /** The partition in which contexts are started: that of the key, so that the guards of starts meet. */
  get partition(): number {
    return partitionOf(this.#rowKey, this.#store.partitions)
  }

  /** Reads what was done before this server carried it on: starts, and moves of contexts with higher ids than that. */
  async load(after: ContextId): Promise<readonly Item[]> {
    const rows = doneRows(this.#store, this.#rowKey, after)
    for await (const { key, value } of rows) {
      const item = itemOf(value)
      if (item === null) continue
      this.#earlier.set(key, item)
      if (item.answer === 'executions') this.#startedIds.add(item.stand.contextId)
    }
    return [...this.#earlier.values()].sort((one, other) => one.at - other.at)
  }

  /** What was done to those contexts, as far as anything was. @throws FluxError `unavailable` */
  async doneTo(ids: readonly ContextId[]): Promise<Item[]> {
    const { partitions } = this.#store
    const moved = ids.map((id) =>
      this.#store.readRow({ partition: id % partitions, space: 'items', key: this.#movedKey(id) }),
    )
    return (await Promise.all(moved)).flatMap((row) => (row ? itemsIn(row.value) : []))
  }

  /** Whether that context was moved or started before. */
  hasReached(id: ContextId): boolean {
    return this.#earlier.has(this.#movedKey(id)) || this.#startedIds.has(id)
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
    const { partitions } = this.#store
    const row = await this.#store.readRow({
      partition: id % partitions,
      space: 'items',
      key: this.#startedKey(flux),
    })
    const item = row && itemOf(row.value)
    return item?.answer === 'executions' && item.stand.contextId === id ? item : null
  }

  readonly moved: RowsOf = (applied, record, flux) => {
    const { id: contextId, updatedAt: at } = record
    const item: Item =
      applied.kind === 'kept'
        ? { answer: 'pending', kept: { contextId, expiresAt: applied.expiresAt }, at }
        : { answer: 'transitions', stand: standOf({ record, flux }), at }
    return [this.#row(this.#movedKey(contextId), record, item)]
  }

  readonly started: RowsOf = (_, record, flux) => [
    this.#row(this.#startedKey(flux), record, {
      answer: 'executions',
      stand: standOf({ record, flux }),
      fluxName: flux.fluxName,
      at: record.updatedAt,
    }),
  ]

  /**
   * Makes sure that no try of the broadcast starts the service any more, in whatever partition: a start with a key lies
   * in that of its key. Gives what was started before. @throws FluxError `unavailable`
   */
  async settleStart(flux: CompiledFlux): Promise<Item[]> {
    const row = { space: 'items', key: this.#startedKey(flux), expiresAt: this.#expiresAt } as const
    const settle = async (partition: number) => {
      const rows = [{ ...row, partition, expects: null, value: NOT_STARTED }]
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

  #row(key: string, { id }: ContextRecord, item: Item): RowWrite {
    const [partition, value] = [id % this.#store.partitions, JSON.stringify(item)]
    return { partition, space: 'items', key, expects: null, value, expiresAt: this.#expiresAt }
  }

  #movedKey(id: ContextId): string {
    return movedKey(this.#rowKey, id)
  }

  #startedKey({ package: folder, fluxName }: CompiledFlux): string {
    const service = JSON.stringify([folder, fluxName])
    return startedPrefix(this.#rowKey) + createHash('sha256').update(service).digest('hex')
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
  const ofPartition = async (partition: number) => {
    const items: Item[] = []
    for await (const { value } of doneRows(store, rowKey, after, partition)) items.push(...itemsIn(value))
    return items
  }
  const read = await Promise.allSettled(Array.from({ length: store.partitions }, (_, at) => ofPartition(at)))
  const [first] = read
  if (first?.status === 'rejected' && read.every(({ status }) => status === 'rejected')) throw first.reason
  return read.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])).sort((one, other) => one.at - other.at)
}

/** Of the rows of all that were moved; those of starts come behind. */
export const movedPrefix = (rowKey: string): string => `${rowKey}:`

/** Behind all contexts. */
export const startedPrefix = (rowKey: string): string => `${rowKey}:s`

/** Digits of an id in a key, so that keys sort by it. */
const ID_DIGITS = 16

const movedKey = (rowKey: string, id: ContextId): string => movedPrefix(rowKey) + String(id).padStart(ID_DIGITS, '0')

const doneRows = (store: Store, rowKey: string, behind: ContextId, partition?: number): AsyncGenerator<StoredRow> =>
  rowsOf(store, movedPrefix(rowKey), { key: movedKey(rowKey, behind), partition: store.partitions }, partition)

/** What became of what an event left pending, by the keys of the rows. */
export async function outcomesOf(store: Store, rowKey: string): Promise<ReadonlyMap<string, PendingOutcome>> {
  const outcomes = new Map<string, PendingOutcome>()
  for await (const { key, value } of rowsOf(store, outcomesPrefix(rowKey))) outcomes.set(key, JSON.parse(value))
  return outcomes
}

async function* rowsOf(
  store: Store,
  prefix: string,
  behind?: Pick<StoredRow, 'key' | 'partition'>,
  partition?: number,
): AsyncGenerator<StoredRow> {
  for (let after = behind; ;) {
    const rows = await store.listRows({ partition, space: 'items', prefix, after, limit: ITEMS_AT_ONCE })
    yield* rows
    after = rows.at(-1) ?? after
    if (rows.length < ITEMS_AT_ONCE) return
    // What the store has in memory it gives without a pause.
    await nextTurn()
  }
}
