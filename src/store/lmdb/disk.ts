// store/lmdb: what lies in the data folder, and how a group of writes gets there.
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { ABORT, type Database, open, type RootDatabase } from 'lmdb'
import type { ContextId } from '../../model/context.ts'
import { DataFolderError, isMarked, lockFolder, makeFile, mark, messageOf, sizeOf } from './data-folder.ts'
import { ADVICE, inspect, META, noFormat } from './inspect.ts'
import { Space, type SpaceOptions } from './space.ts'

/** What the format of the data is called. A change that older code can't read takes the next number. */
const FORMAT = 3

/** Bytes that a new data file and what lmdb keeps beside it take at most. */
const FIRST_BYTES = 1024 * 1024

export interface DiskOptions extends SpaceOptions {
  readonly namespace: string
}

/** The files of a namespace in a data folder. */
export function filesIn(folder: string, namespace: string): { readonly data: string; readonly lock: string } {
  const name = encodeURIComponent(namespace)
  return { data: join(folder, `${name}.mdb`), lock: join(folder, `${name}.lock`) }
}

/**
 * Opens what lies in the folder, after it was looked through.
 * @throws DataFolderError when another store has it open, or it isn't ours, or is damaged
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
    if (!hasData || sizeOf(`${files.data}-lock`) === 0) space.take(FIRST_BYTES)
    const disk = new Disk(files.data, lock, space)
    disk.checkFormat(files.data, hasData)
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
  /** Rows of the logs, by context and number. */
  readonly rows: Database<Buffer, [ContextId, number]>
  readonly pokes: Database<Buffer, ContextId>
  readonly definitions: Database<string, string>
  readonly meta: Database<unknown, string>
  readonly pageBytes: number
  readonly #root: RootDatabase
  readonly #lock: number
  readonly #space: Space
  #broken: Error | null = null

  /** Opens the file, or makes it. */
  constructor(file: string, lock: number, space: Space) {
    this.#lock = lock
    this.#space = space
    makeFile(file)
    // Without overlapping sync: a put's promise then means that it is on disk, and a failed flush is told (with it, `flushed` never settles).
    // Without batches of its own, whose promise nobody sees: its rejection would end the process.
    this.#root = open({ path: file, noSubdir: true, overlappingSync: false, eventTurnBatching: false, encoding: 'binary', maxDbs: 5 })
    try {
      this.pageBytes = numberIn(this.#root.getStats(), 'pageSize')
      this.meta = this.#root.openDB(META, { encoding: 'json' })
      this.contexts = this.#root.openDB('contexts', { encoding: 'binary' })
      this.rows = this.#root.openDB('rows', { encoding: 'binary' })
      this.pokes = this.#root.openDB('pokes', { encoding: 'binary' })
      this.definitions = this.#root.openDB('definitions', { encoding: 'string' })
    } catch (error) {
      void this.#root.close()
      throw error
    }
  }

  /** Why nothing can be written, at present or any more. */
  get trouble(): string | null {
    if (this.#broken) return 'the store can not write any more: its reason is in the log; start the server again when it is mended'
    return this.#space.trouble()
  }

  /** Contexts, as lmdb counts them. */
  get contextCount(): number {
    return numberIn(this.contexts.getStats(), 'entryCount')
  }

  /**
   * Runs the operations in one transaction, which takes so many bytes of the disk at most; resolves when it is flushed.
   * @throws FluxError `unavailable` when there is no room on the disk; Error when none of them took place, or nobody knows
   */
  async write(operations: readonly (() => void)[], bytes: number): Promise<void> {
    if (this.#broken !== null) throw this.#broken
    this.#space.take(bytes)
    try {
      await this.#root.batch(() => {
        for (const operation of operations) operation()
      })
    } catch (error) {
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

  /** Numbers under which rows of a context's log are kept, ascending, up to and including `upTo`. */
  rowsOf(id: ContextId, upTo = Number.MAX_SAFE_INTEGER): number[] {
    return Array.from(this.rows.getKeys({ start: [id, 0], end: [id, upTo], inclusiveEnd: true }), ([, row]) => row)
  }

  /** The newest rows of a context's log, oldest of them first. Those that can't be read are left out, and told of. */
  newestRows(id: ContextId, limit: number, unreadable: (row: number, error: unknown) => void): string[] {
    const newestFirst: string[][] = []
    let count = 0
    for (const { key: [, row], value } of this.rows.getRange({ start: [id, Number.MAX_SAFE_INTEGER], end: [id, -1], reverse: true })) {
      try {
        const rows = rowsIn(value)
        newestFirst.push(rows)
        count += rows.length
      } catch (error) {
        unreadable(row, error)
      }
      if (count >= limit) break
    }
    return newestFirst.toReversed().flat().slice(-limit)
  }

  async close(): Promise<void> {
    await this.#root.close()
    closeSync(this.#lock)
  }

  /** Sets the format of a file without data. @throws DataFolderError, and closes it, when the format is another */
  checkFormat(file: string, hasData: boolean): void {
    if (!hasData) {
      this.meta.putSync('format', FORMAT)
      return
    }
    const format = this.#readMeta('format')
    if (format === FORMAT) return
    void this.#root.close()
    if (format === undefined) throw new DataFolderError(noFormat(file))
    throw new DataFolderError(`the data in ${file} has format ${String(format)}, and this version of actorflux knows format ${FORMAT} only`)
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

/** @throws Error when these bytes are no rows */
export function rowsIn(value: Buffer): string[] {
  const rows: unknown = JSON.parse(value.toString())
  if (!Array.isArray(rows)) throw new TypeError('these are no rows')
  return rows.map((row: unknown) => {
    if (typeof row !== 'string') throw new TypeError('these are no rows')
    return row
  })
}

function numberIn(stats: object, name: string): number {
  const value: unknown = Reflect.get(stats, name)
  if (typeof value !== 'number') throw new TypeError(`lmdb does not tell its ${name}`)
  return value
}

/** lmdb hides the reason of a failed commit in a promise, which is rejected with it. */
async function causeOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error
  try {
    await error.commitError
    return error
  } catch (reason) {
    return reason
  }
}
