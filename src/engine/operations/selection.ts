// engine/operations: turns the filters of a list or a count into a selection of the store, and a test of what the store does
// not know.
import type { Catalog } from '../../definitions/catalog.ts'
import type { Caller, Role } from '../../model/caller.ts'
import { CONTEXT_STATUSES, isFinished, type Status } from '../../model/context.ts'
import { serviceNameOf } from '../../model/service-name.ts'
import type { Selection } from '../../ports/selection.ts'
import type { Store, StoredContext } from '../../ports/store.ts'
import { decodeHead, startedAtOf, updatedAtOf } from '../record/decode.ts'
import { keyOfOpen, keysOfList, PAUSED, SECURED, type KeyFilters } from '../record/index-keys.ts'
import { hiddenFrom } from '../record/hidden.ts'
import type { StartTimes } from './start-times.ts'

/** Checked filters; times are epoch milliseconds. */
export interface Filters extends KeyFilters {
  readonly status?: readonly string[] | undefined
  readonly startedAfter?: number | undefined
  readonly startedBefore?: number | undefined
  readonly updatedAfter?: number | undefined
  readonly updatedBefore?: number | undefined
  readonly endedAfter?: number | undefined
  readonly endedBefore?: number | undefined
  readonly dueBefore?: number | undefined
}

export interface SelectionEnv {
  readonly catalog: Pick<Catalog, 'all'>
  readonly caller: Pick<Caller, 'roles'>
  readonly startTimes: Pick<StartTimes, 'windows'>
  readonly store: Pick<Store, 'count'>
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

const hasStart = ({ startedAfter, startedBefore }: Filters) => startedAfter !== undefined || startedBefore !== undefined
const hasUpdate = ({ updatedAfter, updatedBefore }: Filters) =>
  updatedAfter !== undefined || updatedBefore !== undefined

/** Whether the store does not know all that is asked for, so that contexts have to be read. */
export const isTested = (filters: Filters): boolean =>
  hasStart(filters) || hasUpdate(filters) || filters.fluxName?.includes('/') === true

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
  const { any, owner } = await keysOf(env, filters, statuses)
  const selection: Selection = {
    any,
    without: filters.paused === false ? [...hidden, PAUSED] : hidden,
    due: dueBefore === undefined ? undefined : { before: dueBefore },
    ended: hasEnds ? { after: endedAfter, before: endedBefore } : undefined,
    windows: windows ?? undefined,
  }
  const [asksStart, asksUpdate] = [hasStart(filters), hasUpdate(filters)]
  const test = (context: StoredContext) =>
    (owner === null || decodeHead(context).package === owner) &&
    (!asksStart || isBetween(startedAtOf(context), startedAfter, startedBefore)) &&
    (!asksUpdate || isBetween(updatedAtOf(context), updatedAfter, updatedBefore))
  return { selection, test: owner !== null || asksStart || asksUpdate ? test : null, isLimited: hidden.length > 0 }
}

/**
 * `package/name` is a service of that package. Its contexts have a key, save those of secured services: where there are
 * such of this name, `owner` is the package to look for.
 */
async function keysOf(
  { store }: SelectionEnv,
  filters: Filters,
  statuses: readonly Status[],
): Promise<{ readonly any: readonly (readonly string[])[]; readonly owner: string | null }> {
  const { package: owner, fluxName } = serviceNameOf({ fluxName: filters.fluxName ?? '' })
  if (owner === undefined) return { any: keysOfList(filters, statuses), owner: null }
  const keys = keysOfList({ ...filters, fluxName }, statuses)
  const open = keys.map((some) => [...some, keyOfOpen({ package: owner, fluxName })])
  const secured = keys.map((some) => [...some, SECURED])
  if ((await store.count({ any: secured })) === 0) return { any: open, owner: null }
  return { any: [...open, ...secured], owner }
}

const isBetween = (time: number, after = -Infinity, before = Infinity): boolean => time > after && time < before

function lowestOf(one: number | undefined, other: number | undefined): number | undefined {
  const lowest = Math.min(one ?? Infinity, other ?? Infinity)
  return lowest === Infinity ? undefined : lowest
}
