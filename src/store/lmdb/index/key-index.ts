// store/lmdb: the inverted index, from a key to the contexts that have it: ordered sets of ids, in chunks, which are cheap
// to append to, to delete from, and to enter at any rank.
import type { ContextId } from '../../../model/context.ts'

/** Ids of a chunk, about. */
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

const NONE: ContextId = 0

/** A key and the contexts that have it. Many keys are one context's alone: such a posting holds a number and no set. */
export class Posting {
  readonly key: string
  /** The only context that has it, `NONE`, or all that have it once there were two. */
  #ids: ContextId | IdSet = NONE

  constructor(key: string) {
    this.key = key
  }

  get size(): number {
    const ids = this.#ids
    if (typeof ids !== 'number') return ids.size
    return ids === NONE ? 0 : 1
  }

  add(id: ContextId): void {
    const ids = this.#ids
    if (typeof ids !== 'number') ids.add(id)
    else if (ids === NONE) this.#ids = id
    else if (ids !== id) {
      const set = new IdSet()
      set.add(ids)
      set.add(id)
      this.#ids = set
    }
  }

  delete(id: ContextId): void {
    const ids = this.#ids
    if (typeof ids !== 'number') ids.delete(id)
    else if (ids === id) this.#ids = NONE
  }

  /** The ids, ascending, in chunks that aren't to be changed. */
  get chunks(): readonly (readonly number[])[] {
    const ids = this.#ids
    if (typeof ids !== 'number') return ids.chunks
    return ids === NONE ? [] : [[ids]]
  }
}

/** Lists of keys that are remembered. */
const MAX_SHARED_LISTS = 1024

export class KeyIndex {
  /** Contexts refer to these, so that each key is in memory once. */
  readonly #postings = new Map<string, Posting>()
  readonly #all = new IdSet()
  /** Lists that contexts may share, by the array that their keys came in. */
  readonly #lists = new Map<readonly string[], readonly Posting[]>()

  /** Number of keys that contexts have. */
  get size(): number {
    return this.#postings.size
  }

  add(id: ContextId): void {
    this.#all.add(id)
  }

  remove(id: ContextId, postings: readonly Posting[]): void {
    this.replace(id, postings, [])
    this.#all.delete(id)
  }

  /** Gives a context these keys instead of those it had. */
  replace(id: ContextId, before: readonly Posting[], keys: readonly string[]): readonly Posting[] {
    if (haveKeys(before, keys)) return before
    const after = this.#listOf(keys)
    for (const posting of after) posting.add(id)
    if (before.length === 0) return after
    const kept = new Set(after)
    for (const posting of before) {
      if (kept.has(posting)) continue
      posting.delete(id)
      if (posting.size === 0) this.#postings.delete(posting.key)
    }
    return after
  }

  /** For each of the keys its set; all contexts, if there is no key. Null: no context has one of the keys. */
  setsOf(keys: readonly string[]): readonly ChunkedIds[] | null {
    const sets = this.eachOf(keys)
    if (sets.length < new Set(keys).size) return null
    return keys.length === 0 ? [this.#all] : sets
  }

  /** Contexts that have the key, ascending. */
  *having(key: string): Generator<ContextId> {
    for (const chunk of this.#postings.get(key)?.chunks ?? []) yield* chunk
  }

  /** The sets of those of the keys that contexts have. */
  eachOf(keys: readonly string[]): Posting[] {
    return Array.from(new Set(keys), (key) => this.#postings.get(key)).filter((posting) => posting !== undefined)
  }

  /** Contexts whose keys come in the same array share one list: a list for each would be a third of what they take. */
  #listOf(keys: readonly string[]): readonly Posting[] {
    const known = this.#lists.get(keys)
    // A key that no context has any more is forgotten, and another posting may stand for it since.
    if (known?.every(({ size }) => size > 0)) return known
    const list = Array.from(new Set(keys), (key) => this.#posting(key))
    if (this.#lists.size >= MAX_SHARED_LISTS) this.#lists.clear()
    this.#lists.set(keys, list)
    return list
  }

  #posting(key: string): Posting {
    const known = this.#postings.get(key)
    if (known !== undefined) return known
    const posting = new Posting(key)
    this.#postings.set(key, posting)
    return posting
  }
}

function haveKeys(postings: readonly Posting[], keys: readonly string[]): boolean {
  return postings.length === keys.length && postings.every(({ key }, index) => key === keys[index])
}

/** A posting, or all contexts. */
export type ChunkedIds = Pick<IdSet, 'size' | 'chunks'>
