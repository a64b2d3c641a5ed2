// engine/idempotency: rows that say whom a broadcast under a key has moved and started. Each is written in the commit of
// that move or start, under a guard, so whoever carries the broadcast on moves and starts nobody a second time.
import { createHash } from 'node:crypto'
import type { EventAnswer } from '../../api/send-event.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextId } from '../../model/context.ts'
import type { ContextRecord } from '../../model/record.ts'
import { outcomesPrefix, type PendingOutcome } from '../../model/pending.ts'
import { partitionOf, type RowWrite, type StoredRow } from '../../model/rows.ts'
import type { Store } from '../../ports/store.ts'
import { RowTaken, standOf, type RowsOf } from '../message.ts'

/** What the event did to one context. */
type Item = (
  | { readonly answer: 'transitions' | 'executions'; readonly stand: EventAnswer['transitions'][number] }
  | { readonly answer: 'pending'; readonly kept: EventAnswer['pending'][number] }
) & {
  /** Epoch milliseconds. */
  readonly at: number
}

/** Rows read at once. */
const ITEMS_AT_ONCE = 1000

export class BroadcastItems {
  /** Contexts with higher ids came later: they do not get the event. */
  readonly upTo: ContextId
  readonly #store: Store
  readonly #rowKey: string
  readonly #expiresAt: number
  readonly #earlier = new Map<string, Item>()

  constructor(facts: { store: Store; rowKey: string; upTo: ContextId; expiresAt: number }) {
    this.#store = facts.store
    this.#rowKey = facts.rowKey
    this.upTo = facts.upTo
    this.#expiresAt = facts.expiresAt
  }

  /** The partition in which contexts are started: that of the key, so that the guards of starts meet. */
  get partition(): number {
    return partitionOf(this.#rowKey, this.#store.partitions)
  }

  /** What was done before this server carried it on. */
  earlier(): readonly Item[] {
    return [...this.#earlier.values()]
  }

  /** Reads what was done before. */
  async load(): Promise<void> {
    for (const [key, item] of (await itemsOf(this.#store, this.#rowKey)).items) this.#earlier.set(key, item)
  }

  /** Whether that context was moved before. */
  hasMoved(id: ContextId): boolean {
    return this.#earlier.has(this.#movedKey(id))
  }

  hasStarted(flux: CompiledFlux): boolean {
    return this.#earlier.has(this.#startedKey(flux))
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
      at: record.updatedAt,
    }),
  ]

  /** What was done already, where that is why it was refused now. */
  doneBefore(error: unknown): Item | null {
    return error instanceof RowTaken && error.space === 'items' && error.value !== null ? itemOf(error.value) : null
  }

  #row(key: string, { id }: ContextRecord, item: Item): RowWrite {
    const [partition, value] = [id % this.#store.partitions, JSON.stringify(item)]
    return { partition, space: 'items', key, expects: null, value, expiresAt: this.#expiresAt }
  }

  #movedKey(id: ContextId): string {
    return `${this.#rowKey}:${id}`
  }

  #startedKey({ package: folder, fluxName }: CompiledFlux): string {
    return `${this.#rowKey}:${createHash('sha256')
      .update(JSON.stringify([folder, fluxName]))
      .digest('hex')}`
  }
}

function itemOf(value: string): Item {
  const item: Item = JSON.parse(value)
  return item
}

/** What was done under that key of a row, by the keys of its rows, and what became of what it left pending. */
export async function itemsOf(
  store: Store,
  rowKey: string,
): Promise<{ readonly items: ReadonlyMap<string, Item>; readonly outcomes: ReadonlyMap<string, PendingOutcome> }> {
  const [items, outcomes] = [new Map<string, Item>(), new Map<string, PendingOutcome>()]
  for await (const { key, value } of rowsOf(store, rowKey))
    if (key.startsWith(outcomesPrefix(rowKey))) outcomes.set(key, JSON.parse(value))
    else items.set(key, itemOf(value))
  return { items, outcomes }
}

async function* rowsOf(store: Store, rowKey: string): AsyncGenerator<StoredRow> {
  for (let after; ;) {
    const rows = await store.listRows({ space: 'items', prefix: `${rowKey}:`, after, limit: ITEMS_AT_ONCE })
    yield* rows
    after = rows.at(-1)
    if (rows.length < ITEMS_AT_ONCE) return
  }
}
