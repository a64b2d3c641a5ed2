// store/redis: ids of contexts, counted in each partition. None is given out twice, though a Redis may come back that
// has forgotten the last of them, or all.
import { randomInt } from 'node:crypto'
import type { ContextId } from '../../model/context.ts'
import type { PartitionClient } from './partition-client.ts'
import { idsOf, texts } from './scripts.ts'

/**
 * Ids that are passed over by a Redis that may have lost its last moments: more than it can have given out in them. Not
 * always as many, since a Redis that soon goes away again may forget these, too.
 */
const GAP = 100_000

export class IdNumbers {
  readonly #client: PartitionClient
  readonly #partitions: number
  /** Run id of the Redis that gave out ids of each partition last. */
  readonly #issuerRunIds = new Map<number, string>()
  /**
   * The last id of each partition that this server knows to have been given out, as the partition counts: a Redis that
   * has forgotten it is told.
   */
  readonly #last = new Map<number, number>()

  constructor(client: PartitionClient, partitions: number) {
    this.#client = client
    this.#partitions = partitions
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
    const values = [count, gap, this.#issuerRunIds.get(partition) ?? '', this.#last.get(partition) ?? 0]
    const [number = '', issuerRunId = ''] = texts(await this.#client.run('reserve', partition, values))
    this.#issuerRunIds.set(partition, issuerRunId)
    const last = Number(number)
    this.#raise(partition, last)
    return { first: (last - count) * this.#partitions + (partition === 0 ? this.#partitions : partition), count }
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
    this.#raise(id % this.#partitions, Math.ceil(id / this.#partitions))
  }

  #raise(partition: number, number: number): void {
    if (number > (this.#last.get(partition) ?? 0)) this.#last.set(partition, number)
  }
}
