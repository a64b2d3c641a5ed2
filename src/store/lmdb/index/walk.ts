// store/lmdb: walks through sets of ids in either order. A place is the id, or under descending order the negated id: so
// places ascend in both.
import type { ContextId } from '../../../model/context.ts'
import { Cursor, lastBelow } from './id-set.ts'

export interface Walk {
  /** The place where it stands; undefined at the end. */
  readonly id: number | undefined
  next(): void
  /** Passes over so many ids. */
  skip(count: number): void
  /** Goes on to the first place that isn't below this one. */
  seek(place: number): void
}

export type Order = 'asc' | 'desc'
export type Chunks = readonly (readonly number[])[]

/** Begins at that place. The chunks aren't changed meanwhile. */
export const walkFrom = (chunks: Chunks, order: Order, place: number): Walk =>
  order === 'asc' ? new Cursor(chunks, place) : new DownCursor(chunks, -place)

/** Walks downwards; tells and takes negated ids. */
class DownCursor implements Walk {
  readonly #chunks: Chunks
  #chunk: number
  #index = 0

  constructor(chunks: Chunks, highest: ContextId) {
    this.#chunks = chunks
    this.#chunk = chunks.length - 1
    this.#index = (chunks[this.#chunk]?.length ?? 0) - 1
    this.seek(-highest)
  }

  get id(): number | undefined {
    const id = this.#chunks[this.#chunk]?.[this.#index]
    return id === undefined ? undefined : -id
  }

  next(): void {
    this.skip(1)
  }

  skip(count: number): void {
    this.#index -= count
    while (this.#index < 0 && this.#chunk >= 0) {
      this.#chunk -= 1
      this.#index += this.#chunks[this.#chunk]?.length ?? 0
    }
  }

  seek(place: number): void {
    const highest = -place
    const chunk = this.#chunks[this.#chunk]
    if (chunk === undefined || (chunk[this.#index] ?? -Infinity) <= highest) return
    if ((chunk[0] ?? Infinity) > highest) this.#chunk = chunkBelow(this.#chunks, highest, this.#chunk - 1)
    const at = this.#chunks[this.#chunk]
    this.#index = at === undefined ? -1 : lastBelow(at, highest)
  }
}

/** Index of the last chunk, up to `high`, whose first id isn't above this one; -1: there is none. */
function chunkBelow(chunks: Chunks, id: ContextId, high: number): number {
  let low = -1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if ((chunks[middle]?.[0] ?? Infinity) <= id) low = middle
    else high = middle - 1
  }
  return low
}
