// store/lmdb: what one group of requests will write. Decisions see memory and what the group has decided before them.
import { type ContextId, MAX_LOG_ROWS } from '../../model/context.ts'
import { partitionOfCommit, type RowSpace, type RowValue, type RowWrite, textOfRow } from '../../model/rows.ts'
import type { CommitOutcome, CommitRefusal, CommitRequest, Write } from '../../ports/store.ts'
import type { Disk } from './disk.ts'
import type { Group } from './group-commit.ts'
import type { ContextIndex, Entry } from './index/context-index.ts'
import {
  encode,
  encodeLargePart,
  type Header,
  type LargePart,
  NO_LARGE_PARTS,
  placeLargeParts,
} from './stored-context.ts'
import { isExpired } from './row-tables.ts'

/** A log is trimmed when it has grown so far, a good many rows at once. */
const LOG_ROOM = MAX_LOG_ROWS + MAX_LOG_ROWS / 4
const NO_ROWS = { firstRow: 0, nextRow: 0 }
const NO_WRITES_OF_ROWS: readonly RowWrite[] = []

/** One purge writes about as many keys at most, so that it doesn't hold up the commits. */
const PURGE_KEYS = 20_000

/** Bytes of records, a few milliseconds of work. */
const FULL_BYTES = 4 * 1024 * 1024

/**
 * Pages for each key. lmdb never changes one in place: what a key lies on is copied, with what leads to it, as far as
 * the group has no copy yet; and the old pages are listed as free.
 */
const COPIES = 2

const NOTIFIED = Buffer.of(1)

const DONE: CommitOutcome = { ok: true }
const DONE_WITH_LOOKUPS: CommitOutcome = { ok: true, lookups: true }

export class WriteGroup implements Group {
  readonly #disk: Disk
  readonly #index: ContextIndex
  /** The calls to lmdb that write the group. None of them throws. */
  readonly #operations: (() => void)[] = []
  /** Bytes of records and rows. */
  #bytes = 0
  /** Pages of the disk that they take, at most. */
  #pages = 0
  /** Contexts as they will be; null: deleted. */
  readonly #contexts = new Map<ContextId, Header | null>()
  /** Unique index keys that contexts get by this group. */
  readonly #owners = new Map<string, ContextId>()
  readonly #notified = new Map<ContextId, boolean>()
  #lastId: ContextId
  /** Tells the store's time, epoch milliseconds. */
  readonly #now: () => number
  /** Rows as they will be, by space and key; null: deleted. */
  readonly #rows = new Map<string, RowValue | null>()
  /** How many rows a space has more, or fewer, by this group. */
  readonly gained = new Map<RowSpace, number>()

  constructor(disk: Disk, index: ContextIndex, now: () => number) {
    this.#now = now
    this.#disk = disk
    this.#index = index
    this.#lastId = index.lastId
    // The group before is written, or has failed.
    disk.arena.clear()
  }

  get full(): boolean {
    return this.#bytes > FULL_BYTES
  }

  touches(id: ContextId): boolean {
    return this.#contexts.has(id)
  }

  touchesRows(space: RowSpace, key?: string): boolean {
    return key === undefined ? this.gained.has(space) : this.#rows.has(nameOf(space, key))
  }

  write(): Promise<void> {
    return this.#disk.write(this.#operations, this.#pages * this.#disk.pageBytes)
  }

  adopt(): void {
    const index = this.#index
    try {
      index.lastId = this.#lastId
      index.addRows(this.gained)
      for (const [id, header] of this.#contexts) {
        if (header === null) index.remove(id)
        else index.put(id, header)
      }
      for (const [id, isNotified] of this.#notified) index.setNotified(id, isNotified)
    } catch (error) {
      // Decisions would rest on what is not true any more. The next start reads it anew.
      this.#disk.breakOff(error)
      throw error
    }
  }

  commit({ writes, rows = NO_WRITES_OF_ROWS }: CommitRequest): CommitOutcome {
    if (rows.length > 0) partitionOfCommit(writes, rows, 1)
    for (const { context, previous } of writes) {
      if ((this.#context(context.id)?.version ?? 0) !== previous) return { ok: false, stale: context.id }
    }
    const before = rows.map(({ space, key }) => this.#row(space, key))
    const refusal = this.#refusalOfRows(rows, before) ?? this.#refusalOfKeys(writes)
    if (refusal !== null) return refusal
    const headers = this.#writeContexts(writes)
    for (const [index, { context, unique, answersNotification }] of writes.entries()) {
      this.#contexts.set(context.id, headers[index] ?? null)
      if (unique !== undefined) this.#owners.set(unique, context.id)
      if (answersNotification && this.#isNotified(context.id)) this.#notify(context.id, false)
    }
    for (const [index, { space, key, value, expiresAt }] of rows.entries())
      this.#setRow(space, key, value === null ? null : { value, expiresAt }, before[index] ?? null)
    // After the answers: a notification that comes along with one stands.
    for (const { notifies } of writes) {
      for (const id of notifies) if (this.#context(id) !== null) this.#notify(id, true)
    }
    const lookups = this.#index.rowCount('lookups') + (this.gained.get('lookups') ?? 0)
    return lookups > 0 && writes.length > 0 ? DONE_WITH_LOOKUPS : DONE
  }

  /** Deletes rows that are expired, at most so many; gives their number. */
  sweepRows(now: number, limit: number): number {
    const { rowTables } = this.#disk
    let swept = 0
    for (const { space, key, time, entry } of rowTables.expiredAt(Math.min(now, this.#now()))) {
      if (swept >= limit) break
      // What this group has written has another time by now, or is gone.
      if (this.touchesRows(space, key)) continue
      const row = rowTables.read(space, key)
      if (row?.expiresAt === time) this.#setRow(space, key, null, row)
      else this.#add(0, 1, () => rowTables.removeExpiry(entry))
      swept += 1
    }
    return swept
  }

  reserveIds(count: number): ContextId {
    const first = this.#lastId + 1
    const last = (this.#lastId += count)
    this.#add(0, 1, () => void this.#disk.meta.put('lastId', last))
    return first
  }

  purge(endedBefore: number, limit: number): number {
    let [count, keys] = [0, 0]
    for (const id of this.#index.ended({ before: endedBefore })) {
      if (count >= limit || keys >= PURGE_KEYS) break
      const entry = this.#index.entry(id)
      // What this group has written isn't finished, or is gone already.
      if (entry === null || this.#contexts.has(id) || (entry.parent !== null && this.#isNotified(entry.parent)))
        continue
      this.#remove(id, entry)
      count += 1
      keys += 1 + entry.nextRow - entry.firstRow + entry.large.length
    }
    return count
  }

  /** Adds the operations that write these contexts, or none if one can't be written. */
  #writeContexts(writes: readonly Write[]): readonly Header[] {
    const { length } = this.#operations
    try {
      return writes.map((write) => this.#writeContext(write))
    } catch (error) {
      this.#operations.length = length
      throw error
    }
  }

  /** Its record, its large parts, and the rows of its log. */
  #writeContext(write: Write): Header {
    const { context, log } = write
    const { id, version, indexKeys, due, owner, endedAt, parent } = context
    const before = this.#context(id)
    const { firstRow, nextRow } = this.#append(id, before ?? NO_ROWS, log)
    const large = this.#writeLargeParts(write, before?.large ?? NO_LARGE_PARTS)
    const header = { version, indexKeys, due, owner, endedAt, parent, firstRow, nextRow, large }
    const record = encode(this.#disk.arena, header, context)
    this.#add(record.length, 1, () => void this.#disk.contexts.put(id, record))
    return header
  }

  /** The rows of one write are one value, keyed by the number of the first. Gives which are kept. */
  #append(id: ContextId, { firstRow, nextRow }: typeof NO_ROWS, log: readonly string[]) {
    if (log.length === 0) return { firstRow, nextRow }
    const rows = log.slice(-MAX_LOG_ROWS)
    const value = this.#disk.arena.text(JSON.stringify(rows))
    this.#add(value.length, 1, () => void this.#disk.rows.put([id, nextRow], value))
    const end = nextRow + rows.length
    if (end - firstRow <= LOG_ROOM) return { firstRow, nextRow: end }
    // Whole values only: the last that begins before the rows to keep may reach into them.
    const old = this.#logRows(id, end - MAX_LOG_ROWS)
    const first = old.pop() ?? firstRow
    this.#add(0, old.length, () => {
      for (const row of old) void this.#disk.rows.remove([id, row])
    })
    return { firstRow: first, nextRow: end }
  }

  /** Numbers of the records of a log, ascending, up to and including `last`. */
  #logRows(id: ContextId, last = Number.MAX_SAFE_INTEGER): number[] {
    const keys = this.#disk.rows.getKeys({ start: [id, 0], end: [id, last], inclusiveEnd: true })
    return Array.from(keys, ([, row]) => row)
  }

  /** Writes those that have changed, and removes those that are gone. Gives all of them. */
  #writeLargeParts(write: Write, before: readonly LargePart[]): readonly LargePart[] {
    const large = placeLargeParts(write, before)
    const { id, version, parts } = write.context
    for (const part of large) {
      if (part.version !== version) continue
      const row = encodeLargePart(this.#disk.arena, version, parts[part.name] ?? '')
      this.#add(row.length, 1, () => void this.#disk.parts.put([id, part.slot], row))
    }
    for (const { slot } of before) {
      const isLeft = large.some((part) => part.slot === slot)
      if (!isLeft) this.#add(0, 1, () => void this.#disk.parts.remove([id, slot]))
    }
    return large
  }

  /** Which unique key of these writes another context has, if any. */
  #refusalOfKeys(writes: readonly Write[]): CommitRefusal | null {
    for (const { context, unique } of writes) {
      const by = unique === undefined ? undefined : this.#otherWith(unique, context.id, writes)
      if (unique !== undefined && by !== undefined) return { ok: false, unique: { key: unique, by } }
    }
    return null
  }

  /** Another context that has the key after these writes. */
  #otherWith(key: string, id: ContextId, writes: readonly Write[]): ContextId | undefined {
    const after = new Map(writes.map(({ context }) => [context.id, context]))
    const mayHave = [...this.#index.keys.having(key), this.#owners.get(key) ?? id, ...after.keys()]
    return mayHave.find((other) => {
      const written = after.get(other) ?? this.#contexts.get(other)
      return other !== id && (written === undefined || written?.indexKeys.includes(key))
    })
  }

  /** Which guard fails, if any. `before`: what is there. */
  #refusalOfRows(rows: readonly RowWrite[], before: readonly (RowValue | null)[]): CommitRefusal | null {
    for (const [index, { space, key, expects }] of rows.entries()) {
      const row = before[index] ?? null
      const value = row === null || isExpired(row, this.#now()) ? null : row.value
      if (expects !== undefined && expects !== value) return { ok: false, row: { space, key, value } }
    }
    return null
  }

  /** @throws TypeError when it can't be read */
  #row(space: RowSpace, key: string): RowValue | null {
    const written = this.#rows.get(nameOf(space, key))
    return written === undefined ? this.#disk.rowTables.read(space, key) : written
  }

  #setRow(space: RowSpace, key: string, row: RowValue | null, before: RowValue | null): void {
    const { rowTables, arena } = this.#disk
    const written = row === null ? null : { ...row, bytes: arena.text(textOfRow(row)) }
    if (row !== before) this.#add(written?.bytes.length ?? 0, 3, () => rowTables.write(space, key, written, before))
    this.#rows.set(nameOf(space, key), row)
    const gain = (row === null ? 0 : 1) - (before === null ? 0 : 1)
    this.gained.set(space, (this.gained.get(space) ?? 0) + gain)
  }

  /** `operation`, when the group is written, writes values of so many bytes under so many keys. */
  #add(bytes: number, keys: number, operation: () => void): void {
    this.#operations.push(operation)
    this.#bytes += bytes
    this.#pages += Math.ceil(bytes / this.#disk.pageBytes) + keys * COPIES
  }

  #context(id: ContextId): Header | Entry | null {
    const made = this.#contexts.get(id)
    return made === undefined ? this.#index.entry(id) : made
  }

  #isNotified(id: ContextId): boolean {
    return this.#notified.get(id) ?? this.#index.isNotified(id)
  }

  #notify(id: ContextId, isNotified: boolean): void {
    const { notifications } = this.#disk
    this.#notified.set(id, isNotified)
    this.#add(0, 1, () => void (isNotified ? notifications.put(id, NOTIFIED) : notifications.remove(id)))
  }

  #remove(id: ContextId, { large }: Entry): void {
    const rows = this.#logRows(id)
    this.#add(0, 1, () => {
      for (const { slot } of large) void this.#disk.parts.remove([id, slot])
      for (const row of rows) void this.#disk.rows.remove([id, row])
      void this.#disk.contexts.remove(id)
    })
    this.#pages += rows.length + large.length
    this.#contexts.set(id, null)
    if (this.#isNotified(id)) this.#notify(id, false)
  }
}

/** No space has a colon in its name. */
const nameOf = (space: RowSpace, key: string): string => `${space}:${key}`
