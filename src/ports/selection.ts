// ports: which contexts a list or a count of the store has.
//
// Lists and counts (`operations/selection.ts`, `select` and `count` of the store). Filters become lists of index keys, of
// which a context has all of one: a list for each status, or for all unfinished and all finished ones, so no context
// is in two. An error type and a parent are index keys that never change, so an event writes no more index entries
// than before. `due` and `ended` have their sets: where few contexts have such a time, they lead the search, sorted by
// id; else each candidate is looked up. When a context was started or changed is known from its record alone. Starts
// are narrowed down by id (`operations/start-times.ts`), and the rest is read, a bounded number for each page. Descending
// order walks the same sets: `index/walk.ts` negates the ids, and `select.lua` goes from leaf to leaf downwards;
// `page.lua` is for ascending pages without times. Counts add up the sizes of sets where one key decides
// (`calls/count-contexts.ts`); names of states and services come from the stored definitions
// (`calls/count-contexts.ts`).
import type { ContextId } from '../model/context.ts'

/** Epoch milliseconds, both exclusive. */
export interface TimeRange {
  readonly after?: number | undefined
  readonly before?: number | undefined
}

/** Exclusive bounds of ids. */
export interface IdRange {
  readonly after?: ContextId | undefined
  readonly before?: ContextId | undefined
}

/** Which contexts are selected, or counted. */
export interface Selection extends IdRange {
  /** Lists of keys. A context has all keys of one of them. No context may have all keys of two. */
  readonly any: readonly (readonly string[])[]
  /** Keys that none of them has. */
  readonly without?: readonly string[] | undefined
  /** When they must be woken; those that need not be are left out. */
  readonly due?: { readonly before: number } | undefined
  /** When they finished; those that have not are left out. */
  readonly ended?: TimeRange | undefined
  /** Further bounds of ids for each partition, by its number. */
  readonly windows?: readonly IdRange[] | undefined
}

export interface SelectQuery extends Selection {
  /** `desc`: by descending id. */
  readonly order: 'asc' | 'desc'
  readonly limit: number
  /** Number of matches to skip. */
  readonly skip?: number | undefined
  /** The page ends early, after at least one context, when the texts of its contexts have this many characters. */
  readonly characters?: number | undefined
}
