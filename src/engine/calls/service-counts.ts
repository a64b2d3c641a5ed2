// engine/calls: how many contexts each loaded service has, by status. They are counted by the index, at most one count at a
// time, and what took long to count is answered again for a while.
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { CONTEXT_STATUSES, type ContextId, type Status } from '../../model/context.ts'
import type { Log } from '../../ports/log.ts'
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

type Counts = ReadonlyMap<CompiledFlux, ServiceCount>

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
  /** The last count, until when it holds, and the services that it is of. */
  #known: { readonly counts: Counts; readonly until: number; readonly of: readonly CompiledFlux[] } | null = null
  #running: Promise<Counts> | null = null
  /** The count after the one that runs: of those who asked meanwhile. */
  #next: Promise<Counts> | null = null

  constructor(parts: ServiceCountsParts) {
    this.#parts = parts
  }

  /** By service. `all`: with contexts that were secured when they were started. */
  async get({ all }: { readonly all: boolean }): Promise<(flux: CompiledFlux) => StatusCounts> {
    const counts = await this.#fresh()
    return (flux) => {
      const { open, secured } = counts.get(flux) ?? { open: NONE, secured: NONE }
      return all ? sumOf(open, secured) : open
    }
  }

  #fresh(): Promise<Counts> | Counts {
    const { catalog, now } = this.#parts
    const known = this.#known
    if (known !== null && known.of === catalog.all() && now() < known.until) return known.counts
    if (this.#running === null) return this.#run()
    this.#next ??= this.#running.catch(() => {}).then(() => this.#run())
    return this.#next
  }

  async #run(): Promise<Counts> {
    this.#next = null
    this.#running = this.#count().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  async #count(): Promise<Counts> {
    const { catalog, now } = this.#parts
    const [of, began] = [catalog.all(), now()]
    const counts = new Map<CompiledFlux, ServiceCount>()
    const { statuses, total } = await this.#statuses()
    const areSecured = (await this.#countOf([[SECURED]])) > 0
    const add = async (flux: CompiledFlux): Promise<void> => {
      const open = await this.#byStatus(statuses, keyOfOpen(flux))
      counts.set(flux, { open, secured: areSecured ? await this.#secured(flux, statuses) : NONE })
    }
    for (let from = 0; from < of.length; from += STRIDE) await Promise.all(of.slice(from, from + STRIDE).map(add))
    const ended = now()
    this.#known = total > FEW ? { counts, until: ended + (ended - began) * TIMES, of } : null
    return counts
  }

  /** Contexts that have all keys of one of the lists. */
  #countOf(any: readonly (readonly string[])[]): Promise<number> {
    return this.#parts.store.count({ any })
  }

  /** The statuses that contexts have, the rarest first, and the number of all contexts. */
  async #statuses(): Promise<{ readonly statuses: readonly Status[]; readonly total: number }> {
    const counted: { status: Status; count: number }[] = []
    for (const status of CONTEXT_STATUSES)
      counted.push({ status, count: await this.#countOf(keysOfList({}, [status])) })
    const found = counted.filter(({ count }) => count > 0).sort((one, other) => one.count - other.count)
    return { statuses: found.map(({ status }) => status), total: found.reduce((sum, { count }) => sum + count, 0) }
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

  async #secured(flux: CompiledFlux, statuses: readonly Status[]): Promise<StatusCounts> {
    const { fluxName } = flux
    if (this.#parts.catalog.findAnywhere(fluxName).length > 1) return this.#readSecured(flux)
    const counts: { [status in Status]?: number } = {}
    for (const status of statuses) {
      const count = await this.#countOf(withKey(keysOfList({ fluxName }, [status]), SECURED))
      if (count > 0) counts[status] = count
    }
    return counts
  }

  /** The index has no package of secured contexts, so those of services of one name are read. */
  async #readSecured({ package: owner, fluxName }: CompiledFlux): Promise<StatusCounts> {
    const counts: { [status in Status]?: number } = {}
    const any = withKey(keysOfList({ fluxName }, CONTEXT_STATUSES), SECURED)
    const { page: limit, characters, contexts: most } = SECURED_READ
    let after: ContextId | null = 0
    for (let read = 0; read < most && after !== null;) {
      const { contexts, rest }: SelectedPage = await this.#parts.store.select({
        any,
        after,
        order: 'asc',
        limit,
        characters,
      })
      for (const stored of contexts) {
        try {
          const { package: of, status } = decodeHead(stored)
          if (of === owner) counts[status] = (counts[status] ?? 0) + 1
        } catch (error) {
          if (!isUnreadable(error, this.#parts.log)) throw error
        }
      }
      read += contexts.length
      after = rest
    }
    return counts
  }
}

const withKey = (lists: readonly (readonly string[])[], key: string): string[][] => lists.map((keys) => [key, ...keys])

function sumOf(one: StatusCounts, other: StatusCounts): StatusCounts {
  const sum: { [status in Status]?: number } = { ...one }
  for (const status of CONTEXT_STATUSES) {
    const count = (one[status] ?? 0) + (other[status] ?? 0)
    if (count > 0) sum[status] = count
  }
  return sum
}
