// runtime: ids in blocks, so that a turn can take one without waiting.
import type { ContextId } from '../model/context.ts'
import type { Store } from '../ports/store.ts'

const BLOCK = 1000

export class Ids {
  readonly #store: Store
  #next = 0
  #end = 0
  #refill: Promise<void> | null = null

  constructor(store: Store) {
    this.#store = store
  }

  /** The next id: higher than any that this server gave before. */
  async take(): Promise<ContextId> {
    while (this.#next >= this.#end) {
      this.#refill ??= this.#reserve().finally(() => { this.#refill = null })
      await this.#refill
    }
    return this.#next++
  }

  async #reserve(): Promise<void> {
    const { first } = await this.#store.reserveIds({ count: BLOCK })
    this.#next = first
    this.#end = first + BLOCK
  }
}
