// engine/tasks: what a task does with very many contexts: a stored broadcast, an operation. The protocol:
//
// 1. It goes through the contexts in the order of their ids, in waves, between which other requests are served. A
//    context that the store could not reach is tried until it is reached, or until the task is to be stopped.
// 2. The commit of each context writes a mark: a row, under a guard that there is none. So what a crash leaves
//    undecided is tried again, and done once.
// 3. Now and then a commit of the task stores how far it is. A server that takes the task over begins behind that, and
//    reads only the marks behind it.
// 4. At the end the marks are deleted, but not while a commit may still succeed late (`mayWriteLate` of the task): then
//    they stay until they expire.
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import type { ListedSpace, RowWrite, StoredRow } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { RowQuery, Store } from '../../ports/store.ts'
import type { Task } from './task.ts'

/** The contexts of a task, and what it does with them. `F`: the outcome for one. */
export interface FanOut<F extends object | null> {
  readonly task: Task
  /** Milliseconds after which it stores how far it is, even if few contexts were dealt with. */
  readonly noteMs?: number
  /**
   * Waves of contexts, in the order of their ids. It goes on when all of a wave were dealt with, and serves others
   * first.
   */
  waves(): AsyncIterable<readonly ContextId[]>
  /** Deals with that context; the error that the store is out of reach, if it is to be tried again. */
  deal(id: ContextId): Promise<F | FluxError>
  /** Counts the outcomes; called in the order of the ids. */
  add(found: F): void
  /** How far it is; null: that is not stored. */
  progress(): RowWrite | null
}

/** Serves others first. By the global function, which simulations replace. */
export const yieldTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

/** Contexts after which it stores how far it is. */
const NOTE_CONTEXTS = 1000

/**
 * Deals with all contexts; false: the task was to be stopped before. @throws TaskLost; FluxError when the server stops
 */
export async function goThrough<F extends object | null>(fanOut: FanOut<F>, clock: Clock): Promise<boolean> {
  const { task, noteMs = Infinity } = fanOut
  let [notedAt, dealt] = [clock.now(), 0]
  for await (const ids of fanOut.waves()) {
    const row = dealt >= NOTE_CONTEXTS || clock.now() - notedAt >= noteMs ? fanOut.progress() : null
    if (row) {
      // The same commit finds whether the task is to be stopped.
      await task.persist(() => task.commit([row]))
      ;[notedAt, dealt] = [clock.now(), 0]
    }
    if (task.stopRequested) return false
    for (let left = ids; left.length > 0;) {
      const found = await Promise.all(left.map((id) => fanOut.deal(id)))
      for (const one of found) if (!(one instanceof FluxError)) fanOut.add(one)
      left = left.filter((_, at) => found[at] instanceof FluxError)
      const away = found.find((one) => one instanceof FluxError)
      if (away && !(await task.mayTryAgain(away))) return false
    }
    dealt += ids.length
    task.check()
  }
  return true
}

/** Digits of an id in a key, so that keys sort by it. */
const ID_DIGITS = 16

/** Rows read at once, and those deleted at once. */
const READ_AT_ONCE = 1000
const DROPPED_AT_ONCE = 250

/** The rows that say what a task did with which contexts, each in the partition of its context. */
export class Marks {
  readonly #store: Store
  readonly #space: ListedSpace
  /** What the keys begin with. */
  readonly #prefix: string

  constructor(store: Store, space: ListedSpace, prefix: string) {
    this.#store = store
    this.#space = space
    this.#prefix = prefix
  }

  write(id: ContextId, value: string, expiresAt: number): RowWrite {
    return { ...this.#placeOf(id), expects: null, value, expiresAt }
  }

  /** Null: it has none. @throws FluxError `unavailable` */
  read(id: ContextId): Promise<StoredRow | null> {
    return this.#store.readRow(this.#placeOf(id))
  }

  /** Those of contexts with higher ids, and what lies behind them. @throws FluxError `unavailable` */
  behind(id: ContextId): AsyncGenerator<StoredRow> {
    const after = { key: this.#placeOf(id).key, partition: this.#store.partitions }
    return allRows(this.#store, { space: this.#space, prefix: this.#prefix, after })
  }

  /** How many contexts have one. @throws FluxError `unavailable` */
  async count(): Promise<number> {
    let count = 0
    for await (const _ of this.behind(0)) count += 1
    return count
  }

  /**
   * Deletes those of all contexts. Never fails: what it does not get to stays until it expires. They guard what the
   * task does once, so all of them stay while a commit of the task may still succeed.
   */
  async drop(task: Task, log: Log): Promise<void> {
    const [store, space, prefix] = [this.#store, this.#space, this.#prefix]
    const { length } = this.#placeOf(0).key
    if (task.mayWriteLate) return
    try {
      for (let partition = 0; partition < store.partitions;) {
        task.check()
        const rows = await store.listRows({ space, prefix, partition, limit: DROPPED_AT_ONCE })
        const removals = rows.filter(({ key }) => key.length === length).map((row) => ({ ...row, space, value: null }))
        if (removals.length > 0) await store.commit({ writes: [], rows: removals })
        if (removals.length < DROPPED_AT_ONCE) partition += 1
        await yieldTurn()
      }
    } catch (error) {
      log.debug('rows that are of no more use stay until they expire', { space, error })
    }
  }

  #placeOf(id: ContextId) {
    const key = this.#prefix + String(id).padStart(ID_DIGITS, '0')
    return { partition: id % this.#store.partitions, space: this.#space, key }
  }
}

/** All rows from there on. What the store has in memory it gives without a pause: others are served between pages. */
export async function* allRows(
  store: Store,
  query: Omit<RowQuery, 'limit'>,
  limit = READ_AT_ONCE,
): AsyncGenerator<StoredRow> {
  for (let after = query.after; ;) {
    const rows = await store.listRows({ ...query, after, limit })
    yield* rows
    after = rows.at(-1)
    if (rows.length < limit) return
    await yieldTurn()
  }
}

export async function listed<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}
