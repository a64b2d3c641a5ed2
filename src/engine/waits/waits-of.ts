// engine: the held requests of an engine, made of its parts.
import { CountBound } from '../../model/count-bound.ts'
import type { CommitFeed } from '../../ports/commit-feed.ts'
import { Waits, type WaitsParts } from './waits.ts'

/** For an engine made of these parts. */
export function waitsOf({
  others,
  bounds,
  ...parts
}: Omit<WaitsParts, 'feed' | 'bound'> & {
  readonly others: { readonly feed: CommitFeed } | null
  readonly bounds: { readonly waits: number }
}): Waits {
  const bound = new CountBound({ limit: bounds.waits, what: 'requests that wait for a context' })
  return new Waits({ ...parts, feed: others?.feed ?? null, bound })
}
