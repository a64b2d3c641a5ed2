// store/lmdb: pages of rows. What can't be read is left out, and said; others are served while many are passed over.
import type { RowSpace, StoredRow } from '../../model/rows.ts'
import type { Log } from '../../ports/log.ts'
import type { RowQuery } from '../../ports/store.ts'
import type { Disk } from './disk.ts'
import { isExpired } from './row-group.ts'
import { decodeRow, type RowValue } from './row-tables.ts'

/** Rows looked at in one turn of the event loop: a few milliseconds. */
const STRIDE = 1000

/** As `Store.listRows`. */
export async function listRows(
  { rowTables }: Disk,
  { partition = 0, space, prefix, after, limit }: Omit<RowQuery, 'space'> & { readonly space: RowSpace },
  { now, log }: { readonly now: number; readonly log: Log },
): Promise<StoredRow[]> {
  const rows: StoredRow[] = []
  if (partition !== 0) return rows
  const read = (key: string, bytes: Buffer): RowValue | null => {
    try {
      return decodeRow(space, bytes)
    } catch (error) {
      log.error(`a row is left out of a list: it can't be read`, { space, key, error })
      return null
    }
  }
  // The next stride begins behind the last key: nobody holds lmdb's snapshot while others write.
  for (let last = startOf(prefix, after); ;) {
    let looked = 0
    for (const { key, bytes } of rowTables.from(space, last.key, last.isPassed)) {
      if (rows.length >= limit || !key.startsWith(prefix)) return rows
      const row = read(key, bytes)
      if (row !== null && !isExpired(row, now)) rows.push({ partition: 0, key, ...row })
      last = { key, isPassed: true }
      if (++looked === STRIDE) break
    }
    if (looked < STRIDE) return rows
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  }
}

/** `after` may lie before all keys of the prefix, or, by its partition, before a row with its own key. */
function startOf(prefix: string, after: RowQuery['after']): { key: string; isPassed: boolean } {
  if (after === undefined || Buffer.compare(Buffer.from(after.key), Buffer.from(prefix)) < 0)
    return { key: prefix, isPassed: false }
  return { key: after.key, isPassed: after.partition >= 0 }
}
