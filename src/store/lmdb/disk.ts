// store/lmdb: the tables of the data file, and the transaction that writes a group of operations.
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { ABORT, type RootDatabase } from 'lmdb'
import type { ContextId } from '../../model/context.ts'
import { messageOf } from '../../model/error-message.ts'
import { FORMAT, otherFormat } from '../../model/format.ts'
import { Arena } from './arena.ts'
import { DataFolderError, fileBytesOf, isMarked, lockFolder, makeFile, mark } from './data-folder.ts'
import { examine, META, noFormat } from './examine.ts'
import { causeOf, numberIn, openRoot } from './lmdb-file.ts'
import { RowTables } from './row-tables.ts'
import { diskSpace, type SpaceOptions } from './space.ts'

/** What a new data file and lmdb's own file beside it take at most. */
const NEW_FILE_BYTES = 1024 * 1024

export interface DiskOptions extends SpaceOptions {
  readonly namespace?: string
}

/** The files of a namespace in a data folder. */
export function filesIn(folder: string, namespace = 'default'): { readonly data: string; readonly lock: string } {
  const name = encodeURIComponent(namespace)
  return { data: join(folder, `${name}.mdb`), lock: join(folder, `${name}.lock`) }
}

/** The file with the data of a namespace. @throws DataFolderError when there is none */
export function dataFileIn(folder: string, namespace: string): string {
  const { data } = filesIn(folder, namespace)
  if (fileBytesOf(data) === 0) throw new DataFolderError(`there is no data in ${data}`)
  return data
}

export type Disk = Awaited<ReturnType<typeof openDisk>>

/**
 * Opens the data of a namespace after it was examined.
 * @throws DataFolderError when another store has it open, or it is not actorflux's, or is damaged
 */
export async function openDisk({ namespace, ...options }: DiskOptions) {
  const files = filesIn(options.folder, namespace)
  const lock = lockFolder(options.folder, files.lock)
  let root: RootDatabase | undefined
  try {
    const isMarkedYet = isMarked(files.lock)
    const hasData = await examine(files.data, isMarkedYet)
    const space = diskSpace(options)
    if (!hasData) space.take(NEW_FILE_BYTES)
    makeFile(files.data)
    root = openRoot(files.data)
    const tables = openTables(root, files.data, hasData)
    if (!isMarkedYet) mark(files.lock, options.log)
    return diskOf(root, tables, { space, lock })
  } catch (error) {
    void root?.close()
    closeSync(lock)
    if (error instanceof DataFolderError) throw error
    throw new DataFolderError(`the data in ${files.data} can't be opened: ${messageOf(error)}`, { cause: error })
  }
}

const tablesIn = (root: RootDatabase) => ({
  contexts: root.openDB<Buffer, ContextId>('contexts', { encoding: 'binary' }),
  rows: root.openDB<Buffer, [ContextId, number]>('rows', { encoding: 'binary' }),
  notifications: root.openDB<Buffer, ContextId>('notifications', { encoding: 'binary' }),
  /** Large parts, by context and slot. */
  parts: root.openDB<Buffer, [ContextId, number]>('parts', { encoding: 'binary' }),
  rowTables: new RowTables(root),
})

/** Opens the tables, or makes them. @throws DataFolderError when the format of the file is another */
function openTables(root: RootDatabase, file: string, hasData: boolean) {
  const meta = root.openDB<number, string>(META, { encoding: 'json' })
  const format = hasData ? meta.get('format') : FORMAT
  if (format === undefined) throw new DataFolderError(noFormat(file))
  if (format !== FORMAT) throw new DataFolderError(otherFormat(`the data in ${file}`, format))
  const tables = hasData ? tablesIn(root) : root.transactionSync(() => tablesIn(root))
  if (!hasData) meta.putSync('format', FORMAT)
  return { ...tables, meta }
}

function diskOf(
  root: RootDatabase,
  tables: ReturnType<typeof openTables>,
  { space, lock }: { readonly space: ReturnType<typeof diskSpace>; readonly lock: number },
) {
  /** For the records of the group that is written next. */
  const arena = new Arena()
  let broken: unknown = null

  return {
    ...tables,
    arena,
    pageBytes: numberIn(root.getStats(), 'pageSize'),
    /** Why nothing can be written, at present or any more. */
    trouble: () =>
      broken === null
        ? space.trouble()
        : 'the store can not write any more: its reason is in the log; start the server again when it is mended',
    /** Nothing is written any more: what memory shows may be other than what is on disk. */
    breakOff(reason: unknown): void {
      broken = reason
    },
    /** The number of lmdb's last transaction. */
    revision: () => numberIn(root.getStats(), 'lastTxnId'),
    /**
     * Runs the operations in one transaction, which takes so many bytes of the disk at most; resolves when it is flushed.
     * @throws FluxError `unavailable` when there is no room on the disk; Error when none of them took place, or it is not
     * known
     */
    async write(operations: readonly (() => void)[], bytes: number): Promise<void> {
      if (broken !== null) throw broken
      if (operations.length === 0) return
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
