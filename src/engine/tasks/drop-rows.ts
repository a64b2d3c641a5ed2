// engine/tasks: deletes rows that are of no more use, so that they take no room until they expire.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ListedSpace, StoredRow } from '../../model/rows.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import type { Task } from './task.ts'

/** Rows deleted at once. */
const ROWS_AT_ONCE = 250

interface Dropped {
  readonly space: ListedSpace
  /** What the keys begin with. */
  readonly prefix: string
  /** From the first row on with such a key, all stay. */
  readonly end?: string
  readonly task: Task
}

/**
 * Never fails: what it does not get to stays until it expires. The rows guard what the task does once, so all of them stay
 * while a commit of the task may still come true.
 */
export async function dropRows(
  { store, log }: { readonly store: Store; readonly log: Log },
  { space, prefix, end, task }: Dropped,
): Promise<void> {
  if (task.mayWriteLate) return
  try {
    for (let after: StoredRow | undefined; !task.isStopping;) {
      const rows = await store.listRows({ space, prefix, after, limit: ROWS_AT_ONCE })
      const dropped = end === undefined ? rows : rows.filter(({ key }) => !key.startsWith(end))
      const removals = byPartition(dropped).map((some) => some.map((row) => ({ ...row, space, value: null })))
      await Promise.all(removals.map((some) => store.commit({ writes: [], rows: some })))
      if (dropped.length < ROWS_AT_ONCE) return
      after = rows.at(-1)
      await nextTurn()
    }
  } catch (error) {
    log.debug('rows that are of no more use stay until they expire', { space, error })
  }
}

function byPartition(rows: readonly StoredRow[]): StoredRow[][] {
  const partitions = [...new Set(rows.map(({ partition }) => partition))]
  return partitions.map((one) => rows.filter(({ partition }) => partition === one))
}
