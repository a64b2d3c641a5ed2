// engine/pending: looks which held events a context may take that has come to wait, and offers them to it, in the order
// of their arrival. Never part of the commit, or of the answer, that made the context wait.
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import { compareRows, type StoredRow } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import type { FoundLookup, Offers } from './offers.ts'
import { wantedBy, type WantedEvents } from './look-up-keys.ts'

export interface LookUpsParts {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly offers: Pick<Offers, 'offer'>
  /** A context was not looked at, for lack of room or since the store is out of reach. */
  readonly onMissed: () => void
}

/** Contexts looked at at once. */
const MAX_AT_ONCE = 32
/** Contexts that wait to be looked at. */
const MAX_WAITING = 10_000
/** Queries at once, and rows that each gives; those of one event are read at once up to a number. */
const QUERIES = 16
const ROWS = 20
const ROWS_OF_EVENT = 100
/** Events that one context is offered in vain until others have their turn. */
const MAX_PASSED = 100
/** Age of a look-up row from which on it is deleted if there is no event to it: before that, the event may be on its way. */
const LEFT_OVER_MS = 60_000

export class LookUps {
  readonly #parts: LookUpsParts
  /** Contexts that are looked at. True: once more when that is done. */
  readonly #running = new Map<ContextId, { again: boolean; indexKeys: readonly string[] | null }>()
  readonly #waiting = new Map<ContextId, readonly string[] | null>()
  readonly #onIdle: (() => void)[] = []
  #stopped = false

  constructor(parts: LookUpsParts) {
    this.#parts = parts
  }

  /** Has a context looked at soon. `indexKeys`: as it was committed; null: to be read. */
  request(id: ContextId, indexKeys: readonly string[] | null): void {
    if (this.#stopped) return
    const running = this.#running.get(id)
    if (running) Object.assign(running, { again: true, indexKeys })
    else if (this.#waiting.has(id) || this.#running.size < MAX_AT_ONCE || this.#waiting.size < MAX_WAITING) {
      this.#waiting.set(id, indexKeys)
      this.#next()
    } else this.#parts.onMissed()
  }

  /** Looks at a context now. Resolves when it was offered all that it may take. */
  async run(id: ContextId): Promise<void> {
    this.request(id, null)
    while (this.#running.has(id) || this.#waiting.has(id)) await this.#change()
  }

  /** Looks at no more contexts. */
  stop(): void {
    this.#stopped = true
    this.#waiting.clear()
    this.#changed()
  }

  /** Resolves when no context is looked at. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await this.#change()
  }

  /** Resolves when a context was looked at. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle.push(resolve)
    })
  }

  #changed(): void {
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  #next(): void {
    for (const [id, indexKeys] of this.#waiting) {
      if (this.#running.size >= MAX_AT_ONCE) return
      this.#waiting.delete(id)
      const running = { again: true, indexKeys }
      this.#running.set(id, running)
      void this.#look(id, running).finally(() => {
        this.#running.delete(id)
        this.#next()
        this.#changed()
      })
    }
  }

  async #look(id: ContextId, running: { again: boolean; indexKeys: readonly string[] | null }): Promise<void> {
    const { log, onMissed } = this.#parts
    // The answer to the commit goes first.
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
    try {
      while (running.again && !this.#stopped) {
        running.again = false
        await this.#offerAll(id, running.indexKeys)
      }
    } catch (error) {
      onMissed()
      if (!(error instanceof FluxError)) log.error('a look-up of pending events failed', { contextId: id, error })
      else if (!this.#stopped) log.debug('a look-up of pending events is tried again later', { contextId: id, error })
    }
  }

  /** Offers events until the context takes none. */
  async #offerAll(id: ContextId, given: readonly string[] | null): Promise<void> {
    const { store } = this.#parts
    let indexKeys: readonly string[] | null = given ?? (await store.load({ id }))?.indexKeys ?? []
    while (indexKeys !== null && !this.#stopped) indexKeys = await this.#offerOne(id, wantedBy(indexKeys))
  }

  /** The index keys of the context if it took one; null: it took none. */
  async #offerOne(id: ContextId, wanted: readonly WantedEvents[]): Promise<readonly string[] | null> {
    const { offers } = this.#parts
    let passed = 0
    const seen = new Set<string>()
    if (wanted.length === 0) return null
    for (let open: Found = await this.#begin(id, wanted); ;) {
      for (const one of inOrder(open.found)) {
        if (this.#stopped) return null
        if (seen.has(one.heldKey)) continue
        seen.add(one.heldKey)
        const offered = await offers.offer(one, id)
        if (offered.kind === 'taken') return offered.indexKeys
        if (offered.kind === 'notWaiting') return null
        if (offered.kind === 'gone' && offered.isLeftOver) await this.#remove(one)
        passed += 1
        if (passed === MAX_PASSED) return null
      }
      if (open.more.length === 0) return null
      open = await this.#find(id, open.more)
    }
  }

  /**
   * What is held that the context may take. Where little is held in its partition, one read is enough; else one for each
   * event that it waits for, and only where much is held of that one, one for each tag.
   */
  async #begin(id: ContextId, wanted: readonly WantedEvents[]): Promise<Found> {
    const [all = []] = await this.#pages(id, [{ prefix: '' }], ROWS)
    if (all.length < ROWS) return { found: wanted.flatMap((one) => fitting(all, one)), more: [] }
    const pages = await this.#pages(id, wanted, ROWS_OF_EVENT)
    const isMany = (place: number) => pages[place]?.length === ROWS_OF_EVENT
    const few = wanted.flatMap((one, place) => (isMany(place) ? [] : fitting(pages[place] ?? [], one)))
    const many = wanted.flatMap((one, place) => (isMany(place) ? one.prefixes() : []))
    const rest = await this.#find(
      id,
      many.map((prefix) => ({ prefix })),
    )
    return { found: [...few, ...rest.found], more: rest.more }
  }

  /** The next rows of each query, and the queries that have more. */
  async #find(id: ContextId, queries: readonly Query[]): Promise<Found> {
    const pages = await this.#pages(id, queries, ROWS)
    const found = queries.flatMap(({ prefix }, place) =>
      (pages[place] ?? []).map((row) => ({ row, heldKey: row.key.slice(prefix.length) })),
    )
    const more = queries.flatMap(({ prefix }, place) => {
      const rows = pages[place] ?? []
      return rows.length === ROWS ? [{ prefix, after: rows.at(-1) }] : []
    })
    return { found, more }
  }

  /** Of each query so many rows. */
  async #pages(id: ContextId, queries: readonly Query[], limit: number): Promise<StoredRow[][]> {
    const { store } = this.#parts
    const partition = id % store.partitions
    const pages: StoredRow[][] = []
    for (let from = 0; from < queries.length; from += QUERIES) {
      const some = queries.slice(from, from + QUERIES)
      const read = some.map(({ prefix, after }) =>
        store.listRows({ partition, space: 'lookups', prefix, after, limit }),
      )
      pages.push(...(await Promise.all(read)))
    }
    return pages
  }

  /** Nothing is left of the event but this row. */
  async #remove({ row: { partition, key, value }, heldKey }: FoundLookup): Promise<void> {
    const { store, clock } = this.#parts
    const receivedAt = Number(heldKey.slice(0, heldKey.indexOf(':')))
    if (clock.now() - receivedAt < LEFT_OVER_MS) return
    const row = { partition, space: 'lookups', key, expects: value, value: null, expiresAt: null } as const
    await store.commit({ writes: [], rows: [row] })
  }
}

interface Query {
  readonly prefix: string
  readonly after?: StoredRow | undefined
}

/** Events that a context may take, and where there are more of them. */
interface Found {
  readonly found: readonly FoundLookup[]
  readonly more: readonly Query[]
}

const fitting = (rows: readonly StoredRow[], { heldKeyIn }: WantedEvents): FoundLookup[] =>
  rows.flatMap((row) => {
    const heldKey = heldKeyIn(row.key)
    return heldKey === null ? [] : [{ row, heldKey }]
  })

/** By the arrival of the events. */
const inOrder = (found: readonly FoundLookup[]): FoundLookup[] =>
  found.toSorted((one, other) => compareRows({ key: one.heldKey, partition: 0 }, { key: other.heldKey, partition: 0 }))
