// store/redis: issues ids of contexts, counted in each partition. No id is issued twice, even if a Redis comes back
// that has lost the last ids, or all.
//
// - After each lost connection, Redis may be another instance that has less data (`incarnation` in the port). Cached
//   contexts and the remembered time are then discarded. Ids are skipped, once for all servers (the namespace records
//   which Redis issued the last ones), so that an id that was acknowledged and lost is not issued again. Every few
//   heartbeats, a server searches for steps that are leased to it and do not run.
// - Ids continue from the highest that any server knows, also when a Redis comes back empty (`id-numbers.ts`).
import { randomInt } from 'node:crypto'
import type { ContextId } from '../../model/context.ts'
import type { Store } from '../../ports/store.ts'
import { AheadIds } from './ahead-ids.ts'
import type { PartitionClient } from './partition-client.ts'
import { idsOf, texts } from './scripts.ts'

/**
 * Ids that are skipped when Redis may have lost its last writes: more than it can have issued in that time. The number
 * is varied, because a Redis that soon fails again may lose these ids, too.
 */
const GAP = 100_000

/**
 * How many ids are issued ahead to a server that has been the only one to request any for `aloneMs`. Ids that it does
 * not use are lost.
 */
const AHEAD = { ids: 1000, aloneMs: 1000 }

export class IdNumbers {
  readonly #client: PartitionClient
  readonly #partitions: number
  /** Identifies this store among those that request ids. */
  readonly #writer: string
  /** For each partition, the run id of the Redis that issued the last ids. */
  readonly #issuerRunIds = new Map<number, string>()
  /**
   * For each partition, the number of the last issued id that this server knows. It is sent along, for a Redis that has
   * lost it.
   */
  readonly #last = new Map<number, number>()
  readonly #ahead: readonly AheadIds[]

  constructor(client: PartitionClient, writer: string) {
    this.#client = client
    this.#partitions = client.partitions
    this.#writer = writer
    this.#ahead = Array.from({ length: client.partitions }, () => new AheadIds())
  }

  /** As `Store.reserveIds`. */
  async reserve({ count, partition }: Parameters<Store['reserveIds']>[0]): ReturnType<Store['reserveIds']> {
    // A Redis that lost its last writes does not know which ids it issued then. An id that a client has been given must
    // never name another context.
    const gap = GAP + randomInt(GAP)
    const known = [this.#issuerRunIds.get(partition) ?? '', this.#last.get(partition) ?? 0]
    const values = [count, gap, ...known, this.#writer, AHEAD.ids, AHEAD.aloneMs]
    const [number = '', issuerRunId = '', ahead] = texts(await this.#client.run('reserve', partition, values))
    this.#issuerRunIds.set(partition, issuerRunId)
    const last = Number(number)
    this.#raise(partition, last)
    const given = count + Number(ahead)
    // The first `count` ids are for contexts that start now; only the others are ahead.
    if (given > count) this.#ahead[partition]?.add({ first: last - given + count + 1, last })
    return { first: (last - given) * this.#partitions + (partition === 0 ? this.#partitions : partition), count: given }
  }

  /**
   * The number that the last issued id of their partition must have when contexts of these ids are created; empty: any.
   */
  fenceOf(ids: readonly ContextId[]): string {
    const [first] = ids
    if (first === undefined) return ''
    return this.#ahead[first % this.#partitions]?.fenceOf(ids.map((id) => this.#numberOf(id))) ?? ''
  }

  /** The highest id of any context so far; 0 if there was none. */
  async highest(): Promise<ContextId> {
    const highest = await this.#client.everywhere((partition) => this.#client.run('highest', partition, []))
    const ids = idsOf(highest.flatMap(texts))
    ids.forEach((id) => this.seen(id))
    return Math.max(0, ...ids)
  }

  /** Notes that a context with that id exists. */
  seen(id: ContextId): void {
    this.#raise(id % this.#partitions, this.#numberOf(id))
  }

  #numberOf(id: ContextId): number {
    return Math.ceil(id / this.#partitions)
  }

  #raise(partition: number, number: number): void {
    if (number > (this.#last.get(partition) ?? 0)) this.#last.set(partition, number)
  }
}
