// store/lmdb: what lies in the data folder, and how a group of writes gets there.
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { ABORT, type Database, open, type RootDatabase } from 'lmdb'
import type { ContextId } from '../../model/context.ts'
import { DataFolderError, lockFolder, messageOf, prepareFile } from './data-folder.ts'

/** What the format of the data is called. A change that older code can't read takes the next number. */
const FORMAT = 3

export class Disk {
  readonly contexts: Database<Buffer, ContextId>
  /** Rows of the logs, by context and number. */
  readonly rows: Database<Buffer, [ContextId, number]>
  readonly pokes: Database<Buffer, ContextId>
  readonly definitions: Database<string, string>
  readonly meta: Database<unknown, string>
  readonly #root: RootDatabase
  readonly #lock: number
  #broken: Error | null = null

  /** @throws DataFolderError when another store has it open, or it isn't ours */
  constructor(folder: string, namespace: string) {
    const name = encodeURIComponent(namespace)
    const file = join(folder, `${name}.mdb`)
    this.#lock = lockFolder(folder, join(folder, `${name}.lock`))
    try {
      prepareFile(file)
      // Without overlapping sync: a put's promise then means that it is on disk, and a failed flush is told (with it, `flushed` never settles).
      // Without batches of its own, whose promise nobody sees: its rejection would end the process.
      this.#root = open({ path: file, noSubdir: true, overlappingSync: false, eventTurnBatching: false, encoding: 'binary', maxDbs: 5 })
    } catch (error) {
      closeSync(this.#lock)
      throw new DataFolderError(`the data in ${file} can't be opened: ${messageOf(error)}`, { cause: error })
    }
    this.meta = this.#root.openDB('meta', { encoding: 'json' })
    this.#checkFormat(file)
    this.contexts = this.#root.openDB('contexts', { encoding: 'binary' })
    this.rows = this.#root.openDB('rows', { encoding: 'binary' })
    this.pokes = this.#root.openDB('pokes', { encoding: 'binary' })
    this.definitions = this.#root.openDB('definitions', { encoding: 'string' })
  }

  /** Why nothing can be written any more. */
  get trouble(): string | null {
    return this.#broken && 'the store can not write any more: its reason is in the log; start the server again when it is mended'
  }

  /** Runs the operations in one transaction; resolves when it is flushed. @throws Error when none of them took place, or nobody knows */
  async write(operations: readonly (() => void)[]): Promise<void> {
    if (this.#broken !== null) throw this.#broken
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

  /** The newest rows of a context's log, oldest of them first. */
  newestRows(id: ContextId, limit: number): string[] {
    const newestFirst: string[][] = []
    let count = 0
    for (const { value } of this.rows.getRange({ start: [id, Number.MAX_SAFE_INTEGER], end: [id, -1], reverse: true })) {
      const rows: string[] = JSON.parse(value.toString())
      newestFirst.push(rows)
      count += rows.length
      if (count >= limit) break
    }
    return newestFirst.toReversed().flat().slice(-limit)
  }

  async close(): Promise<void> {
    await this.#root.close()
    closeSync(this.#lock)
  }

  #checkFormat(file: string): void {
    const format = this.meta.get('format')
    if (format === FORMAT) return
    if (format === undefined) this.meta.putSync('format', FORMAT)
    else {
      void this.close()
      throw new DataFolderError(`the data in ${file} has format ${String(format)}, and this version of actorflux knows format ${FORMAT} only`)
    }
  }
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
