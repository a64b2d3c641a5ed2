// store/lmdb: the operations that write a context: its record, its large parts, and the rows of its log.
import { type ContextId, MAX_LOG_ROWS } from '../../model/context.ts'
import type { Write } from '../../ports/store.ts'
import type { Disk } from './disk.ts'
import type { GroupOperations } from './group-operations.ts'
import type { Entry } from './index/memory.ts'
import { type Header, type LargePart, NO_LARGE_PARTS, type Rows } from './records/header.ts'
import { encodeLargePart, placeLargeParts } from './records/large-parts.ts'
import { encode } from './records/stored-context.ts'

/** A log is trimmed when it has grown so far, a good many rows at once. */
const LOG_ROOM = MAX_LOG_ROWS + MAX_LOG_ROWS / 4

const NO_ROWS: Rows = { firstRow: 0, nextRow: 0 }

export class ContextWrites {
  readonly #disk: Disk
  readonly #operations: GroupOperations

  constructor(disk: Disk, operations: GroupOperations) {
    this.#disk = disk
    this.#operations = operations
  }

  /** Adds the operations that write it; gives its header. */
  add(write: Write, before: Header | Entry | null): Header {
    const { context, log } = write
    const { id, version, indexKeys, due, owner, endedAt, parent } = context
    const kept = log.length > MAX_LOG_ROWS ? log.slice(-MAX_LOG_ROWS) : log
    const { firstRow, nextRow } = this.#append(id, before ?? NO_ROWS, kept)
    const large = this.#addLargeParts(write, before?.large ?? NO_LARGE_PARTS)
    const header = { version, indexKeys, due, owner, endedAt, parent, firstRow, nextRow, large }
    const record = encode(this.#disk.arena, header, context)
    this.#operations.add(() => void this.#disk.contexts.put(id, record))
    this.#operations.takes(record.length, 1)
    return header
  }

  /** The rows of one write are one value, keyed by the number of the first. Gives which are kept. */
  #append(id: ContextId, { firstRow, nextRow }: Rows, rows: readonly string[]): Rows {
    if (rows.length === 0) return { firstRow, nextRow }
    const value = Buffer.from(JSON.stringify(rows))
    this.#operations.add(() => this.#disk.rows.put(id, nextRow, value))
    this.#operations.takesPages(value.length, 1)
    const end = nextRow + rows.length
    if (end - firstRow <= LOG_ROOM) return { firstRow, nextRow: end }
    // Whole values only: the last that begins before the rows to keep may reach into them.
    const old = this.#disk.rows.numbersOf(id, end - MAX_LOG_ROWS)
    const kept = old.pop() ?? firstRow
    this.#operations.add(() => {
      for (const row of old) this.#disk.rows.remove(id, row)
    })
    this.#operations.pages += old.length
    return { firstRow: kept, nextRow: end }
  }

  /** Writes those that have changed. Gives all of them. */
  #addLargeParts(write: Write, before: readonly LargePart[]): readonly LargePart[] {
    const placement = placeLargeParts(write, before)
    if (placement === null) return NO_LARGE_PARTS
    const { id, version, parts } = write.context
    for (const { name, slot } of placement.written) {
      const row = encodeLargePart(this.#disk.arena, version, parts[name] ?? '')
      this.#operations.add(() => this.#disk.putLargePart(id, slot, row))
      this.#operations.takes(row.length, 1)
    }
    for (const slot of placement.freed) {
      this.#operations.add(() => this.#disk.removeLargePart(id, slot))
      this.#operations.takes(0, 1)
    }
    return placement.parts
  }
}
