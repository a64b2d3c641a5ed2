// store/redis: rows and unique keys, as arguments of the commit script, and what the scripts that read rows give.
//
// - Rows and unique keys cost only the commits that have them. `lua/commit.lua` is two scripts: `commit-rows`, and `commit`,
//   which lacks the lines between `--[ rows` and `--]`.
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
import type { RowQuery, Store, Write } from '../../ports/store.ts'
import type { PartitionClient } from './partition-client.ts'
import { pairsOf, texts, type Reply } from './scripts.ts'
import { encodeText } from './stored-context.ts'

/** Rows looked at, or deleted, by one script, and bytes that it reads: a millisecond or two. */
const PIECE = 500
const PIECE_BYTES = 512 * 1024

/** Behind the writes: what only `commit-rows` knows. */
export function pushRows(values: string[], unique: readonly Write[], rows: readonly RowWrite[]): void {
  values.push('', String(unique.length))
  for (const { context, unique: key = '' } of unique) values.push(String(context.id), encodeText(key))
  for (const { space, key, expects, value, expiresAt } of rows) {
    const guard = expects === undefined ? '' : expects === null ? '0' : '1'
    const kind = value === null ? '0' : isListed(space) ? '2' : '1'
    const text = textOfRow({ value: value ?? '', expiresAt })
    values.push(space, key, guard, expects ?? '', kind, text, String(expiresAt ?? 'inf'))
  }
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
      for (const [key, text] of pairsOf(found)) rows.push(rowOf(partition, key, text))
      if (last === '') break
      ;[from, isPassed] = [last, true]
    }
    return rows
  }

  const sumOf = async (ask: (partition: number) => Promise<Reply>) =>
    (await client.everywhere(ask)).reduce<number>((sum, count) => sum + Number(count), 0)

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
    countRows: ({ space }) => sumOf((partition) => client.run('count-rows', partition, [space])),
    sweepRows: ({ now, limit }) =>
      sumOf((partition) => client.run('sweep-rows', partition, [now, Math.min(limit, PIECE), ...ROW_SPACES])),
  } satisfies Partial<Store>
}

const rowOf = (partition: number, key: string, text: string): StoredRow => ({ partition, key, ...rowIn(text) })
