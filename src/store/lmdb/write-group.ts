// store/lmdb: what one group of requests will write. Decisions see memory and what the group has decided before them.
import { type ContextId, MAX_LOG_ROWS } from '../../model/context.ts'
import { partitionOfCommit, type RowSpace } from '../../model/rows.ts'
import type { CommitOutcome, CommitRefusal, CommitRequest, Write } from '../../ports/store.ts'
import type { Disk } from './disk.ts'
import type { Group } from './group-commit.ts'
import { GroupOperations } from './group-operations.ts'
import type { Entry, Memory } from './index/memory.ts'
import { type Header, type LargePart, NO_LARGE_PARTS, type Rows } from './records/header.ts'
import { encodeLargePart, placeLargeParts } from './records/large-parts.ts'
import { encode } from './records/stored-context.ts'
import { RowGroup } from './row-group.ts'

/** A log is trimmed when it has grown so far, a good many rows at once. */
const LOG_ROOM = MAX_LOG_ROWS + MAX_LOG_ROWS / 4
const NO_ROWS: Rows = { firstRow: 0, nextRow: 0 }

/** One purge writes about as many keys at most, so that it doesn't hold up the commits. */
const PURGE_KEYS = 20_000

/** Bytes of records, a few milliseconds of work. */
const FULL_BYTES = 4 * 1024 * 1024

/** Anything else might not do as a key, and a call to lmdb that throws would tear its group apart. */
const HASH = /^[\w+/=-]{1,200}$/

const POKED = Buffer.of(1)

const DONE: CommitOutcome = { ok: true }
const DONE_WITH_LOOKUPS: CommitOutcome = { ok: true, lookups: true }

export class WriteGroup implements Group {
  readonly #disk: Disk
  readonly #memory: Memory
  readonly #operations: GroupOperations
  /** Contexts as they will be; null: deleted. */
  readonly #contexts = new Map<ContextId, Header | null>()
  /** Unique index keys that contexts get by this group. */
  readonly #owners = new Map<string, ContextId>()
  readonly #notified = new Map<ContextId, boolean>()
  #lastId: ContextId
  readonly #now: () => number
  /** Null as long as no row is written. */
  #rows: RowGroup | null = null

  /** `now` tells the store's time, epoch milliseconds. */
  constructor(disk: Disk, memory: Memory, now: () => number) {
    this.#now = now
    this.#disk = disk
    this.#memory = memory
    this.#operations = new GroupOperations(disk.pageBytes)
    this.#lastId = memory.lastId
    // The group before is written, or has failed.
    disk.arena.clear()
  }

  get full(): boolean {
    return this.#operations.bytes > FULL_BYTES
  }

  touches(id: ContextId): boolean {
    return this.#contexts.has(id)
  }

  touchesRows(space: RowSpace, key?: string): boolean {
    return this.#rows?.touches(space, key) === true
  }

  write(): Promise<void> {
    const { list, pages } = this.#operations
    if (list.length === 0) return Promise.resolve()
    return this.#disk.write(list, pages * this.#disk.pageBytes)
  }

  /** Where memory fails for a context, the others are made visible all the same, and its own entry is made anew. */
  adopt(): void {
    const memory = this.#memory
    memory.lastId = this.#lastId
    if (this.#rows !== null) memory.addRows(this.#rows)
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
    const operationsBefore = this.#operations.list.length
    let isWhole = false
    try {
      for (const write of writes) {
        const { id } = write.context
        const before = headers.get(id) ?? this.#context(id)
        if ((before?.version ?? 0) !== write.previous) return { ok: false, stale: id }
        headers.set(id, this.#writeContext(write, before))
      }
      const refusal =
        (rows === undefined ? null : this.#rowGroup().refusal(rows)) ?? this.#refusalOfKeys(writes, headers)
      if (refusal !== null) return refusal
      isWhole = true
    } finally {
      if (!isWhole) this.#operations.list.length = operationsBefore
    }
    if (rows !== undefined) this.#rowGroup().write(rows)
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
    const { length } = this.#operations.list
    let header: Header | null = null
    try {
      header = this.#writeContext(write, before)
    } finally {
      if (header === null) this.#operations.list.length = length
    }
    this.#contexts.set(id, header)
    this.#answerNotification(write)
    this.#notifyAll(write.notifies)
    return this.#done()
  }

  #answerNotification({ context: { id }, answersNotification }: Write): void {
    if (!answersNotification || !this.#isNotified(id)) return
    this.#notified.set(id, false)
    this.#operations.add(0, 1, () => void this.#disk.notifications.remove(id))
  }

  #notifyAll(ids: readonly ContextId[]): void {
    for (const id of ids) if (this.#context(id) !== null) this.#notify(id)
  }

  #done(): CommitOutcome {
    const lookups = this.#memory.rowCount('lookups') + (this.#rows?.gained('lookups') ?? 0)
    return lookups > 0 ? DONE_WITH_LOOKUPS : DONE
  }

  sweepRows(now: number, limit: number): number {
    return this.#rowGroup().sweep(now, limit)
  }

  reserveIds(count: number): ContextId {
    const first = this.#lastId + 1
    const last = (this.#lastId += count)
    this.#operations.add(0, 1, () => void this.#disk.meta.put('lastId', last))
    return first
  }

  putDefinition(hash: string, text: string): void {
    if (!HASH.test(hash)) throw new TypeError('a definition is kept under its hash, in letters and digits')
    // One UTF-16 unit takes 3 bytes at most.
    this.#operations.add(3 * text.length, 1, () => void this.#disk.definitions.put(hash, text))
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
    this.#operations.add(record.length, 1, () => void this.#disk.contexts.put(id, record))
    return header
  }

  /** The rows of one write are one value, keyed by the number of the first. Gives which are kept. */
  #append(id: ContextId, { firstRow, nextRow }: Rows, rows: readonly string[]): Rows {
    if (rows.length === 0) return { firstRow, nextRow }
    const value = Buffer.from(JSON.stringify(rows))
    this.#operations.add(value.length, 1, () => this.#disk.rows.put(id, nextRow, value))
    const end = nextRow + rows.length
    if (end - firstRow <= LOG_ROOM) return { firstRow, nextRow: end }
    // Whole values only: the last that begins before the rows to keep may reach into them.
    const old = this.#disk.rows.numbersOf(id, end - MAX_LOG_ROWS)
    const first = old.pop() ?? firstRow
    this.#operations.add(0, old.length, () => {
      for (const row of old) this.#disk.rows.remove(id, row)
    })
    return { firstRow: first, nextRow: end }
  }

  /** Writes those that have changed. Gives all of them. */
  #writeLargeParts(write: Write, before: readonly LargePart[]): readonly LargePart[] {
    const placement = placeLargeParts(write, before)
    if (placement === null) return NO_LARGE_PARTS
    const { id, version, parts } = write.context
    for (const { name, slot } of placement.written) {
      const row = encodeLargePart(this.#disk.arena, version, parts[name] ?? '')
      this.#operations.add(row.length, 1, () => void this.#disk.parts.put([id, slot], row))
    }
    for (const slot of placement.freed) this.#operations.add(0, 1, () => void this.#disk.parts.remove([id, slot]))
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

  #rowGroup(): RowGroup {
    return (this.#rows ??= new RowGroup(this.#disk, this.#operations, this.#now()))
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
    this.#operations.add(0, 1, () => void this.#disk.notifications.put(id, POKED))
  }

  #remove(id: ContextId): void {
    const rows = this.#disk.rows.numbersOf(id)
    const large = this.#context(id)?.large ?? NO_LARGE_PARTS
    this.#operations.add(0, 1, () => {
      for (const { slot } of large) void this.#disk.parts.remove([id, slot])
      for (const row of rows) this.#disk.rows.remove(id, row)
      void this.#disk.notifications.remove(id)
      void this.#disk.contexts.remove(id)
    })
    this.#operations.pages += rows.length + large.length
    this.#contexts.set(id, null)
    this.#notified.set(id, false)
  }
}
