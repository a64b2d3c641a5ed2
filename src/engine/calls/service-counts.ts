// engine/calls: the services of all stored definitions, and how many contexts each loaded service has, by status: for callers
// and for metrics.
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { readPinned } from '../../definitions/pinned/text.ts'
import { CONTEXT_STATUSES, type Status } from '../../model/context.ts'
import { getOwn, isObject } from '../../model/json/value.ts'
import { SharedRun } from '../../model/shared-run.ts'
import { Turnstile } from '../../model/turnstile.ts'
import type { Clock } from '../../ports/clock.ts'
import type { StatusCount } from '../../ports/signals.ts'
import type { Store } from '../../ports/store.ts'
import { keyOfOpen, keyOfSecured, keysOfList } from '../record/index-keys.ts'

/** Services that are counted, and definitions that are read, at once. */
const AT_ONCE = 16

/** The services of all stored definitions: every context was started with one of them. */
export class KnownServices {
  readonly #store: Store
  /** By hash: what a definition says never changes. */
  readonly #known = new Map<string, NonNullable<ReturnType<typeof serviceOf>>>()
  readonly #turnstile = new Turnstile(AT_ONCE)

  constructor(store: Store) {
    this.#store = store
  }

  /** One for each definition; null: one can't be read. */
  async all() {
    const hashes = await this.#store.definitions()
    const all = await Promise.all(hashes.map((hash) => this.#known.get(hash) ?? this.#read(hash)))
    const services = all.filter((service) => service !== null)
    return services.length < all.length ? null : services
  }

  #read(hash: string) {
    return this.#turnstile.run(async () => {
      const service = serviceOf(await this.#store.getDefinition({ hash }))
      if (service) this.#known.set(hash, service)
      return service
    })
  }
}

/** `path`: package and name. `states`: their names. */
function serviceOf(text: string | null) {
  const unit = text === null ? null : readPinned(text)
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
  /** Of all services, also of those that are not loaded any more. */
  readonly totals: Counts
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
  readonly clock: Pick<Clock, 'now'>
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

  /** By service and status, where there are any. `all`: with contexts that were secured when they were started. */
  async get({ all }: { readonly all: boolean }) {
    const { counts } = await this.#fresh(Infinity)
    return (flux: CompiledFlux) => Object.fromEntries(counts.get(flux)?.[all ? 'all' : 'open'] ?? [])
  }

  /**
   * All contexts, at most so many milliseconds ago. One that is moved meanwhile may be counted twice, or not at all.
   * @throws FluxError `unavailable`
   */
  async list({ maxAge }: { readonly maxAge: number }): Promise<readonly StatusCount[]> {
    const { counts, totals } = await this.#fresh(maxAge)
    const left = new Map(totals)
    const ofLoaded = [...counts].flatMap(([service, { all }]) =>
      CONTEXT_STATUSES.map((status) => {
        const count = all.get(status) ?? 0
        left.set(status, (left.get(status) ?? 0) - count)
        return { service, status, count }
      }),
    )
    const others = [...left].map(([status, count]) => ({ service: null, status, count }))
    return [...ofLoaded, ...others.filter(({ count }) => count > 0)]
  }

  #fresh(maxAge: number): Promise<Counted> | Counted {
    const { catalog, clock } = this.#parts
    const [known, now] = [this.#known, clock.now()]
    const isFresh = known?.of === catalog.all() && now < known.until && now - known.at <= maxAge
    return isFresh ? known : this.#counting.get()
  }

  async #count(): Promise<Counted> {
    const { catalog, clock, store } = this.#parts
    const [of, at] = [catalog.all(), clock.now()]
    const totals = new Map<Status, number>()
    for (const status of CONTEXT_STATUSES) totals.set(status, await store.count({ any: keysOfList({}, [status]) }))
    const some = [...totals].filter(([, count]) => count > 0).sort(([, one], [, other]) => one - other)
    const statuses = some.map(([status]) => status)
    const each = of.map((flux) =>
      this.#turnstile.run(async () => {
        const [open, secured] = [keyOfOpen(flux), keyOfSecured(flux)]
        const own = await this.#byStatus(statuses, [open])
        return [flux, { open: own, all: await this.#byStatus(statuses, [open, secured]) }] as const
      }),
    )
    const counts = new Map(await Promise.all(each))
    const now = clock.now()
    const counted = { of, counts, totals, at, until: now + (now - at) * TIMES }
    this.#known = some.reduce((sum, [, count]) => sum + count, 0) > FEW ? counted : null
    return counted
  }

  /** Of those that have one of the keys. What is left for the most frequent status, the last one, isn't counted. */
  async #byStatus(statuses: readonly Status[], keys: readonly string[]): Promise<Counts> {
    const { store } = this.#parts
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
}
