// store/memory: the rows, and what the port promises of them.
import { compareRows, ROW_SPACES, type RowSpace, type RowWrite, type StoredRow } from '../../model/rows.ts'
import type { RowQuery } from '../../ports/store.ts'

type Place = Pick<StoredRow, 'key' | 'partition'>

const isExpired = ({ expiresAt }: StoredRow, now: number) => expiresAt !== null && expiresAt <= now

export class MemoryRows {
  readonly #now: () => number
  /** In the order of `compareRows`. */
  readonly #spaces = new Map<RowSpace, StoredRow[]>(ROW_SPACES.map((space) => [space, []]))

  constructor(now: () => number) {
    this.#now = now
  }

  /** The first row whose guard fails, as it is. */
  refused(rows: readonly RowWrite[]): { space: RowSpace; key: string; value: string | null } | null {
    for (const row of rows) {
      const value = this.read(row)?.value ?? null
      if (row.expects !== undefined && value !== row.expects) return { space: row.space, key: row.key, value }
    }
    return null
  }

  write(rows: readonly RowWrite[]): void {
    for (const { partition, space, key, value, expiresAt } of rows) {
      const { all, at, row } = this.#find(space, { partition, key })
      all.splice(at, row ? 1 : 0, ...(value === null ? [] : [{ partition, key, value, expiresAt }]))
    }
  }

  read({ space, key, partition }: Place & { readonly space: RowSpace }): StoredRow | null {
    const { row } = this.#find(space, { key, partition })
    return row && !isExpired(row, this.#now()) ? row : null
  }

  list({ partition, space, prefix, after, limit }: RowQuery): StoredRow[] {
    const { all, at } = this.#find(space, { key: prefix, partition: 0 })
    const behind = after ? this.#find(space, { ...after, partition: after.partition + 1 }).at : 0
    const rows: StoredRow[] = []
    for (const row of all.slice(Math.max(at, behind))) {
      if (rows.length >= limit || !row.key.startsWith(prefix)) break
      if ((partition ?? row.partition) === row.partition && !isExpired(row, this.#now())) rows.push(row)
    }
    return rows
  }

  /** Expired ones included. */
  count(space: RowSpace, partition?: number): number {
    return (this.#spaces.get(space) ?? []).filter((row) => (partition ?? row.partition) === row.partition).length
  }

  sweep({ now, limit }: { readonly now: number; readonly limit: number }): number {
    const expired = [...this.#spaces].flatMap(([space, rows]) =>
      rows
        .filter((row) => isExpired(row, Math.min(now, this.#now())))
        .map(({ key, partition }) => ({ space, key, partition, value: null, expiresAt: null })),
    )
    const swept = limitOf(limit, expired, ({ partition }) => partition)
    this.write(swept)
    return swept.length
  }

  /** The rows of a space; which of them is the first that isn't before a place; and that row if it is there. */
  #find(space: RowSpace, place: Place) {
    const all = this.#spaces.get(space) ?? []
    let [at, end] = [0, all.length]
    while (at < end) {
      const middle = (at + end) >>> 1
      const row = all[middle]
      if (row && compareRows(row, place) < 0) at = middle + 1
      else end = middle
    }
    const row = all[at]
    return { all, at, row: row && compareRows(row, place) === 0 ? row : null }
  }
}

/** The first `limit` of each partition. */
export function limitOf<T>(limit: number, all: readonly T[], partitionIn: (one: T) => number): T[] {
  const counts = new Map<number, number>()
  return all.filter((one) => {
    const count = (counts.get(partitionIn(one)) ?? 0) + 1
    counts.set(partitionIn(one), count)
    return count <= limit
  })
}
