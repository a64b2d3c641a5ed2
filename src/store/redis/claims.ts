// store/redis: claims contexts that are due, and contexts whose server is dead or whose step is ready. A partition that
// cannot be reached does not delay the others.
//
// - Servers send a heartbeat to each partition, ten in each `ACTORFLUX_RECOVERY`. After seven missed heartbeats, any
//   other server declares the server dead: its steps become unowned and are claimed from there, hidden for some
//   seconds like due contexts. A server that was itself disconnected does not declare others dead before it has been
//   connected for that whole time.
import type { ContextId } from '../../model/context.ts'
import type { Store } from '../../ports/store.ts'
import type { RedisAddress } from './connection.ts'
import type { PartitionClient } from './partition-client.ts'
import { idsOf, pairsOf, texts } from './scripts.ts'
import type { RedisTime } from './time.ts'

/** Milliseconds until due contexts are queried again when a partition could not be reached. */
const RETRY_MS = 1_000

/** Ids, and the text behind each of them; what is no id is left out. */
const claimsIn = (values: readonly string[]): { id: ContextId; text: string }[] =>
  pairsOf(values).flatMap(([member, text]) => idsOf([member]).map((id) => ({ id, text })))

/** The verbs of the port that find contexts whose time has come, or whose step a server runs. */
export const dueClaims = (client: PartitionClient, clock: RedisTime, { cluster }: RedisAddress) =>
  ({
    async claimDue({ now, limit, hideFor }) {
      const claims = await client.reachable(async (partition) => {
        const asked = performance.now()
        // In a cluster, the estimate may come from the clock of another node.
        const bounded = !cluster || clock.isFrom(partition)
        const reply = await client.run('claim-due', partition, [now, limit, now + hideFor, bounded ? 1 : 0])
        const [time, next, ...pairs] = texts(reply)
        clock.received({ time: Number(time), asked, partition, storeIncarnation: client.storeIncarnation })
        return { next: Number(next || Infinity), pairs: claimsIn(pairs) }
      })
      const retryAt = claims.length < client.partitions ? now + RETRY_MS : Infinity
      const next = Math.min(retryAt, ...claims.map((claim) => claim.next))
      const claimed = claims.flatMap(({ pairs }) => pairs).sort((one, other) => Number(one.text) - Number(other.text))
      return { ids: claimed.map(({ id }) => id), next: next === Infinity ? null : next }
    },

    async leasedTo({ owner }) {
      const found = await client.reachable((partition) => client.run('leased-to', partition, [owner]))
      return idsOf(found.flatMap(texts))
    },
  }) satisfies Partial<Store>

/** The verbs of the port that tell which servers live, and claim the contexts of those that don't. */
export function serverClaims(client: PartitionClient, clock: RedisTime, deadAfterMs: number) {
  /**
   * For each partition: this server's last heartbeat that the partition accepted, and since when the heartbeats have
   * had no gap, both by the clock of that Redis.
   */
  const beats = new Map<number, { readonly last: number; readonly steadySince: number }>()
  return {
    async claimAbandoned({ ready = [], limit, hideFor }) {
      const leases = await client.reachable(async (partition) => {
        // When a partition was unreachable, no server's heartbeat is fresh there. So this server judges only after it has
        // sent heartbeats for the whole time after which a server is dead.
        const { last = 0, steadySince = last } = beats.get(partition) ?? {}
        const judges = last - steadySince >= deadAfterMs
        const values = [limit, hideFor, judges ? deadAfterMs : '', ...ready]
        return claimsIn(texts(await client.run('claim-abandoned', partition, values)))
      })
      return leases.flat().map(({ id, text }) => ({ id, owner: text }))
    },

    async heartbeat({ owner }) {
      const answers = await client.reachable(async (partition) => {
        const before = beats.get(partition)
        beats.delete(partition)
        const asked = performance.now()
        const [lives, time] = texts(await client.run('heartbeat', partition, [owner]))
        const now = Number(time)
        // Immediately, because other partitions may answer late or never.
        clock.received({ time: now, asked, partition, storeIncarnation: client.storeIncarnation })
        const steady = before !== undefined && now - before.last <= deadAfterMs
        beats.set(partition, { last: now, steadySince: steady ? before.steadySince : now })
        return lives === '1'
      })
      return answers.every((lives) => lives)
    },

    /** A partition that was unreachable has no fresh heartbeats, so the latest of all partitions counts. */
    async servers() {
      const silences = new Map<string, number>()
      for (const reply of await client.reachable((partition) => client.run('servers', partition, []))) {
        const [now, ...beats] = texts(reply)
        for (const [runId, beat] of pairsOf(beats)) {
          const silentMs = Math.max(0, Number(now) - Number(beat))
          silences.set(runId, Math.min(silentMs, silences.get(runId) ?? Infinity))
        }
      }
      return Array.from(silences, ([runId, silentMs]) => ({ runId, silentMs }))
    },
  } satisfies Partial<Store>
}
