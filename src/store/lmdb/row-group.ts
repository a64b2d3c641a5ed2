// store/lmdb: the rows that one group of requests will write. Decisions see what lies on disk and what the group has
// decided before them.
import { ROW_SPACES, type RowSpace, type RowWrite } from '../../model/rows.ts'
import type { CommitRefusal } from '../../ports/store.ts'
import type { Disk } from './disk.ts'
import type { GroupOperations } from './group-operations.ts'
import { encodeRow, type RowValue } from './row-tables.ts'

/** How many rows each space has, on disk and in memory. */
export type RowCounts = Map<RowSpace, number>

export const rowCountsOf = ({ rowTables }: Disk): RowCounts =>
  new Map(ROW_SPACES.map((space) => [space, rowTables.count(space)]))

export class RowGroup {
  readonly #disk: Disk
  readonly #now: number
  readonly #operations: GroupOperations
  readonly #rows = new Map<string, RowValue | null>()
  readonly #gained: RowCounts = new Map()

  constructor(disk: Disk, operations: GroupOperations, now: number) {
    this.#disk = disk
    this.#now = now
    this.#operations = operations
  }

  touches(space: RowSpace, key?: string): boolean {
    return key === undefined ? this.#gained.has(space) : this.#rows.has(nameOf(space, key))
  }

  /** How many rows a space has more, or fewer, by this group. */
  gained(space: RowSpace): number {
    return this.#gained.get(space) ?? 0
  }

  /** Which guard fails, if any. @throws TypeError when a row can't be read */
  refusal(rows: readonly RowWrite[]): CommitRefusal | null {
    for (const { space, key, expects } of rows) {
      const row = this.#row(space, key)
      const value = row === null || isExpired(row, this.#now) ? null : row.value
      if (expects !== undefined && expects !== value) return { ok: false, row: { space, key, value } }
    }
    return null
  }

  write(rows: readonly RowWrite[]): void {
    for (const { space, key, value, expiresAt } of rows) {
      const before = this.#row(space, key)
      if (value !== null) this.#put(space, key, { value, expiresAt }, before)
      else if (before !== null) this.#remove(space, key, before)
    }
  }

  /** Deletes rows that are expired, at most so many; gives their number. */
  sweep(now: number, limit: number): number {
    const { rowTables } = this.#disk
    let swept = 0
    for (const { space, key, time, entry } of rowTables.expiredAt(Math.min(now, this.#now))) {
      if (swept >= limit) break
      // What this group has written has another time by now, or is gone.
      if (this.touches(space, key)) continue
      const row = rowTables.read(space, key)
      if (row?.expiresAt === time) this.#remove(space, key, row)
      else this.#operations.add(0, 1, () => rowTables.removeExpiry(entry))
      swept += 1
    }
    return swept
  }

  #row(space: RowSpace, key: string): RowValue | null {
    const written = this.#rows.get(nameOf(space, key))
    return written === undefined ? this.#disk.rowTables.read(space, key) : written
  }

  #put(space: RowSpace, key: string, row: RowValue, before: RowValue | null): void {
    const bytes = encodeRow(space, row)
    this.#operations.add(bytes.length, 3, () => this.#disk.rowTables.put(space, key, bytes, row, before))
    this.#set(space, key, row, before)
  }

  #remove(space: RowSpace, key: string, before: RowValue): void {
    this.#operations.add(0, 2, () => this.#disk.rowTables.remove(space, key, before))
    this.#set(space, key, null, before)
  }

  #set(space: RowSpace, key: string, row: RowValue | null, before: RowValue | null): void {
    this.#rows.set(nameOf(space, key), row)
    this.#gained.set(space, this.gained(space) + (row === null ? 0 : 1) - (before === null ? 0 : 1))
  }
}

export const isExpired = ({ expiresAt }: RowValue, now: number): boolean => expiresAt !== null && expiresAt <= now

/** No space has a colon in its name. */
const nameOf = (space: RowSpace, key: string): string => `${space}:${key}`
