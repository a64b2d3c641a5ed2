// store/lmdb: what one group of requests will write. Decisions see memory and what the group has decided before them.
import type { ContextId } from '../../model/context.ts'
import { MAX_LOG_ROWS } from '../../model/record.ts'
import type { CommitOutcome, Write } from '../../ports/store.ts'
import type { Disk } from './disk.ts'
import type { Group } from './group-commit.ts'
import { type Header, type LargePart, NO_LARGE_PARTS, type Rows } from './records/header.ts'
import { encodeLargePart, placeLargeParts } from './records/large-parts.ts'
import type { Entry, Memory } from './index/memory.ts'
import { encode } from './records/stored-context.ts'

/** A log is trimmed when it has grown so far, a good many rows at once. */
const LOG_ROOM = MAX_LOG_ROWS + MAX_LOG_ROWS / 4

/** One purge writes about as many keys at most, so that it doesn't hold up the commits. */
const PURGE_KEYS = 20_000

/** Bytes of records, a few milliseconds of work. */
const FULL_BYTES = 4 * 1024 * 1024

/**
 * Pages for each key. lmdb never changes one in place: what a key lies on is copied, with what leads to it, as far as
 * the group has no copy yet; and the old pages are listed as free.
 */
const COPIES = 2

const NO_ROWS: Rows = { firstRow: 0, nextRow: 0 }

/** Anything else might not do as a key, and a call to lmdb that throws would tear its group apart. */
const HASH = /^[\w+/=-]{1,200}$/

const POKED = Buffer.of(1)

export class WriteGroup implements Group {
  readonly #disk: Disk
  readonly #memory: Memory
  /** Calls to lmdb; none of them throws. */
  readonly #operations: (() => void)[] = []
  readonly #effects: (() => void)[] = []
  readonly #contexts = new Map<ContextId, Header | null>()
  readonly #notified = new Map<ContextId, boolean>()
  #lastId: ContextId
  #size = 0
  /** Pages of the disk that it takes, at most. */
  #pages = 0

  constructor(disk: Disk, memory: Memory) {
    this.#disk = disk
    this.#memory = memory
    this.#lastId = memory.lastId
    // The group before is written, or has failed.
    disk.arena.clear()
  }

  get full(): boolean {
    return this.#size > FULL_BYTES
  }

  touches(id: ContextId): boolean {
    return this.#contexts.has(id)
  }

  write(): Promise<void> {
    if (this.#operations.length === 0) return Promise.resolve()
    return this.#disk.write(this.#operations, this.#pages * this.#disk.pageBytes)
  }

  adopt(): void {
    for (const effect of this.#effects) effect()
  }

  commit(writes: readonly Write[]): CommitOutcome {
    const headers = new Map<ContextId, Header>()
    const operationsBefore = this.#operations.length
    let isWhole = false
    try {
      for (const write of writes) {
        const { id } = write.context
        const before = headers.get(id) ?? this.#context(id)
        if ((before?.version ?? 0) !== write.previous) return { ok: false, stale: id }
        headers.set(id, this.#write(write, before))
      }
      isWhole = true
    } finally {
      if (!isWhole) this.#operations.length = operationsBefore
    }
    for (const [id, header] of headers) this.#put(id, header)
    for (const {
      context: { id },
      answersNotification,
    } of writes)
      if (answersNotification && this.#isNotified(id)) this.#clearNotification(id)
    // After the answers: a notification that comes along with one stands.
    for (const { notifies } of writes) for (const id of notifies) if (this.#context(id) !== null) this.#notify(id)
    return { ok: true }
  }

  reserveIds(count: number): ContextId {
    const first = this.#lastId + 1
    const last = (this.#lastId += count)
    this.#operations.push(() => void this.#disk.meta.put('lastId', last))
    this.#pages += COPIES
    this.#effects.push(() => {
      this.#memory.lastId = last
    })
    return first
  }

  putDefinition(hash: string, text: string): void {
    if (!HASH.test(hash)) throw new TypeError('a definition is kept under its hash, in letters and digits')
    this.#operations.push(() => void this.#disk.definitions.put(hash, text))
    // One UTF-16 unit takes 3 bytes at most.
    this.#pages += this.#pagesOf(3 * text.length)
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

  /** Adds the operations that write it; gives its header. */
  #write(write: Write, before: Header | Entry | null): Header {
    const { context, log } = write
    const { id, version, indexKeys, due, owner, endedAt, parent } = context
    const kept = log.length > MAX_LOG_ROWS ? log.slice(-MAX_LOG_ROWS) : log
    const { firstRow, nextRow } = this.#append(id, before ?? NO_ROWS, kept)
    const large = this.#writeLargeParts(write, before?.large ?? NO_LARGE_PARTS)
    const header = { version, indexKeys, due, owner, endedAt, parent, firstRow, nextRow, large }
    const record = encode(this.#disk.arena, header, context)
    this.#operations.push(() => void this.#disk.contexts.put(id, record))
    this.#size += record.length
    this.#pages += this.#pagesOf(record.length)
    return header
  }

  #context(id: ContextId): Header | Entry | null {
    const made = this.#contexts.get(id)
    return made === undefined ? this.#memory.entry(id) : made
  }

  #isNotified(id: ContextId): boolean {
    return this.#notified.get(id) ?? this.#memory.isNotified(id)
  }

  #put(id: ContextId, header: Header): void {
    this.#contexts.set(id, header)
    this.#effects.push(() => this.#memory.put(id, header))
  }

  #notify(id: ContextId): void {
    this.#notified.set(id, true)
    this.#operations.push(() => void this.#disk.notifications.put(id, POKED))
    this.#pages += COPIES
    this.#effects.push(() => this.#memory.notify(id))
  }

  #clearNotification(id: ContextId): void {
    this.#notified.set(id, false)
    this.#operations.push(() => void this.#disk.notifications.remove(id))
    this.#pages += COPIES
    this.#effects.push(() => this.#memory.clearNotification(id))
  }

  #remove(id: ContextId): void {
    const rows = this.#disk.rows.numbersOf(id)
    const large = this.#context(id)?.large ?? NO_LARGE_PARTS
    this.#operations.push(() => {
      for (const { slot } of large) this.#disk.removeLargePart(id, slot)
      for (const row of rows) this.#disk.rows.remove(id, row)
      void this.#disk.notifications.remove(id)
      void this.#disk.contexts.remove(id)
    })
    this.#pages += COPIES + rows.length + large.length
    this.#contexts.set(id, null)
    this.#notified.set(id, false)
    this.#effects.push(() => this.#memory.remove(id))
  }

  /** The rows of one write are one value, keyed by the number of the first. Gives which are kept. */
  #append(id: ContextId, { firstRow, nextRow }: Rows, rows: readonly string[]): Rows {
    if (rows.length === 0) return { firstRow, nextRow }
    const value = Buffer.from(JSON.stringify(rows))
    this.#operations.push(() => this.#disk.rows.put(id, nextRow, value))
    this.#pages += this.#pagesOf(value.length)
    const end = nextRow + rows.length
    if (end - firstRow <= LOG_ROOM) return { firstRow, nextRow: end }
    // Whole values only: the last that begins before the rows to keep may reach into them.
    const old = this.#disk.rows.numbersOf(id, end - MAX_LOG_ROWS)
    const kept = old.pop() ?? firstRow
    this.#operations.push(() => {
      for (const row of old) this.#disk.rows.remove(id, row)
    })
    this.#pages += old.length
    return { firstRow: kept, nextRow: end }
  }

  /** Writes those that have changed. Gives all of them. */
  #writeLargeParts(write: Write, before: readonly LargePart[]): readonly LargePart[] {
    const placement = placeLargeParts(write, before)
    if (placement === null) return NO_LARGE_PARTS
    const { id, version, parts } = write.context
    for (const { name, slot } of placement.written) {
      const row = encodeLargePart(this.#disk.arena, version, parts[name] ?? '')
      this.#operations.push(() => this.#disk.putLargePart(id, slot, row))
      this.#size += row.length
      this.#pages += this.#pagesOf(row.length)
    }
    for (const slot of placement.freed) {
      this.#operations.push(() => this.#disk.removeLargePart(id, slot))
      this.#pages += COPIES
    }
    return placement.parts
  }

  #pagesOf(bytes: number): number {
    return COPIES + Math.ceil(bytes / this.#disk.pageBytes)
  }
}
