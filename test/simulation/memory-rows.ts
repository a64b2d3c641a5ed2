// What a store in memory keeps of rows: everything that the port promises, as plainly as it can be said.
import { compareRows, type RowSpace, type RowWrite, type StoredRow } from '../../src/model/rows.ts'
import type { RowQuery } from '../../src/ports/store.ts'

type Kept = StoredRow & { readonly space: RowSpace }

export class MemoryRows {
  readonly #kept = new Map<string, Kept>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** The first whose guard fails, as it is. */
  refused(rows: readonly RowWrite[]): { space: RowSpace; key: string; value: string | null } | null {
    for (const { partition, space, key, expects } of rows) {
      const value = this.read({ partition, space, key })?.value ?? null
      if (expects !== undefined && value !== expects) return { space, key, value }
    }
    return null
  }

  write(rows: readonly RowWrite[]): void {
    for (const { partition, space, key, value, expiresAt } of rows) {
      const name = nameOf({ partition, space, key })
      if (value === null) this.#kept.delete(name)
      else this.#kept.set(name, { partition, space, key, value, expiresAt })
    }
  }

  read(row: Pick<Kept, 'partition' | 'space' | 'key'>): StoredRow | null {
    const kept = this.#kept.get(nameOf(row))
    return kept === undefined || this.#isExpired(kept) ? null : rowOf(kept)
  }

  list({ partition, space, prefix, after, limit }: RowQuery): StoredRow[] {
    return [...this.#kept.values()]
      .filter(
        (row) =>
          row.space === space &&
          (partition ?? row.partition) === row.partition &&
          row.key.startsWith(prefix) &&
          (after === undefined || compareRows(row, after) > 0) &&
          !this.#isExpired(row),
      )
      .sort(compareRows)
      .slice(0, limit)
      .map(rowOf)
  }

  /** Expired ones included. */
  count(space: RowSpace, partition?: number): number {
    return [...this.#kept.values()].filter(
      (row) => row.space === space && (partition ?? row.partition) === row.partition,
    ).length
  }

  sweep(now: number, limit: number): number {
    const swept = new Map<number, number>()
    for (const [name, row] of this.#kept) {
      const count = swept.get(row.partition) ?? 0
      if (row.expiresAt === null || row.expiresAt > now || !this.#isExpired(row) || count >= limit) continue
      swept.set(row.partition, count + 1)
      this.#kept.delete(name)
    }
    return [...swept.values()].reduce((sum, count) => sum + count, 0)
  }

  #isExpired({ expiresAt }: StoredRow): boolean {
    return expiresAt !== null && expiresAt <= this.#now()
  }
}

const nameOf = ({ partition, space, key }: Pick<Kept, 'partition' | 'space' | 'key'>): string =>
  `${partition}:${space}:${key}`

const rowOf = ({ partition, key, value, expiresAt }: Kept): StoredRow => ({ partition, key, value, expiresAt })
