// store/lmdb: the inverted index, from a key to the contexts that have it.
import type { ContextId } from '../../../model/context.ts'
import { IdSet } from './id-set.ts'
import { Posting } from './posting.ts'

/** Lists of keys that are remembered. */
const MAX_SHARED_LISTS = 1024

export class KeyIndex {
  /** Contexts refer to these, so that each key is in memory once. */
  readonly #postings = new Map<string, Posting>()
  readonly #everyone = new IdSet()
  /** Lists that contexts may share, by the array that their keys came in. */
  readonly #lists = new Map<readonly string[], readonly Posting[]>()

  /** Number of keys that anyone has. */
  get size(): number {
    return this.#postings.size
  }

  add(id: ContextId): void {
    this.#everyone.add(id)
  }

  remove(id: ContextId, postings: readonly Posting[]): void {
    this.replace(id, postings, [])
    this.#everyone.delete(id)
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

  /** For each of the keys its set; all contexts, if there is no key. Null: a key has nobody. */
  setsOf(keys: readonly string[]): readonly ChunkedIds[] | null {
    const sets = this.eachOf(keys)
    if (sets.length < new Set(keys).size) return null
    return keys.length === 0 ? [this.#everyone] : sets
  }

  /** Who has the key, ascending. */
  *having(key: string): Generator<ContextId> {
    for (const chunk of this.#postings.get(key)?.chunks ?? []) yield* chunk
  }

  /** The sets of those of the keys that anyone has. */
  eachOf(keys: readonly string[]): Posting[] {
    return Array.from(new Set(keys), (key) => this.#postings.get(key)).filter((posting) => posting !== undefined)
  }

  /** Contexts whose keys come in the same array share one list: a list for each would be a third of what they take. */
  #listOf(keys: readonly string[]): readonly Posting[] {
    const known = this.#lists.get(keys)
    // A key that nobody has any more is forgotten, and another posting may stand for it since.
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
