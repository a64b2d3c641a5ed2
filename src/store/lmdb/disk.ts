// store/lmdb: the tables of the data file, and the transaction that writes a group of operations.
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { ABORT, type Database, type RootDatabase } from 'lmdb'
import type { ContextId } from '../../model/context.ts'
import { Arena } from './arena.ts'
import { DataFolderError, isMarked, lockFolder, makeFile, mark, fileBytesOf } from './data-folder.ts'
import { causeOf, numberIn, openRoot } from './lmdb-file.ts'
import { LogRows } from './records/log-rows.ts'
import { ADVICE, inspect, META, noFormat } from './salvage/inspect.ts'
import { ROW_DATABASES, RowTables } from './row-tables.ts'
import { Space, type SpaceOptions } from './space.ts'
import { messageOf } from '../../model/error-message.ts'

/** The format of the data. A change that older code can't read gets the next number. */
const FORMAT = 4

/** With rows. The first write of a row makes it of format 4: until then, older code may go on with the file. */
const FORMAT_WITH_ROWS = 5

/** Without large parts, and with other records, which are read as they are. The first write upgrades the file. */
const FORMAT_OF_0_1 = 3

/** Pages for the upgrade of a file: two transactions, each of which copies what leads to what it writes. */
const UPGRADE_PAGES = 16

/** The same, for each database of rows. */
const PAGES_OF_DATABASE = 8

/** What a new data file and lmdb's own file beside it take at most. */
const NEW_FILE_BYTES = 1024 * 1024

export interface DiskOptions extends SpaceOptions {
  readonly namespace: string
}

/** The files of a namespace in a data folder. */
export function filesIn(folder: string, namespace: string): { readonly data: string; readonly lock: string } {
  const name = encodeURIComponent(namespace)
  return { data: join(folder, `${name}.mdb`), lock: join(folder, `${name}.lock`) }
}

/**
 * Opens the data of a namespace after it was examined.
 * @throws DataFolderError when another store has it open, or it is not actorflux's, or is damaged
 */
export async function openDisk(options: DiskOptions): Promise<Disk> {
  const { folder, namespace, log } = options
  const files = filesIn(folder, namespace)
  const lock = lockFolder(folder, files.lock)
  try {
    const isMarkedYet = isMarked(files.lock)
    const hasData = await inspect(files.data, isMarkedYet)
    const space = new Space(options)
    // Files that are there already are opened without writing.
    if (!hasData || fileBytesOf(`${files.data}-lock`) === 0) space.take(NEW_FILE_BYTES)
    const disk = new Disk({ file: files.data, hasData, lock, space })
    if (!isMarkedYet) mark(lock, log)
    return disk
  } catch (error) {
    closeSync(lock)
    if (error instanceof DataFolderError) throw error
    throw new DataFolderError(`the data in ${files.data} can't be opened: ${messageOf(error)}`, { cause: error })
  }
}

export class Disk {
  readonly contexts: Database<Buffer, ContextId>
  readonly rows: LogRows
  readonly notifications: Database<Buffer, ContextId>
  readonly definitions: Database<string, string>
  readonly meta: Database<unknown, string>
  readonly pageBytes: number
  /** For the records of the group that is written next. */
  readonly arena = new Arena()
  readonly #root: RootDatabase
  readonly #lock: number
  readonly #space: Space
  /** Large parts, by context and slot; null as long as the file has the format of version 0.1. */
  #parts: Database<Buffer, [ContextId, number]> | null = null
  #rowTables: RowTables | null = null
  #broken: Error | null = null

  /** Opens the file, or makes it. @throws DataFolderError when its format is another */
  constructor({
    file,
    hasData,
    lock,
    space,
  }: {
    readonly file: string
    readonly hasData: boolean
    readonly lock: number
    readonly space: Space
  }) {
    this.#lock = lock
    this.#space = space
    makeFile(file)
    this.#root = openRoot(file)
    try {
      this.pageBytes = numberIn(this.#root.getStats(), 'pageSize')
      this.meta = this.#root.openDB(META, { encoding: 'json' })
      const format = hasData ? this.#formatOf(file) : FORMAT
      this.contexts = this.#root.openDB('contexts', { encoding: 'binary' })
      this.rows = new LogRows(this.#root.openDB('rows', { encoding: 'binary' }))
      this.notifications = this.#root.openDB('pokes', { encoding: 'binary' })
      this.definitions = this.#root.openDB('definitions', { encoding: 'string' })
      if (format !== FORMAT_OF_0_1) this.#parts = this.#openParts()
      if (format === FORMAT_WITH_ROWS) this.#rowTables = new RowTables(this.#root)
      if (!hasData) this.meta.putSync('format', FORMAT)
    } catch (error) {
      void this.#root.close()
      throw error
    }
  }

  /** Why nothing can be written, at present or any more. */
  get trouble(): string | null {
    if (this.#broken)
      return 'the store can not write any more: its reason is in the log; start the server again when it is mended'
    return this.#space.trouble()
  }

  /** Null as long as no row has been written. */
  get rowTables(): RowTables | null {
    return this.#rowTables
  }

  /** Contexts, as lmdb counts them. */
  get contextCount(): number {
    return numberIn(this.contexts.getStats(), 'entryCount')
  }

  /**
   * Runs the operations in one transaction, which takes so many bytes of the disk at most; resolves when it is flushed.
   * `hasRows`: they may write rows.
   * @throws FluxError `unavailable` when there is no room on the disk; Error when none of them took place, or nobody
   * knows
   */
  async write(operations: readonly (() => void)[], bytes: number, hasRows = false): Promise<void> {
    if (this.#broken !== null) throw this.#broken
    const isOld = this.#parts === null
    const areFirstRows = hasRows && this.#rowTables === null
    const missing = hasRows ? (this.#rowTables?.missing ?? ROW_DATABASES) : 0
    const pages = (isOld || areFirstRows ? UPGRADE_PAGES : 0) + missing * PAGES_OF_DATABASE
    this.#space.take(bytes + pages * this.pageBytes)
    try {
      this.#parts ??= this.#openParts()
      if (areFirstRows) this.#rowTables = new RowTables(this.#root)
      if (missing > 0) this.#rowTables?.makeMissing()
      await this.#root.batch(() => {
        if (areFirstRows) void this.meta.put('format', FORMAT_WITH_ROWS)
        else if (isOld) void this.meta.put('format', FORMAT)
        for (const operation of operations) operation()
      })
    } catch (error) {
      this.arena.renew()
      if (isOld) this.#parts = null
      if (areFirstRows) this.#rowTables = null
      const cause = await causeOf(error)
      const failure = new Error(`the store can't write: ${messageOf(cause)}`, { cause })
      if (!this.#works()) this.#broken = failure
      throw failure
    }
  }

  /** After a failure that leaves its file in doubt lmdb takes no transaction any more, and never answers a write. */
  #works(): boolean {
    try {
      this.#root.transactionSync(() => ABORT)
      return true
    } catch {
      return false
    }
  }

  /** The record of a context. The bytes are there until the next is read. */
  record(id: ContextId): Buffer | undefined {
    return this.contexts.getBinaryFast(id)
  }

  /** The row of a large part. The bytes are there until the next is read. */
  largePart(id: ContextId, slot: number): Buffer | undefined {
    return this.#parts?.getBinaryFast([id, slot])
  }

  /** To be called by an operation. */
  putLargePart(id: ContextId, slot: number, row: Buffer): void {
    void this.#parts?.put([id, slot], row)
  }

  /** To be called by an operation. */
  removeLargePart(id: ContextId, slot: number): void {
    void this.#parts?.remove([id, slot])
  }

  #openParts(): Database<Buffer, [ContextId, number]> {
    return this.#root.openDB('parts', { encoding: 'binary' })
  }

  async close(): Promise<void> {
    await this.#root.close()
    closeSync(this.#lock)
  }

  /** The format of a file with data. @throws DataFolderError when it is one that this code can't read */
  #formatOf(file: string): typeof FORMAT_OF_0_1 | typeof FORMAT | typeof FORMAT_WITH_ROWS {
    const format = this.#readMeta('format')
    if (format === FORMAT_OF_0_1 || format === FORMAT || format === FORMAT_WITH_ROWS) return format
    if (format === undefined) throw new DataFolderError(noFormat(file))
    throw new DataFolderError(
      `the data in ${file} has format ${String(format)}, and this version of actorflux knows formats ${FORMAT_OF_0_1} to ${FORMAT_WITH_ROWS}`,
    )
  }

  /** The highest id given out. @throws DataFolderError when it can't be read */
  lastId(): ContextId {
    const lastId = this.#readMeta('lastId')
    if (lastId === undefined && this.contextCount === 0) return 0
    if (typeof lastId === 'number' && Number.isSafeInteger(lastId)) return lastId
    throw new DataFolderError(`the data is damaged: the last id given out can't be read; ${ADVICE}`)
  }

  #readMeta(key: string): unknown {
    try {
      return this.meta.get(key)
    } catch (error) {
      throw new DataFolderError(`the data is damaged: '${key}' can't be read; ${ADVICE}`, { cause: error })
    }
  }
}
