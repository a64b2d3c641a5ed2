// store/lmdb: the ids that a selection has, in either order, found in pieces of bounded work.
import type { ContextId } from '../../../model/context.ts'
import type { Selection, TimeRange } from '../../../ports/store.ts'
import type { ChunkedIds, KeyIndex } from './key-index.ts'
import { walkFrom, type Order, type IdWalk } from './walk.ts'

/** Times of a context; null: it has none, or there is no such context. */
export interface TimesOf {
  readonly due: (id: ContextId) => number | null
  readonly ended: (id: ContextId) => number | null
  /** Those who may have such a time, and some others; null: too many to be listed. */
  readonly dueIn: (range: { readonly before: number }) => ReadonlySet<ContextId> | null
  readonly endedIn: (range: TimeRange) => ReadonlySet<ContextId> | null
}

export interface SelectedIds {
  readonly ids: readonly ContextId[]
  /** Where it continues, and how many matches are to be skipped there; null: there are no more. */
  readonly rest: { readonly behind: ContextId; readonly skip: number } | null
}

export interface SelectPage {
  readonly order: Order
  readonly limit: number
  readonly skip: number
  /** Candidates that are examined. */
  readonly hops: number
}

/** Candidates that take as long as one of which a time is looked up. */
const TIMED_HOPS = 3

const isIn = (time: number | null, { after = -Infinity, before = Infinity }: TimeRange): boolean =>
  time !== null && time > after && time < before

/** Reads one page. The index must not change meanwhile. */
export function selectIds(index: KeyIndex, times: TimesOf, selection: Selection, page: SelectPage): SelectedIds {
  const { order } = page
  const sign = order === 'asc' ? 1 : -1
  const { first, last } = placesOf(selection, order)
  const walks = walksOf(index, times, selection, { order, first })
  const ids: ContextId[] = []
  const budget = { left: hopsOf(selection, page.hops) }
  let { skip } = page
  const [only] = walks
  if (walks.length === 1 && only?.isPlain === true && skip > 0) skip -= only.skip(skip, last)
  for (;;) {
    const lowest = nextOf(walks, last, budget)
    if (lowest === undefined) return { ids, rest: null }
    const behind = sign * (lowest.place - 1)
    if (!lowest.isSettled) return { ids, rest: { behind, skip } }
    if (skip === 0 && ids.length === page.limit) return { ids, rest: { behind, skip } }
    if (skip > 0) skip -= 1
    else ids.push(sign * lowest.place)
    lowest.next()
  }
}

/** How many there are among the next candidates, and where the count continues; null: there are no more. */
export function countIds(
  index: KeyIndex,
  times: TimesOf,
  selection: Selection,
  hops: number,
): { readonly count: number; readonly rest: ContextId | null } {
  const size = sizeOf(index, selection)
  if (size !== null) return { count: size, rest: null }
  const { first, last } = placesOf(selection, 'asc')
  const walks = walksOf(index, times, selection, { order: 'asc', first })
  const budget = { left: hopsOf(selection, hops) }
  for (let count = 0; ; count += 1) {
    const lowest = nextOf(walks, last, budget)
    if (lowest === undefined) return { count, rest: null }
    if (!lowest.isSettled) return { count, rest: lowest.place - 1 }
    lowest.next()
  }
}

const hopsOf = ({ due, ended }: Selection, hops: number): number => (due || ended ? Math.ceil(hops / TIMED_HOPS) : hops)

/** The number of matches where it is that of some sets; else null. */
function sizeOf(index: KeyIndex, { any, without = [], due, ended, after, before, windows }: Selection): number | null {
  if (due || ended || windows || after !== undefined || before !== undefined) return null
  if (index.eachOf(without).length > 0) return null
  const sets = any.flatMap((keys) => {
    const all = index.setsOf(keys)
    return all === null ? [] : [all]
  })
  return sets.every(({ length }) => length === 1) ? sets.reduce((sum, [set]) => sum + (set?.size ?? 0), 0) : null
}

/** The walk with the lowest place: on a match, or not, if the budget is spent. Undefined: all are at their ends. */
function nextOf(walks: readonly Matches[], last: number, budget: { left: number }): Matches | undefined {
  let lowest: Matches | undefined
  for (const walk of walks) {
    budget.left -= walk.settle(last, budget.left)
    if (walk.place < (lowest?.place ?? Infinity)) lowest = walk
  }
  return lowest
}

/** The embedded store has one partition. */
function placesOf({ after, before, windows: [window] = [] }: Selection, order: Order) {
  const low = Math.max(after ?? 0, window?.after ?? 0) + 1
  const high = Math.min(before ?? Infinity, window?.before ?? Infinity, Number.MAX_SAFE_INTEGER) - 1
  return order === 'asc' ? { first: low, last: high } : { first: -high, last: -low }
}

function walksOf(
  index: KeyIndex,
  times: TimesOf,
  { any, without = [], due, ended }: Selection,
  { order, first }: { readonly order: Order; readonly first: number },
): Matches[] {
  const walk = ({ chunks }: Pick<ChunkedIds, 'chunks'>) => walkFrom(chunks, order, first)
  const sign = order === 'asc' ? 1 : -1
  const [few, tests] = timesOf(times, { due, ended })
  const test = tests.length === 0 ? null : (place: number) => tests.every((each) => each(sign * place))
  return any.flatMap((keys) => {
    const sets = index.setsOf(keys)
    if (sets === null) return []
    const all = [...few, ...sets].sort((one, other) => one.size - other.size)
    return new Matches(all.map(walk), index.eachOf(without).map(walk), test)
  })
}

/** Sets of those who may have the times, where they are few, and what all must pass. */
function timesOf(
  times: TimesOf,
  { due, ended }: Pick<Selection, 'due' | 'ended'>,
): [sets: ChunkedIds[], tests: ((id: ContextId) => boolean)[]] {
  const [sets, tests]: [ChunkedIds[], ((id: ContextId) => boolean)[]] = [[], []]
  const add = (ids: ReadonlySet<ContextId> | null, test: (id: ContextId) => boolean) => {
    tests.push(test)
    if (ids !== null) sets.push({ size: ids.size, chunks: ids.size === 0 ? [] : [[...ids].sort((a, b) => a - b)] })
  }
  if (due) add(times.dueIn(due), (id) => isIn(times.due(id), due))
  if (ended) add(times.endedIn(ended), (id) => isIn(times.ended(id), ended))
  return [sets, tests]
}

/** The ids that all walks share, that none of the excluded has, and that pass the test. */
class Matches {
  readonly #lead: IdWalk
  readonly #others: readonly IdWalk[]
  readonly #excluded: readonly IdWalk[]
  readonly #test: ((place: number) => boolean) | null
  /** Whether it stands on a match, or at the end. */
  isSettled = false

  constructor(
    [lead, ...others]: readonly IdWalk[],
    excluded: readonly IdWalk[],
    test: ((place: number) => boolean) | null,
  ) {
    if (!lead) throw new TypeError('there is nothing to walk through')
    this.#lead = lead
    this.#others = others
    this.#excluded = excluded
    this.#test = test
  }

  /** The match, or the candidate that comes next; infinity at the end. */
  get place(): number {
    return this.#lead.id ?? Infinity
  }

  /** Whether each of its candidates matches. */
  get isPlain(): boolean {
    return this.#others.length === 0 && this.#excluded.length === 0 && this.#test === null
  }

  next(): void {
    this.isSettled = false
    this.#lead.next()
  }

  /** Passes over matches of a plain one, and gives their number. */
  skip(count: number, last: number): number {
    // What is behind the last place doesn't count: the walk then ends, and nothing is found in any case.
    if (this.place > last) return 0
    this.#lead.skip(count)
    return count
  }

  /** Goes to the next match up to the last place, with so many candidates at most; gives how many it has examined. */
  settle(last: number, hops: number): number {
    if (this.isSettled) return 0
    if (this.#lead.id === undefined) this.isSettled = true
    for (let looked = 1; looked <= hops && !this.isSettled; looked++) {
      const place = this.place
      if (place > last) {
        this.#lead.seek(Infinity)
        this.isSettled = true
        return looked
      }
      const ahead = this.#ahead(place)
      if (ahead !== place) this.#lead.seek(ahead)
      else if (this.#isExcluded(place) || this.#test?.(place) === false) this.#lead.next()
      else {
        this.isSettled = true
        return looked
      }
    }
    return this.isSettled ? 0 : hops
  }

  /** The place itself when all others have it, else a higher one: none below that is shared. */
  #ahead(place: number): number {
    for (const other of this.#others) {
      other.seek(place)
      if (other.id !== place) return other.id ?? Infinity
    }
    return place
  }

  #isExcluded(place: number): boolean {
    return this.#excluded.some((excluded) => {
      excluded.seek(place)
      return excluded.id === place
    })
  }
}
