// Finds pages of a data file of lmdb, to damage them.
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

export const PAGE_BYTES = 4096
const HEADER_BYTES = 24
/** Behind the header of a meta page: the trees of free pages and of databases, and the number of its transaction. */
const FREE_AT = HEADER_BYTES + 24
const MAIN_AT = HEADER_BYTES + 72
const TRANSACTION_AT = HEADER_BYTES + 128

interface Tree {
  readonly depth: number
  readonly root: number
}

const treeAt = (bytes: Buffer, at: number): Tree => ({
  depth: bytes.readUInt16LE(at + 6),
  root: Number(bytes.readBigUInt64LE(at + 40)),
})

/** Where the nodes of a page begin in it. */
export const nodesOf = (page: Buffer): number[] =>
  Array.from(
    { length: page.readUInt16LE(20) / 2 },
    (_, index) => HEADER_BYTES + page.readUInt16LE(HEADER_BYTES + 2 * index),
  )

export const pageIn = (bytes: Buffer, number: number): Buffer =>
  bytes.subarray(number * PAGE_BYTES, (number + 1) * PAGE_BYTES)

/** Of the newer meta page: that of the free pages, and those of the databases by their names. */
function treesIn(bytes: Buffer): { readonly free: Tree; readonly named: ReadonlyMap<string, Tree> } {
  const [one, other] = [pageIn(bytes, 0), pageIn(bytes, 1)]
  const meta = one.readBigUInt64LE(TRANSACTION_AT) > other.readBigUInt64LE(TRANSACTION_AT) ? one : other
  const page = pageIn(bytes, treeAt(meta, MAIN_AT).root)
  const named = nodesOf(page).map((at): [string, Tree] => {
    const end = at + 8 + page.readUInt16LE(at + 6)
    return [page.toString('latin1', at + 8, end).replace('\0', ''), treeAt(page, end)]
  })
  return { free: treeAt(meta, FREE_AT), named: new Map(named) }
}

/** The first page of that kind in a database, or in the list of free pages: `free`. */
export function pageOf(file: string, database: string, kind: 'branch' | 'leaf'): number {
  const bytes = readFileSync(file)
  const { free, named } = treesIn(bytes)
  const { depth, root } = database === 'free' ? free : (named.get(database) ?? { depth: 0, root: 0 })
  if (depth < (kind === 'leaf' ? 1 : 2)) throw new Error(`there is no ${kind} in ${database}`)
  let number = root
  for (let level = kind === 'leaf' ? depth : 1; level > 1; level -= 1) {
    const page = pageIn(bytes, number)
    number = page.readUInt32LE(nodesOf(page)[0])
  }
  return number
}

export function overwrite(file: string, at: number, bytes: Buffer): void {
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, bytes, 0, bytes.length, at)
  closeSync(descriptor)
}
