// engine/idempotency: deletes the rows of whom a broadcast moved, once it is done. Its receipt needs none of them, and
// they would take the room of keys. Those of starts stay: a start that comes true late is kept from happening by them.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { StoredRow } from '../../model/rows.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { movedPrefix, startedPrefix } from './broadcast-items.ts'
import type { Patience } from './patience.ts'

/** Rows deleted at once. */
const ROWS_AT_ONCE = 250

/** Never fails: what it does not get to stays until it expires. */
export async function dropMoves(
  { store, log }: { readonly store: Store; readonly log: Log },
  { key, patience }: { readonly key: string; readonly patience: Pick<Patience, 'isOver'> },
): Promise<void> {
  const query = { space: 'items', prefix: movedPrefix(key), limit: ROWS_AT_ONCE } as const
  try {
    for (let after: StoredRow | undefined; !patience.isOver;) {
      const rows = await store.listRows({ ...query, after })
      const moves = rows.filter((row) => !row.key.startsWith(startedPrefix(key)))
      await Promise.all(byPartition(moves).map((some) => store.commit({ writes: [], rows: some.map(removalOf) })))
      if (moves.length < ROWS_AT_ONCE) return
      after = rows.at(-1)
      await nextTurn()
    }
  } catch (error) {
    log.debug('rows of a broadcast that is done stay until they expire', { error })
  }
}

const removalOf = (row: StoredRow) => ({ ...row, space: 'items' as const, value: null })

function byPartition(rows: readonly StoredRow[]): StoredRow[][] {
  const partitions = [...new Set(rows.map(({ partition }) => partition))]
  return partitions.map((one) => rows.filter(({ partition }) => partition === one))
}
