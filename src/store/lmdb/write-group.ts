// store/lmdb: what one group of requests will write. Decisions see memory and what the group has decided before them.
import { type ContextId, MAX_LOG_ROWS } from '../../model/context.ts'
import { partitionOfCommit, type RowSpace, type RowValue, type RowWrite, textOfRow } from '../../model/rows.ts'
import type { CommitOutcome, CommitRefusal, CommitRequest, Write } from '../../ports/store.ts'
import type { Disk } from './disk.ts'
import type { Group } from './group-commit.ts'
import type { Entry, Memory } from './index/memory.ts'
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
  readonly #memory: Memory
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

  constructor(disk: Disk, memory: Memory, now: () => number) {
    this.#now = now
    this.#disk = disk
    this.#memory = memory
    this.#lastId = memory.lastId
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
    if (this.#operations.length === 0) return Promise.resolve()
    return this.#disk.write(this.#operations, this.#pages * this.#disk.pageBytes)
  }

  /** Where memory fails for a context, the others are made visible all the same, and its own entry is made anew. */
  adopt(): void {
    const memory = this.#memory
    memory.lastId = this.#lastId
    memory.addRows(this.gained)
    const failed: { readonly id: ContextId; readonly header: Header | null; readonly error: unknown }[] = []
    for (const [id, header] of this.#contexts) {
      try {
        if (header === null) memory.remove(id)
        else memory.put(id, header)
      } catch (error) {
        failed.push({ id, header, error })
        this.#notified.set(id, this.#isNotified(id))
      }
    }
    for (const { id, header } of failed) {
      memory.remove(id)
      if (header !== null) memory.put(id, header)
    }
    for (const [id, isNotified] of this.#notified) {
      if (isNotified) memory.notify(id)
      else memory.clearNotification(id)
    }
    if (failed[0] !== undefined) throw failed[0].error
  }

  commit({ writes, rows }: CommitRequest): CommitOutcome {
    const [only] = writes
    if (rows === undefined && writes.length === 1 && only !== undefined && only.unique === undefined)
      return this.#commitOne(only)
    if (rows !== undefined) partitionOfCommit(writes, rows, 1)
    const headers = new Map<ContextId, Header>()
    const operationsBefore = this.#operations.length
    let isWhole = false
    try {
      for (const write of writes) {
        const { id } = write.context
        const before = headers.get(id) ?? this.#context(id)
        if ((before?.version ?? 0) !== write.previous) return { ok: false, stale: id }
        headers.set(id, this.#writeContext(write, before))
      }
      const refusal = (rows === undefined ? null : this.#refusalOfRows(rows)) ?? this.#refusalOfKeys(writes, headers)
      if (refusal !== null) return refusal
      isWhole = true
    } finally {
      if (!isWhole) this.#operations.length = operationsBefore
    }
    if (rows !== undefined) this.#writeRows(rows)
    for (const [id, header] of headers) this.#contexts.set(id, header)
    for (const write of writes) this.#answerNotification(write)
    // After the answers: a notification that comes along with one stands.
    for (const { notifies } of writes) this.#notifyAll(notifies)
    return writes.length > 0 ? this.#done() : DONE
  }

  /** The same for an event of its own, as nearly all are, without the lists of a commit. */
  #commitOne(write: Write): CommitOutcome {
    const { id } = write.context
    const before = this.#context(id)
    if ((before?.version ?? 0) !== write.previous) return { ok: false, stale: id }
    const { length } = this.#operations
    let header: Header | null = null
    try {
      header = this.#writeContext(write, before)
    } finally {
      if (header === null) this.#operations.length = length
    }
    this.#contexts.set(id, header)
    this.#answerNotification(write)
    this.#notifyAll(write.notifies)
    return this.#done()
  }

  #answerNotification({ context: { id }, answersNotification }: Write): void {
    if (!answersNotification || !this.#isNotified(id)) return
    this.#notified.set(id, false)
    this.#add(0, 1, () => void this.#disk.notifications.remove(id))
  }

  #notifyAll(ids: readonly ContextId[]): void {
    for (const id of ids) if (this.#context(id) !== null) this.#notify(id)
  }

  #done(): CommitOutcome {
    const lookups = this.#memory.rowCount('lookups') + (this.gained.get('lookups') ?? 0)
    return lookups > 0 ? DONE_WITH_LOOKUPS : DONE
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
    const ids: ContextId[] = []
    let keys = 0
    for (const [id, { parent, firstRow, nextRow, large }] of this.#memory.endedBefore(endedBefore)) {
      if (ids.length >= limit || keys >= PURGE_KEYS) break
      // What this group has written isn't finished, or is gone already.
      if (this.#contexts.has(id) || (parent !== null && this.#isNotified(parent))) continue
      ids.push(id)
      keys += 1 + nextRow - firstRow + large.length
    }
    for (const id of ids) this.#remove(id)
    return ids.length
  }

  /** Adds the operations that write a context: its record, its large parts, the rows of its log. Gives its header. */
  #writeContext(write: Write, before: Header | Entry | null): Header {
    const { context, log } = write
    const { id, version, indexKeys, due, owner, endedAt, parent } = context
    const rows = log.length > MAX_LOG_ROWS ? log.slice(-MAX_LOG_ROWS) : log
    const { firstRow, nextRow } = this.#append(id, before ?? NO_ROWS, rows)
    const large = this.#writeLargeParts(write, before?.large ?? NO_LARGE_PARTS)
    const header = { version, indexKeys, due, owner, endedAt, parent, firstRow, nextRow, large }
    const record = encode(this.#disk.arena, header, context)
    this.#add(record.length, 1, () => void this.#disk.contexts.put(id, record))
    return header
  }

  /** The rows of one write are one value, keyed by the number of the first. Gives which are kept. */
  #append(id: ContextId, { firstRow, nextRow }: typeof NO_ROWS, rows: readonly string[]) {
    if (rows.length === 0) return { firstRow, nextRow }
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

  /** Writes those that have changed. Gives all of them. */
  #writeLargeParts(write: Write, before: readonly LargePart[]): readonly LargePart[] {
    const placement = placeLargeParts(write, before)
    if (placement === null) return NO_LARGE_PARTS
    const { id, version, parts } = write.context
    for (const { name, slot } of placement.written) {
      const row = encodeLargePart(this.#disk.arena, version, parts[name] ?? '')
      this.#add(row.length, 1, () => void this.#disk.parts.put([id, slot], row))
    }
    for (const slot of placement.freed) this.#add(0, 1, () => void this.#disk.parts.remove([id, slot]))
    return placement.parts
  }

  /** Which unique key of these writes another context has, if any; else they are these contexts'. */
  #refusalOfKeys(writes: readonly Write[], headers: ReadonlyMap<ContextId, Header>): CommitRefusal | null {
    const given = new Map<string, ContextId>()
    for (const { context, unique } of writes) {
      if (unique === undefined) continue
      const by = this.#otherWith(unique, context.id, headers) ?? given.get(unique)
      if (by !== undefined && by !== context.id) return { ok: false, unique: { key: unique, by } }
      given.set(unique, context.id)
    }
    for (const [key, id] of given) this.#owners.set(key, id)
    return null
  }

  /** Another context that has the key, and is left with it by the commit. */
  #otherWith(key: string, id: ContextId, headers: ReadonlyMap<ContextId, Header>): ContextId | undefined {
    const isLeft = (other: ContextId | undefined): boolean => {
      if (other === undefined || other === id) return false
      const header = headers.get(other) ?? this.#contexts.get(other)
      return header === undefined || header?.indexKeys.includes(key) === true
    }
    for (const other of this.#memory.index.having(key)) if (isLeft(other)) return other
    const other = this.#owners.get(key)
    return isLeft(other) ? other : undefined
  }

  /** Which guard fails, if any. @throws TypeError when a row can't be read */
  #refusalOfRows(rows: readonly RowWrite[]): CommitRefusal | null {
    const now = this.#now()
    for (const { space, key, expects } of rows) {
      const row = this.#row(space, key)
      const value = row === null || isExpired(row, now) ? null : row.value
      if (expects !== undefined && expects !== value) return { ok: false, row: { space, key, value } }
    }
    return null
  }

  #writeRows(rows: readonly RowWrite[]): void {
    for (const { space, key, value, expiresAt } of rows)
      this.#setRow(space, key, value === null ? null : { value, expiresAt }, this.#row(space, key))
  }

  #row(space: RowSpace, key: string): RowValue | null {
    const written = this.#rows.get(nameOf(space, key))
    return written === undefined ? this.#disk.rowTables.read(space, key) : written
  }

  #setRow(space: RowSpace, key: string, row: RowValue | null, before: RowValue | null): void {
    const { rowTables } = this.#disk
    if (row !== null) {
      const bytes = this.#disk.arena.text(textOfRow(row))
      this.#add(bytes.length, 3, () => rowTables.put(space, key, bytes, row, before))
    } else if (before !== null) this.#add(0, 2, () => rowTables.remove(space, key, before))
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
    return made === undefined ? this.#memory.entry(id) : made
  }

  #isNotified(id: ContextId): boolean {
    return this.#notified.get(id) ?? this.#memory.isNotified(id)
  }

  #notify(id: ContextId): void {
    this.#notified.set(id, true)
    this.#add(0, 1, () => void this.#disk.notifications.put(id, NOTIFIED))
  }

  #remove(id: ContextId): void {
    const rows = this.#logRows(id)
    const large = this.#context(id)?.large ?? NO_LARGE_PARTS
    this.#add(0, 1, () => {
      for (const { slot } of large) void this.#disk.parts.remove([id, slot])
      for (const row of rows) void this.#disk.rows.remove([id, row])
      void this.#disk.notifications.remove(id)
      void this.#disk.contexts.remove(id)
    })
    this.#pages += rows.length + large.length
    this.#contexts.set(id, null)
    this.#notified.set(id, false)
  }
}

/** No space has a colon in its name. */
const nameOf = (space: RowSpace, key: string): string => `${space}:${key}`
