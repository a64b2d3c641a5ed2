// store/lmdb: reads the data file page by page, without lmdb and without mapping it into memory, so that no damage in
// it can end the process.
import {
  HEADER_BYTES,
  headerAt,
  META_BYTES,
  metaOf,
  offsetsOf,
  overflowPagesOf,
  PAGE_KIND,
  pageBytesIn,
  PageError,
  type Meta,
  type Node,
  type Overflow,
  type Page,
} from './page-layout.ts'
import { PageReader } from './page-reader.ts'
import { messageOf } from '../../../model/error-message.ts'

/** Possible page sizes in bytes, the most usual first. */
const PAGE_SIZES = [4096, 16_384, 8192, 32_768, 65_536, 2048, 1024, 512]

export class PageFile {
  /** Bytes. */
  readonly size: number
  /** What is wrong with the meta pages; empty for a whole file. */
  readonly damage: readonly string[]
  /** Null when neither meta page can be read. */
  readonly meta: Meta | null
  readonly pageBytes: number
  readonly #reader: PageReader

  /** @throws Error when the file cannot be opened */
  constructor(file: string) {
    this.#reader = new PageReader(file)
    this.size = this.#reader.size
    const metas: Meta[] = []
    const damage: string[] = []
    const sizes = [this.#pageBytesOf(0, 0), ...PAGE_SIZES.map((bytes) => this.#pageBytesOf(1, bytes))]
    this.pageBytes = sizes.find((bytes) => bytes !== null) ?? PAGE_SIZES[0] ?? 0
    for (const number of [0, 1]) {
      try {
        const bytes = this.#reader.read(number * this.pageBytes, META_BYTES, `meta page ${number}`)
        metas.push(metaOf(bytes, number, this.pageBytes))
      } catch (error) {
        damage.push(messageOf(error))
      }
    }
    this.damage = damage
    this.meta = metas.sort((a, b) => b.transaction - a.transaction)[0] ?? null
  }

  /** The number of pages, including a truncated one. */
  get pages(): number {
    return Math.ceil(this.size / this.pageBytes)
  }

  close(): void {
    this.#reader.close()
  }

  /** Reads a page of a tree. @throws PageError */
  page(number: number): Page {
    return this.#pageIn(this.#reader.read(number * this.pageBytes, this.pageBytes, `page ${number}`), number)
  }

  /** The same; its bytes are valid until the next page is read. Quicker where pages follow each other. */
  pageInOrder(number: number): Page {
    return this.#pageIn(this.#reader.pageInOrder(number, this.pageBytes), number)
  }

  #pageIn(bytes: Buffer, number: number): Page {
    const kind = this.#check(bytes, number)
    if (kind !== PAGE_KIND.branch && kind !== PAGE_KIND.leaf) throw new PageError(`page ${number} is of no known kind`)
    const { transaction } = headerAt(bytes)
    const offsets = offsetsOf(bytes, number)
    return { number, bytes, transaction, offsets, kind: kind === PAGE_KIND.leaf ? 'leaf' : 'branch' }
  }

  /** @throws PageError when the pages of a large value are not as its node says */
  checkOverflow({ page, pages, bytes }: Overflow): void {
    const header = this.#reader.read(page * this.pageBytes, HEADER_BYTES, `page ${page}`)
    const end = page * this.pageBytes + HEADER_BYTES + bytes
    if (this.#check(header, page) !== PAGE_KIND.overflow || overflowPagesOf(header) !== pages) {
      throw new PageError(`page ${page} does not begin a large value`)
    }
    if (end > (page + pages) * this.pageBytes)
      throw new PageError(`page ${page} begins a value that is longer than its pages`)
    if (end > this.size) throw new PageError(`the large value at page ${page} goes beyond the end of the file`)
  }

  /** The whole value of a node. @throws PageError */
  valueOf({ data, overflow }: Node): Buffer {
    if (overflow === null) return data
    this.checkOverflow(overflow)
    return this.#reader.read(
      overflow.page * this.pageBytes + HEADER_BYTES,
      overflow.bytes,
      `the large value at page ${overflow.page}`,
    )
  }

  /** The page size that a meta page contains, if that page is where it would be with pages of this size. */
  #pageBytesOf(number: number, pageBytes: number): number | null {
    try {
      const found = pageBytesIn(this.#reader.read(number * pageBytes, META_BYTES, ''))
      return found !== null && PAGE_SIZES.includes(found) && (number === 0 || found === pageBytes) ? found : null
    } catch {
      return null
    }
  }

  /**
   * Checks the header of a page and returns the page's kind. @throws PageError when the header is not that of this page
   */
  #check(bytes: Buffer, number: number): number {
    const { number: found, transaction, kind } = headerAt(bytes)
    if (found !== number) throw new PageError(`page ${number} has the header of another page, or none`)
    // With a damaged meta page the last transaction is not known, since the lost one may have been the newer.
    const last = this.damage.length === 0 ? (this.meta?.transaction ?? Infinity) : Infinity
    if (transaction > last) throw new PageError(`page ${number} is of a transaction that did not end`)
    return kind
  }
}
