// store/lmdb: the inverted index, from a key to the contexts that have it.
import type { ContextId } from '../../../model/context.ts'
import type { ListQuery, WaitingQuery } from '../../../ports/store.ts'
import { type Cursor, IdSet } from './id-set.ts'
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

  /**
   * A part of the list: the matches among the next `hops` candidates. `rest`: where to go on; null: there are no more.
   */
  all({ all, without = [], limit, after = 0, skip = 0 }: ListQuery, hops: number): KeyMatches {
    const sets: Ids[] = this.#sets(all).sort((a, b) => a.size - b.size)
    const [smallest = this.#everyone, ...larger] = sets
    if (sets.length < new Set(all).size || smallest.size <= skip) return { ids: [], rest: null }
    const matches = new Matches(
      smallest.above(after),
      larger.map((ids) => ids.above(after)),
      this.#sets(without).map((ids) => ids.above(after)),
    )
    return matches.take({ limit, skip, hops })
  }

  /**
   * A part of those who have any of the keys and none of the others, ascending, up to and including `upTo`: of the next
   * `hops` candidates. `rest`: where to go on; null: there are no more.
   */
  any({ any, without = [], upTo, limit, after = 0, skip = 0 }: WaitingQuery, hops: number): KeyMatches {
    const [first, ...others] = this.#sets(any).map((ids) => ids.above(after))
    if (first === undefined) return { ids: [], rest: null }
    const walk = others.length === 0 ? first : new Union([first, ...others])
    const excluded = this.#sets(without).map((ids) => ids.above(after))
    return excluded.length === 0
      ? { ids: page(walk, limit, skip, upTo), rest: null }
      : pageWithout(walk, excluded, { limit, skip, upTo, hops })
  }

  /** Those who have all of the keys: each of these sets has them, the smallest first. Null: nobody has them. */
  setsOf(keys: readonly string[]): readonly ChunkedIds[] | null {
    const sets = this.#sets(keys)
    if (sets.length < new Set(keys).size) return null
    return sets.length === 0 ? [this.#everyone] : sets.sort((one, other) => one.size - other.size)
  }

  /** The set of each of the keys that anyone has. */
  eachOf(keys: readonly string[]): readonly ChunkedIds[] {
    return this.#sets(keys)
  }

  /** Who has the key, ascending. */
  *having(key: string): Generator<ContextId> {
    const cursor = this.#postings.get(key)?.above(0)
    for (let id = cursor?.id; id !== undefined; id = cursor?.id) {
      yield id
      cursor?.next()
    }
  }

  /** The highest id that has the key. */
  newest(key: string): ContextId | null {
    return this.#postings.get(key)?.newest ?? null
  }

  #sets(keys: readonly string[]): Posting[] {
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

/** Ids of a list, and where the list goes on. */
export interface KeyMatches {
  readonly ids: readonly ContextId[]
  readonly rest: { readonly after: ContextId; readonly skip: number; readonly limit: number } | null
}

/** A posting, or all contexts. */
export type ChunkedIds = Pick<IdSet, 'size' | 'chunks'>
type Ids = Pick<IdSet, 'size' | 'above'>

interface Walk {
  readonly id: ContextId | undefined
  next(): void
  skip(count: number): void
}

function page(walk: Walk, limit: number, skip: number, upTo = Infinity): ContextId[] {
  const ids: ContextId[] = []
  if (skip > 0) walk.skip(skip)
  for (let id = walk.id; id !== undefined && id <= upTo && ids.length < limit; id = walk.id) {
    ids.push(id)
    walk.next()
  }
  return ids
}

/** The same, of the ids that no excluded cursor has, and for so many candidates only. */
function pageWithout(
  walk: Walk,
  excluded: readonly Cursor[],
  { limit, skip, upTo, hops }: { readonly [name in 'limit' | 'skip' | 'upTo' | 'hops']: number },
): KeyMatches {
  const ids: ContextId[] = []
  let [left, looked] = [skip, 0]
  for (let { id } = walk; id !== undefined && id <= upTo && ids.length < limit; id = walk.id) {
    if (looked++ >= hops) return { ids, rest: { after: id - 1, skip: left, limit: limit - ids.length } }
    const at = id
    const isExcluded = excluded.some((cursor) => {
      cursor.seek(at)
      return cursor.id === at
    })
    if (!isExcluded && left > 0) left -= 1
    else if (!isExcluded) ids.push(id)
    walk.next()
  }
  return { ids, rest: null }
}

/** The ids that all cursors share and none of the excluded has. */
class Matches {
  readonly #lead: Cursor
  readonly #others: readonly Cursor[]
  readonly #excluded: readonly Cursor[]

  constructor(lead: Cursor, others: readonly Cursor[], excluded: readonly Cursor[]) {
    this.#lead = lead
    this.#others = others
    this.#excluded = excluded
  }

  take({ limit, skip, hops }: { readonly limit: number; readonly skip: number; readonly hops: number }): KeyMatches {
    const ids: ContextId[] = []
    let [left, looked] = [skip, 0]
    for (let { id } = this.#lead; id !== undefined && ids.length < limit; id = this.#lead.id) {
      if (looked++ >= hops) return { ids, rest: { after: id - 1, skip: left, limit: limit - ids.length } }
      // Whoever lacks it tells how far to leap.
      const ahead = this.#nextOfOthers(id)
      if (ahead !== id) {
        this.#lead.seek(ahead)
        continue
      }
      const excluded = this.#nextExcluded(id)
      if (excluded === id) this.#lead.next()
      else if (left > 0) {
        const passed = this.#others.length > 0 ? 1 : this.#lead.below(excluded, left)
        this.#lead.skip(passed)
        left -= passed
      } else {
        ids.push(id)
        this.#lead.next()
      }
    }
    return { ids, rest: null }
  }

  /** The id itself when all others have it, else a higher one: none below that is shared. */
  #nextOfOthers(id: ContextId): ContextId {
    for (const other of this.#others) {
      other.seek(id)
      if (other.id !== id) return other.id ?? Infinity
    }
    return id
  }

  /** The first id, from this one on, that is excluded. */
  #nextExcluded(id: ContextId): ContextId {
    let next = Infinity
    for (const excluded of this.#excluded) {
      excluded.seek(id)
      next = Math.min(next, excluded.id ?? Infinity)
    }
    return next
  }
}

/** The ids that any of the cursors has, each once. */
class Union implements Walk {
  readonly #cursors: readonly Cursor[]
  id: ContextId | undefined

  constructor(cursors: readonly Cursor[]) {
    this.#cursors = cursors
    this.id = this.#lowest()
  }

  next(): void {
    for (const cursor of this.#cursors) if (cursor.id === this.id) cursor.next()
    this.id = this.#lowest()
  }

  skip(count: number): void {
    for (let left = count; left > 0 && this.id !== undefined; left--) this.next()
  }

  #lowest(): ContextId | undefined {
    let lowest = Infinity
    for (const { id } of this.#cursors) if (id !== undefined && id < lowest) lowest = id
    return lowest === Infinity ? undefined : lowest
  }
}
