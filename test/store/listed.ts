// All contexts of a store that match, whatever pages it gives them in.
import { charactersOf } from '../../src/model/texts.ts'
import type { PageRequest, Store, StoredContext } from '../../src/ports/store.ts'

/** Keys that each context has, and that none has; `characters`: as in a `SelectQuery`. */
export interface ListQuery extends PageRequest {
  readonly all: readonly string[]
  readonly without?: readonly string[] | undefined
  readonly characters?: number | undefined
}

/** Contexts by ascending id, as many as there are up to the limit. */
export async function listed(store: Store, query: ListQuery): Promise<StoredContext[]> {
  const { all, limit, characters = Infinity, ...more } = query
  const found: StoredContext[] = []
  let [after, skip, size] = [query.after, query.skip, 0]
  while (found.length < limit && size < characters) {
    const left = { limit: limit - found.length, characters: characters - size, after, skip }
    const { contexts, rest } = await store.select({ any: [all], order: 'asc', ...more, ...left })
    found.push(...contexts)
    for (const { parts } of contexts) size += charactersOf(parts)
    if (rest === null) break
    ;[after, skip] = [rest, 0]
  }
  return found
}
