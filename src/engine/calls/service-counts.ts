// engine/calls: how many contexts each loaded service has, by status: for callers, and for metrics. They are counted by the
// index, at most one count at a time, and what took long to count is answered again for a while.
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { CONTEXT_STATUSES, type ContextId, type Status } from '../../model/context.ts'
import { SharedRun } from '../../model/shared-run.ts'
import type { Log } from '../../ports/log.ts'
import type { StatusCount } from '../../ports/signals.ts'
import type { SelectedPage, Store } from '../../ports/store.ts'
import { decodeHead } from '../record/decode.ts'
import { keyOfOpen, keysOfList, SECURED } from '../record/index-keys.ts'
import { isUnreadable } from '../record/unreadable.ts'

/** Contexts of a service by status; statuses without any are left out. */
export type StatusCounts = { readonly [status in Status]?: number }

interface ServiceCount {
  /** Contexts that are open to all. */
  readonly open: StatusCounts
  /** Contexts that were secured when they were started. */
  readonly secured: StatusCounts
}

interface Counted {
  readonly of: readonly CompiledFlux[]
  readonly counts: ReadonlyMap<CompiledFlux, ServiceCount>
  /** Of all services, also of those that are not loaded any more. */
  readonly totals: ReadonlyMap<Status, number>
  /** When it began, and until when it is answered again. */
  readonly at: number
  readonly until: number
}

/** A count of more contexts than these is answered again for so many times as long as it took. */
const FEW = 50_000
const TIMES = 20

/** Services that are counted at once. */
const STRIDE = 16

/** Limits of what is read to tell apart secured contexts of services that have one name. */
const SECURED_READ = { contexts: 10_000, page: 100, characters: 4_000_000 }

const NONE: StatusCounts = {}

export interface ServiceCountsParts {
  readonly store: Store
  readonly catalog: Pick<Catalog, 'all' | 'findAnywhere'>
  readonly log: Log
  /** Epoch milliseconds. */
  readonly now: () => number
}

export class ServiceCounts {
  readonly #parts: ServiceCountsParts
  #known: Counted | null = null
  /** Who asks while a count runs shares the next. */
  readonly #counting = new SharedRun(() => this.#count())

  constructor(parts: ServiceCountsParts) {
    this.#parts = parts
  }

  /** By service. `all`: with contexts that were secured when they were started. */
  async get({ all }: { readonly all: boolean }): Promise<(flux: CompiledFlux) => StatusCounts> {
    const { counts } = await this.#fresh(Infinity)
    return (flux) => {
      const { open, secured } = counts.get(flux) ?? { open: NONE, secured: NONE }
      return all ? sumOf(open, secured) : open
    }
  }

  /**
   * All contexts, at most so many milliseconds ago. One that is moved meanwhile may be counted twice, or not at all.
   * @throws FluxError `unavailable`
   */
  async list({ maxAge }: { readonly maxAge: number }): Promise<readonly StatusCount[]> {
    const { of, counts, totals } = await this.#fresh(maxAge)
    const left = new Map(totals)
    const all: StatusCount[] = []
    for (const service of of) {
      const { open, secured } = counts.get(service) ?? { open: NONE, secured: NONE }
      for (const status of CONTEXT_STATUSES) {
        const count = (open[status] ?? 0) + (secured[status] ?? 0)
        all.push({ service, status, count })
        left.set(status, (left.get(status) ?? 0) - count)
      }
    }
    for (const [status, count] of left) if (count > 0) all.push({ service: null, status, count })
    return all
  }

  #fresh(maxAge: number): Promise<Counted> | Counted {
    const { catalog, now } = this.#parts
    const known = this.#known
    const isFresh = known !== null && known.of === catalog.all() && now() < known.until && now() - known.at <= maxAge
    return isFresh ? known : this.#counting.get()
  }

  async #count(): Promise<Counted> {
    const { catalog, now } = this.#parts
    const [of, at] = [catalog.all(), now()]
    const counts = new Map<CompiledFlux, ServiceCount>()
    const totals = await this.#totals()
    const statuses = [...totals].sort(([, one], [, other]) => one - other).map(([status]) => status)
    const areSecured = (await this.#countOf([[SECURED]])) > 0
    const read: ReadByName = new Map()
    const add = async (flux: CompiledFlux): Promise<void> => {
      const open = await this.#byStatus(statuses, keyOfOpen(flux))
      counts.set(flux, { open, secured: areSecured ? await this.#secured(flux, statuses, read) : NONE })
    }
    for (let from = 0; from < of.length; from += STRIDE) await Promise.all(of.slice(from, from + STRIDE).map(add))
    const [ended, total] = [now(), [...totals.values()].reduce((sum, count) => sum + count, 0)]
    const counted = { of, counts, totals, at, until: ended + (ended - at) * TIMES }
    this.#known = total > FEW ? counted : null
    return counted
  }

  /** Contexts that have all keys of one of the lists. */
  #countOf(any: readonly (readonly string[])[]): Promise<number> {
    return this.#parts.store.count({ any })
  }

  /** Of each status that contexts have. */
  async #totals(): Promise<ReadonlyMap<Status, number>> {
    const totals = new Map<Status, number>()
    for (const status of CONTEXT_STATUSES) {
      const count = await this.#countOf(keysOfList({}, [status]))
      if (count > 0) totals.set(status, count)
    }
    return totals
  }

  /** Of those who have the key. What is left for the most frequent status isn't counted. */
  async #byStatus(statuses: readonly Status[], key: string): Promise<StatusCounts> {
    const counts: { [status in Status]?: number } = {}
    let left = await this.#countOf([[key]])
    for (const [index, status] of statuses.entries()) {
      if (left <= 0) break
      const isLast = index === statuses.length - 1
      const count = isLast ? left : await this.#countOf(withKey(keysOfList({}, [status]), key))
      if (count > 0) counts[status] = count
      left -= count
    }
    return counts
  }

  async #secured(flux: CompiledFlux, statuses: readonly Status[], read: ReadByName): Promise<StatusCounts> {
    const { package: owner, fluxName } = flux
    if (this.#parts.catalog.findAnywhere(fluxName).length > 1) {
      const reading = read.get(fluxName) ?? this.#readSecured(fluxName)
      read.set(fluxName, reading)
      return (await reading).get(owner) ?? NONE
    }
    const counts: { [status in Status]?: number } = {}
    for (const status of statuses) {
      const count = await this.#countOf(withKey(keysOfList({ fluxName }, [status]), SECURED))
      if (count > 0) counts[status] = count
    }
    return counts
  }

  /** By package: the index has none of secured contexts, so those of services of one name are read. */
  async #readSecured(fluxName: string): Promise<ReadonlyMap<string, StatusCounts>> {
    const byOwner = new Map<string, { [status in Status]?: number }>()
    const any = withKey(keysOfList({ fluxName }, CONTEXT_STATUSES), SECURED)
    const { page: limit, characters, contexts: most } = SECURED_READ
    const query = { any, order: 'asc' as const, limit, characters }
    let after: ContextId | null = 0
    for (let read = 0; read < most && after !== null;) {
      const { contexts, rest }: SelectedPage = await this.#parts.store.select({ ...query, after })
      for (const stored of contexts) {
        try {
          const { package: owner, status } = decodeHead(stored)
          const counts = byOwner.get(owner) ?? {}
          byOwner.set(owner, counts)
          counts[status] = (counts[status] ?? 0) + 1
        } catch (error) {
          if (!isUnreadable(error, this.#parts.log)) throw error
        }
      }
      read += contexts.length
      after = rest
    }
    return byOwner
  }
}

/** Secured contexts of services that have one name, by that name, as they were read for a count. */
type ReadByName = Map<string, Promise<ReadonlyMap<string, StatusCounts>>>

const withKey = (lists: readonly (readonly string[])[], key: string): string[][] => lists.map((keys) => [key, ...keys])

function sumOf(one: StatusCounts, other: StatusCounts): StatusCounts {
  const sum: { [status in Status]?: number } = { ...one }
  for (const status of CONTEXT_STATUSES) {
    const count = (one[status] ?? 0) + (other[status] ?? 0)
    if (count > 0) sum[status] = count
  }
  return sum
}
