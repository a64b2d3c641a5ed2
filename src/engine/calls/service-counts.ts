// engine/calls: the services of all stored definitions, and how many contexts each loaded service has, by status: for callers
// and for metrics.
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { readPinned } from '../../definitions/pinned/text.ts'
import { CONTEXT_STATUSES, type Status } from '../../model/context.ts'
import { getOwn, isObject } from '../../model/json/value.ts'
import { SharedRun } from '../../model/shared-run.ts'
import { Turnstile } from '../../model/turnstile.ts'
import type { StatusCount } from '../../ports/signals.ts'
import type { Store } from '../../ports/store.ts'
import { keyOfOpen, keyOfSecured, keysOfList } from '../record/index-keys.ts'

/** Services that are counted, and definitions that are read, at once. */
const AT_ONCE = 16

interface KnownService {
  readonly fluxName: string
  /** `package/fluxName`. */
  readonly path: string
  /** Names of its states. */
  readonly states: readonly string[]
}

/** The services of all stored definitions: every context was started with one of them. */
export class KnownServices {
  readonly #store: Pick<Store, 'definitions' | 'getDefinition'>
  /** By hash: what a definition says never changes. Null: it can't be read. */
  readonly #known = new Map<string, KnownService | null>()
  readonly #turnstile = new Turnstile(AT_ONCE)

  constructor(store: Pick<Store, 'definitions' | 'getDefinition'>) {
    this.#store = store
  }

  /** One for each definition; null: one can't be read. */
  async all(): Promise<readonly KnownService[] | null> {
    const hashes = await this.#store.definitions()
    const all = await Promise.all(hashes.map((hash) => this.#known.get(hash) ?? this.#read(hash)))
    const services = all.filter((service) => service !== null)
    return services.length < all.length ? null : services
  }

  #read(hash: string): Promise<KnownService | null> {
    return this.#turnstile.run(async () => {
      const service = serviceOf(await this.#store.getDefinition({ hash }))
      this.#known.set(hash, service)
      return service
    })
  }
}

function serviceOf(text: string | null): KnownService | null {
  const unit = text === null ? null : readPinned(text)
  if (unit === null) return null
  const { package: owner, fluxName, source } = unit
  const states = getOwn(source, 'states')
  const names = Array.isArray(states) ? states.filter(isObject).map((state) => getOwn(state, 'name')) : []
  return { fluxName, path: `${owner}/${fluxName}`, states: names.filter((name) => typeof name === 'string') }
}

/** Contexts of a service by status; statuses without any are left out. */
export type StatusCounts = { readonly [status in Status]?: number }

interface ServiceCount {
  readonly all: StatusCounts
  /** Without those that were secured when they were started. */
  readonly open: StatusCounts
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

interface ServiceCountsParts {
  readonly store: Pick<Store, 'count'>
  readonly catalog: Pick<Catalog, 'all'>
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** At most one count at a time runs, and what took long to count is answered again for a while. */
export class ServiceCounts {
  readonly #parts: ServiceCountsParts
  #known: Counted | null = null
  /** Who asks while a count runs shares the next. */
  readonly #counting = new SharedRun(() => this.#count())
  readonly #turnstile = new Turnstile(AT_ONCE)

  constructor(parts: ServiceCountsParts) {
    this.#parts = parts
  }

  /** By service. `all`: with contexts that were secured when they were started. */
  async get({ all }: { readonly all: boolean }): Promise<(flux: CompiledFlux) => StatusCounts> {
    const { counts } = await this.#fresh(Infinity)
    return (flux) => counts.get(flux)?.[all ? 'all' : 'open'] ?? {}
  }

  /**
   * All contexts, at most so many milliseconds ago. One that is moved meanwhile may be counted twice, or not at all.
   * @throws FluxError `unavailable`
   */
  async list({ maxAge }: { readonly maxAge: number }): Promise<readonly StatusCount[]> {
    const { of, counts, totals } = await this.#fresh(maxAge)
    const left = new Map(totals)
    const all: StatusCount[] = []
    for (const service of of)
      for (const status of CONTEXT_STATUSES) {
        const count = counts.get(service)?.all[status] ?? 0
        all.push({ service, status, count })
        left.set(status, (left.get(status) ?? 0) - count)
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
    const { catalog, now, store } = this.#parts
    const [of, at] = [catalog.all(), now()]
    const totals = new Map<Status, number>()
    for (const status of CONTEXT_STATUSES) {
      const count = await store.count({ any: keysOfList({}, [status]) })
      if (count > 0) totals.set(status, count)
    }
    const statuses = [...totals].sort(([, one], [, other]) => one - other).map(([status]) => status)
    const countOf = async (flux: CompiledFlux): Promise<[CompiledFlux, ServiceCount]> => {
      const open = await this.#byStatus(statuses, keyOfOpen(flux))
      return [flux, { open, all: sumOf(open, await this.#byStatus(statuses, keyOfSecured(flux))) }]
    }
    const counts = new Map(await Promise.all(of.map((flux) => this.#turnstile.run(() => countOf(flux)))))
    const [ended, total] = [now(), [...totals.values()].reduce((sum, count) => sum + count, 0)]
    const counted = { of, counts, totals, at, until: ended + (ended - at) * TIMES }
    this.#known = total > FEW ? counted : null
    return counted
  }

  /** Of those that have the key. What is left for the most frequent status, the last one, isn't counted. */
  async #byStatus(statuses: readonly Status[], key: string): Promise<StatusCounts> {
    const { store } = this.#parts
    const counts: { [status in Status]?: number } = {}
    let left = await store.count({ any: [[key]] })
    for (const [index, status] of statuses.entries()) {
      if (left <= 0) break
      const isLast = index === statuses.length - 1
      const any = keysOfList({}, [status]).map((keys) => [key, ...keys])
      const count = isLast ? left : await store.count({ any })
      if (count > 0) counts[status] = count
      left -= count
    }
    return counts
  }
}

function sumOf(one: StatusCounts, other: StatusCounts): StatusCounts {
  const sum: { [status in Status]?: number } = { ...one }
  for (const status of CONTEXT_STATUSES) {
    const count = (one[status] ?? 0) + (other[status] ?? 0)
    if (count > 0) sum[status] = count
  }
  return sum
}
