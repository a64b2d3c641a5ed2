// engine: counts contexts by service and status, by the index of the store alone.
import type { Catalog } from '../definitions/catalog.ts'
import type { CompiledFlux } from '../definitions/flux.ts'
import { CONTEXT_STATUSES, isFinished, type Status } from '../model/context.ts'
import type { StatusCount } from '../ports/signals.ts'
import type { Store } from '../ports/store.ts'
import { indexKey } from './record/index-key.ts'
import { keyOfOpen, SECURED } from './record/index-keys.ts'

export interface ContextCountsParts {
  readonly store: Pick<Store, 'count'>
  readonly catalog: Pick<Catalog, 'all'>
}

type Counts = Map<Status, number>

export class ContextCounts {
  readonly #parts: ContextCountsParts

  constructor(parts: ContextCountsParts) {
    this.#parts = parts
  }

  /**
   * All contexts of the namespace. A context that is moved meanwhile may be counted twice, or not at all.
   * @throws FluxError `unavailable`
   */
  async count(): Promise<readonly StatusCount[]> {
    const left: Counts = new Map()
    for (const status of CONTEXT_STATUSES) left.set(status, await this.#sizeOf([`status:${status}`]))
    const totals = new Map(left)
    const all: StatusCount[] = []
    for (const flux of this.#parts.catalog.all()) {
      const counts = await this.#countsOf(flux, totals)
      for (const status of CONTEXT_STATUSES) {
        const count = counts.get(status) ?? 0
        all.push({ service: flux, status, count })
        left.set(status, (left.get(status) ?? 0) - count)
      }
    }
    for (const [status, count] of left) if (count > 0) all.push({ service: null, status, count })
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
    const totalOf = (status: Status) => totals.get(status) ?? 0
    const [first, ...others] = CONTEXT_STATUSES.toSorted((one, other) => totalOf(other) - totalOf(one))
    for (const status of others) {
      const count = left === 0 || totals.get(status) === 0 ? 0 : await this.#sizeOf([key, `status:${status}`])
      counts.set(status, count)
      left = Math.max(0, left - count)
    }
    return first === undefined ? counts : counts.set(first, left)
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
  #sizeOf(all: readonly string[]): Promise<number> {
    return this.#parts.store.count({ any: [all] })
  }
}
