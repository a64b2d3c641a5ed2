// store/lmdb: the ids that a selection has, in either order, found in pieces of bounded work.
//
// For each list of keys, the walk through its smallest set leads. The lowest place of all these walks is the next
// candidate: it matches when the other sets of the list have it, no excluded set does, and its times are in the ranges.
// Else the walk goes on at the next place that the other sets have.
import type { ContextId } from '../../../model/context.ts'
import type { Selection, SelectQuery, TimeRange } from '../../../ports/store.ts'
import type { ChunkedIds, KeyIndex } from './key-index.ts'
import { IdWalk } from './walk.ts'

/** What is selected from. */
export interface Selectable {
  readonly keys: KeyIndex
  /** null: there is no such context. */
  entry(id: ContextId): { readonly due: number | null; readonly endedAt: number | null } | null
  /** The contexts that may be due before that time, and some others. */
  mayBeDue(before: number): Iterable<ContextId>
  ended(range: TimeRange): Iterable<ContextId>
}

/** Contexts with a time in a range that are sorted by id: more of them are found soon enough among all. */
const MOST_TIMED = 8192
/** Candidates that are examined in one turn of the event loop: some milliseconds. */
const MOST_HOPS = 10_000
/** Candidates that take as long as one of which a time is looked up. */
const TIMED_HOPS = 3

const isIn = (time: number | null = null, { after = -Infinity, before = Infinity }: TimeRange): boolean =>
  time !== null && time > after && time < before

/**
 * Reads a part of a page. `rest`: behind which id it continues, and how many matches are to be skipped there; null: there
 * are no more.
 */
export function selectIds(
  source: Selectable,
  { order, limit, skip = 0, ...selection }: SelectQuery,
  hops = MOST_HOPS,
): { readonly ids: ContextId[]; readonly rest: { readonly behind: ContextId; readonly skip: number } | null } {
  const sign = order === 'asc' ? 1 : -1
  const ids: ContextId[] = []
  let left = skip
  const search = new Search(source, selection, order)
  left -= search.skip(left)
  const place = search.run(hops, (found) => {
    if (left > 0) left -= 1
    else if (ids.length < limit) ids.push(sign * found)
    else return false
    return true
  })
  return { ids, rest: place === null ? null : { behind: sign * (place - 1), skip: left } }
}

/** How many there are among the next candidates, and behind which id the count continues; null: there are no more. */
export function countIds(
  source: Selectable,
  selection: Selection,
  hops = MOST_HOPS,
): { readonly count: number; readonly rest: ContextId | null } {
  const size = sizeOf(source, selection)
  if (size !== null) return { count: size, rest: null }
  let count = 0
  const place = new Search(source, selection, 'asc').run(hops, () => {
    count += 1
    return true
  })
  return { count, rest: place === null ? null : place - 1 }
}

/** The number of matches where it is that of some sets; else null. */
function sizeOf({ keys: index }: Selectable, { any, without = [], ...ranges }: Selection): number | null {
  if (Object.values(ranges).some((range) => range !== undefined) || index.eachOf(without).length > 0) return null
  const sizes = any.map((keys) => {
    const sets = index.setsOf(keys)
    if (sets === null) return 0
    return sets.length === 1 ? (sets[0]?.size ?? 0) : null
  })
  return sizes.reduce<number | null>((sum, size) => (sum === null || size === null ? null : sum + size), 0)
}

/** Walks of a list of keys; a match has all of them. */
interface List {
  readonly lead: IdWalk
  readonly others: readonly IdWalk[]
}

class Search {
  readonly #lists: List[] = []
  readonly #excluded: readonly IdWalk[]
  readonly #tests: ((id: ContextId) => boolean)[] = []
  readonly #sign: number
  readonly #last: number

  constructor(source: Selectable, selection: Selection, order: SelectQuery['order']) {
    const { keys: index } = source
    // The embedded store has one partition.
    const { any, without = [], after = 0, before = Infinity, windows: [window] = [], partition = 0 } = selection
    const low = Math.max(after, window?.after ?? 0) + 1
    const high = Math.min(before, window?.before ?? Infinity, Number.MAX_SAFE_INTEGER) - 1
    const [first, last] = order === 'asc' ? [low, high] : [-high, -low]
    const walk = ({ chunks }: Pick<ChunkedIds, 'chunks'>) => new IdWalk(chunks, order, first)
    const timed: ChunkedIds[] = []
    const look = (some: Iterable<ContextId>, test: (id: ContextId) => boolean) => {
      this.#tests.push(test)
      const ids = new Set<ContextId>()
      for (const id of some) if (ids.add(id).size > MOST_TIMED) return
      timed.push({ size: ids.size, chunks: [[...ids].sort((one, other) => one - other)] })
    }
    const { due, ended } = selection
    if (due) look(source.mayBeDue(due.before), (id) => isIn(source.entry(id)?.due, due))
    if (ended) look(source.ended(ended), (id) => isIn(source.entry(id)?.endedAt, ended))
    this.#sign = order === 'asc' ? 1 : -1
    this.#last = partition === 0 ? last : -Infinity
    this.#excluded = index.eachOf(without).map(walk)
    for (const keys of any) {
      const sets = index.setsOf(keys)
      if (sets === null) continue
      const [lead, ...others] = [...timed, ...sets].sort((one, other) => one.size - other.size).map(walk)
      if (lead) this.#lists.push({ lead, others })
    }
  }

  /** Passes over matches where each candidate is one; gives their number. */
  skip(count: number): number {
    const [list, ...more] = this.#lists
    const isPlain = more.length + this.#excluded.length + this.#tests.length === 0
    // Behind the last place nothing is found, however many are left.
    if (!list || !isPlain || list.others.length > 0 || (list.lead.place ?? Infinity) > this.#last) return 0
    list.lead.skip(count)
    return count
  }

  /**
   * Hands over each match until one is refused, or so many candidates are examined; gives the place where it continues;
   * null: there are no more.
   */
  run(hops: number, take: (place: number) => boolean): number | null {
    for (let left = this.#tests.length > 0 ? Math.ceil(hops / TIMED_HOPS) : hops; ; left -= 1) {
      const list = this.#lowest()
      const place = list?.lead.place ?? Infinity
      if (!list || place > this.#last) return null
      if (left <= 0) return place
      const ahead = aheadOf(list.others, place)
      if (ahead > place) list.lead.seek(ahead)
      else if (!this.#fits(place) || take(place)) this.#leave(place)
      else return place
    }
  }

  /** Each match is found once, in however many lists it is. */
  #leave(place: number): void {
    for (const { lead } of this.#lists) if (lead.place === place) lead.next()
  }

  #lowest(): List | undefined {
    let [lowest] = this.#lists
    for (const list of this.#lists) if ((list.lead.place ?? Infinity) < (lowest?.lead.place ?? Infinity)) lowest = list
    return lowest
  }

  #fits(place: number): boolean {
    const id = this.#sign * place
    return (
      this.#tests.every((test) => test(id)) &&
      !this.#excluded.some((walk) => {
        walk.seek(place)
        return walk.place === place
      })
    )
  }
}

/** The place itself when all walks have it, else a higher one: none below that is shared. */
function aheadOf(walks: readonly IdWalk[], place: number): number {
  for (const walk of walks) {
    walk.seek(place)
    if (walk.place !== place) return walk.place ?? Infinity
  }
  return place
}
