// ports: which contexts a list or a count of the store has.
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
