// store/lmdb: the calls to lmdb that a group will make, and how much they write.

/**
 * Pages for each key. lmdb never changes one in place: what a key lies on is copied, with what leads to it, as far as
 * the group has no copy yet; and the old pages are listed as free.
 */
const COPIES = 2

export class GroupOperations {
  /** None of them throws. */
  readonly list: (() => void)[] = []
  /** Bytes of records and rows. */
  bytes = 0
  /** Pages of the disk that they take, at most. */
  pages = 0
  readonly #pageBytes: number

  constructor(pageBytes: number) {
    this.#pageBytes = pageBytes
  }

  /** `operation`, when the group is written, writes values of so many bytes under so many keys. */
  add(bytes: number, keys: number, operation: () => void): void {
    this.list.push(operation)
    this.bytes += bytes
    this.pages += Math.ceil(bytes / this.#pageBytes) + keys * COPIES
  }
}
