// engine/operations: which contexts are meant. Turns the filters of a list or a count into a selection of the store, and a
// test of what the store does not know; of an operation, finds the contexts as they are when its turn comes to them, in the
// order of their ids, up to the highest that there was at the start. Those started in a range of time are narrowed down by
// id: in each partition ids ascend with the time of the start, nearly, so a few contexts are read instead of all.
import type { OperationFilter } from '../../api/operations.ts'
import type { Catalog } from '../../definitions/catalog.ts'
import type { Caller, Role } from '../../model/caller.ts'
import { CONTEXT_STATUSES, isFinished, type Status, type ContextId } from '../../model/context.ts'
import { serviceNameOf } from '../../model/service-name.ts'
import type { Selection, StoredContext, Store, IdRange, TimeRange } from '../../ports/store.ts'
import { decodeHead } from '../record/decode.ts'
import { hiddenFrom, keyOfOpen, keyOfSecured, keysOfList, PAUSED } from '../record/index-keys.ts'
import { COMMANDS } from '../../api/commands.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import type { StoredOperation } from './operation-rows.ts'
import { FluxError } from '../../model/failure.ts'

/** Checked filters; times are epoch milliseconds. */
export type Filters = Omit<OperationFilter, 'after' | 'before'>

export interface SelectionEnv {
  readonly catalog: Pick<Catalog, 'all'>
  readonly caller: Pick<Caller, 'roles'>
  readonly startTimes: Pick<StartTimes, 'windows'>
}

export interface Selected {
  readonly selection: Selection
  /** Whether a context passes; null: all that the store selects do. */
  readonly test: ((context: StoredContext) => boolean) | null
  /** Whether there are contexts that this caller must not see. */
  readonly isLimited: boolean
}

const UNFINISHED = CONTEXT_STATUSES.filter((status) => !isFinished(status))

/** The statuses that are meant. `all`: every one of them; left out: those of contexts that have not ended. */
export function statusesOf({ status }: Pick<Filters, 'status'>, leftOut: readonly Status[] = UNFINISHED) {
  if (!status) return leftOut
  return status.includes('all') ? CONTEXT_STATUSES : CONTEXT_STATUSES.filter((one) => status.includes(one))
}

/** `role`: that the caller needs on contexts of secured services. */
export async function selectionOf(
  env: SelectionEnv,
  filters: Filters,
  statuses: readonly Status[] = statusesOf(filters),
  role: Role = 'read',
): Promise<Selected> {
  const { startedAfter, startedBefore, updatedAfter, updatedBefore, endedAfter, endedBefore, dueBefore } = filters
  const hidden = hiddenFrom(env, role)
  // What was last changed before a time was started before it, too.
  const started = { after: startedAfter, before: lowestOf(startedBefore, updatedBefore) }
  const hasEnds = endedAfter !== undefined || endedBefore !== undefined
  const windows = await env.startTimes.windows(started)
  const selection: Selection = {
    any: keysOf(filters, statuses),
    without: filters.paused === false ? [...hidden, PAUSED] : hidden,
    due: dueBefore === undefined ? undefined : { before: dueBefore },
    ended: hasEnds ? { after: endedAfter, before: endedBefore } : undefined,
    windows: windows ?? undefined,
  }
  const times = [startedAfter, startedBefore, updatedAfter, updatedBefore]
  const test = (context: StoredContext) =>
    isBetween(() => decodeHead(context).startedAt, startedAfter, startedBefore) &&
    isBetween(() => decodeHead(context).updatedAt, updatedAfter, updatedBefore)
  const isTested = times.some((time) => time !== undefined)
  return { selection, test: isTested ? test : null, isLimited: hidden.length > 0 }
}

/** `package/name` is a service of that package: its contexts have one key, or the other. */
function keysOf(filters: Filters, statuses: readonly Status[]): readonly (readonly string[])[] {
  const { package: owner, fluxName } = serviceNameOf({ fluxName: filters.fluxName ?? '' })
  if (owner === undefined) return keysOfList(filters, statuses)
  const service = { package: owner, fluxName }
  const keys = [keyOfOpen(service), keyOfSecured(service)]
  return keysOfList({ ...filters, fluxName }, statuses).flatMap((some) => keys.map((key) => [...some, key]))
}

/** `timeOf` parses a part of the context: it is called only if a bound is given. */
function isBetween(timeOf: () => number, after?: number, before?: number): boolean {
  if (after === undefined && before === undefined) return true
  const time = timeOf()
  return time > (after ?? -Infinity) && time < (before ?? Infinity)
}

function lowestOf(one: number | undefined, other: number | undefined): number | undefined {
  const lowest = Math.min(one ?? Infinity, other ?? Infinity)
  return lowest === Infinity ? undefined : lowest
}

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
      const isLate = this.#store.partitions > 1 && decodeHead(context).startedAt > this.#startedAt
      return !isLate && (test === null || test(context))
    } catch {
      return true
    }
  }
}

/**
 * Contexts whose ids or times are so close to a bound are not left out: their starts may have been decided in another
 * order than their ids were given, or by another clock.
 */
const SLACK_IDS = 256
const SLACK_MS = 2000
/** The search ends where so many ids of a partition are left. */
const CLOSE_IDS = 64
/** Times that are remembered: they never change. */
const MAX_KNOWN = 10_000

interface Started {
  readonly id: ContextId
  readonly startedAt: number
}

export class StartTimes {
  readonly #store: Store
  /** By partition and id: the first context from that id on, and when it was started. */
  readonly #known = new Map<string, Started>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Bounds for each partition; outside of them is no context that was started in the range. Null: there are none. */
  async windows({ after, before }: TimeRange): Promise<IdRange[] | null> {
    if (after === undefined && before === undefined) return null
    const { partitions } = this.#store
    const highest = await this.#store.highestId()
    const slack = SLACK_IDS * partitions
    return Promise.all(
      Array.from({ length: partitions }, async (_, partition): Promise<IdRange> => {
        const low = after === undefined ? 0 : (await this.#search(partition, highest, after - SLACK_MS)).low - slack
        const high =
          before === undefined ? Infinity : (await this.#search(partition, highest, before + SLACK_MS)).high + slack
        // What starts from now on has a higher id, and a later time.
        return { after: Math.max(0, low), before: high > highest ? undefined : high }
      }),
    )
  }

  /** No context up to the id `low` was started after the time, and none from `high` on was started before it. */
  async #search(partition: number, highest: ContextId, time: number) {
    let [low, high] = [0, highest + 1]
    while (high - low > CLOSE_IDS * this.#store.partitions) {
      const middle = Math.floor((low + high) / 2)
      const found = await this.#from(partition, middle)
      if (found === null || found.id >= high) high = middle
      else if (found.startedAt <= time) low = found.id
      else high = middle
    }
    return { low, high }
  }

  /** The first context of the partition from that id on, and when it was started; null: there is none. */
  async #from(partition: number, id: ContextId): Promise<Started | null> {
    const name = `${partition}:${id}`
    const known = this.#known.get(name)
    if (known) return known
    const nothing: IdRange = { before: 1 }
    const windows = Array.from({ length: this.#store.partitions }, (_, each) => (each === partition ? {} : nothing))
    let found: Started | null = null
    for (let after = id - 1; found === null;) {
      const { contexts } = await this.#store.select({ any: [[]], windows, after, order: 'asc', limit: 1 })
      const [context] = contexts
      if (!context) return null
      after = context.id
      found = readable(context)
    }
    if (this.#known.size >= MAX_KNOWN) this.#known.clear()
    this.#known.set(name, found)
    return found
  }
}

/** Null: the record is damaged, so that nobody knows. */
function readable(context: StoredContext): Started | null {
  try {
    return { id: context.id, startedAt: decodeHead(context).startedAt }
  } catch (error) {
    if (error instanceof FluxError && error.failure.kind === 'unreadable') return null
    throw error
  }
}
