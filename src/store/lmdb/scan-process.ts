// store/lmdb: a program that reads all of a data file, and says on stdout how many records it has, what is wrong with it,
// or why it can't be read. Where lmdb can't go on, the program ends without a word (`examine.ts`).
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { ABORT, type RootDatabase } from 'lmdb'
import { messageOf } from '../../model/error-message.ts'
import { numberIn, openRoot } from './lmdb-file.ts'

/** How many records each database has, or what is wrong. */
export interface Scan {
  readonly counts?: { readonly [database: string]: number }
  readonly damage?: string
  /** Why the machine did not let it be read, which says nothing about what is in it. */
  readonly refusal?: string
}

/** In the first two pages, behind the header. */
const MAGIC = 0xbeefc0de
const MAGIC_AT_BYTES = 24

function scan(file: string): Scan {
  const root = openRoot(file)
  checkPages(file, numberIn(root.getStats(), 'pageSize'))
  const databases = Array.from(root.getKeys(), String)
  const counts = Object.fromEntries(databases.map((name) => [name, countIn(root, name)]))
  checkCount('the list of databases', databases.length, root)
  // Takes a free page, as the first commit will, and writes nothing. If that fails, the transaction gives no answer.
  root.transactionSync(() => {
    root.putSync('scan', Buffer.of(1))
    root.get('scan')
    return ABORT
  })
  return { counts }
}

/** Lmdb needs only one of its first two pages; without the newer one, the last commit is lost. */
function checkPages(file: string, pageBytes: number): void {
  if (statSync(file).size % pageBytes !== 0) throw new Error('its end is cut off')
  const [magic, descriptor] = [Buffer.alloc(4), openSync(file, 'r')]
  readSync(descriptor, magic, 0, magic.length, pageBytes + MAGIC_AT_BYTES)
  closeSync(descriptor)
  if (magic.readUInt32LE() !== MAGIC) throw new Error('its second page is lost')
}

/** lmdb copies each value before it is decoded. To make a buffer of each would take twice as long. */
const COPIED = { encoder: { decode: () => null }, keyEncoding: 'binary' } as const

/** Reads the keys and the values of a database. */
function countIn(root: RootDatabase, name: string): number {
  const table = root.openDB<null, Buffer>(name, COPIED)
  let [count, last]: [number, Buffer] = [0, Buffer.alloc(0)]
  for (const { key } of table.getRange({})) {
    if (Buffer.compare(last, key) >= 0) throw new Error(`the database '${name}' is out of order`)
    last = key
    count += 1
  }
  checkCount(`the database '${name}'`, count, table)
  return count
}

/** lmdb ends a range without a word at a page that it can't read. */
function checkCount(what: string, found: number, table: { getStats(): object }): void {
  const count = numberIn(table.getStats(), 'entryCount')
  if (found !== count) throw new Error(`${what} has ${found} records, and ${count} were counted`)
}

const [file = ''] = process.argv.slice(2)
let found: Scan
try {
  found = scan(file)
} catch (error) {
  // Errors of the system have a code: a name or, from lmdb, a number above 0. Its own codes are below 0.
  const isOfSystem = error instanceof Error && 'code' in error && !(Number(error.code) < 0)
  found = isOfSystem ? { refusal: messageOf(error) } : { damage: messageOf(error) }
}
process.stdout.write(JSON.stringify(found))
