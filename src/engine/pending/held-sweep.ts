// engine/pending: goes over all held events from time to time, and has those looked at who wait for one of them. So an
// event whose taker was to be found by a server that crashed is taken all the same.
import type { ContextId } from '../../model/context.ts'
import type { StoredRow } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { keysOfHearers } from '../record/index-keys.ts'
import { isUnreadableRow } from '../record/unreadable.ts'
import { heldRowOf, type HeldRow } from './held-event.ts'
import type { HeldStore } from './held-store.ts'
import type { LookUps } from './look-ups.ts'

export interface HeldSweepParts {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly held: Pick<HeldStore, 'unclaimed'>
  readonly lookUps: Pick<LookUps, 'run'>
}

/** Events that are read for one round of queries. */
const EVENTS = 500
/** Rows read at once: an event has 64 KB at most. */
const ROWS = 50
/** Keys in one query for contexts that wait for any of them, about. */
const KEYS = 256
/** Contexts looked at at once, and how often in a second. */
const MAX_CONTEXTS = 200
const PAGES = 10
const TICK_MS = 1_000
/** Milliseconds between two passes over all. */
const PAUSE_MS = 10_000

/** Contexts that have one of the keys, behind those that were looked at. */
interface Query {
  readonly any: readonly string[]
  readonly upTo: ContextId
  after: ContextId
}

export class HeldSweep {
  readonly #parts: HeldSweepParts
  #after: StoredRow | undefined
  /** Of the events that were read last. Each is gone through to its end before the next. */
  #queries: Query[] = []
  #callOff: (() => void) | null = null
  #sweeping: Promise<void> = Promise.resolve()
  #isSoon = false
  #stopped = false

  constructor(parts: HeldSweepParts) {
    this.#parts = parts
  }

  start(): void {
    this.#sweeping = this.#run()
  }

  async #run(): Promise<void> {
    const delay = await this.#tick()
    if (!this.#stopped) this.#callOff = this.#parts.clock.after(delay, () => this.start())
  }

  /** Begins soon, if it is pausing. */
  hurry(): void {
    if (this.#callOff === null || this.#isSoon || this.#stopped) return
    this.#isSoon = true
    this.#callOff()
    this.#callOff = this.#parts.clock.after(TICK_MS, () => this.start())
  }

  /** Resolves when nothing is under way any more. */
  stop(): Promise<void> {
    this.#stopped = true
    this.#callOff?.()
    return this.#sweeping
  }

  /** Milliseconds until the next. */
  async #tick(): Promise<number> {
    const { store, log } = this.#parts
    this.#callOff = null
    this.#isSoon = false
    try {
      if (this.#queries.length === 0) {
        if (this.#after === undefined && (await store.countRows({ space: 'held' })) === 0) return PAUSE_MS
        await this.#read()
      }
      for (let pages = 0; pages < PAGES && !this.#stopped; pages += 1) await this.#look()
      if (this.#after === undefined && this.#queries.length === 0) return PAUSE_MS
    } catch (error) {
      if (!this.#stopped) log.debug('pending events could not be looked at; trying again later', { error })
    }
    return TICK_MS
  }

  /** Reads the next events. */
  async #read(): Promise<void> {
    const { store } = this.#parts
    const upTo = await store.highestId()
    const queries: Query[] = []
    const keys = new Set<string>()
    const ask = () => {
      if (keys.size > 0) queries.push({ any: [...keys], upTo, after: 0 })
      keys.clear()
    }
    let after = this.#after
    for (let read = 0; read < EVENTS && !this.#stopped; read += ROWS) {
      const rows = await store.listRows({ space: 'held', prefix: '', after, limit: ROWS })
      for (const row of rows) {
        for (const indexKey of await this.#keysOf(row)) keys.add(indexKey)
        if (keys.size >= KEYS) ask()
      }
      after = rows.length < ROWS ? undefined : rows.at(-1)
      if (after === undefined) break
    }
    ask()
    this.#queries = queries
    this.#after = after
  }

  /** Of the contexts that may take the event; none where others are at it, or its row is damaged. */
  async #keysOf({ partition, key, value }: StoredRow): Promise<readonly string[]> {
    const { held, log } = this.#parts
    try {
      const row: HeldRow = heldRowOf(partition, key, value)
      const free = row.event.claim === null ? row : await held.unclaimed(row)
      return free === null || free === 'taken' ? [] : keysOfHearers(row.event.event, row.event.tags)
    } catch (error) {
      if (isUnreadableRow(error, { space: 'held', key }, log)) return []
      throw error
    }
  }

  /** Looks at the next contexts. */
  async #look(): Promise<void> {
    const { store, lookUps } = this.#parts
    const [query] = this.#queries
    if (query === undefined) return
    const ids = await store.waitingFor({ ...query, limit: MAX_CONTEXTS })
    const last = ids[MAX_CONTEXTS - 1]
    if (last === undefined) this.#queries.shift()
    else query.after = last
    await Promise.all(ids.map((id) => (this.#stopped ? undefined : lookUps.run(id))))
  }
}
