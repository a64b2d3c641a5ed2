// store/redis: what servers claim of one another and of the clock: contexts that are due, and those whose server is
// dead. A partition that is out of reach holds up no other.
import type { ContextId } from '../../model/context.ts'
import type { AbandonedLease } from '../../ports/store.ts'
import type { RedisAddress } from './connection.ts'
import type { PartitionClient } from './partition-client.ts'
import { idsOf, texts } from './scripts.ts'
import type { RedisTime } from './time.ts'

/** Milliseconds until the next look for due contexts when a partition was out of reach. */
const LOOK_AGAIN_MS = 1_000
/** Ids read at once. */
const PIECE = 1_000

interface ClaimsOptions {
  readonly address: RedisAddress
  readonly partitions: number
  readonly deadAfterMs: number
  readonly time: RedisTime
}

export class PartitionClaims {
  readonly #client: PartitionClient
  readonly #options: ClaimsOptions
  readonly #time: RedisTime
  /**
   * This server's last heartbeat in each partition that took it, and since when they followed one another without a gap
   * there, by the clock of the Redis that took them.
   */
  readonly #beats = new Map<number, { readonly last: number; readonly steadySince: number }>()

  constructor(client: PartitionClient, options: ClaimsOptions) {
    this.#client = client
    this.#options = options
    this.#time = options.time
  }

  /** As `Store.claimDue`. */
  async due({
    now,
    limit,
    hideFor,
  }: {
    now: number
    limit: number
    hideFor: number
  }): Promise<{ ids: ContextId[]; next: number | null }> {
    const claims = await this.#client.reachable(async (partition) => {
      const asked = performance.now()
      // Nodes of a cluster may have clocks of their own.
      const bounded = !this.#options.address.cluster || this.#time.isFrom(partition)
      const [time = '', ...claim] = texts(
        await this.#client.run('claim-due', partition, [now, limit, now + hideFor, bounded ? 1 : 0]),
      )
      this.#receiveTime(Number(time), asked, partition)
      return claim
    })
    const claimed: { id: ContextId; time: number }[] = []
    let next = claims.length < this.#options.partitions ? now + LOOK_AGAIN_MS : Infinity
    for (const [soonest = '', ...pairs] of claims) {
      if (soonest !== '') next = Math.min(next, Number(soonest))
      for (let place = 0; place < pairs.length; place += 2)
        for (const id of idsOf(pairs.slice(place, place + 1))) claimed.push({ id, time: Number(pairs[place + 1]) })
    }
    return {
      ids: claimed.sort((one, other) => one.time - other.time).map(({ id }) => id),
      next: next === Infinity ? null : next,
    }
  }

  /** As `Store.claimAbandoned`. */
  async abandoned({
    ready = [],
    limit,
    hideFor,
  }: {
    ready?: readonly string[]
    limit: number
    hideFor: number
  }): Promise<AbandonedLease[]> {
    const { deadAfterMs } = this.#options
    const claims = await this.#client.reachable(async (partition) => {
      // After a partition was away nobody's heartbeat is fresh there: the others get as long as anyone to send theirs.
      const { last = 0, steadySince = last } = this.#beats.get(partition) ?? {}
      const judges = last - steadySince >= deadAfterMs
      return texts(
        await this.#client.run('claim-abandoned', partition, [limit, hideFor, judges ? deadAfterMs : '', ...ready]),
      )
    })
    const leases: AbandonedLease[] = []
    for (const pairs of claims) {
      for (let place = 0; place < pairs.length; place += 2)
        for (const id of idsOf(pairs.slice(place, place + 1))) leases.push({ id, owner: pairs[place + 1] ?? '' })
    }
    return leases
  }

  /** As `Store.leasedTo`. */
  async leasedTo(owner: string): Promise<ContextId[]> {
    const ids = await this.#client.reachable(async (partition) => {
      const own: ContextId[] = []
      for (let [piece, passed] = [PIECE, 0]; piece === PIECE; passed += piece) {
        const some = texts(await this.#client.run('leased-to', partition, [owner, passed, PIECE]))
        own.push(...idsOf(some))
        piece = some.length
      }
      return own
    })
    return ids.flat()
  }

  /** As `Store.heartbeat`. */
  async heartbeat(owner: string): Promise<boolean> {
    const answers = await this.#client.reachable(async (partition) => {
      const before = this.#beats.get(partition)
      this.#beats.delete(partition)
      const asked = performance.now()
      const [lives, time] = texts(await this.#client.run('heartbeat', partition, [owner]))
      const now = Number(time)
      // At once: others may take long to answer, or never do.
      this.#receiveTime(now, asked, partition)
      const steady = before !== undefined && now - before.last <= this.#options.deadAfterMs
      this.#beats.set(partition, { last: now, steadySince: steady ? before.steadySince : now })
      return lives === '1'
    })
    return answers.every((lives) => lives)
  }

  #receiveTime(time: number, asked: number, partition: number): void {
    this.#time.received({ time, asked, partition, storeIncarnation: this.#client.storeIncarnation })
  }
}
