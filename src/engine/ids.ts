// engine: ids of new contexts. They are reserved in the store when they are needed, as many at once as are waiting, so
// a later context has a higher id, on whichever server.
import type { ContextId } from '../model/context.ts'
import type { Store } from '../ports/store.ts'

/** Ids of one partition. */
class Supply {
  readonly #store: Store
  readonly #partition: number
  #next = 0
  #left = 0
  /** Ids that are waited for. */
  #wanted = 0
  #refill: Promise<void> | null = null

  constructor(store: Store, partition: number) {
    this.#store = store
    this.#partition = partition
  }

  tryTake(): ContextId | undefined {
    if (this.#left === 0) return undefined
    const id = this.#next
    this.#next += this.#store.partitions
    this.#left -= 1
    return id
  }

  async take(): Promise<ContextId> {
    this.#wanted += 1
    try {
      for (;;) {
        const id = this.tryTake()
        if (id !== undefined) return id
        this.#refill ??= this.#reserve().finally(() => {
          this.#refill = null
        })
        await this.#refill
      }
    } finally {
      this.#wanted -= 1
    }
  }

  async #reserve(): Promise<void> {
    const { first, count } = await this.#store.reserveIds({ count: this.#wanted, partition: this.#partition })
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

  /** The partition of a new context that has no parent: each in turn. */
  nextPartition(): number {
    this.#turn = (this.#turn + 1) % this.#supplies.length
    return this.#turn
  }

  /** A new id of that partition; undefined when none is at hand. */
  tryTake(partition: number): ContextId | undefined {
    return this.#supplies[partition]?.tryTake()
  }

  /** A new id of that partition, from the store if need be. */
  take(partition: number): Promise<ContextId> {
    const supply = this.#supplies[partition]
    if (!supply) throw new TypeError(`there is no partition ${partition}`)
    return supply.take()
  }
}
