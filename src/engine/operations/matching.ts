// engine/operations: which contexts an operation is about, as they are when its turn comes to them: in the order of their
// ids, up to the highest that there was at the start.
import { COMMANDS } from '../../api/commands.ts'
import type { ContextId } from '../../model/context.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import type { Store, StoredContext } from '../../ports/store.ts'
import { selectionOf, statusesOf, type Selected, type SelectionEnv } from './selection.ts'
import { startedAtOf } from '../record/decode.ts'
import type { StoredOperation } from './operation-rows.ts'

export interface MatchingParts extends Omit<SelectionEnv, 'caller'> {
  readonly store: Pick<Store, 'select' | 'count' | 'partitions'>
}

interface MatchingPage {
  /** Ascending. */
  readonly ids: readonly ContextId[]
  /** Behind which id it continues; null: there are no more. */
  readonly rest: ContextId | null
}

/** Characters of contexts that are read at once. */
const PAGE_CHARACTERS = 256 * 1024
/** Contexts that are read at once to be counted. */
const COUNTED_AT_ONCE = 128

export class Matching {
  readonly #store: MatchingParts['store']
  readonly #operation: StoredOperation
  readonly #startedAt: number
  readonly #selected: Selected

  private constructor(store: MatchingParts['store'], operation: StoredOperation, startedAt: number, given: Selected) {
    this.#store = store
    this.#operation = operation
    this.#startedAt = startedAt
    this.#selected = given
  }

  /** `startedAt`: of the operation, epoch milliseconds. @throws FluxError `unavailable` */
  static async of(parts: MatchingParts, operation: StoredOperation, startedAt: number): Promise<Matching> {
    const { caller, filter, command } = operation
    const selected = await selectionOf({ ...parts, caller }, filter, statusesOf(filter), COMMANDS[command.do].role)
    return new Matching(parts.store, operation, startedAt, selected)
  }

  /** How many there are. @throws FluxError `unavailable` */
  async count(): Promise<number> {
    const isNamed = this.#operation.contextIds !== null
    if (!isNamed && this.#selected.test === null)
      return this.#store.count({ ...this.#selected.selection, ...this.#bounds(0) })
    let count = 0
    for (let after: ContextId | null = 0; after !== null;) {
      const page: MatchingPage = await this.page(after, COUNTED_AT_ONCE)
      count += page.ids.length
      after = page.rest
      await breathe(Infinity)
    }
    return count
  }

  /** The next of them with higher ids than that; none is no reason to end. @throws FluxError `unavailable` */
  async page(after: ContextId, limit: number): Promise<MatchingPage> {
    const { contextIds } = this.#operation
    if (contextIds) return this.#named(contextIds, after, limit)
    const { selection } = this.#selected
    const bounds = this.#bounds(after)
    const query = { ...selection, ...bounds, order: 'asc', limit, characters: PAGE_CHARACTERS } as const
    const { contexts, rest } = await this.#store.select(query)
    await breathe(contexts.reduce((sum, { parts }) => sum + charactersOf(parts), 0))
    return { ids: contexts.filter((context) => this.#isMeant(context)).map(({ id }) => id), rest }
  }

  /** Each is looked up by itself: they may lie far apart. */
  async #named(contextIds: readonly ContextId[], after: ContextId, limit: number): Promise<MatchingPage> {
    const left = contextIds.filter((id) => id > after)
    const { selection } = this.#selected
    const found = await Promise.all(
      left.slice(0, limit).map(async (id) => {
        const { after: low, before } = this.#bounds(id - 1)
        if (id <= low || id >= before) return []
        const query = { ...selection, after: id - 1, before: id + 1, order: 'asc', limit: 1 } as const
        return (await this.#store.select(query)).contexts.filter((context) => this.#isMeant(context))
      }),
    )
    return { ids: found.flat().map(({ id }) => id), rest: left.length > limit ? (left[limit - 1] ?? null) : null }
  }

  #bounds(after: ContextId) {
    const { upTo, filter } = this.#operation
    return { after: Math.max(after, filter.after ?? 0), before: Math.min(upTo + 1, filter.before ?? Infinity) }
  }

  /** What is damaged is meant, too: then it is told that it can't be changed. */
  #isMeant(context: StoredContext): boolean {
    const { test } = this.#selected
    try {
      // Of several partitions, each has ids of its own: one that started later may have a lower id.
      const isLate = this.#store.partitions > 1 && startedAtOf(context) > this.#startedAt
      return !isLate && (test === null || test(context))
    } catch {
      return true
    }
  }
}
