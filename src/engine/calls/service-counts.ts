// engine/calls: the services of all stored definitions, and how many contexts each loaded service has, by status: for
// callers and for metrics.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { readPinned } from '../../definitions/pinned/text.ts'
import { CONTEXT_STATUSES, type Status } from '../../model/context.ts'
import { getOwn, isObject } from '../../model/json/value.ts'
import type { StoredRow } from '../../model/rows.ts'
import { SharedRun } from '../../model/shared-run.ts'
import { Turnstile } from '../../model/turnstile.ts'
import type { StatusCount } from '../../ports/signals.ts'
import type { Store } from '../../ports/store.ts'
import type { EngineParts } from '../contexts/deps.ts'
import { keyOfOpen, keyOfSecured, keysOfList } from '../record/index-keys.ts'

/** Services that are counted at once. */
const AT_ONCE = 16
/** Definitions that are read at once. */
const PAGE = 16

/**
 * The services of all stored definitions, one for each: every context was started with one of them. Null: one can't be
 * read.
 */
export function knownServices(store: Store) {
  /** By hash: what a definition says never changes. */
  const known = new Map<string, NonNullable<ReturnType<typeof serviceOf>>>()
  const query = { space: 'definitions', prefix: '', limit: PAGE } as const
  return async () => {
    const count = await store.countRows(query)
    for (let rows: StoredRow[] = []; known.size < count;) {
      rows = await store.listRows({ ...query, after: rows.at(-1) })
      for (const { key, value } of rows) {
        const service = known.get(key) ?? serviceOf(value)
        if (service) known.set(key, service)
      }
      if (rows.length < PAGE) break
    }
    return known.size < count ? null : [...known.values()]
  }
}

/** `path`: package and name. `states`: their names. */
function serviceOf(text: string) {
  const unit = readPinned(text)
  if (unit === null) return null
  const { package: owner, fluxName, source } = unit
  const states = getOwn(source, 'states')
  const names = Array.isArray(states) ? states.filter(isObject).map((state) => getOwn(state, 'name')) : []
  return { fluxName, path: `${owner}/${fluxName}`, states: names.filter((name) => typeof name === 'string') }
}

type Counts = ReadonlyMap<Status, number>

interface Counted {
  readonly of: readonly CompiledFlux[]
  /** `open`: without those that were secured when they were started. */
  readonly counts: ReadonlyMap<CompiledFlux, { readonly open: Counts; readonly all: Counts }>
  /** The counts of all services, also of those that are not loaded any more. */
  readonly totals: Counts
  /** Until when it is answered again. */
  readonly until: number
}

/** A count of more contexts than these is answered again for so many times as long as it took. */
const FEW = 50_000
const TIMES = 20

/** At most one count at a time runs, and what took long to count is answered again for a while. */
export function serviceCounts(parts: Pick<EngineParts, 'store' | 'catalog' | 'clock'>) {
  const { store, clock } = parts
  let known: Counted | null = null
  const turnstile = new Turnstile(AT_ONCE)

  async function count(): Promise<Counted> {
    const [of, at] = [parts.catalog.all(), clock.now()]
    const totals = new Map<Status, number>()
    for (const status of CONTEXT_STATUSES) totals.set(status, await store.count({ any: keysOfList({}, [status]) }))
    const some = [...totals].filter(([, total]) => total > 0).sort(([, one], [, other]) => one - other)
    const statuses = some.map(([status]) => status)
    const each = of.map((flux) =>
      turnstile.run(async () => {
        const [open, secured] = [keyOfOpen(flux), keyOfSecured(flux)]
        const own = await byStatus(store, statuses, [open])
        return [flux, { open: own, all: await byStatus(store, statuses, [open, secured]) }] as const
      }),
    )
    const counts = new Map(await Promise.all(each))
    const now = clock.now()
    const counted = { of, counts, totals, until: now + (now - at) * TIMES }
    known = some.reduce((sum, [, total]) => sum + total, 0) > FEW ? counted : null
    return counted
  }

  /** Callers that ask while a count runs share the next one. */
  const counting = new SharedRun(count)
  const recent = async () => (known?.of === parts.catalog.all() && clock.now() < known.until ? known : counting.get())

  return {
    /** By service and status, where there are any. `all`: with contexts that were secured when they were started. */
    async get({ all }: { readonly all: boolean }) {
      const { counts } = await recent()
      return (flux: CompiledFlux) => Object.fromEntries(counts.get(flux)?.[all ? 'all' : 'open'] ?? [])
    },
    /**
     * All contexts. One that is moved while they are counted may be counted twice, or not at all.
     * @throws FluxError `unavailable`
     */
    async list(): Promise<readonly StatusCount[]> {
      const { counts, totals } = await recent()
      const left = new Map(totals)
      const ofLoaded = [...counts].flatMap(([service, { all }]) =>
        CONTEXT_STATUSES.map((status) => {
          const own = all.get(status) ?? 0
          left.set(status, (left.get(status) ?? 0) - own)
          return { service, status, count: own }
        }),
      )
      const others = [...left].map(([status, rest]) => ({ service: null, status, count: rest }))
      return [...ofLoaded, ...others.filter(({ count: rest }) => rest > 0)]
    },
  }
}

/** Counts the contexts that have one of the keys. The last status, the most frequent one, gets the rest uncounted. */
async function byStatus(store: Store, statuses: readonly Status[], keys: readonly string[]) {
  const counts = new Map<Status, number>()
  let left = await store.count({ any: keys.map((key) => [key]) })
  for (const status of statuses) {
    if (left <= 0) break
    const any = keysOfList({}, [status]).flatMap((some) => keys.map((key) => [key, ...some]))
    const count = status === statuses.at(-1) ? left : await store.count({ any })
    if (count > 0) counts.set(status, count)
    left -= count
  }
  return counts
}
