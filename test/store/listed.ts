// All contexts of a store that match, whatever pages it gives them in.
import { charactersOf } from '../../src/model/texts.ts'
import type { SelectQuery, Store, StoredContext } from '../../src/ports/store.ts'
import type { ContextId } from '../../src/model/context.ts'

/** Keys that each context has, and that none has; `characters`: as in a `SelectQuery`. */
export interface ListQuery extends Pick<SelectQuery, 'limit' | 'skip' | 'after'> {
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

/** Ids of the contexts that have any of the keys, up to and including one of them. */
export async function waiting(
  store: Store,
  query: Pick<SelectQuery, 'limit' | 'skip' | 'after' | 'without'> & {
    readonly any: readonly string[]
    readonly upTo: ContextId
  },
): Promise<ContextId[]> {
  const { any, upTo, limit, ...more } = query
  const found: ContextId[] = []
  let [after, skip] = [query.after, query.skip]
  while (found.length < limit) {
    const left = { limit: limit - found.length, after, skip }
    const lists = any.map((key) => [key])
    const { ids, rest } = await store.selectIds({ any: lists, order: 'asc', before: upTo + 1, ...more, ...left })
    found.push(...ids)
    if (rest === null) break
    ;[after, skip] = [rest, 0]
  }
  return found
}

/** The highest id of a context that has the key. */
export async function newest(store: Store, key: string, partition?: number): Promise<ContextId | null> {
  const { ids } = await store.selectIds({ any: [[key]], partition, order: 'desc', limit: 1 })
  return ids[0] ?? null
}
