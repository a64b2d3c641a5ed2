// store/lmdb: the tables of the data file, and the transaction that writes a group of operations.
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { ABORT, type Database, type RootDatabase } from 'lmdb'
import type { ContextId } from '../../model/context.ts'
import { FORMAT, otherFormat } from '../../model/format.ts'
import { Arena } from './arena.ts'
import { DataFolderError, isMarked, lockFolder, makeFile, mark, fileBytesOf } from './data-folder.ts'
import { causeOf, numberIn, openRoot } from './lmdb-file.ts'
import { ADVICE, inspect, META, noFormat } from './salvage/inspect.ts'
import { RowTables } from './row-tables.ts'
import { diskSpace, type SpaceOptions } from './space.ts'
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
    const space = diskSpace(options)
    // Files that are there already are opened without writing.
    if (!hasData || fileBytesOf(`${files.data}-lock`) === 0) space.take(NEW_FILE_BYTES)
    const disk = diskOf(files.data, hasData, space, lock)
    if (!isMarkedYet) mark(lock, log)
    return disk
  } catch (error) {
    closeSync(lock)
    if (error instanceof DataFolderError) throw error
    throw new DataFolderError(`the data in ${files.data} can't be opened: ${messageOf(error)}`, { cause: error })
  }
}

const tablesIn = (root: RootDatabase) => ({
  contexts: root.openDB<Buffer, ContextId>('contexts', { encoding: 'binary' }),
  rows: root.openDB<Buffer, [ContextId, number]>('rows', { encoding: 'binary' }),
  notifications: root.openDB<Buffer, ContextId>('pokes', { encoding: 'binary' }),
  definitions: root.openDB<string, string>('definitions', { encoding: 'string' }),
  /** Large parts, by context and slot. */
  parts: root.openDB<Buffer, [ContextId, number]>('parts', { encoding: 'binary' }),
  rowTables: new RowTables(root),
})

/** Opens the tables, or makes them. @throws DataFolderError when the format of the file is another */
function openTables(root: RootDatabase, file: string, hasData: boolean) {
  try {
    const meta = root.openDB<unknown, string>(META, { encoding: 'json' })
    if (hasData) checkFormat(file, readMeta(meta, 'format'))
    const tables = hasData ? tablesIn(root) : root.transactionSync(() => tablesIn(root))
    if (!hasData) meta.putSync('format', FORMAT)
    return { ...tables, meta }
  } catch (error) {
    void root.close()
    throw error
  }
}

export type Disk = ReturnType<typeof diskOf>

function diskOf(file: string, hasData: boolean, space: ReturnType<typeof diskSpace>, lock: number) {
  makeFile(file)
  const root = openRoot(file)
  const tables = openTables(root, file, hasData)
  /** For the records of the group that is written next. */
  const arena = new Arena()
  const contextCount = () => numberIn(tables.contexts.getStats(), 'entryCount')
  let broken: Error | null = null

  return {
    ...tables,
    arena,
    /** Contexts, as lmdb counts them. */
    contextCount,
    pageBytes: numberIn(root.getStats(), 'pageSize'),
    /** Why nothing can be written, at present or any more. */
    trouble: () =>
      broken
        ? 'the store can not write any more: its reason is in the log; start the server again when it is mended'
        : space.trouble(),
    /** The number of lmdb's last transaction. */
    revision: () => numberIn(root.getStats(), 'lastTxnId'),
    /**
     * Runs the operations in one transaction, which takes so many bytes of the disk at most; resolves when it is flushed.
     * @throws FluxError `unavailable` when there is no room on the disk; Error when none of them took place, or nobody
     * knows
     */
    async write(operations: readonly (() => void)[], bytes: number): Promise<void> {
      if (broken !== null) throw broken
      space.take(bytes)
      try {
        await root.batch(() => {
          for (const operation of operations) operation()
        })
      } catch (error) {
        arena.renew()
        const cause = await causeOf(error)
        const failure = new Error(`the store can't write: ${messageOf(cause)}`, { cause })
        if (!works(root)) broken = failure
        throw failure
      }
    },
    /** The record of a context. The bytes are there until the next is read. */
    record: (id: ContextId): Buffer | undefined => tables.contexts.getBinaryFast(id),
    /** The highest id given out. @throws DataFolderError when it can't be read */
    lastId(): ContextId {
      const lastId = readMeta(tables.meta, 'lastId')
      if (lastId === undefined && contextCount() === 0) return 0
      if (typeof lastId === 'number' && Number.isSafeInteger(lastId)) return lastId
      throw new DataFolderError(`the data is damaged: the last id given out can't be read; ${ADVICE}`)
    },
    async close(): Promise<void> {
      await root.close()
      closeSync(lock)
    },
  }
}

/** After a failure that leaves its file in doubt lmdb takes no transaction any more, and never answers a write. */
function works(root: RootDatabase): boolean {
  try {
    root.transactionSync(() => ABORT)
    return true
  } catch {
    return false
  }
}

/** @throws DataFolderError when a file with data has another format */
function checkFormat(file: string, format: unknown): void {
  if (format === undefined) throw new DataFolderError(noFormat(file))
  if (format !== FORMAT) throw new DataFolderError(otherFormat(`the data in ${file}`, format))
}

function readMeta(meta: Database<unknown, string>, key: string): unknown {
  try {
    return meta.get(key)
  } catch (error) {
    throw new DataFolderError(`the data is damaged: '${key}' can't be read; ${ADVICE}`, { cause: error })
  }
}
