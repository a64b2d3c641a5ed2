// store/memory: the rows, and what the port promises of them.
import { compareRows, type RowSpace, type RowWrite, type StoredRow } from '../../model/rows.ts'
import type { RowQuery } from '../../ports/store.ts'

type Row = StoredRow & { readonly space: RowSpace }

export class MemoryRows {
  readonly #rows = new Map<string, Row>()
  readonly #now: () => number

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
      const name = nameOf({ partition, space, key })
      if (value === null) this.#rows.delete(name)
      else this.#rows.set(name, { partition, space, key, value, expiresAt })
    }
  }

  read(place: Pick<Row, 'partition' | 'space' | 'key'>): StoredRow | null {
    const row = this.#rows.get(nameOf(place))
    return row === undefined || this.#hasExpired(row) ? null : rowOf(row)
  }

  list({ partition, space, prefix, after, limit }: RowQuery): StoredRow[] {
    return this.#of(space, partition)
      .filter(
        (row) =>
          row.key.startsWith(prefix) && (after === undefined || compareRows(row, after) > 0) && !this.#hasExpired(row),
      )
      .sort(compareRows)
      .slice(0, limit)
      .map(rowOf)
  }

  /** Expired ones included. */
  count(space: RowSpace, partition?: number): number {
    return this.#of(space, partition).length
  }

  sweep({ now, limit }: { readonly now: number; readonly limit: number }): number {
    const expired = [...this.#rows].filter(
      ([, row]) => row.expiresAt !== null && row.expiresAt <= now && this.#hasExpired(row),
    )
    const swept = limitOf(limit, expired, ([, { partition }]) => partition)
    for (const [name] of swept) this.#rows.delete(name)
    return swept.length
  }

  #of(space: RowSpace, partition: number | undefined): Row[] {
    return [...this.#rows.values()].filter(
      (row) => row.space === space && (partition ?? row.partition) === row.partition,
    )
  }

  #hasExpired({ expiresAt }: StoredRow): boolean {
    return expiresAt !== null && expiresAt <= this.#now()
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

const nameOf = ({ partition, space, key }: Pick<Row, 'partition' | 'space' | 'key'>): string =>
  `${partition}:${space}:${key}`

const rowOf = ({ partition, key, value, expiresAt }: Row): StoredRow => ({ partition, key, value, expiresAt })
