// runtime: ids, so many at once as are asked for while the last were on their way. So later contexts have higher ids, on whichever server.
import type { ContextId } from '../model/context.ts'
import type { Store } from '../ports/store.ts'

/** Ids of one partition. */
class Supply {
  readonly #store: Store
  readonly #partition: number
  #next = 0
  #left = 0
  #asking = 0
  #refill: Promise<void> | null = null

  constructor(store: Store, partition: number) {
    this.#store = store
    this.#partition = partition
  }

  async take(): Promise<ContextId> {
    this.#asking += 1
    try {
      while (this.#left === 0) {
        this.#refill ??= this.#reserve().finally(() => { this.#refill = null })
        await this.#refill
      }
    } finally {
      this.#asking -= 1
    }
    const id = this.#next
    this.#next += this.#store.partitions
    this.#left -= 1
    return id
  }

  async #reserve(): Promise<void> {
    const { first, count } = await this.#store.reserveIds({ count: this.#asking, partition: this.#partition })
    this.#next = first
    this.#left = count
  }
}

export class Ids {
  readonly #supplies: readonly Supply[]
  #turn = 0

  constructor(store: Store) {
    this.#supplies = Array.from({ length: store.partitions }, (_, partition) => new Supply(store, partition))
  }

  /** A new id, of the partition of `beside`; without it, of each partition in turn. */
  take(beside: ContextId | null): Promise<ContextId> {
    const { length } = this.#supplies
    const supply = this.#supplies[beside === null ? this.#turn++ % length : beside % length]
    if (!supply) throw new Error('a store has at least one partition')
    return supply.take()
  }
}
