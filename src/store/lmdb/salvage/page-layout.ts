// store/lmdb: the layout of pages: that of lmdb's data version 2 on a 64-bit little-endian machine (MDB_meta, MDB_page,
// MDB_node, MDB_db, MDB_ovpage in mdb.c). Nothing outside of the given bytes is read.

/** A tree of pages, which is one database of the file. */
export interface Tree {
  /** Levels of pages; 0: the tree is empty. */
  readonly depth: number
  /** Records, as counted by lmdb in the transaction that wrote them. */
  readonly entries: number
  readonly root: number
}

/** The content of one of the two meta pages. The newer one describes the state of the file. */
export interface Meta {
  readonly pageBytes: number
  readonly lastPage: number
  readonly transaction: number
  /** The list of free pages. */
  readonly free: Tree
  /** The names and trees of all databases. */
  readonly main: Tree
}

/** A page of a tree. */
export interface Page {
  readonly kind: 'branch' | 'leaf'
  readonly number: number
  readonly bytes: Buffer
  readonly transaction: number
  /** Where its nodes begin. */
  readonly offsets: readonly number[]
}

export interface Node {
  readonly key: Buffer
  /** The value, or the part of it that is in the leaf. */
  readonly data: Buffer
  /** Whether the value describes a tree. */
  readonly isTree: boolean
  /** The pages of a large value; null if the value is in the leaf. */
  readonly overflow: Overflow | null
}

export interface Overflow {
  readonly page: number
  readonly pages: number
  readonly bytes: number
}

/** A page is not as lmdb wrote it. The message says which page, and what is wrong with it. */
export class PageError extends Error {
  override readonly name = 'PageError'
}

const MAGIC = 0xbeefc0de
const DATA_VERSION = 2
export const HEADER_BYTES = 24
export const META_BYTES = 168
export const TREE_BYTES = 48
const NODE_BYTES = 8
const NO_PAGE = 0xffffffff_ffffffffn
/** Kinds of pages, as flags in their headers. */
export const PAGE_KIND = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const
const KIND_FLAGS = PAGE_KIND.branch | PAGE_KIND.leaf | PAGE_KIND.overflow | PAGE_KIND.meta
/** Flags of nodes. */
const NODE_FLAG = { inOverflow: 1, isTree: 2 } as const

/** Reads the header of a page. */
export const headerAt = (bytes: Buffer) => ({
  number: integerAt(bytes, 0),
  transaction: integerAt(bytes, 8),
  kind: bytes.readUInt16LE(18) & KIND_FLAGS,
})

/** The number of pages of a large value, from the header of the first one. */
export const overflowPagesOf = (header: Buffer): number => header.readUInt32LE(20)

/** The page size in a meta page; null when the bytes are no meta page. */
export function pageBytesIn(meta: Buffer): number | null {
  return meta.readUInt32LE(HEADER_BYTES) === MAGIC ? meta.readUInt32LE(HEADER_BYTES + 24) : null
}

/** Reads a meta page. @throws PageError when it is none, or one of another page size */
export function metaOf(bytes: Buffer, number: number, pageBytes: number): Meta {
  const at = HEADER_BYTES
  const isMeta = bytes.readUInt16LE(18) === PAGE_KIND.meta && bytes.readUInt16LE(at + 4) === DATA_VERSION
  if (!isMeta || pageBytesIn(bytes) !== pageBytes) throw new PageError(`page ${number} is no meta page`)
  const [lastPage, transaction] = [integerAt(bytes, at + 120), integerAt(bytes, at + 128)]
  if (!Number.isSafeInteger(lastPage) || !Number.isSafeInteger(transaction))
    throw new PageError(`meta page ${number} is malformed`)
  return { pageBytes, lastPage, transaction, free: treeAt(bytes, at + 24), main: treeAt(bytes, at + 72) }
}

/** Reads the description of a tree (MDB_db). */
export function treeAt(bytes: Buffer, at = 0): Tree {
  const root = bytes.readBigUInt64LE(at + 40)
  const depth = bytes.readUInt16LE(at + 6)
  return {
    depth: root === NO_PAGE ? 0 : depth,
    entries: integerAt(bytes, at + 32),
    root: root === NO_PAGE ? 0 : Number(root),
  }
}

/** Reads 64 bits. Inexact above 2^53, which is neither a valid page nor a valid count. */
const integerAt = (bytes: Buffer, at: number): number => bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32

/** The offsets of the nodes of a page. @throws PageError */
export function offsetsOf(bytes: Buffer, number: number): number[] {
  const lower = bytes.readUInt16LE(20)
  const upper = bytes.readUInt16LE(22)
  if (lower % 2 !== 0 || lower > upper || upper > bytes.length - HEADER_BYTES)
    throw new PageError(`page ${number} is malformed`)
  const offsets: number[] = []
  for (let at = HEADER_BYTES; at < HEADER_BYTES + lower; at += 2) {
    const offset = bytes.readUInt16LE(at)
    if (offset < upper || HEADER_BYTES + offset + NODE_BYTES > bytes.length)
      throw new PageError(`page ${number} is malformed`)
    offsets.push(HEADER_BYTES + offset)
  }
  return offsets
}

/** The pages to which the nodes of a branch lead. @throws PageError when a node exceeds the page */
export const childrenOf = ({ bytes, offsets, number }: Page): number[] =>
  offsets.map((at) => {
    if (at + NODE_BYTES + bytes.readUInt16LE(at + 6) > bytes.length) throw new PageError(`page ${number} is malformed`)
    return bytes.readUInt32LE(at) + bytes.readUInt16LE(at + 4) * 2 ** 32
  })

/** The nodes of a leaf. @throws PageError when one exceeds the page */
export const nodesOf = (page: Page): Node[] =>
  page.offsets.map((at) => {
    const { bytes } = page
    const start = at + NODE_BYTES + bytes.readUInt16LE(at + 6)
    const overflow = overflowAt(page, at)
    const end = start + (overflow === null ? bytes.readUInt32LE(at) : HEADER_BYTES)
    return {
      key: bytes.subarray(at + NODE_BYTES, start),
      data: bytes.subarray(start, end),
      isTree: (bytes.readUInt16LE(at + 4) & NODE_FLAG.isTree) !== 0,
      overflow,
    }
  })

/** The pages of the large values of a leaf. @throws PageError when a node exceeds the page */
export const overflowsOf = (page: Page): Overflow[] => page.offsets.flatMap((at) => overflowAt(page, at) ?? [])

/** The pages of a node's value; null if the value is in the leaf. */
function overflowAt({ bytes, number }: Page, at: number): Overflow | null {
  const length = bytes.readUInt32LE(at)
  const isLarge = (bytes.readUInt16LE(at + 4) & NODE_FLAG.inOverflow) !== 0
  const start = at + NODE_BYTES + bytes.readUInt16LE(at + 6)
  if (start + (isLarge ? HEADER_BYTES : length) > bytes.length) throw new PageError(`page ${number} is malformed`)
  return isLarge ? { page: integerAt(bytes, start), pages: integerAt(bytes, start + 16), bytes: length } : null
}
