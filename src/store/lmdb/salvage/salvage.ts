// store/lmdb: looks at a data folder without opening it as a store, and writes what can be read of it into a new one.
//
// - Salvaged from what is left (`salvage.ts`). Every page of the file is either reached by a tree or listed as free. A
//   page that is neither belongs to a lost branch, and `find-records.ts` recognizes its records by their content.
//   Without the list of free pages, the newest version of each record is used, and the report marks the results as
//   doubtful.
import { closeSync, existsSync } from 'node:fs'
import { mkdir, rename, rmdir } from 'node:fs/promises'
import type { ContextId } from '../../../model/context.ts'
import { FORMAT, otherFormat } from '../../../model/format.ts'
import type { Log } from '../../../ports/log.ts'
import { DataFolderError, lockFolder, fileBytesOf } from '../data-folder.ts'
import { type Disk, filesIn, openDisk } from '../disk.ts'
import { findRecords, type RecordPlace, type Records } from './find-records.ts'
import type { LargePart } from '../records/header.ts'
import { PageFile } from './page-file.ts'
import { type Walk, walkAll } from './page-walk.ts'
import { decodeStored, decodeHeader } from '../records/stored-context.ts'
import { decodeRow, spaceOf } from '../row-tables.ts'
import { messageOf } from '../../../model/error-message.ts'

export interface DataPlace {
  readonly folder: string
  readonly namespace: string
}

/** What is left of the data in a folder. */
export interface Findings {
  readonly file: string
  /** What is wrong, a line each; none: it is whole. */
  readonly damage: readonly string[]
  /** Contexts that can be read. */
  readonly contexts: number
  /** Contexts that there were; null when that can't be told. */
  readonly counted: number | null
  /** Contexts that are known to be there and can't be read, ascending. */
  readonly unreadable: readonly ContextId[]
  /** What can be read may be older than what was there last, or may have been deleted. */
  readonly isDoubtful: boolean
}

/** Bytes of records that are written at once. */
const GROUP_BYTES = 4 * 1024 * 1024

/** Ids that are passed over when it can't be told which was given out last. */
const ID_GAP = 100_000

/** Looks at the data, and changes nothing. @throws DataFolderError when there is none, or a server has it open */
export function diagnose(place: DataPlace): Promise<Findings> {
  return withRecords(place, async (found) => found.findings)
}

/**
 * Writes what can be read into a new folder, which is there when all of it is.
 * @throws DataFolderError when there is nothing to be read, or a server has it open, or the new folder has something in
 * it
 */
export function salvage(
  place: DataPlace,
  { into, log }: { readonly into: string; readonly log: Log },
): Promise<Findings> {
  return withRecords(place, async (found) => {
    const { findings } = found
    if (!findings.isDoubtful || findings.contexts > 0)
      await writeAll(found, { folder: into, namespace: place.namespace, log })
    return findings
  })
}

interface Found {
  readonly file: PageFile
  readonly records: Records
  /** Contexts whose whole record can be read, ascending. */
  readonly readable: readonly ContextId[]
}

async function withRecords<T>(
  { folder, namespace }: DataPlace,
  use: (found: Found & { readonly findings: Findings }) => Promise<T>,
): Promise<T> {
  const files = filesIn(folder, namespace)
  if (fileBytesOf(files.data) === 0) throw new DataFolderError(`there is no data in ${files.data}`)
  const lock = lockFolder(folder, files.lock)
  try {
    const file = new PageFile(files.data)
    try {
      const walk = await walkAll(file)
      const records = await findRecords(file, walk)
      checkFormat(files.data, file, records)
      const { readable, broken } = await readAll(file, records)
      return await use({
        file,
        records,
        readable,
        findings: findingsOf({ file: files.data, walk, records, readable, broken }),
      })
    } finally {
      file.close()
    }
  } finally {
    closeSync(lock)
  }
}

/** What lost the row with its format may be of this one. @throws DataFolderError when the format is another */
function checkFormat(name: string, file: PageFile, { meta }: Records): void {
  const place = meta.get('format')
  const format = place === undefined ? FORMAT : Number(valueAt(file, place).toString())
  if (format !== FORMAT) throw new DataFolderError(otherFormat(`the data in ${name}`, format))
}

interface Looked {
  readonly file: string
  readonly walk: Walk
  readonly records: Records
  readonly readable: readonly ContextId[]
  readonly broken: readonly ContextId[]
}

function findingsOf({ file, walk, records: { contexts, unreadable, isDoubtful }, readable, broken }: Looked): Findings {
  const { damage, counted } = walk
  const isNothing = contexts.size === 0 && counted.size === 0 && damage.length > 0
  return {
    file,
    isDoubtful,
    contexts: readable.length,
    counted: counted.get('contexts') ?? null,
    unreadable: [...unreadable, ...broken].sort((a, b) => a - b),
    damage: isNothing ? [...damage, 'it is no database, or nothing is left of it'] : damage,
  }
}

/** Which contexts can be read whole, and which can't. */
async function readAll(
  file: PageFile,
  { contexts, parts }: Records,
): Promise<{ readable: ContextId[]; broken: ContextId[] }> {
  const [readable, broken]: [ContextId[], ContextId[]] = [[], []]
  for (const [id, place] of [...contexts].sort(([a], [b]) => a - b)) {
    try {
      decodeStored(id, valueAt(file, place), (part) => valueAt(file, parts.get(keyOfPart(id, part))))
      readable.push(id)
    } catch {
      broken.push(id)
    }
    if ((readable.length + broken.length) % 1000 === 0)
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
  }
  return { readable, broken }
}

/** @throws Error when it can't be read */
function valueAt(file: PageFile, place: RecordPlace | undefined): Buffer {
  if (place === undefined) throw new TypeError('it is not there')
  const page = file.page(place.page)
  const node = page.kind === 'leaf' ? page.nodes[place.index] : undefined
  if (node === undefined) throw new TypeError('the file changed')
  return file.valueOf(node)
}

async function writeAll(found: Found, { folder, namespace, log }: DataPlace & { readonly log: Log }): Promise<void> {
  const partial = `${folder}.partial`
  if (existsSync(partial)) throw new DataFolderError(`there is ${partial}, of a salvage that was broken off: remove it`)
  try {
    await mkdir(folder, { recursive: true })
    await rmdir(folder)
  } catch (error) {
    throw new DataFolderError(`the new folder ${folder} must be empty: ${messageOf(error)}`, { cause: error })
  }
  const disk = await openDisk({ folder: partial, namespace, minFree: 0, log })
  try {
    await copy(found, disk)
  } finally {
    await disk.close()
  }
  await rename(partial, folder)
}

const keyOfPart = (id: ContextId, { slot, version }: LargePart): string => `${id}:${slot}:${version}`

async function copy({ file, records, readable }: Found, disk: Disk): Promise<void> {
  let operations: (() => void)[] = []
  let bytes = 0
  const flush = async () => {
    // Twice: for the pages that lead to them.
    await disk.write(operations, 2 * bytes)
    operations = []
    bytes = 0
  }
  const add = async (value: Buffer, operation: () => void) => {
    operations.push(operation)
    bytes += value.length + disk.pageBytes
    if (bytes > GROUP_BYTES) await flush()
  }
  for (const id of readable) {
    const place = records.contexts.get(id)
    if (place === undefined) continue
    const value = valueAt(file, place)
    await add(value, () => void disk.contexts.put(id, value))
    const { firstRow, nextRow, large } = decodeHeader(id, value)
    for (const part of large) {
      const row = valueAt(file, records.parts.get(keyOfPart(id, part)))
      await add(row, () => disk.putLargePart(id, part.slot, row))
    }
    for (let row = firstRow; row < nextRow; row++) {
      const rowsAt = records.rows.get(`${id}:${row}`)
      if (rowsAt === undefined) continue
      const rows = valueAt(file, rowsAt)
      await add(rows, () => disk.rows.put(id, row, rows))
    }
    const notification = records.notifications.get(id)
    if (notification !== undefined) await add(Buffer.of(1), () => void disk.notifications.put(id, Buffer.of(1)))
  }
  for (const [hash, place] of records.definitions) {
    const text = valueAt(file, place)
    await add(text, () => void disk.definitions.put(hash, text.toString()))
  }
  await copyRows(file, records, disk)
  const last = records.meta.get('lastId')
  const known = last === undefined ? 0 : Number(valueAt(file, last).toString())
  const gap = last === undefined || records.isDoubtful ? ID_GAP : 0
  operations.push(() => void disk.meta.put('lastId', Math.max(known, readable.at(-1) ?? 0) + gap))
  bytes += disk.pageBytes
  await flush()
}

async function copyRows(file: PageFile, { stored }: Records, disk: Disk): Promise<void> {
  let [operations, bytes]: [(() => void)[], number] = [[], 0]
  const flush = async () => {
    await disk.write(operations, 2 * bytes)
    operations = []
    bytes = 0
  }
  for (const [name, place] of stored) {
    const value = valueAt(file, place)
    const space = spaceOf(value)
    if (space === null) continue
    const [key, row] = [name.slice(space.length + 1), decodeRow(space, value)]
    operations.push(() => disk.rowTables.put(space, key, value, row, null))
    // With the pages of its key and of its expiry.
    bytes += value.length + 2 * disk.pageBytes
    if (bytes > GROUP_BYTES) await flush()
  }
  if (operations.length > 0) await flush()
}
