// store/lmdb: the rows of the contexts' logs. One record of this table has the rows of one commit.
import type { Database } from 'lmdb'
import type { ContextId } from '../../../model/context.ts'
import { logOnce } from '../../../model/log-once.ts'
import type { Log } from '../../../ports/log.ts'

/** By context, and the number of the first row of the commit. */
export type LogRows = Database<Buffer, [ContextId, number]>

/** Numbers of the records of a context, ascending, up to and including `upTo`. */
export const numbersOf = (table: LogRows, id: ContextId, upTo = Number.MAX_SAFE_INTEGER): number[] =>
  Array.from(table.getKeys({ start: [id, 0], end: [id, upTo], inclusiveEnd: true }), ([, row]) => row)

/** The newest rows of a context, in ascending order. Unreadable ones are left out and logged. */
export function newestRows(table: LogRows, id: ContextId, limit: number, log: Log): string[] {
  const newestFirst: string[][] = []
  let count = 0
  const range = { start: [id, Number.MAX_SAFE_INTEGER], end: [id, -1], reverse: true }
  for (const { key, value } of table.getRange(range)) {
    try {
      const rows = rowsIn(value)
      newestFirst.push(rows)
      count += rows.length
    } catch (error) {
      const text = `row ${key[1]} of the log of context ${id} can't be read, and is left out`
      logOnce(log, text, { contextId: id, row: key[1], error })
    }
    if (count >= limit) break
  }
  return newestFirst.toReversed().flat().slice(-limit)
}

/** @throws Error when these bytes are no rows */
export function rowsIn(value: Buffer): string[] {
  const rows: unknown = JSON.parse(value.toString())
  if (!Array.isArray(rows)) throw new TypeError('these are no rows')
  return rows.map((row: unknown) => {
    if (typeof row !== 'string') throw new TypeError('these are no rows')
    return row
  })
}
