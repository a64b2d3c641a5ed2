// engine/pending: finds which unclaimed events a context may take, and which contexts may take an unclaimed event.
//
// - A context that has come to wait is looked at, and offered what it may take, in the order of arrival. This is never
//   part of the commit, or of the answer, that made the context wait.
// - Every server goes over all unclaimed events from time to time, and has those contexts looked at that wait for one
//   of them. So an event is taken although the server crashed that was to find its taker. A server that is alone does so
//   when it begins, when an event was added, after what has failed, and while a context is about to take one.
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import { compareRows, type RowWrite, type StoredRow } from '../../model/rows.ts'
import type { SelectedIds } from '../../ports/store.ts'
import { Turnstile } from '../../model/turnstile.ts'
import type { Deps } from '../contexts/deps.ts'
import { keysOfHearers } from '../record/index-keys.ts'
import { readableOf } from '../record/unreadable.ts'
import { allRows, yieldTurn } from '../tasks/fan-out.ts'
import { pause, Periodic } from '../../ports/periodic.ts'
import {
  arrivalIn,
  HASH_CHARACTERS,
  prefixesFor,
  unclaimedKeyIn,
  unclaimedRowOf,
  type UnclaimedStore,
} from './unclaimed-store.ts'

/** The key of an unclaimed event, and a look-up row that leads to it. */
export interface FoundEvent {
  readonly key: string
  readonly row: StoredRow
}

export type Offered =
  /** The context took it, and has these index keys now. */
  | readonly string[]
  /** It is not for this context, or another context is about to take it. */
  | 'passed'
  /** Only its look-up row is left. */
  | 'gone'
  /** The context does not wait for it any more. */
  | 'notWaiting'

interface LookUpsParts extends Deps {
  /** null: no other server can be there. */
  readonly beat: number | null
  readonly unclaimed: Pick<UnclaimedStore, 'unclaimed'>
  readonly offer: (found: FoundEvent, id: ContextId) => Promise<Offered>
}

/** Contexts that are looked at at once, and those that wait for it. */
const MAX_AT_ONCE = 32
const MAX_WAITING = 10_000
/** Rows from which on a partition has so many that each event is asked for. */
const FEW_ROWS = 20
/** Events that one context may refuse until others have their turn; so no query needs more rows. */
const MAX_PASSED = 100
/**
 * Age of an event from which on a look-up row is deleted that leads to none: before that, the event may be on its way.
 */
const LEFT_OVER_MS = 600_000

/** Rows read at once: an event has 64 KB at most. */
const ROWS = 50
/** Keys from which on contexts are asked for that wait for any of them. */
const KEYS = 256
/** Contexts looked at at once, and the milliseconds between two such. */
const MAX_CONTEXTS = 200
const PAGE_MS = 100
/** Milliseconds until a pass that is to begin soon. */
const TICK_MS = 1_000
/** Milliseconds between two passes over all. */
const PAUSE_MS = 10_000

interface Look {
  /** Whether it is to be looked at once more when that is done. */
  isDue: boolean
  /** As they were committed; null: to be read. */
  indexKeys: readonly string[] | null
  done: Promise<void>
}

export class LookUps {
  readonly #parts: LookUpsParts
  /** Each goes over all events once. */
  readonly passes: Periodic
  readonly #looks = new Map<ContextId, Look>()
  readonly #places = new Turnstile(MAX_AT_ONCE, { waiting: MAX_WAITING })
  #stopped = false

  constructor(parts: LookUpsParts) {
    this.#parts = parts
    this.passes = new Periodic(parts.clock, (signal) => this.#pass(signal))
  }

  /** Begins the next pass soon. */
  hurry(): void {
    this.passes.within(TICK_MS)
  }

  /**
   * Has a context looked at soon. Resolves when it was offered all that it may take. `indexKeys`: as it was committed;
   * null: to be read.
   */
  request(id: ContextId, indexKeys: readonly string[] | null): Promise<void> {
    const known = this.#looks.get(id)
    if (known) {
      Object.assign(known, { isDue: true, indexKeys })
      return known.done
    }
    const look: Look = { isDue: true, indexKeys, done: Promise.resolve() }
    this.#looks.set(id, look)
    look.done = this.#look(id, look)
    return look.done
  }

  /** Looks at no more contexts. Resolves when none is looked at. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all([this.passes.stop(), ...Array.from(this.#looks.values(), ({ done }) => done)])
  }

  async #look(id: ContextId, look: Look) {
    const { log } = this.#parts
    try {
      await this.#places.run(async () => {
        // The answer to the commit goes first.
        await yieldTurn()
        while (look.isDue && !this.#stopped) {
          look.isDue = false
          await this.#offerAll(id, look.indexKeys)
        }
        // From now on it is a look of its own that is requested.
        this.#looks.delete(id)
      })
    } catch (error) {
      this.#looks.delete(id)
      this.hurry()
      if (!(error instanceof FluxError)) log.error('a look-up of pending events failed', { contextId: id, error })
      else if (!this.#stopped) log.debug('a look-up of pending events is tried again later', { contextId: id, error })
    }
  }

  /** Offers events until the context takes none. */
  async #offerAll(id: ContextId, given: readonly string[] | null) {
    let indexKeys = given ?? (await this.#parts.store.load({ id }))?.indexKeys ?? null
    while (indexKeys !== null) indexKeys = await this.#offerOne(id, indexKeys)
  }

  /** The index keys of the context if it took one; null: it took none. */
  async #offerOne(id: ContextId, indexKeys: readonly string[]) {
    for (const found of await this.#find(id, indexKeys)) {
      const offered = this.#stopped ? 'notWaiting' : await this.#parts.offer(found, id)
      if (offered === 'notWaiting') return null
      if (offered === 'gone') await this.#removeLeftOver(found)
      else if (offered !== 'passed') return offered
    }
    return null
  }

  /**
   * The first events that are unclaimed and that the context may take. Where few are in its partition, one read is
   * enough; else one for each event that it waits for, and only where there are many of that one, one for each tag.
   */
  async #find(id: ContextId, indexKeys: readonly string[]) {
    const { store } = this.#parts
    const [prefixes, partition] = [prefixesFor(indexKeys), id % store.partitions]
    if (prefixes.size === 0) return []
    const read = (prefix: string, limit = MAX_PASSED) => store.listRows({ partition, space: 'lookups', prefix, limit })
    let rows = await read('', FEW_ROWS)
    if (rows.length === FEW_ROWS) {
      rows = []
      for (const name of new Set(Array.from(prefixes, (prefix) => prefix.slice(0, HASH_CHARACTERS)))) {
        const ofEvent = await read(name)
        const withTags = [...prefixes].filter((prefix) => prefix.startsWith(name))
        if (ofEvent.length < MAX_PASSED) rows.push(...ofEvent)
        else rows.push(...(await Promise.all(withTags.map((prefix) => read(prefix)))).flat())
      }
    }
    // One event may have several tags of the context.
    const found = new Map<string, FoundEvent>()
    for (const row of rows) {
      const key = unclaimedKeyIn(row.key, prefixes)
      if (key !== null) found.set(key, { key, row })
    }
    const byArrival = (one: FoundEvent, other: FoundEvent) =>
      compareRows({ key: one.key, partition }, { key: other.key, partition })
    return [...found.values()].toSorted(byArrival).slice(0, MAX_PASSED)
  }

  /** Many of them would keep the context from what lies behind. */
  async #removeLeftOver({ key, row }: FoundEvent) {
    const { store, clock } = this.#parts
    if (clock.now() - arrivalIn(key) < LEFT_OVER_MS) return
    const removal: RowWrite = { ...row, space: 'lookups', expects: row.value, value: null }
    await store.commit({ writes: [], rows: [removal] })
  }

  async #pass(signal: AbortSignal) {
    const { store, log, beat } = this.#parts
    let mayBeMore = beat !== null
    try {
      const upTo = await store.highestId()
      const asked = new Set<string>()
      const keys: string[] = []
      for await (const row of allRows(store, { space: 'held', prefix: '' }, ROWS)) {
        if (signal.aborted) return PAUSE_MS
        const hearers = await this.#keysOf(row)
        mayBeMore ||= hearers.length === 0
        // A context that was looked at was offered all events that it waits for.
        keys.push(...hearers.filter((key) => !asked.has(key)))
        for (const key of keys) asked.add(key)
        if (keys.length >= KEYS) await this.#lookAtAll(keys.splice(0), upTo, signal)
      }
      if (keys.length > 0) await this.#lookAtAll(keys, upTo, signal)
      return mayBeMore ? PAUSE_MS : null
    } catch (error) {
      if (!signal.aborted) log.debug('pending events could not be looked at; trying again soon', { error })
      return TICK_MS
    }
  }

  /**
   * The waiting keys of contexts that may take the event; none if another context is about to take it, or its row is
   * damaged.
   */
  async #keysOf(row: StoredRow) {
    const { unclaimed, log } = this.#parts
    const event = readableOf(row, 'held', log, unclaimedRowOf)
    const free = event && (await unclaimed.unclaimed(event))
    return free ? keysOfHearers(free.event.event, free.event.tags) : []
  }

  /** Looks at all contexts that have one of the index keys. */
  async #lookAtAll(keys: readonly string[], upTo: ContextId, signal: AbortSignal) {
    const { store, clock } = this.#parts
    const query = { any: keys.map((key) => [key]), before: upTo + 1, order: 'asc', limit: MAX_CONTEXTS } as const
    for (let after: ContextId | null = 0; after !== null && !signal.aborted;) {
      const { ids, rest }: SelectedIds = await store.selectIds({ ...query, after })
      await Promise.all(ids.map((id) => this.request(id, null)))
      after = rest
      await pause(clock, PAGE_MS, signal)
    }
  }
}
