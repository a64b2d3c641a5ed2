// store/redis: ids of contexts, counted in each partition. None is given out twice, though a Redis may come back that
// has forgotten the last of them, or all.
import { randomInt } from 'node:crypto'
import type { ContextId } from '../../model/context.ts'
import { AheadIds } from './ahead-ids.ts'
import type { PartitionClient } from './partition-client.ts'
import { idsOf, texts } from './scripts.ts'

/**
 * Ids that are passed over by a Redis that may have lost its last moments: more than it can have given out in them. Not
 * always as many, since a Redis that soon goes away again may forget these, too.
 */
const GAP = 100_000

/** Ids given ahead to a server that has been the only one to ask for some time. Those that it does not use are lost. */
const AHEAD = { ids: 1000, aloneMs: 1000 }

export class IdNumbers {
  readonly #client: PartitionClient
  readonly #partitions: number
  /** Names this store among all that ask. */
  readonly #writer: string
  /** Run id of the Redis that gave out ids of each partition last. */
  readonly #issuerRunIds = new Map<number, string>()
  /**
   * The last id of each partition that this server knows to have been given out, as the partition counts: a Redis that
   * has forgotten it is told.
   */
  readonly #last = new Map<number, number>()
  readonly #ahead: readonly AheadIds[]

  constructor(client: PartitionClient, { partitions, writer }: { partitions: number; writer: string }) {
    this.#client = client
    this.#partitions = partitions
    this.#writer = writer
    this.#ahead = Array.from({ length: partitions }, () => new AheadIds())
  }

  async reserve({
    count,
    partition,
  }: {
    count: number
    partition: number
  }): Promise<{ first: ContextId; count: number }> {
    // A Redis that lost its last moments has forgotten the ids it gave then: whoever was told one must not find another
    // context under it.
    const gap = GAP + randomInt(GAP)
    const known = [this.#issuerRunIds.get(partition) ?? '', this.#last.get(partition) ?? 0]
    const values = [count, gap, ...known, this.#writer, AHEAD.ids, AHEAD.aloneMs]
    const [number = '', issuerRunId = '', ahead] = texts(await this.#client.run('reserve', partition, values))
    this.#issuerRunIds.set(partition, issuerRunId)
    const last = Number(number)
    this.#raise(partition, last)
    const given = count + Number(ahead)
    // Those that were asked for are for contexts that start already.
    if (given > count) this.#ahead[partition]?.add({ first: last - given + count + 1, last })
    return { first: (last - given) * this.#partitions + (partition === 0 ? this.#partitions : partition), count: given }
  }

  /**
   * What must be the last id given out in their partition, as it counts them, when contexts of these ids are created;
   * empty: it doesn't matter.
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

  /** There is a context of that id. */
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
