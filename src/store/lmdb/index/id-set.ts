// store/lmdb: an ordered set of ids, in chunks: cheap to append to, to delete from, and to enter at any rank.
import type { ContextId } from '../../../model/context.ts'

const CHUNK = 512

export class IdSet {
  readonly #chunks: number[][] = []
  #size = 0

  get size(): number {
    return this.#size
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

/** Index of the first chunk that reaches up to the id. By hand: each start and each event adds and deletes ids. */
function chunkOf(chunks: readonly (readonly number[])[], id: ContextId): number {
  let [low, high] = [0, chunks.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((chunks[middle]?.at(-1) ?? Infinity) < id) low = middle + 1
    else high = middle
  }
  return low
}

/** Index of the first id that isn't below this one. */
function lowerBound(ids: readonly number[], id: ContextId): number {
  let [low, high] = [0, ids.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ids[middle] ?? Infinity) < id) low = middle + 1
    else high = middle
  }
  return low
}
