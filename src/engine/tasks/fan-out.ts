// engine/tasks: what a task does with very many contexts: a stored broadcast, an operation. The protocol:
//
// 1. It goes through the contexts in the order of their ids, in waves, between which other requests are served. A context
//    that the store could not reach is tried until it is reached, or until the task is to be stopped.
// 2. The commit of each context writes a mark: a row, under a guard that there is none. So what a crash leaves undecided
//    is tried again, and done once.
// 3. Now and then a commit of the task stores how far it is. A server that takes the task over begins behind that, and
//    reads only the marks behind it.
// 4. At the end the marks are deleted, but not while a commit may still come true late (`mayWriteLate` of the task): then
//    they stay until they expire.
import type { ContextId } from '../../model/context.ts'
import type { ListedSpace, RowWrite, StoredRow } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { RowQuery, Store } from '../../ports/store.ts'
import type { Task } from './task.ts'

/** The contexts of a task, and what it does with them. */
export interface FanOut {
  readonly task: Task
  /** Whether there may be contexts that it has not dealt with. */
  readonly hasMore: boolean
  /** Epoch milliseconds at which the next wave may begin; left out: at once. */
  readonly nextAt?: number
  /** Milliseconds after which it stores how far it is, even if few contexts were dealt with. */
  readonly noteMs?: number
  /** The next wave. */
  next(): Promise<readonly ContextId[]> | readonly ContextId[]
  /** Deals with those contexts; gives those for which the store is out of reach. `isAgain`: this was tried before. */
  send(ids: readonly ContextId[], isAgain: boolean): Promise<readonly ContextId[]>
  /** All of the wave were dealt with but `left`, which is more than 0 only if the task is to be stopped. */
  advance(left: number): void
  /** How far it is. */
  progress(): RowWrite
}

/** Serves others first. By the global function, which simulations replace. */
export const yieldTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

/** Contexts after which it stores how far it is. */
const NOTE_CONTEXTS = 1000

/** Deals with all contexts, unless the task is to be stopped before. @throws TaskLost; FluxError when the server stops */
export async function goThrough(fanOut: FanOut, clock: Clock): Promise<void> {
  const { task, noteMs = Infinity } = fanOut
  let [notedAt, dealt] = [clock.now(), 0]
  while (fanOut.hasMore && !task.stopRequested) {
    const ids = await fanOut.next()
    const left = await sendAll(fanOut, ids)
    fanOut.advance(left)
    if (left > 0) return
    dealt += ids.length
    await yieldTurn()
    task.check()
    while (fanOut.hasMore) {
      if (dealt >= NOTE_CONTEXTS || clock.now() - notedAt >= noteMs) {
        // The same commit finds whether the task is to be stopped.
        await task.persist(() => task.commit([fanOut.progress()]))
        ;[notedAt, dealt] = [clock.now(), 0]
      }
      const rest = (fanOut.nextAt ?? 0) - clock.now()
      if (rest <= 0 || task.stopRequested) break
      await task.pause(Math.ceil(Math.min(rest, noteMs)))
    }
  }
}

/** How many are left when the task is to be stopped before all could be reached. */
async function sendAll(fanOut: FanOut, ids: readonly ContextId[]): Promise<number> {
  let left = ids
  for (let isAgain = false; left.length > 0; isAgain = true) {
    if (isAgain && !(await fanOut.task.mayTryAgain())) break
    left = await fanOut.send(left, isAgain)
  }
  return left.length
}

/** Digits of an id in a key, so that keys sort by it. */
const ID_DIGITS = 16

/** The rows that say what a task did with which contexts, each in the partition of its context. */
export class Marks {
  readonly #store: Pick<Store, 'readRow' | 'listRows' | 'partitions'>
  readonly #space: ListedSpace
  /** What the keys begin with. */
  readonly #prefix: string

  constructor(store: Pick<Store, 'readRow' | 'listRows' | 'partitions'>, space: ListedSpace, prefix: string) {
    this.#store = store
    this.#space = space
    this.#prefix = prefix
  }

  keyOf(id: ContextId): string {
    return this.#prefix + String(id).padStart(ID_DIGITS, '0')
  }

  idIn(key: string): ContextId {
    return Number(key.slice(this.#prefix.length))
  }

  write(id: ContextId, value: string, expiresAt: number): RowWrite {
    return { ...this.#placeOf(id), expects: null, value, expiresAt }
  }

  /** Null: it has none. @throws FluxError `unavailable` */
  read(id: ContextId): Promise<StoredRow | null> {
    return this.#store.readRow(this.#placeOf(id))
  }

  /** Those of contexts with higher ids, and what lies behind them. @throws FluxError `unavailable` */
  behind(id: ContextId, partition?: number): AsyncGenerator<StoredRow> {
    const after = { key: this.keyOf(id), partition: this.#store.partitions }
    return allRows(this.#store, { space: this.#space, prefix: this.#prefix, after, partition })
  }

  #placeOf(id: ContextId) {
    return { partition: id % this.#store.partitions, space: this.#space, key: this.keyOf(id) }
  }
}

/** Rows read at once, and those deleted at once. */
const READ_AT_ONCE = 1000
const DROPPED_AT_ONCE = 250

/** All rows from there on. What the store has in memory it gives without a pause: others are served between pages. */
export async function* allRows(
  store: Pick<Store, 'listRows'>,
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

/**
 * Deletes rows whose keys begin with `prefix`, up to the first that begins with `end`. Never fails: what it does not get to
 * stays until it expires. The rows guard what the task does once, so all of them stay while a commit of the task may still
 * come true.
 */
export async function dropRows(
  { store, log }: { readonly store: Store; readonly log: Log },
  task: Task,
  { space, prefix, end }: { readonly space: ListedSpace; readonly prefix: string; readonly end?: string },
): Promise<void> {
  if (task.mayWriteLate) return
  try {
    for (let after: StoredRow | undefined; !task.isStopping;) {
      const rows = await store.listRows({ space, prefix, after, limit: DROPPED_AT_ONCE })
      const dropped = end === undefined ? rows : rows.filter(({ key }) => !key.startsWith(end))
      const removals = dropped.map((row) => ({ ...row, space, value: null }))
      await Promise.all(byPartition(removals).map((some) => store.commit({ writes: [], rows: some })))
      if (dropped.length < DROPPED_AT_ONCE) return
      after = rows.at(-1)
      await yieldTurn()
    }
  } catch (error) {
    log.debug('rows that are of no more use stay until they expire', { space, error })
  }
}

function byPartition(rows: readonly RowWrite[]): RowWrite[][] {
  const partitions = [...new Set(rows.map(({ partition }) => partition))]
  return partitions.map((one) => rows.filter(({ partition }) => partition === one))
}
