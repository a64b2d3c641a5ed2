// engine/calls: how many contexts there are. `countContexts` counts those that the caller may see, by status, state or
// service; `ServiceCounts` counts those of each loaded service, for callers and for metrics. Each number is that of index
// keys; contexts are read only where the index does not know enough of them.
import type { CheckedCall } from '../../api/calls.ts'
import type { ContextCount } from '../../api/context-lists.ts'
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { readPinned } from '../../definitions/pinned/text.ts'
import { CONTEXT_STATUSES, type ContextId, type Status } from '../../model/context.ts'
import { getOwn, isObject } from '../../model/json/value.ts'
import { SharedRun } from '../../model/shared-run.ts'
import { breathe } from '../../model/texts.ts'
import { Turnstile } from '../../model/turnstile.ts'
import type { StatusCount } from '../../ports/signals.ts'
import type { Store, StoredContext } from '../../ports/store.ts'
import { selectionOf, statusesOf, type Filters, type Selected } from '../operations/selection.ts'
import { decodeHead } from '../record/decode.ts'
import { keyOfOpen, keyOfSecured, keysOfList, parseIndexKeys } from '../record/index-keys.ts'
import { isUnreadable } from '../record/unreadable.ts'
import type { CallEnv } from './call-env.ts'
import { checkedTags } from './requests.ts'

/** Counts that the store makes at once for one caller, and definitions that are read at once. */
const AT_ONCE = 8
/** Contexts, and approximate characters, that are read at once. */
const READ = { limit: 128, characters: 256 * 1024 }

type Counts = Map<string, number>
type By = ContextCount['by']

/** See `FluxApi`. */
export async function countContexts(
  env: CallEnv,
  { by, ...given }: CheckedCall<'countContexts'>,
  signal?: AbortSignal,
): Promise<ContextCount> {
  const filters = { ...given, tag: checkedTags(given.tag, '/tag', env.tagLimits) }
  const selected = await selectionOf(env, filters, statusesOf(filters, by === 'status' ? CONTEXT_STATUSES : undefined))
  const isIndexed = selected.test === null
  const counts = await (isIndexed ? env.counts : env.searches).run(async () => {
    signal?.throwIfAborted()
    const groups = isIndexed ? await groupsOf(env, by, filters) : null
    return groups ? countEach(env, groups, signal) : readEach(env, { by, signal }, selected)
  })
  const named = [...counts].filter(([, count]) => count > 0).sort(([one], [other]) => (one < other ? -1 : 1))
  return { total: named.reduce((sum, [, count]) => sum + count, 0), by, counts: Object.fromEntries(named) }
}

/** By what is counted, the filters of each; null: there may be others, of a definition that can't be read. */
async function groupsOf(env: CallEnv, by: By, filters: Filters): Promise<ReadonlyMap<string, Filters> | null> {
  if (by === 'status')
    return new Map(statusesOf(filters, CONTEXT_STATUSES).map((status) => [status, { ...filters, status: [status] }]))
  const services = await env.knownServices.all()
  if (services === null) return null
  const { fluxName: asked, currentState: only } = filters
  const meant = services.filter(({ fluxName, path }) => asked === undefined || asked === fluxName || asked === path)
  if (by === 'fluxName') return new Map(meant.map(({ path }) => [path, { ...filters, fluxName: path }]))
  const states = meant.flatMap((service) => service.states).filter((name) => only === undefined || name === only)
  return new Map(states.map((currentState) => [currentState, { ...filters, currentState }]))
}

async function countEach(
  env: CallEnv,
  groups: ReadonlyMap<string, Filters>,
  signal: AbortSignal | undefined,
): Promise<Counts> {
  const [counts, turnstile] = [new Map<string, number>(), new Turnstile(AT_ONCE)]
  const count = async (name: string, filters: Filters) => {
    signal?.throwIfAborted()
    const { selection } = await selectionOf(env, filters)
    counts.set(name, await env.store.count(selection))
  }
  await Promise.all([...groups].map(([name, filters]) => turnstile.run(() => count(name, filters))))
  return counts
}

/** Reads each context that the store selects. */
async function readEach(
  { store, log }: CallEnv,
  { by, signal }: { readonly by: By; readonly signal: AbortSignal | undefined },
  { selection, test }: Selected,
): Promise<Counts> {
  const counts = new Map<string, number>()
  for (let after: ContextId | null = 0; after !== null;) {
    signal?.throwIfAborted()
    const from: ContextId = after
    const { contexts, rest } = await store.select({ ...selection, ...READ, after: from, order: 'asc' })
    for (const context of contexts) {
      try {
        if (test?.(context) === false) continue
        const name = nameOf(context, by)
        counts.set(name, (counts.get(name) ?? 0) + 1)
      } catch (error) {
        if (!isUnreadable(error, log)) throw error
      }
    }
    after = rest
    await breathe(Infinity)
  }
  return counts
}

function nameOf(stored: StoredContext, by: By): string {
  if (by === 'currentState') return parseIndexKeys(stored.indexKeys).state ?? ''
  const { status, package: owner, fluxName } = decodeHead(stored)
  return by === 'status' ? status : `${owner}/${fluxName}`
}

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
  readonly #turnstile = new Turnstile(2 * AT_ONCE)

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
