// engine/operations: which contexts are meant. Turns the filters of a list or a count into a selection of the store,
// and a test of what the store does not know; for an operation, finds the contexts as they are when their turn comes,
// in the order of their ids, up to the highest that there was at the start. Those started in a range of time are
// narrowed down by id: in each partition ids ascend with the time of the start, nearly, so a few contexts are read
// instead of all.
import type { OperationFilter } from '../../api/operations.ts'
import type { Catalog } from '../../definitions/catalog.ts'
import type { Caller, Role } from '../../model/caller.ts'
import { CONTEXT_STATUSES, isFinished, type Status, type ContextId } from '../../model/context.ts'
import { serviceNameOf } from '../../model/service-name.ts'
import { breathe } from '../../model/texts.ts'
import type { IdRange, SelectedPage, Selection, Store, StoredContext, TimeRange } from '../../ports/store.ts'
import { decodeHead } from '../record/decode.ts'
import { hiddenFrom, keyOfOpen, keyOfSecured, keysOfList, PAUSED } from '../record/index-keys.ts'

/** Checked filters; times are epoch milliseconds. */
export type Filters = Omit<OperationFilter, 'after' | 'before'>

export interface MatchingParts {
  readonly store: Store
  readonly catalog: Catalog
}

export interface Selected {
  readonly selection: Selection
  /**
   * Whether a context passes; null: all that the store selects do. A damaged one passes: it is reported that it can't
   * be shown or changed.
   */
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
  env: MatchingParts & { readonly caller: Pick<Caller, 'roles'> },
  filters: Filters,
  statuses: readonly Status[] = statusesOf(filters),
  role: Role = 'read',
): Promise<Selected> {
  const { startedAfter, startedBefore, updatedAfter, updatedBefore, endedAfter, endedBefore, dueBefore } = filters
  const hidden = hiddenFrom(env, role)
  // What was last changed before a time was started before it, too.
  const lastStart = Math.min(startedBefore ?? Infinity, updatedBefore ?? Infinity)
  const selection: Selection = {
    any: keysOf(filters, statuses),
    without: filters.paused === false ? [...hidden, PAUSED] : hidden,
    due: dueBefore === undefined ? undefined : { before: dueBefore },
    ended: (endedAfter ?? endedBefore) === undefined ? undefined : { after: endedAfter, before: endedBefore },
    windows: await startWindows(env.store, { after: startedAfter, before: lastStart }),
  }
  const test = (context: StoredContext) => {
    try {
      const { startedAt, updatedAt } = decodeHead(context)
      return isWithin(startedAt, startedAfter, startedBefore) && isWithin(updatedAt, updatedAfter, updatedBefore)
    } catch {
      return true
    }
  }
  const isTested = (startedAfter ?? startedBefore ?? updatedAfter ?? updatedBefore) !== undefined
  return { selection, test: isTested ? test : null, isLimited: hidden.length > 0 }
}

const isWithin = (time: number, after = -Infinity, before = Infinity) => time > after && time < before

/** `package/name` is a service of that package: its contexts have one key, or the other. */
function keysOf(filters: Filters, statuses: readonly Status[]): readonly (readonly string[])[] {
  const { package: owner, fluxName } = serviceNameOf({ fluxName: filters.fluxName ?? '' })
  if (owner === undefined) return keysOfList(filters, statuses)
  const service = { package: owner, fluxName }
  const keys = [keyOfOpen(service), keyOfSecured(service)]
  return keysOfList({ ...filters, fluxName }, statuses).flatMap((some) => keys.map((key) => [...some, key]))
}

/** Contexts, and their characters, that are read at once. */
export const READ = { limit: 128, characters: 256 * 1024 }

/** Contexts that are selected and pass the test, one after the other, as long as `signal` says nothing. */
export async function* contextsSelected(
  store: Store,
  { selection, test }: Selected,
  signal: AbortSignal | undefined,
): AsyncGenerator<StoredContext, void> {
  for (let after: ContextId | null = 0; after !== null;) {
    signal?.throwIfAborted()
    const page: SelectedPage = await store.select({ ...selection, ...READ, after, order: 'asc' })
    for (const context of page.contexts) if (test === null || test(context)) yield context
    after = page.rest
    await breathe(Infinity)
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

/**
 * Bounds for each partition; outside of them is no context that was started in the range. Undefined: there are none.
 */
export async function startWindows(
  store: Store,
  { after = -Infinity, before = Infinity }: TimeRange,
): Promise<IdRange[] | undefined> {
  if (after === -Infinity && before === Infinity) return undefined
  const { partitions } = store
  const highest = await store.highestId()
  const slack = SLACK_IDS * partitions

  /** No context up to the id `low` was started after the time, and none from `high` on was started before it. */
  async function search(partition: number, time: number) {
    if (time === -Infinity) return { low: 0, high: 0 }
    if (time === Infinity) return { low: highest, high: Infinity }
    let [low, high] = [0, highest + 1]
    while (high - low > CLOSE_IDS * partitions) {
      const middle = Math.floor((low + high) / 2)
      const found = await firstFrom(store, partition, middle)
      if (found === null || found.id >= high || found.startedAt > time) high = middle
      else low = found.id
    }
    return { low, high }
  }

  return Promise.all(
    Array.from({ length: partitions }, async (_, partition): Promise<IdRange> => {
      const { low } = await search(partition, after - SLACK_MS)
      const { high } = await search(partition, before + SLACK_MS)
      // What starts from now on has a higher id, and a later time.
      return { after: Math.max(0, low - slack), before: high + slack > highest ? undefined : high + slack }
    }),
  )
}

/** The first context of the partition from that id on, and when it was started; null: there is none. */
async function firstFrom(store: Store, partition: number, id: ContextId) {
  for (let after = id - 1; ;) {
    const { contexts } = await store.select({ any: [[]], partition, after, order: 'asc', limit: 1 })
    const [context] = contexts
    if (!context) return null
    after = context.id
    try {
      return { id: after, startedAt: decodeHead(context).startedAt }
    } catch {
      // When a damaged one was started is unknown.
    }
  }
}
