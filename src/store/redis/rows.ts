// store/redis: rows and unique keys, as arguments of the commit script, and what the scripts that read rows give.
//
// - Rows and unique keys cost only those who use them. `lua/commit.lua` is two scripts: `commit-rows`, and `commit`,
//   which lacks the lines between `--[ rows` and `--]`.
import type { ContextId } from '../../model/context.ts'
import {
  compareRows,
  isListed,
  ROW_SPACES,
  rowIn,
  type RowWrite,
  startOfRows,
  type StoredRow,
  textOfRow,
} from '../../model/rows.ts'
import type { CommitRefusal, RowQuery, Store, Write } from '../../ports/store.ts'
import type { PartitionClient } from './partition-client.ts'
import { texts, type Reply } from './scripts.ts'
import { encodeText } from './stored-context.ts'

/** Rows looked at by one script, and bytes that it reads: a millisecond or two. */
const PIECE = 500
const PIECE_BYTES = 512 * 1024
/** Rows deleted by one script. */
const SWEPT = 500

/** Behind the writes: what only `commit-rows` knows. */
export function pushRows(values: string[], writes: readonly Write[], rows: readonly RowWrite[]): void {
  const uniques = uniquesOf(writes)
  values.push('', String(uniques.length))
  for (const { id, key } of uniques) values.push(String(id), encodeText(key))
  for (const { space, key, expects, value, expiresAt } of rows) {
    const guard = expects === undefined ? '' : expects === null ? '0' : '1'
    const kind = value === null ? '0' : isListed(space) ? '2' : '1'
    const text = textOfRow({ value: value ?? '', expiresAt })
    values.push(space, key, guard, expects ?? '', kind, text, String(expiresAt ?? 'inf'))
  }
}

const uniquesOf = (writes: readonly Write[]): { id: number; key: string }[] =>
  writes.flatMap(({ context: { id }, unique }) => (unique === undefined ? [] : { id, key: unique }))

/** The guard of the row at that place failed. `found`: what is there; null: nothing. */
export function rowRefusal(rows: readonly RowWrite[], place: number, found: Reply): CommitRefusal {
  const { space, key } = itemAt(rows, place)
  return { ok: false, row: { space, key, value: found === null ? null : String(found) } }
}

/** The unique key at that place is another context's. */
export function uniqueRefusal(writes: readonly Write[], place: number, by: ContextId): CommitRefusal {
  return { ok: false, unique: { key: itemAt(uniquesOf(writes), place).key, by } }
}

function itemAt<T>(items: readonly T[], place: number): T {
  const item = items[place]
  if (item === undefined) throw new TypeError('a script told of a row or a key that there is not')
  return item
}

/** The verbs of the port that read and sweep rows. */
export function rowQueries(client: PartitionClient) {
  async function listIn(partition: number, { space, prefix, after, limit }: RowQuery): Promise<StoredRow[]> {
    const rows: StoredRow[] = []
    let [from, isPassed] = startOfRows(partition, prefix, after)
    while (rows.length < limit) {
      const look = Math.min(PIECE, limit - rows.length)
      const values = [space, prefix, from, isPassed ? '1' : '0', look, PIECE_BYTES]
      const [last = '', ...found] = texts(await client.run('list-rows', partition, values))
      for (let place = 0; place < found.length; place += 2)
        rows.push(rowOf(partition, found[place] ?? '', found[place + 1] ?? ''))
      if (last === '') break
      ;[from, isPassed] = [last, true]
    }
    return rows
  }

  return {
    async readRow({ partition, space, key }) {
      const text = await client.run('read-row', partition, [space, key])
      return text === null ? null : rowOf(partition, key, String(text))
    },
    async listRows(query) {
      if (query.partition !== undefined) return listIn(query.partition, query)
      const all = await client.everywhere((partition) => listIn(partition, query))
      return all.flat().sort(compareRows).slice(0, query.limit)
    },
    async countRows({ space }) {
      const counts = await client.everywhere((partition) => client.run('count-rows', partition, [space]))
      return counts.reduce<number>((sum, count) => sum + Number(count), 0)
    },
    async sweepRows({ now, limit }) {
      let swept = 0
      for (let partition = 0; partition < client.partitions; partition += 1) {
        for (let left = limit; left > 0;) {
          const wanted = Math.min(SWEPT, left)
          const count = Number(await client.run('sweep-rows', partition, [now, wanted, ...ROW_SPACES]))
          swept += count
          left -= count
          if (count < wanted) break
        }
      }
      return swept
    },
  } satisfies Partial<Store>
}

const rowOf = (partition: number, key: string, text: string): StoredRow => ({ partition, key, ...rowIn(text) })
