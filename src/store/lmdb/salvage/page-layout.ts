// store/lmdb: how the bytes of a page are laid out: that of lmdb's data version 2 on a little-endian machine with 64
// bits: MDB_meta, MDB_page, MDB_node, MDB_db, MDB_ovpage in mdb.c. Nothing outside of the bytes is ever read.

/** A tree of pages: one database of the file. */
export interface Tree {
  /** Levels of pages; 0: it is empty. */
  readonly depth: number
  /** Records, as counted by lmdb in the transaction that wrote them. */
  readonly entries: number
  readonly root: number
}

/** What one of the two meta pages says: the newer of them is the state of the file. */
export interface Meta {
  readonly pageBytes: number
  readonly lastPage: number
  readonly transaction: number
  /** Which pages are free. */
  readonly free: Tree
  /** The names and trees of all databases. */
  readonly main: Tree
}

export interface Node {
  readonly key: Buffer
  /** The value, or the part of it that lies in the leaf. */
  readonly data: Buffer
  /** It is a tree of its own. */
  readonly isTree: boolean
  /** Where the value lies, if not in the leaf. */
  readonly overflow: Overflow | null
}

export interface Overflow {
  readonly page: number
  readonly pages: number
  readonly bytes: number
}

/** A page isn't what lmdb wrote. The message says which page, and what is wrong with it. */
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

/** What the header of a page says. */
export const headerAt = (bytes: Buffer) => ({
  number: integerAt(bytes, 0),
  transaction: integerAt(bytes, 8),
  kind: bytes.readUInt16LE(18) & KIND_FLAGS,
})

/** Number of pages of a large value, in the header of the first. */
export const overflowPagesOf = (header: Buffer): number => header.readUInt32LE(20)

/** The page size that a meta page says; null when it is no meta page. */
export function pageBytesIn(meta: Buffer): number | null {
  return meta.readUInt32LE(HEADER_BYTES) === MAGIC ? meta.readUInt32LE(HEADER_BYTES + 24) : null
}

/** What a meta page says. @throws PageError when it is none, or one of another page size */
export function metaOf(bytes: Buffer, number: number, pageBytes: number): Meta {
  const at = HEADER_BYTES
  const isMeta = bytes.readUInt16LE(18) === PAGE_KIND.meta && bytes.readUInt16LE(at + 4) === DATA_VERSION
  if (!isMeta || pageBytesIn(bytes) !== pageBytes) throw new PageError(`meta page ${number} is none`)
  const [lastPage, transaction] = [integerAt(bytes, at + 120), integerAt(bytes, at + 128)]
  if (!Number.isSafeInteger(lastPage) || !Number.isSafeInteger(transaction))
    throw new PageError(`meta page ${number} is garbled`)
  return { pageBytes, lastPage, transaction, free: treeAt(bytes, at + 24), main: treeAt(bytes, at + 72) }
}

/** A tree as lmdb describes it (MDB_db). */
export function treeAt(bytes: Buffer, at = 0): Tree {
  const root = bytes.readBigUInt64LE(at + 40)
  const depth = bytes.readUInt16LE(at + 6)
  return {
    depth: root === NO_PAGE ? 0 : depth,
    entries: integerAt(bytes, at + 32),
    root: root === NO_PAGE ? 0 : Number(root),
  }
}

/** Inexact beyond 2^53, where it is neither a page nor a count. */
const integerAt = (bytes: Buffer, at: number): number => bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32

/** Where the nodes of a page begin. @throws PageError */
export function offsetsOf(bytes: Buffer, number: number): number[] {
  const lower = bytes.readUInt16LE(20)
  const upper = bytes.readUInt16LE(22)
  if (lower % 2 !== 0 || lower > upper || upper > bytes.length - HEADER_BYTES)
    throw new PageError(`page ${number} is garbled`)
  const offsets: number[] = []
  for (let at = HEADER_BYTES; at < HEADER_BYTES + lower; at += 2) {
    const offset = bytes.readUInt16LE(at)
    if (offset < upper || HEADER_BYTES + offset + NODE_BYTES > bytes.length)
      throw new PageError(`page ${number} is garbled`)
    offsets.push(HEADER_BYTES + offset)
  }
  return offsets
}

/** The page that a node of a branch leads to. @throws PageError when it goes beyond the page */
export function childAt(bytes: Buffer, at: number, number: number): number {
  if (at + NODE_BYTES + bytes.readUInt16LE(at + 6) > bytes.length) throw new PageError(`page ${number} is garbled`)
  return bytes.readUInt32LE(at) + bytes.readUInt16LE(at + 4) * 2 ** 32
}

/** The node of a leaf. @throws PageError when it goes beyond the page */
export function nodeAt(bytes: Buffer, at: number, number: number): Node {
  const flags = bytes.readUInt16LE(at + 4)
  const start = at + NODE_BYTES + bytes.readUInt16LE(at + 6)
  const overflow = overflowAt(bytes, at, number)
  const end = start + (overflow === null ? bytes.readUInt32LE(at) : HEADER_BYTES)
  return {
    key: bytes.subarray(at + NODE_BYTES, start),
    data: bytes.subarray(start, end),
    isTree: (flags & NODE_FLAG.isTree) !== 0,
    overflow,
  }
}

/** Where the value of a node lies, if not in the leaf. @throws PageError when it goes beyond the page */
export function overflowAt(bytes: Buffer, at: number, number: number): Overflow | null {
  const length = bytes.readUInt32LE(at)
  const isLarge = (bytes.readUInt16LE(at + 4) & NODE_FLAG.inOverflow) !== 0
  const start = at + NODE_BYTES + bytes.readUInt16LE(at + 6)
  if (start + (isLarge ? HEADER_BYTES : length) > bytes.length) throw new PageError(`page ${number} is garbled`)
  return isLarge ? { page: integerAt(bytes, start), pages: integerAt(bytes, start + 16), bytes: length } : null
}
