// store/lmdb: which context of a group has a unique index key. Decisions see memory and what the group has decided before
// them.
import type { ContextId } from '../../model/context.ts'
import type { CommitRefusal, Write } from '../../ports/store.ts'
import type { Memory } from './index/memory.ts'
import type { Header } from './records/header.ts'

/** Contexts as they will be; null: deleted. */
export type HeadersById = ReadonlyMap<ContextId, Header | null>

export class UniqueKeys {
  readonly #memory: Memory
  readonly #contexts: HeadersById
  /** Unique index keys that contexts get by this group. */
  #owners: Map<string, ContextId> | null = null

  /** `contexts`: those that the group has written or deleted so far. */
  constructor(memory: Memory, contexts: HeadersById) {
    this.#memory = memory
    this.#contexts = contexts
  }

  /** Which unique key of these writes another context has, if any; else they are these contexts'. */
  refusal(writes: readonly Write[], headers: HeadersById): CommitRefusal | null {
    let given: Map<string, ContextId> | null = null
    for (const { context, unique } of writes) {
      if (unique === undefined) continue
      given ??= new Map()
      const by = this.#otherWith(unique, context.id, headers) ?? given.get(unique)
      if (by !== undefined && by !== context.id) return { ok: false, unique: { key: unique, by } }
      given.set(unique, context.id)
    }
    if (given === null) return null
    this.#owners ??= new Map()
    for (const [key, id] of given) this.#owners.set(key, id)
    return null
  }

  /** Another context that has the key, and is left with it by the commit. */
  #otherWith(key: string, id: ContextId, headers: HeadersById): ContextId | undefined {
    const isLeft = (other: ContextId): boolean => {
      const header = headers.get(other) ?? this.#contexts.get(other)
      return header === undefined || header?.indexKeys.includes(key) === true
    }
    for (const other of this.#memory.having(key)) if (other !== id && isLeft(other)) return other
    const other = this.#owners?.get(key)
    return other !== undefined && other !== id && isLeft(other) ? other : undefined
  }
}
