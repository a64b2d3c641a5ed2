// store/lmdb: walks through sets of ids in either order. A place is the id, or under descending order the negated id: so
// places ascend in both.

type Chunks = readonly (readonly number[])[]

export class IdWalk {
  readonly #chunks: Chunks
  readonly #isDown: boolean
  /** Number of the chunk where it stands, and of the id in that chunk, both counted in the order of the walk. */
  #chunk = 0
  #index = 0

  /** Begins at the first place that isn't below this one. The chunks ascend, and aren't changed meanwhile. */
  constructor(chunks: Chunks, order: 'asc' | 'desc', first: number) {
    this.#chunks = chunks
    this.#isDown = order === 'desc'
    this.seek(first)
  }

  /** The place where it stands; undefined at the end. */
  get place(): number | undefined {
    return this.#placeAt(this.#chunkAt(this.#chunk), this.#index)
  }

  next(): void {
    this.skip(1)
  }

  /** Passes over so many ids. */
  skip(count: number): void {
    this.#index += count
    for (;;) {
      const length = this.#chunkAt(this.#chunk)?.length
      if (length === undefined || this.#index < length) return
      this.#index -= length
      this.#chunk += 1
    }
  }

  /** Goes on to the first place that isn't below this one. */
  seek(place: number): void {
    if ((this.place ?? Infinity) >= place) return
    const lastOf = (chunk: readonly number[] | undefined) => this.#placeAt(chunk, (chunk?.length ?? 0) - 1) ?? Infinity
    if (lastOf(this.#chunkAt(this.#chunk)) < place) {
      const begin = this.#chunk + 1
      this.#chunk = firstIndex(begin, this.#chunks.length, (index) => lastOf(this.#chunkAt(index)) >= place)
      this.#index = 0
    }
    const chunk = this.#chunkAt(this.#chunk)
    const isThere = (index: number) => (this.#placeAt(chunk, index) ?? Infinity) >= place
    this.#index = firstIndex(this.#index, chunk?.length ?? 0, isThere)
  }

  #chunkAt(index: number): readonly number[] | undefined {
    return this.#chunks[this.#isDown ? this.#chunks.length - 1 - index : index]
  }

  #placeAt(chunk: readonly number[] | undefined, index: number): number | undefined {
    if (chunk === undefined || !this.#isDown) return chunk?.[index]
    const id = chunk[chunk.length - 1 - index]
    return id === undefined ? undefined : -id
  }
}

/** The first index from `low` on that passes a test, which all behind it pass; `high`: none below it does. */
function firstIndex(low: number, high: number, passes: (index: number) => boolean): number {
  while (low < high) {
    const middle = (low + high) >>> 1
    if (passes(middle)) high = middle
    else low = middle + 1
  }
  return low
}
