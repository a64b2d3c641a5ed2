// store/redis: claims contexts that are due, and contexts whose server is dead or whose step is ready. A partition that
// cannot be reached does not delay the others.
//
// - Servers send a heartbeat to each partition, ten in each `ACTORFLUX_RECOVERY`. After seven missed heartbeats, any
//   other server declares the server dead: its steps become unowned and are claimed from there, hidden for some
//   seconds like due contexts. A server that was itself disconnected does not declare others dead before it has been
//   connected for that whole time.
import type { ContextId } from '../../model/context.ts'
import type { ServerSeen } from '../../ports/store.ts'
import type { AbandonedLease } from '../../ports/store.ts'
import type { RedisAddress } from './connection.ts'
import type { PartitionClient } from './partition-client.ts'
import { idsOf, texts } from './scripts.ts'
import type { RedisTime } from './time.ts'

/** Milliseconds until due contexts are queried again when a partition could not be reached. */
const RETRY_MS = 1_000
/** Ids that are read at once. */
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
   * For each partition: this server's last heartbeat that the partition accepted, and since when the heartbeats have
   * had no gap, both by the clock of that Redis.
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
      // In a cluster, the estimate may come from the clock of another node.
      const bounded = !this.#options.address.cluster || this.#time.isFrom(partition)
      const [time = '', ...claim] = texts(
        await this.#client.run('claim-due', partition, [now, limit, now + hideFor, bounded ? 1 : 0]),
      )
      this.#receiveTime(Number(time), asked, partition)
      return claim
    })
    const claimed: { id: ContextId; time: number }[] = []
    let next = claims.length < this.#options.partitions ? now + RETRY_MS : Infinity
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
      // When a partition was unreachable, no server's heartbeat is fresh there. So this server judges only after it has
      // sent heartbeats for the whole time after which a server is dead.
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
      // Immediately, because other partitions may answer late or never.
      this.#receiveTime(now, asked, partition)
      const steady = before !== undefined && now - before.last <= this.#options.deadAfterMs
      this.#beats.set(partition, { last: now, steadySince: steady ? before.steadySince : now })
      return lives === '1'
    })
    return answers.every((lives) => lives)
  }

  /** As `Store.servers`. A partition that was unreachable has no fresh heartbeats, so the latest of all partitions counts. */
  async servers(): Promise<ServerSeen[]> {
    const answers = await this.#client.reachable(async (partition) =>
      texts(await this.#client.run('servers', partition, [])),
    )
    const silences = new Map<string, number>()
    for (const [now, ...pairs] of answers) {
      for (let at = 0; at < pairs.length; at += 2) {
        const runId = pairs[at] ?? ''
        const silentMs = Math.max(0, Number(now) - Number(pairs[at + 1]))
        silences.set(runId, Math.min(silentMs, silences.get(runId) ?? Infinity))
      }
    }
    return [...silences].map(([runId, silentMs]) => ({ runId, silentMs }))
  }

  #receiveTime(time: number, asked: number, partition: number): void {
    this.#time.received({ time, asked, partition, storeIncarnation: this.#client.storeIncarnation })
  }
}
