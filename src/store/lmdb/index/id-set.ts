// store/lmdb: an ordered set of ids, in chunks: cheap to append to, to delete from, and to enter at any rank.
import type { ContextId } from '../../../model/context.ts'

const CHUNK = 512

export class IdSet {
  readonly #chunks: number[][] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Undefined when it is empty. */
  get highest(): ContextId | undefined {
    return this.#chunks.at(-1)?.at(-1)
  }

  add(id: ContextId): void {
    // By index: `at` takes several times as long, and the start of a server adds millions of ids.
    const last = this.#chunks[this.#chunks.length - 1]
    if (last === undefined || id > (last[last.length - 1] ?? 0)) {
      if (last === undefined || last.length >= CHUNK) this.#chunks.push([id])
      else last.push(id)
      this.#size++
      return
    }
    const index = chunkOf(this.#chunks, id)
    const chunk = this.#chunks[index]
    if (chunk === undefined) return
    const at = lowerBound(chunk, id)
    if (chunk[at] === id) return
    chunk.splice(at, 0, id)
    this.#size++
    if (chunk.length > 2 * CHUNK) this.#chunks.splice(index + 1, 0, chunk.splice(CHUNK))
  }

  delete(id: ContextId): void {
    const index = chunkOf(this.#chunks, id)
    const chunk = this.#chunks[index]
    if (chunk === undefined) return
    const at = lowerBound(chunk, id)
    if (chunk[at] !== id) return
    chunk.splice(at, 1)
    this.#size--
    if (chunk.length === 0) this.#chunks.splice(index, 1)
    else if (chunk.length < CHUNK / 4) this.#merge(index, chunk)
  }

  /** Begins at the first id above `id`. */
  above(id: ContextId): Cursor {
    return new Cursor(this.#chunks, id + 1)
  }

  /** In ascending order; not to be changed. */
  get chunks(): readonly (readonly number[])[] {
    return this.#chunks
  }

  /** Keeps sets that shrink from becoming many nearly empty chunks. */
  #merge(index: number, chunk: number[]): void {
    const next = this.#chunks[index + 1]
    if (next === undefined || chunk.length + next.length > 2 * CHUNK) return
    chunk.push(...next)
    this.#chunks.splice(index + 1, 1)
  }
}

/** Walks upwards through a set that isn't changed meanwhile. */
export class Cursor {
  readonly #chunks: readonly (readonly number[])[]
  #chunk = 0
  #index = 0

  constructor(chunks: readonly (readonly number[])[], from: ContextId) {
    this.#chunks = chunks
    this.seek(from)
  }

  /** The id that it stands on; undefined at the end. */
  get id(): ContextId | undefined {
    return this.#chunks[this.#chunk]?.[this.#index]
  }

  next(): void {
    this.skip(1)
  }

  /** Passes over so many ids. */
  skip(count: number): void {
    this.#index += count
    for (
      let chunk = this.#chunks[this.#chunk];
      chunk !== undefined && this.#index >= chunk.length;
      chunk = this.#chunks[this.#chunk]
    ) {
      this.#index -= chunk.length
      this.#chunk++
    }
  }

  /** Goes on to the first id that isn't below this one. */
  seek(id: ContextId): void {
    const chunk = this.#chunks[this.#chunk]
    if (chunk === undefined || (chunk[this.#index] ?? Infinity) >= id) return
    if ((chunk.at(-1) ?? 0) < id) {
      this.#chunk = chunkOf(this.#chunks, id, this.#chunk + 1)
      this.#index = 0
    }
    this.#index = lowerBound(this.#chunks[this.#chunk] ?? [], id, this.#index)
  }
}

/** Index of the first chunk, from `low` on, that reaches up to the id. */
function chunkOf(chunks: readonly (readonly number[])[], id: ContextId, low = 0): number {
  let high = chunks.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((chunks[middle]?.at(-1) ?? Infinity) < id) low = middle + 1
    else high = middle
  }
  return low
}

/** Index of the first id, from `low` on, that isn't below this one. */
function lowerBound(ids: readonly number[], id: ContextId, low = 0): number {
  let high = ids.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ids[middle] ?? Infinity) < id) low = middle + 1
    else high = middle
  }
  return low
}

/** Index of the last id that isn't above this one; -1: there is none. */
export const lastBelow = (ids: readonly number[], id: ContextId): number => lowerBound(ids, id + 1) - 1
