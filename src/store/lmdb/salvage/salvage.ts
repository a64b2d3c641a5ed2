// store/lmdb: looks at a data folder without opening it as a store, and writes what can be read of it into a new one.
//
// - Salvaged from what is left (`salvage.ts`). Every page of the file is either reached by a tree or listed as free. A
//   page that is neither belongs to a lost branch, and `find-records.ts` recognizes its records by their content.
//   Without the list of free pages, the newest version of each record is used, and the report marks the results as
//   doubtful.
import { closeSync, existsSync } from 'node:fs'
import { mkdir, rename, rmdir } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ContextId } from '../../../model/context.ts'
import { FORMAT, otherFormat } from '../../../model/format.ts'
import type { Log } from '../../../ports/log.ts'
import { DataFolderError, lockFolder, fileBytesOf } from '../data-folder.ts'
import { type Disk, filesIn, openDisk } from '../disk.ts'
import { findRecords, type RecordPlace, type Records } from './find-records.ts'
import type { LargePart } from '../records/header.ts'
import { PageFile } from './page-file.ts'
import { nodesOf } from './page-layout.ts'
import { walkAll } from './page-walk.ts'
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

/** Records that are read until the event loop serves others. */
const STRIDE = 1000

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

async function withRecords<T>({ folder, namespace }: DataPlace, use: (found: Found) => Promise<T>): Promise<T> {
  const files = filesIn(folder, namespace)
  if (fileBytesOf(files.data) === 0) throw new DataFolderError(`there is no data in ${files.data}`)
  const lock = lockFolder(folder, files.lock)
  try {
    const file = new PageFile(files.data)
    try {
      return await use(await look(files.data, file))
    } finally {
      file.close()
    }
  } finally {
    closeSync(lock)
  }
}

/** `readable`: contexts whose whole record can be read, ascending. */
async function look(name: string, file: PageFile) {
  const walk = await walkAll(file)
  const records = await findRecords(file, walk)
  checkFormat(name, file, records)
  const { contexts, isDoubtful } = records
  const [readable, unreadable]: [ContextId[], ContextId[]] = [[], [...records.unreadable]]
  for (const [place, [id, record]] of [...contexts].sort(([one], [other]) => one - other).entries()) {
    try {
      decodeStored(id, valueAt(file, record), (part) => valueAt(file, records.parts.get(keyOfPart(id, part))))
      readable.push(id)
    } catch {
      unreadable.push(id)
    }
    if (place % STRIDE === 0) await nextTurn()
  }
  const damage = [...walk.damage]
  if (contexts.size === 0 && walk.counted.size === 0 && damage.length > 0)
    damage.push('it is no database, or nothing is left of it')
  const findings: Findings = {
    file: name,
    isDoubtful,
    damage,
    contexts: readable.length,
    counted: walk.counted.get('contexts') ?? null,
    unreadable: unreadable.sort((one, other) => one - other),
  }
  return { file, records, readable, findings }
}

type Found = Awaited<ReturnType<typeof look>>

/** What lost the row with its format may be of this one. @throws DataFolderError when the format is another */
function checkFormat(name: string, file: PageFile, { meta }: Records): void {
  const place = meta.get('format')
  const format = place === undefined ? FORMAT : Number(valueAt(file, place).toString())
  if (format !== FORMAT) throw new DataFolderError(otherFormat(`the data in ${name}`, format))
}

/** @throws Error when it can't be read */
function valueAt(file: PageFile, place: RecordPlace | undefined): Buffer {
  if (place === undefined) throw new TypeError('it is not there')
  const page = file.page(place.page)
  const node = page.kind === 'leaf' ? nodesOf(page)[place.index] : undefined
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
  const add = async (place: RecordPlace | undefined, operation: (value: Buffer) => void) => {
    const value = valueAt(file, place)
    operations.push(() => operation(value))
    bytes += value.length + disk.pageBytes
    if (bytes > GROUP_BYTES) await flush()
  }
  for (const id of readable) {
    const place = records.contexts.get(id)
    const { firstRow, nextRow, large } = decodeHeader(id, valueAt(file, place))
    await add(place, (value) => void disk.contexts.put(id, value))
    for (const part of large)
      await add(records.parts.get(keyOfPart(id, part)), (row) => void disk.parts.put([id, part.slot], row))
    for (let row = firstRow; row < nextRow; row++) {
      const rows = records.rows.get(`${id}:${row}`)
      if (rows !== undefined) await add(rows, (value) => void disk.rows.put([id, row], value))
    }
    const notification = records.notifications.get(id)
    if (notification !== undefined) await add(notification, (value) => void disk.notifications.put(id, value))
  }
  for (const [hash, place] of records.definitions)
    await add(place, (text) => void disk.definitions.put(hash, text.toString()))
  for (const [name, place] of records.stored) {
    const [space, key] = [spaceOf(valueAt(file, place)), name.slice(name.indexOf(':') + 1)]
    if (space === null) continue
    await add(place, (value) => disk.rowTables.put(space, key, value, decodeRow(space, value), null))
  }
  const last = records.meta.get('lastId')
  const known = last === undefined ? 0 : Number(valueAt(file, last).toString())
  const gap = last === undefined || records.isDoubtful ? ID_GAP : 0
  operations.push(() => void disk.meta.put('lastId', Math.max(known, readable.at(-1) ?? 0) + gap))
  bytes += disk.pageBytes
  await flush()
}
