// engine/operations: turns the filters of a list or a count into a selection of the store, and a test of what the store does
// not know.
import type { Catalog } from '../../definitions/catalog.ts'
import type { Caller, Role } from '../../model/caller.ts'
import { CONTEXT_STATUSES, isFinished, type Status } from '../../model/context.ts'
import { serviceNameOf } from '../../model/service-name.ts'
import type { Selection, StoredContext } from '../../ports/store.ts'
import { startedAtOf, updatedAtOf } from '../record/decode.ts'
import { keyOfOpen, keyOfSecured, keysOfList, PAUSED, type KeyFilters } from '../record/index-keys.ts'
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
  const [asksStart, asksUpdate] = [hasStart(filters), hasUpdate(filters)]
  const test = (context: StoredContext) =>
    (!asksStart || isBetween(startedAtOf(context), startedAfter, startedBefore)) &&
    (!asksUpdate || isBetween(updatedAtOf(context), updatedAfter, updatedBefore))
  return { selection, test: asksStart || asksUpdate ? test : null, isLimited: hidden.length > 0 }
}

/** `package/name` is a service of that package: its contexts have one key, or the other. */
function keysOf(filters: Filters, statuses: readonly Status[]): readonly (readonly string[])[] {
  const { package: owner, fluxName } = serviceNameOf({ fluxName: filters.fluxName ?? '' })
  if (owner === undefined) return keysOfList(filters, statuses)
  const service = { package: owner, fluxName }
  const keys = [keyOfOpen(service), keyOfSecured(service)]
  return keysOfList({ ...filters, fluxName }, statuses).flatMap((some) => keys.map((key) => [...some, key]))
}

const isBetween = (time: number, after = -Infinity, before = Infinity): boolean => time > after && time < before

function lowestOf(one: number | undefined, other: number | undefined): number | undefined {
  const lowest = Math.min(one ?? Infinity, other ?? Infinity)
  return lowest === Infinity ? undefined : lowest
}
