// engine/pending: goes over all held events from time to time, and has those looked at who wait for one of them. So an
// event whose taker was to be found by a server that crashed is taken all the same.
import type { ContextId } from '../../model/context.ts'
import type { StoredRow } from '../../model/rows.ts'
import type { Deps } from '../contexts/deps.ts'
import { keysOfHearers } from '../record/index-keys.ts'
import { isUnreadableRow } from '../record/unreadable.ts'
import { heldRowOf } from './held-event.ts'
import type { HeldStore } from './held-store.ts'
import type { LookUps } from './look-ups.ts'

export interface HeldSweepParts extends Deps {
  readonly held: Pick<HeldStore, 'unclaimed'>
  readonly lookUps: Pick<LookUps, 'request'>
}

/** Rows read at once: an event has 64 KB at most. */
const ROWS = 50
/** Keys in one query for contexts that wait for any of them. */
const KEYS = 256
/** Contexts looked at at once, and how often in a second. */
const MAX_CONTEXTS = 200
const PAGES = 10
const TICK_MS = 1_000
/** Milliseconds between two passes over all. */
const PAUSE_MS = 10_000

export class HeldSweep {
  readonly #parts: HeldSweepParts
  #sweeping: Promise<void> = Promise.resolve()
  #pages = 0
  /** Ends the pause. */
  #wake: (() => void) | null = null
  #isSoon = false
  #stopped = false

  constructor(parts: HeldSweepParts) {
    this.#parts = parts
  }

  start(): void {
    this.#sweeping = this.#run()
  }

  /** Begins soon, if it is pausing. */
  hurry(): void {
    if (this.#wake === null || this.#isSoon || this.#stopped) return
    this.#isSoon = true
    this.#parts.clock.after(TICK_MS, () => {
      this.#isSoon = false
      this.#wake?.()
    })
  }

  /** Resolves when nothing is under way any more. */
  stop(): Promise<void> {
    this.#stopped = true
    this.#wake?.()
    return this.#sweeping
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      let pause = PAUSE_MS
      try {
        await this.#sweep()
      } catch (error) {
        if (!this.#stopped) this.#parts.log.debug('pending events could not be looked at; trying again soon', { error })
        pause = TICK_MS
      }
      await this.#pause(pause)
    }
  }

  async #pause(milliseconds: number): Promise<void> {
    if (this.#stopped) return
    await new Promise<void>((resolve) => {
      const callOff = this.#parts.clock.after(milliseconds, resolve)
      this.#wake = () => {
        callOff()
        resolve()
      }
    })
    this.#wake = null
  }

  /** Goes over all events once. */
  async #sweep(): Promise<void> {
    const { store } = this.#parts
    if ((await store.countRows({ space: 'held' })) === 0) return
    const [upTo, asked] = [await store.highestId(), new Set<string>()]
    for (let after: StoredRow | undefined; !this.#stopped;) {
      const rows = await store.listRows({ space: 'held', prefix: '', after, limit: ROWS })
      // Whoever was looked at was offered all events that it waits for.
      const keys = new Set<string>()
      for (const row of rows) for (const key of await this.#keysOf(row)) if (!asked.has(key)) keys.add(key)
      for (const key of keys) asked.add(key)
      for (let from = 0; from < keys.size; from += KEYS) await this.#look([...keys].slice(from, from + KEYS), upTo)
      if (rows.length < ROWS) return
      after = rows.at(-1)
    }
  }

  /** Of the contexts that may take the event; none where others are at it, or its row is damaged. */
  async #keysOf({ key, value }: StoredRow): Promise<readonly string[]> {
    const { held, log } = this.#parts
    try {
      const free = await held.unclaimed(heldRowOf(value))
      return free === null || free === 'taken' ? [] : keysOfHearers(free.event.event, free.event.tags)
    } catch (error) {
      if (isUnreadableRow(error, { space: 'held', key }, log)) return []
      throw error
    }
  }

  /** Looks at all contexts that have one of the index keys. */
  async #look(any: readonly string[], upTo: ContextId): Promise<void> {
    const { store, lookUps } = this.#parts
    for (let after: ContextId | undefined = 0; after !== undefined && !this.#stopped;) {
      const ids: readonly ContextId[] = await store.waitingFor({ any, upTo, after, limit: MAX_CONTEXTS })
      await Promise.all(ids.map((id) => lookUps.request(id, null)))
      after = ids[MAX_CONTEXTS - 1]
      this.#pages += 1
      if (this.#pages % PAGES === 0) await this.#pause(TICK_MS)
    }
  }
}
