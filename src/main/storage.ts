// main: opens the store that the settings name, with the alarm clock, the clock and the commit feed that go with it.
import { resolve } from 'node:path'
import { systemClock } from '../alarms/clock.ts'
import { localAlarm } from '../alarms/local.ts'
import type { EngineParts } from '../engine/engine.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { MoveFeed } from '../ports/move-feed.ts'
import type { Settings } from '../settings.ts'
import { MoveRing } from '../store/lmdb/move-ring.ts'
import { openLmdbStore } from '../store/lmdb/store.ts'

/** Partitions of a namespace in a cluster, if the settings name no other number. */
const CLUSTER_PARTITIONS = 16

/** The parts that differ between the embedded store and Redis. */
export interface Storage {
  readonly parts: Pick<EngineParts, 'store' | 'alarm' | 'clock' | 'others'> & { readonly moves: MoveFeed }
  /** Where contexts are kept, to be shown to people. */
  readonly storage: string
}

/** @param clock the clock of the embedded store; with Redis, all servers use Redis's time */
export function openStorage(settings: Settings, { clock, log }: { clock: Clock; log: Log }): Promise<Storage> {
  return settings.redisUrl === null ? openEmbedded(settings, clock, log) : openRedis(settings, settings.redisUrl, log)
}

async function openEmbedded({ data, namespace, minFree }: Settings, clock: Clock, log: Log): Promise<Storage> {
  const store = await openLmdbStore({ folder: data, namespace, minFree, log, clock })
  const [alarm, moves] = [localAlarm({ clock, log }), new MoveRing(systemClock)]
  return { parts: { store, alarm, clock, others: null, moves }, storage: resolve(data) }
}

/**
 * Milliseconds without heartbeat after which a server is declared dead: seven tenths of the time for recovery. In the
 * rest, other servers notice it and take over.
 */
export const deadAfterOf = ({ recovery }: Settings): number => heartbeatOf(recovery) * 7

/** Milliseconds between two heartbeats. */
const heartbeatOf = (recovery: number): number => recovery / 10

/** Imports the modules of Redis only here: they would make each start without Redis take a fifth longer. */
async function openRedis(settings: Settings, redisUrl: string, log: Log): Promise<Storage> {
  const [{ bullAlarm }, { connect, explore }, { redisFeed }, { RedisMoves }, { openRedisStore }] = await Promise.all([
    import('../alarms/bullmq.ts'),
    import('../store/redis/connection.ts'),
    import('../store/redis/feed.ts'),
    import('../store/redis/moves/feed.ts'),
    import('../store/redis/store.ts'),
  ])
  const { namespace, partitions, recovery } = settings
  const address = await explore(redisUrl)
  const store = await openRedisStore({
    address,
    namespace,
    partitions: partitions ?? (address.cluster ? CLUSTER_PARTITIONS : 1),
    deadAfterMs: deadAfterOf(settings),
    log,
  })
  const clock: Clock = { now: () => store.now(), after: systemClock.after }
  const alarm = bullAlarm({ connect: (role) => connect(address, role), namespace, clock, log })
  const feed = redisFeed({
    listening: connect(address, 'feed'),
    publish: (channel, text) => store.publish(channel, text),
    namespace,
    log,
  })
  const { signals } = feed
  const moves = new RedisMoves({
    connect: (role) => connect(address, role),
    signals,
    namespace,
    clock: systemClock,
    log,
  })
  await moves.start()
  return {
    parts: { store, alarm, clock, others: { beat: heartbeatOf(recovery), feed }, moves },
    storage: `${address.cluster ? 'Redis Cluster' : 'Redis'} at ${address.place}, namespace '${namespace}'`,
  }
}
