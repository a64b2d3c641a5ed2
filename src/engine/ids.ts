// engine: ids of new contexts, reserved in the store so many at once as are asked for meanwhile, or more where the store
// gives more. So later contexts have higher ids, on whichever server: the store refuses ids that it gave too early.
import type { ContextId } from '../model/context.ts'
import type { Store } from '../ports/store.ts'

/** Ids of one partition. */
class Supply {
  readonly #store: Store
  readonly #partition: number
  /** Of the reservation that ids are taken from. */
  #first = 0
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

  /** That id can't be used any more: neither can those that were reserved with it. */
  drop(id: ContextId): void {
    if (id >= this.#first) this.#left = 0
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
    this.#first = first
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

  /** The store has refused these: what was reserved with them isn't given to anybody. */
  drop(ids: readonly ContextId[]): void {
    for (const id of ids) this.#supplies[id % this.#supplies.length]?.drop(id)
  }

  /** A new id of that partition, from the store if need be. */
  take(partition: number): Promise<ContextId> {
    const supply = this.#supplies[partition]
    if (!supply) throw new TypeError(`there is no partition ${partition}`)
    return supply.take()
  }
}
