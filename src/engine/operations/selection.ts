// engine/operations: turns the filters of a list or a count into a selection of the store, and a test of what the store does
// not know.
import type { OperationFilter } from '../../api/operations.ts'
import type { Catalog } from '../../definitions/catalog.ts'
import type { Caller, Role } from '../../model/caller.ts'
import { CONTEXT_STATUSES, isFinished, type Status } from '../../model/context.ts'
import { serviceNameOf } from '../../model/service-name.ts'
import type { Selection, StoredContext } from '../../ports/store.ts'
import { startedAtOf, updatedAtOf } from '../record/decode.ts'
import { keyOfOpen, keyOfSecured, keysOfList, PAUSED } from '../record/index-keys.ts'
import { hiddenFrom } from '../record/hidden.ts'
import type { StartTimes } from './start-times.ts'

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
    isBetween(() => startedAtOf(context), startedAfter, startedBefore) &&
    isBetween(() => updatedAtOf(context), updatedAfter, updatedBefore)
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
