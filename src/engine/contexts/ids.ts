// engine/contexts: ids of new contexts. They are reserved in the store, as many at once as starts are waiting, or more if the
// store gives more. Later contexts have higher ids, on any server: the store refuses ids that were reserved ahead once
// other servers have got higher ones.
import type { ContextId } from '../../model/context.ts'
import type { Store } from '../../ports/store.ts'

/** Ids of one partition. */
class Supply {
  readonly #store: Store
  readonly #partition: number
  /** First id of the present reservation. */
  #first = 0
  #next = 0
  #left = 0
  /** Number of callers that wait for an id. */
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

  /** Discards the reservation that contains the id, because the store has refused the id. */
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

  /** The partition of a new context without a parent. Each partition is used in turn. */
  nextPartition(): number {
    this.#turn = (this.#turn + 1) % this.#supplies.length
    return this.#turn
  }

  /** A reserved id of that partition; undefined if there is none. */
  tryTake(partition: number): ContextId | undefined {
    return this.#supplies[partition]?.tryTake()
  }

  /** Discards the reservations that contain these ids, which the store has refused. */
  drop(ids: readonly ContextId[]): void {
    for (const id of ids) this.#supplies[id % this.#supplies.length]?.drop(id)
  }

  /** A new id of that partition, reserved in the store if necessary. */
  take(partition: number): Promise<ContextId> {
    const supply = this.#supplies[partition]
    if (!supply) throw new TypeError(`there is no partition ${partition}`)
    return supply.take()
  }
}
