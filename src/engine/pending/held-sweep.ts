// engine/pending: goes over all held events from time to time, and has those looked at who wait for one of them. So an
// event whose taker was to be found by a server that crashed is taken all the same.
import type { ContextId } from '../../model/context.ts'
import type { StoredRow } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { keysOfHearers } from '../record/index-keys.ts'
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

/** Events looked at in a second. */
const EVENTS = 500
/** Rows read at once: an event has 64 KB at most. */
const ROWS = 50
/** Keys in one query for contexts that wait for any of them, about, and contexts that are looked at then. */
const KEYS = 256
const MAX_CONTEXTS = 200
const TICK_MS = 1_000
/** Milliseconds between two passes over all. */
const PAUSE_MS = 10_000

export class HeldSweep {
  readonly #parts: HeldSweepParts
  #after: StoredRow | undefined
  /** Of the contexts that were looked at last. */
  #lastId: ContextId = 0
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
      if (this.#after === undefined && (await store.countRows({ space: 'held' })) === 0) return PAUSE_MS
      for (let looked = 0; looked < EVENTS && !this.#stopped; looked += ROWS) {
        const rows = await store.listRows({ space: 'held', prefix: '', after: this.#after, limit: ROWS })
        await this.#offer(rows)
        this.#after = rows.length < ROWS ? undefined : rows.at(-1)
        if (this.#after === undefined) return PAUSE_MS
      }
    } catch (error) {
      if (!this.#stopped) log.debug('pending events could not be looked at; trying again later', { error })
    }
    return TICK_MS
  }

  async #offer(rows: readonly StoredRow[]): Promise<void> {
    const { held } = this.#parts
    const keys = new Set<string>()
    for (const { partition, key, value } of rows) {
      const row: HeldRow = heldRowOf(partition, key, value)
      const free = row.event.claim === null ? row : await held.unclaimed(row)
      if (free === null || free === 'taken') continue
      for (const indexKey of keysOfHearers(row.event.event, row.event.tags)) keys.add(indexKey)
      if (keys.size >= KEYS) await this.#lookFor(keys)
    }
    if (keys.size > 0) await this.#lookFor(keys)
  }

  /** Looks at contexts that have one of the keys, from time to time at all of them. */
  async #lookFor(keys: Set<string>): Promise<void> {
    const { store, lookUps } = this.#parts
    const page = { upTo: await store.highestId(), after: this.#lastId, limit: MAX_CONTEXTS }
    const ids = await store.waitingFor({ any: [...keys], ...page })
    keys.clear()
    this.#lastId = ids.length < MAX_CONTEXTS ? 0 : (ids.at(-1) ?? 0)
    await Promise.all(ids.map((id) => (this.#stopped ? undefined : lookUps.run(id))))
  }
}
