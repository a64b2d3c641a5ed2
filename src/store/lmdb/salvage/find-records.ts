// store/lmdb: finds every record that a damaged data file still contains. Records that no tree leads to are recognized
// by their content.
import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { bufferToKeyValue } from 'lmdb'
import type { ContextId } from '../../../model/context.ts'
import { rowsIn } from '../records/log-rows.ts'
import { isLargePartRow, versionOfRow } from '../records/large-parts.ts'
import type { PageFile } from './page-file.ts'
import { childrenOf, nodesOf, PageError, type Node } from './page-layout.ts'
import { spaceOf, tableOf } from '../row-tables.ts'
import { FREE_PAGES, type Walk } from './page-walk.ts'
import { decodeHeader } from '../records/stored-context.ts'

/** The place of a record: the number of its leaf page, and of its node there. */
export interface RecordPlace {
  readonly page: number
  readonly index: number
  /** Of several records with the same key, the one with the highest rank counts. */
  readonly rank: number
}

/** Pages that are read until the event loop serves others. */
const STRIDE = 250

export type Records = Awaited<ReturnType<typeof findRecords>>

export async function findRecords(file: PageFile, { used, trees, damage }: Walk) {
  const isDoubtful = file.damage.length > 0 || damage.some((line) => line.startsWith(FREE_PAGES))
  const free = isDoubtful ? new Set<number>() : freePagesOf(file)
  const records = {
    contexts: new Map<ContextId, RecordPlace>(),
    /** Rows of logs, by `<context>:<number>`. */
    rows: new Map<string, RecordPlace>(),
    /** Rows of large parts, by `<context>:<slot>:<version>`. */
    parts: new Map<string, RecordPlace>(),
    notifications: new Map<ContextId, RecordPlace>(),
    definitions: new Map<string, RecordPlace>(),
    meta: new Map<string, RecordPlace>(),
    /** Rows of all spaces, by space and key, with a colon between them. */
    stored: new Map<string, RecordPlace>(),
    /** Contexts of which only the id can be read. */
    unreadable: new Set<ContextId>(),
    /** Whether it is not known which pages are free: a record may then be an old version, or one of a deleted context. */
    isDoubtful,
  }
  for (let number = 2; number < file.pages; number++) {
    if (number % STRIDE === 0) await nextTurn()
    const leaf = free.has(number) ? null : leafOf(file, number)
    const database = trees[used[number] ?? 0] ?? ''
    leaf?.nodes.forEach((node, index) =>
      sortIn(records, file, node, { page: number, index, rank: leaf.transaction }, database),
    )
  }
  for (const id of records.contexts.keys()) records.unreadable.delete(id)
  return records
}

/** The nodes of a leaf; null when it can't be read, or is none. */
function leafOf(file: PageFile, number: number): { nodes: Node[]; transaction: number } | null {
  try {
    const page = file.page(number)
    return page.kind === 'leaf' ? { nodes: nodesOf(page), transaction: page.transaction } : null
  } catch (error) {
    if (error instanceof PageError) return null
    throw error
  }
}

/** Adds a record. `database`: empty when no tree leads to it. */
function sortIn(records: Records, file: PageFile, node: Node, place: RecordPlace, database: string): void {
  const key = keyOf(node)
  try {
    const value = file.valueOf(node)
    const space = spaceOf(value)
    if (space !== null && isIn(database, tableOf(space)) && isText(node.key))
      keep(records.stored, `${space}:${node.key.toString()}`, place)
    else if (isRowKey(key) && isIn(database, 'parts') && isLargePartRow(value)) {
      keep(records.parts, [...key, versionOfRow(value)].join(':'), place)
    } else if (isRowKey(key) && isIn(database, 'rows')) {
      rowsIn(value)
      keep(records.rows, key.join(':'), place)
    } else if (isId(key) && isIn(database, 'pokes') && value.length === 1) keep(records.notifications, key, place)
    else if (isId(key) && isIn(database, 'contexts'))
      keep(records.contexts, key, { ...place, rank: decodeHeader(key, value).version })
    else if (typeof key !== 'string') return
    else if (isIn(database, 'definitions') && isHashOf(key, value)) keep(records.definitions, key, place)
    else if (isIn(database, 'meta') && /^\d{1,15}$/.test(value.toString('latin1', 0, 16)))
      keep(records.meta, key, place)
  } catch {
    // A record that no tree leads to may be anything, so it does not count as unreadable.
    if (database === 'contexts' && isId(key)) records.unreadable.add(key)
  }
}

const isText = (key: Buffer): boolean => key.length > 0 && isUtf8(key)

const isIn = (database: string, name: string): boolean => database === '' || database === name

/** Definitions are kept under their content hash. */
const isHashOf = (key: string, value: Buffer): boolean => createHash('sha256').update(value).digest('hex') === key

function keep<K>(records: Map<K, RecordPlace>, key: K, place: RecordPlace): void {
  const known = records.get(key)
  if (known === undefined || known.rank < place.rank) records.set(key, place)
}

function keyOf({ key }: Node): unknown {
  try {
    // A copy, because lmdb may read the bytes behind a key.
    return bufferToKeyValue(Buffer.from(key))
  } catch {
    return undefined
  }
}

const isId = (key: unknown): key is number => Number.isSafeInteger(key) && Number(key) > 0

const isRowKey = (key: unknown): key is [number, number] =>
  Array.isArray(key) && key.length === 2 && isId(key[0]) && Number.isSafeInteger(key[1])

/** The free pages of a file whose list of them is whole. */
function freePagesOf(file: PageFile): Set<number> {
  const free = new Set<number>()
  const open = file.meta === null || file.meta.free.depth === 0 ? [] : [file.meta.free.root]
  for (let number = open.pop(); number !== undefined; number = open.pop()) {
    const page = file.page(number)
    if (page.kind === 'branch') open.push(...childrenOf(page))
    else for (const node of nodesOf(page)) addPages(free, file.valueOf(node))
  }
  return free
}

/**
 * Adds a list of free pages. It begins with its length. A negative number is the count of free pages that begin at the
 * next number.
 */
function addPages(free: Set<number>, list: Buffer): void {
  const numbers = Array.from({ length: Math.floor(list.length / 8) }, (_, index) =>
    Number(list.readBigInt64LE(8 * index)),
  )
  const end = Math.min(numbers.length, (numbers[0] ?? 0) + 1)
  for (let at = 1; at < end; at++) {
    const entry = numbers[at] ?? 0
    if (entry === 0) continue
    const first = entry < 0 ? (numbers[++at] ?? 0) : entry
    for (let page = first; page < first + Math.max(1, -entry); page++) free.add(page)
  }
}
