// engine/pending: looks which held events a context may take that has come to wait, and offers them to it, in the order
// of their arrival. Never part of the commit, or of the answer, that made the context wait.
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import { compareRows, type StoredRow } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import type { FoundLookup, Offers } from './offers.ts'
import { prefixesFor } from './waiting-keys.ts'

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
/** Queries at once, and rows that each gives. */
const QUERIES = 16
const ROWS = 20
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
    while (indexKeys !== null && !this.#stopped) indexKeys = await this.#offerOne(id, prefixesFor(indexKeys))
  }

  /** The index keys of the context if it took one; null: it took none. */
  async #offerOne(id: ContextId, prefixes: readonly string[]): Promise<readonly string[] | null> {
    const { offers } = this.#parts
    let passed = 0
    const seen = new Set<string>()
    for (let open: readonly Query[] = prefixes.map((prefix) => ({ prefix })); open.length > 0;) {
      const { found, more } = await this.#find(id, open)
      for (const one of found) {
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
      open = more
    }
    return null
  }

  /** The next rows of each query, by the arrival of their events, and the queries that have more. */
  async #find(id: ContextId, queries: readonly Query[]): Promise<{ found: FoundLookup[]; more: Query[] }> {
    const { store } = this.#parts
    const partition = id % store.partitions
    const [found, more]: [FoundLookup[], Query[]] = [[], []]
    for (let from = 0; from < queries.length; from += QUERIES) {
      const some = queries.slice(from, from + QUERIES)
      const pages = await Promise.all(
        some.map((query) => store.listRows({ partition, space: 'lookups', ...query, limit: ROWS })),
      )
      for (const [place, { prefix }] of some.entries()) {
        const rows = pages[place] ?? []
        for (const row of rows) found.push({ row, heldKey: row.key.slice(prefix.length) })
        if (rows.length === ROWS) more.push({ prefix, after: rows.at(-1) })
      }
    }
    const byArrival = (one: FoundLookup) => ({ key: one.heldKey, partition })
    return { found: found.sort((a, b) => compareRows(byArrival(a), byArrival(b))), more }
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
