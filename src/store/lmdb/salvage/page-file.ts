// store/lmdb: reads the data file page by page, without lmdb and without mapping it, so that no damage in it can end
// the process. The layout is that of lmdb's data version 2 on a little-endian machine with 64 bits: MDB_meta, MDB_page,
// MDB_node, MDB_ovpage in mdb.c.
import { PageError, PageReader } from './page-reader.ts'

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

export type FilePage =
  | { readonly kind: 'branch'; readonly children: readonly number[]; readonly transaction: number }
  | { readonly kind: 'leaf'; readonly nodes: readonly Node[]; readonly transaction: number }

/** A page without what is in its nodes. */
export type PageOutline =
  | { readonly kind: 'branch'; readonly children: readonly number[] }
  | { readonly kind: 'leaf'; readonly records: number; readonly overflows: readonly Overflow[] }

const MAGIC = 0xbeefc0de
const VERSION = 2
const HEADER_BYTES = 24
const META_BYTES = 168
const NODE_BYTES = 8
const NO_PAGE = 0xffffffff_ffffffffn
const BRANCH = 1
const LEAF = 2
const OVERFLOW = 4
const META = 8
const KINDS = BRANCH | LEAF | OVERFLOW | META
const IN_OVERFLOW = 1
const SUB_TREE = 2
/** What lmdb takes for pages, the usual first. */
const PAGE_SIZES = [4096, 16_384, 8192, 32_768, 65_536, 2048, 1024, 512]

export class PageFile {
  /** Bytes. */
  readonly size: number
  /** What is wrong with the meta pages; none are missing in a whole file. */
  readonly damage: readonly string[]
  /** Null when neither meta page can be read. */
  readonly meta: Meta | null
  readonly pageBytes: number
  readonly #reader: PageReader

  /** @throws Error when it can't be opened */
  constructor(file: string) {
    this.#reader = new PageReader(file)
    this.size = this.#reader.size
    const metas: Meta[] = []
    const damage: string[] = []
    const sizes = [this.#pageBytesOf(0, 0), ...PAGE_SIZES.map((bytes) => this.#pageBytesOf(1, bytes))]
    this.pageBytes = sizes.find((bytes) => bytes !== null) ?? PAGE_SIZES[0] ?? 0
    for (const number of [0, 1]) {
      try {
        metas.push(this.#metaAt(number))
      } catch (error) {
        damage.push(error instanceof Error ? error.message : String(error))
      }
    }
    this.damage = damage
    this.meta = metas.sort((a, b) => b.transaction - a.transaction)[0] ?? null
  }

  /** Pages that are there, a cut one included. */
  get pages(): number {
    return Math.ceil(this.size / this.pageBytes)
  }

  close(): void {
    this.#reader.close()
  }

  /** A page of a tree; with `room`, the bytes of its nodes are there until the next is read. @throws PageError */
  page(number: number, room?: Buffer): FilePage {
    const bytes = this.#reader.read(number * this.pageBytes, this.pageBytes, `page ${number}`, room)
    const kind = this.#check(bytes, number)
    const transaction = integerAt(bytes, 8)
    if (kind === BRANCH)
      return { kind: 'branch', transaction, children: offsetsOf(bytes, number).map((at) => childAt(bytes, at, number)) }
    if (kind === LEAF)
      return { kind: 'leaf', transaction, nodes: offsetsOf(bytes, number).map((at) => nodeAt(bytes, at, number)) }
    throw new PageError(`page ${number} is of no known kind`)
  }

  /** What a walk needs to know of a page; it takes a third of what `page` takes. @throws PageError */
  outline(number: number): PageOutline {
    const bytes = this.#reader.pageInOrder(number, this.pageBytes)
    const kind = this.#check(bytes, number)
    const offsets = offsetsOf(bytes, number)
    if (kind === BRANCH) return { kind: 'branch', children: offsets.map((at) => childAt(bytes, at, number)) }
    if (kind !== LEAF) throw new PageError(`page ${number} is of no known kind`)
    const overflows: Overflow[] = []
    for (const at of offsets) {
      const overflow = overflowAt(bytes, at, number)
      if (overflow !== null) overflows.push(overflow)
    }
    return { kind: 'leaf', records: offsets.length, overflows }
  }

  /** @throws PageError when what the node says of its value's pages isn't so */
  checkOverflow({ page, pages, bytes }: Overflow): void {
    const header = this.#reader.read(page * this.pageBytes, HEADER_BYTES, `page ${page}`)
    const end = page * this.pageBytes + HEADER_BYTES + bytes
    if (this.#check(header, page) !== OVERFLOW || header.readUInt32LE(20) !== pages) {
      throw new PageError(`page ${page} does not begin a large value`)
    }
    if (end > (page + pages) * this.pageBytes)
      throw new PageError(`page ${page} begins a value that is longer than its pages`)
    if (end > this.size) throw new PageError(`the large value at page ${page} goes beyond the end of the file`)
  }

  /** A node's whole value. @throws PageError */
  valueOf({ data, overflow }: Node): Buffer {
    if (overflow === null) return data
    this.checkOverflow(overflow)
    return this.#reader.read(
      overflow.page * this.pageBytes + HEADER_BYTES,
      overflow.bytes,
      `the large value at page ${overflow.page}`,
    )
  }

  /** Which page size the meta page tells, if it lies where it would with pages of this size. */
  #pageBytesOf(number: number, pageBytes: number): number | null {
    try {
      const told = this.#reader.read(number * pageBytes, META_BYTES, '').readUInt32LE(HEADER_BYTES + 24)
      const magic = this.#reader.read(number * pageBytes + HEADER_BYTES, 4, '').readUInt32LE(0)
      return magic === MAGIC && PAGE_SIZES.includes(told) && (number === 0 || told === pageBytes) ? told : null
    } catch {
      return null
    }
  }

  /** @throws PageError */
  #metaAt(number: number): Meta {
    const bytes = this.#reader.read(number * this.pageBytes, META_BYTES, `meta page ${number}`)
    const at = HEADER_BYTES
    const isMeta =
      bytes.readUInt16LE(18) === META && bytes.readUInt32LE(at) === MAGIC && bytes.readUInt16LE(at + 4) === VERSION
    if (!isMeta || bytes.readUInt32LE(at + 24) !== this.pageBytes) throw new PageError(`meta page ${number} is none`)
    const [lastPage, transaction] = [integerAt(bytes, at + 120), integerAt(bytes, at + 128)]
    if (!Number.isSafeInteger(lastPage) || !Number.isSafeInteger(transaction))
      throw new PageError(`meta page ${number} is garbled`)
    return {
      pageBytes: this.pageBytes,
      lastPage,
      transaction,
      free: treeAt(bytes, at + 24),
      main: treeAt(bytes, at + 72),
    }
  }

  /** The kind of a page. @throws PageError when its header isn't that of this page */
  #check(bytes: Buffer, number: number): number {
    if (integerAt(bytes, 0) !== number) throw new PageError(`page ${number} has the header of another page, or none`)
    // With a meta page lost, that may have been the newer one.
    const last = this.damage.length === 0 ? (this.meta?.transaction ?? Infinity) : Infinity
    if (integerAt(bytes, 8) > last) throw new PageError(`page ${number} is of a transaction that did not end`)
    return bytes.readUInt16LE(18) & KINDS
  }
}

/** A tree as lmdb describes it (MDB_db, 48 bytes). */
export function treeAt(bytes: Buffer, at = 0): Tree {
  const root = bytes.readBigUInt64LE(at + 40)
  const depth = bytes.readUInt16LE(at + 6)
  return {
    depth: root === NO_PAGE ? 0 : depth,
    entries: integerAt(bytes, at + 32),
    root: root === NO_PAGE ? 0 : Number(root),
  }
}

export const TREE_BYTES = 48

/** Beyond what is exact it is no page and no count anyway. */
const integerAt = (bytes: Buffer, at: number): number => bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32

/** Where the nodes of a page begin. @throws PageError */
function offsetsOf(bytes: Buffer, number: number): number[] {
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

/** @throws PageError */
function childAt(bytes: Buffer, at: number, number: number): number {
  if (at + NODE_BYTES + bytes.readUInt16LE(at + 6) > bytes.length) throw new PageError(`page ${number} is garbled`)
  return bytes.readUInt32LE(at) + bytes.readUInt16LE(at + 4) * 2 ** 32
}

/** @throws PageError */
function nodeAt(bytes: Buffer, at: number, number: number): Node {
  const flags = bytes.readUInt16LE(at + 4)
  const start = at + NODE_BYTES + bytes.readUInt16LE(at + 6)
  const overflow = overflowAt(bytes, at, number)
  const end = start + (overflow === null ? bytes.readUInt32LE(at) : HEADER_BYTES)
  return {
    key: bytes.subarray(at + NODE_BYTES, start),
    data: bytes.subarray(start, end),
    isTree: (flags & SUB_TREE) !== 0,
    overflow,
  }
}

/** Where the value of a node lies, if not in the leaf. @throws PageError when it goes beyond the page */
function overflowAt(bytes: Buffer, at: number, number: number): Overflow | null {
  const length = bytes.readUInt32LE(at)
  const isLarge = (bytes.readUInt16LE(at + 4) & IN_OVERFLOW) !== 0
  const start = at + NODE_BYTES + bytes.readUInt16LE(at + 6)
  if (start + (isLarge ? HEADER_BYTES : length) > bytes.length) throw new PageError(`page ${number} is garbled`)
  return isLarge ? { page: integerAt(bytes, start), pages: integerAt(bytes, start + 16), bytes: length } : null
}
