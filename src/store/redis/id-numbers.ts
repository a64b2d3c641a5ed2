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

export type IdNumbers = ReturnType<typeof idNumbers>

/** `writer` names this store among those that request ids. */
export function idNumbers(client: PartitionClient, writer: string) {
  const { partitions } = client
  /** For each partition, the run id of the Redis that issued the last ids. */
  const issuerRunIds = new Map<number, string>()
  /**
   * For each partition, the number of the last issued id that this server knows. It is sent along, for a Redis that has
   * lost it.
   */
  const lastNumbers = new Map<number, number>()
  const ahead = Array.from({ length: partitions }, () => new AheadIds())

  const numberOf = (id: ContextId) => Math.ceil(id / partitions)

  function raise(partition: number, number: number): void {
    if (number > (lastNumbers.get(partition) ?? 0)) lastNumbers.set(partition, number)
  }

  /** Notes that a context with that id exists. */
  const seen = (id: ContextId) => raise(id % partitions, numberOf(id))

  /** As `Store.reserveIds`. */
  async function reserve({ count, partition }: Parameters<Store['reserveIds']>[0]): ReturnType<Store['reserveIds']> {
    // A Redis that lost its last writes does not know which ids it issued then. An id that a client has been given must
    // never name another context.
    const gap = GAP + randomInt(GAP)
    const known = [issuerRunIds.get(partition) ?? '', lastNumbers.get(partition) ?? 0]
    const values = [count, gap, ...known, writer, AHEAD.ids, AHEAD.aloneMs]
    const [number = '', issuerRunId = '', more] = texts(await client.run('reserve', partition, values))
    issuerRunIds.set(partition, issuerRunId)
    const last = Number(number)
    raise(partition, last)
    const given = count + Number(more)
    // The first `count` ids are for contexts that start now; only the others are ahead.
    if (given > count) ahead[partition]?.add({ first: last - given + count + 1, last })
    return { first: (last - given) * partitions + (partition === 0 ? partitions : partition), count: given }
  }

  /**
   * The number that the last issued id of their partition must have when contexts of these ids are created; empty: any.
   */
  function fenceOf(ids: readonly ContextId[]): string {
    const [first] = ids
    return first === undefined ? '' : (ahead[first % partitions]?.fenceOf(ids.map(numberOf)) ?? '')
  }

  /** The highest id of any context so far; 0 if there was none. */
  async function highest(): Promise<ContextId> {
    const found = await client.everywhere((partition) => client.run('highest', partition, []))
    const ids = idsOf(found.flatMap(texts))
    for (const id of ids) seen(id)
    return Math.max(0, ...ids)
  }

  return { reserve, fenceOf, highest, seen }
}
