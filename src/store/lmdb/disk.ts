// store/lmdb: the tables of the data file, and the transaction that writes a group of operations.
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { ABORT, type Database, type RootDatabase } from 'lmdb'
import type { ContextId } from '../../model/context.ts'
import { FORMAT, otherFormat } from '../../model/format.ts'
import { Arena } from './arena.ts'
import { DataFolderError, isMarked, lockFolder, makeFile, mark, fileBytesOf } from './data-folder.ts'
import { causeOf, numberIn, openRoot } from './lmdb-file.ts'
import { LogRows } from './records/log-rows.ts'
import { ADVICE, inspect, META, noFormat } from './salvage/inspect.ts'
import { RowTables } from './row-tables.ts'
import { Space, type SpaceOptions } from './space.ts'
import { messageOf } from '../../model/error-message.ts'

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

/** Whether there is data of a namespace in a folder. */
export const hasData = (folder: string, namespace: string): boolean => fileBytesOf(filesIn(folder, namespace).data) > 0

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

const openAll = (root: RootDatabase) => ({
  contexts: root.openDB<Buffer, ContextId>('contexts', { encoding: 'binary' }),
  rows: new LogRows(root.openDB('rows', { encoding: 'binary' })),
  notifications: root.openDB<Buffer, ContextId>('pokes', { encoding: 'binary' }),
  definitions: root.openDB<string, string>('definitions', { encoding: 'string' }),
  parts: root.openDB<Buffer, [ContextId, number]>('parts', { encoding: 'binary' }),
  rowTables: new RowTables(root),
})

export class Disk {
  readonly contexts: Database<Buffer, ContextId>
  readonly rows: LogRows
  readonly notifications: Database<Buffer, ContextId>
  readonly definitions: Database<string, string>
  readonly rowTables: RowTables
  readonly meta: Database<unknown, string>
  readonly pageBytes: number
  /** For the records of the group that is written next. */
  readonly arena = new Arena()
  readonly #root: RootDatabase
  /** Large parts, by context and slot. */
  readonly #parts: Database<Buffer, [ContextId, number]>
  readonly #lock: number
  readonly #space: Space
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
      if (hasData) this.#checkFormat(file)
      const opened = hasData ? openAll(this.#root) : this.#root.transactionSync(() => openAll(this.#root))
      this.contexts = opened.contexts
      this.rows = opened.rows
      this.notifications = opened.notifications
      this.definitions = opened.definitions
      this.#parts = opened.parts
      this.rowTables = opened.rowTables
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

  /** The number of lmdb's last transaction. */
  get revision(): number {
    return numberIn(this.#root.getStats(), 'lastTxnId')
  }

  /** Contexts, as lmdb counts them. */
  get contextCount(): number {
    return numberIn(this.contexts.getStats(), 'entryCount')
  }

  /**
   * Runs the operations in one transaction, which takes so many bytes of the disk at most; resolves when it is flushed.
   * @throws FluxError `unavailable` when there is no room on the disk; Error when none of them took place, or nobody
   * knows
   */
  async write(operations: readonly (() => void)[], bytes: number): Promise<void> {
    if (this.#broken !== null) throw this.#broken
    this.#space.take(bytes)
    try {
      await this.#root.batch(() => {
        for (const operation of operations) operation()
      })
    } catch (error) {
      this.arena.renew()
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
    return this.#parts.getBinaryFast([id, slot])
  }

  /** To be called by an operation. */
  putLargePart(id: ContextId, slot: number, row: Buffer): void {
    void this.#parts.put([id, slot], row)
  }

  /** To be called by an operation. */
  removeLargePart(id: ContextId, slot: number): void {
    void this.#parts.remove([id, slot])
  }

  async close(): Promise<void> {
    await this.#root.close()
    closeSync(this.#lock)
  }

  /** @throws DataFolderError when a file with data has another format */
  #checkFormat(file: string): void {
    const format = this.#readMeta('format')
    if (format === undefined) throw new DataFolderError(noFormat(file))
    if (format !== FORMAT) throw new DataFolderError(otherFormat(`the data in ${file}`, format))
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
