// engine/idempotency: rows that say whom a broadcast under a key has moved and started. Each is written in the commit of
// that move or start, under a guard, so whoever carries the broadcast on moves and starts nobody a second time.
import { createHash } from 'node:crypto'
import type { EventAnswer } from '../../api/send-event.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextId } from '../../model/context.ts'
import type { ContextRecord } from '../../model/record.ts'
import { partitionOf, type RowWrite, type StoredRow } from '../../model/rows.ts'
import type { Store } from '../../ports/store.ts'
import { RowTaken, standOf, type RowsOf } from '../message.ts'

/** What the event did to one context. */
interface Item {
  readonly answer: 'transitions' | 'executions'
  readonly stand: EventAnswer['transitions'][number]
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
  readonly #startedIds = new Set<ContextId>()

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
    for await (const { key, value } of rowsOf(this.#store, this.#rowKey)) {
      const item = itemOf(value)
      this.#earlier.set(key, item)
      if (item.answer === 'executions') this.#startedIds.add(item.stand.contextId)
    }
  }

  /** Whether that context was moved or started before. */
  hasReached(id: ContextId): boolean {
    return this.#earlier.has(this.#movedKey(id)) || this.#startedIds.has(id)
  }

  hasStarted(flux: CompiledFlux): boolean {
    return this.#earlier.has(this.#startedKey(flux))
  }

  readonly moved: RowsOf = (_, record, flux) => [this.#row(this.#movedKey(record.id), 'transitions', record, flux)]

  readonly started: RowsOf = (_, record, flux) => [this.#row(this.#startedKey(flux), 'executions', record, flux)]

  /** What was done already, where that is why it was refused now. */
  doneBefore(error: unknown): Item | null {
    return error instanceof RowTaken && error.space === 'items' && error.value !== null ? itemOf(error.value) : null
  }

  #row(key: string, answer: Item['answer'], record: ContextRecord, flux: CompiledFlux): RowWrite {
    const partition = record.id % this.#store.partitions
    const value = JSON.stringify({ answer, stand: standOf({ record, flux }), at: record.updatedAt } satisfies Item)
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

/** All that was done under that key of a row. */
export async function itemsOf(store: Store, rowKey: string): Promise<Item[]> {
  const items: Item[] = []
  for await (const { value } of rowsOf(store, rowKey)) items.push(itemOf(value))
  return items
}

async function* rowsOf(store: Store, rowKey: string): AsyncGenerator<StoredRow> {
  for (let after; ;) {
    const rows = await store.listRows({ space: 'items', prefix: `${rowKey}:`, after, limit: ITEMS_AT_ONCE })
    yield* rows
    after = rows.at(-1)
    if (rows.length < ITEMS_AT_ONCE) return
  }
}
