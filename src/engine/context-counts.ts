// engine: counts contexts by service and status, in the index alone. The store tells whether a list has a context at some
// place: the number is found by a search, which begins at the number that was found the last time.
import type { Catalog } from '../definitions/catalog.ts'
import type { CompiledFlux } from '../definitions/flux.ts'
import { CONTEXT_STATUSES, isFinished, type Status } from '../model/context.ts'
import type { ContextCount } from '../ports/signals.ts'
import type { Store } from '../ports/store.ts'
import { indexKey } from './record/index-key.ts'
import { keyOfOpen, SECURED } from './record/index-keys.ts'

export interface ContextCountsParts {
  readonly store: Pick<Store, 'list'>
  readonly catalog: Pick<Catalog, 'all'>
}

type Counts = Map<Status, number>

export class ContextCounts {
  readonly #parts: ContextCountsParts
  /** Numbers that were found the last time, by keys. */
  #last = new Map<string, number>()
  #now = new Map<string, number>()

  constructor(parts: ContextCountsParts) {
    this.#parts = parts
  }

  /**
   * All contexts of the namespace. A context that is moved meanwhile may be counted twice, or not at all. Calls must not
   * overlap. @throws FluxError `unavailable`
   */
  async count(): Promise<readonly ContextCount[]> {
    this.#now = new Map()
    const left: Counts = new Map()
    for (const status of CONTEXT_STATUSES) left.set(status, await this.#sizeOf([`status:${status}`]))
    const totals = new Map(left)
    const all: ContextCount[] = []
    for (const flux of this.#parts.catalog.all()) {
      const counts = await this.#countsOf(flux, totals)
      for (const status of CONTEXT_STATUSES) {
        const count = counts.get(status) ?? 0
        all.push({ service: flux, status, count })
        left.set(status, (left.get(status) ?? 0) - count)
      }
    }
    for (const [status, count] of left) if (count > 0) all.push({ service: null, status, count })
    this.#last = this.#now
    return all
  }

  /**
   * The number of the most frequent status is what the others leave of all: two long lists need not be compared.
   */
  async #countsOf(flux: CompiledFlux, totals: Counts): Promise<Counts> {
    if (flux.secured) return this.#countsOfSecured(flux, totals)
    const key = keyOfOpen(flux)
    const counts: Counts = new Map()
    let left = await this.#sizeOf([key])
    const keysOf = (status: Status) => [key, `status:${status}`]
    const rank = (status: Status) => (this.#last.get(keysOf(status).join()) ?? 0) * 2 ** 20 + (totals.get(status) ?? 0)
    const [first, ...others] = CONTEXT_STATUSES.toSorted((one, other) => rank(other) - rank(one))
    for (const status of others) {
      const count = left === 0 || totals.get(status) === 0 ? 0 : await this.#sizeOf(keysOf(status))
      counts.set(status, count)
      left = Math.max(0, left - count)
    }
    if (first === undefined) return counts
    this.#now.set(keysOf(first).join(), left)
    return counts.set(first, left)
  }

  /** Their keys do not tell the package: of a name that several have, they are of none. */
  async #countsOfSecured({ fluxName }: CompiledFlux, totals: Counts): Promise<Counts> {
    const counts: Counts = new Map()
    const namesakes = this.#parts.catalog.all().filter((other) => other.secured && other.fluxName === fluxName)
    if (namesakes.length > 1) return counts
    for (const status of CONTEXT_STATUSES) {
      const named = indexKey(isFinished(status) ? 'f:flux' : 'u:flux', fluxName)
      counts.set(status, totals.get(status) === 0 ? 0 : await this.#sizeOf([SECURED, named, `status:${status}`]))
    }
    return counts
  }

  /** How many contexts have all of the keys. */
  async #sizeOf(all: readonly string[]): Promise<number> {
    const name = all.join()
    const has = async (place: number) =>
      (await this.#parts.store.list({ all, skip: place, limit: 1, characters: 1 })).length > 0
    const guess = this.#last.get(name) ?? 0
    // There are at least `low`, and at most `high`.
    let [low, high] = [0, Infinity]
    for (let [place, step] = [guess, 1]; low < high; step *= 2) {
      if (await has(place)) low = place + 1
      else high = place
      if (high === Infinity) place = low - 1 + step
      else place = low === 0 ? Math.max(0, high - step) : Math.floor((low + high) / 2)
    }
    this.#now.set(name, low)
    return low
  }
}
