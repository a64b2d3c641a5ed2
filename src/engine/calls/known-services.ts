// engine/calls: the services of all stored definitions: every context was started with one of them.
import { getOwn, isObject, type JsonObject } from '../../model/json/value.ts'
import type { Store } from '../../ports/store.ts'
import { readPinned } from '../../definitions/pinned/text.ts'

export interface KnownService {
  readonly package: string
  readonly fluxName: string
  /** Names of its states. */
  readonly states: readonly string[]
}

/** Definitions that are read at once. */
const STRIDE = 16

export class KnownServices {
  readonly #store: Pick<Store, 'definitions' | 'getDefinition'>
  /** By hash: what a definition says never changes. Null: it can't be read. */
  readonly #known = new Map<string, KnownService | null>()

  constructor(store: Pick<Store, 'definitions' | 'getDefinition'>) {
    this.#store = store
  }

  /** One for each definition; null where one can't be read. */
  async all(): Promise<readonly (KnownService | null)[]> {
    const hashes = await this.#store.definitions()
    const unknown = hashes.filter((hash) => !this.#known.has(hash))
    for (let place = 0; place < unknown.length; place += STRIDE)
      await Promise.all(
        unknown.slice(place, place + STRIDE).map(async (hash) => {
          this.#known.set(hash, serviceOf(await this.#store.getDefinition({ hash })))
        }),
      )
    return hashes.map((hash) => this.#known.get(hash) ?? null)
  }
}

function serviceOf(text: string | null): KnownService | null {
  const unit = text === null ? null : readPinned(text)
  return unit && { package: unit.package, fluxName: unit.fluxName, states: statesOf(unit.source) }
}

function statesOf(source: JsonObject): string[] {
  const states = getOwn(source, 'states')
  const names = Array.isArray(states) ? states.filter(isObject).map((state) => getOwn(state, 'name')) : []
  return names.filter((name) => typeof name === 'string')
}
