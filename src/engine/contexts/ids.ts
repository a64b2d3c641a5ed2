// engine/contexts: ids: of new contexts, of events whose senders give none, and of the store; and which definitions the
// store has, by their hashes.
//
// Ids of contexts are reserved in the store, as many at once as starts are waiting, or more if the store gives more.
// Later contexts have higher ids, on any server: the store refuses ids that were reserved ahead once other servers have
// got higher ones.
import { randomBytes } from 'node:crypto'
import { v7 } from 'uuid'
import type { ContextId } from '../../model/context.ts'
import { messageOf } from '../../model/error-message.ts'
import { unavailable } from '../../model/failure.ts'
import type { Store } from '../../ports/store.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { Clock } from '../../ports/clock.ts'
import { definitionRow } from '../record/pinned-flux.ts'

/** Ids of one partition. */
interface Supply {
  /** First id of the present reservation. */
  first: ContextId
  next: ContextId
  left: number
  /** Number of callers that wait for an id. */
  wanted: number
  refill: Promise<void> | null
}

export class Ids {
  readonly #store: Store
  readonly #supplies: readonly Supply[]
  #turn = 0

  constructor(store: Store) {
    this.#store = store
    const none = { first: 0, next: 0, left: 0, wanted: 0, refill: null }
    this.#supplies = Array.from({ length: store.partitions }, () => ({ ...none }))
  }

  /** The partition of a new context without a parent. Each partition is used in turn. */
  nextPartition(): number {
    this.#turn = (this.#turn + 1) % this.#supplies.length
    return this.#turn
  }

  /** A reserved id of that partition; undefined if there is none. */
  tryTake(partition: number): ContextId | undefined {
    const supply = this.#supplies[partition]
    if (!supply || supply.left === 0) return undefined
    const id = supply.next
    supply.next += this.#supplies.length
    supply.left -= 1
    return id
  }

  /** Discards the reservations that contain these ids, which the store has refused. */
  drop(ids: readonly ContextId[]): void {
    for (const id of ids) {
      const supply = this.#supplies[id % this.#supplies.length]
      if (supply && id >= supply.first) supply.left = 0
    }
  }

  /** A new id of that partition, reserved in the store if necessary. */
  async take(partition: number): Promise<ContextId> {
    const supply = this.#supplies[partition]
    if (!supply) throw new TypeError(`there is no partition ${partition}`)
    supply.wanted += 1
    try {
      for (;;) {
        const id = this.tryTake(partition)
        if (id !== undefined) return id
        supply.refill ??= this.#reserve(supply, partition).finally(() => {
          supply.refill = null
        })
        await supply.refill
      }
    } finally {
      supply.wanted -= 1
    }
  }

  async #reserve(supply: Supply, partition: number): Promise<void> {
    const { first, count } = await this.#store.reserveIds({ count: supply.wanted, partition })
    Object.assign(supply, { first, next: first, left: count })
  }
}

const EVENT_ID_BYTES = 16

/** Random bytes are drawn for many ids at once: to draw them for each takes ten times as long as all else. */
const pool = new Uint8Array(256 * EVENT_ID_BYTES)
let used = pool.length

/** A UUID of version 7, which sorts by the millisecond it was made in. */
export const newEventId = (): string => v7({ random: pooledBytes() })

/** An id of that millisecond. Within a millisecond, ids sort by the number, which has 32 bits. */
export const newIdAt = (msecs: number, seq: number): string => v7({ random: pooledBytes(), msecs, seq })

function pooledBytes(): Uint8Array {
  if (used === pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  return pool.subarray(used, (used += EVENT_ID_BYTES))
}

export const STORE_ID_ROW = { partition: 0, space: 'items', key: 'store-id' } as const
const STORE_ID_BYTES = 12

/**
 * The id of the store, made by chance when it is first asked for, and the same ever after: letters and digits.
 * @throws FluxError `unavailable`
 */
export async function storeIdOf(store: Store): Promise<string> {
  const row = await store.readRow(STORE_ID_ROW)
  if (row) return row.value
  const value = randomBytes(STORE_ID_BYTES).toString('hex')
  const outcome = await store.commit({ writes: [], rows: [{ ...STORE_ID_ROW, value, expects: null, expiresAt: null }] })
  return outcome.ok ? value : storeIdOf(store)
}

/** Milliseconds after which a definition is stored again: a store that lost its most recent writes may have lost it. */
const PIN_AGAIN_MS = 60_000

interface Pin {
  readonly stored: Promise<void>
  readonly at: number
  readonly incarnation: number
  isDurable: boolean
}

/** Stores definitions. A commit that names one is made only after the store has it. */
export class Pins {
  readonly #store: Store
  readonly #clock: Clock
  /** By content hash. */
  readonly #pins = new Map<string, Pin>()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Whether the store is known to have the definition. */
  has({ hash }: CompiledFlux): boolean {
    return this.#current(hash)?.isDurable === true
  }

  /** Resolves when the store has the definition. @throws FluxError `unavailable` */
  pin({ hash, text }: CompiledFlux): Promise<void> {
    const current = this.#current(hash)
    if (current) return current.stored
    const pin: Pin = {
      at: this.#clock.now(),
      incarnation: this.#store.incarnation,
      isDurable: false,
      stored: this.#put(hash, text),
    }
    this.#pins.set(hash, pin)
    // Registered first, so that it runs before the callers that wait for `stored` continue.
    pin.stored.then(
      () => (pin.isDurable = true),
      () => this.#pins.get(hash) === pin && this.#pins.delete(hash),
    )
    return pin.stored
  }

  async #put(hash: string, value: string): Promise<void> {
    const row = { ...definitionRow(this.#store, hash), value, expiresAt: null }
    try {
      await this.#store.commit({ writes: [], rows: [row] })
    } catch (cause) {
      // What waits for it has not been begun, even if the store may have the definition.
      throw unavailable(messageOf(cause), { cause })
    }
  }

  #current(hash: string): Pin | undefined {
    const pin = this.#pins.get(hash)
    return pin?.incarnation === this.#store.incarnation && this.#clock.now() - pin.at < PIN_AGAIN_MS ? pin : undefined
  }
}
