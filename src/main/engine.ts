// main: creates an engine on the store that the settings name, with the alarm clock, the clock and the commit feed that
// go with it.
import { resolve } from 'node:path'
import { systemClock } from '../alarms/clock.ts'
import { localAlarm } from '../alarms/local.ts'
import { createEngine, type EngineParts } from '../engine/engine.ts'
import { openTraces } from '../observe/traces.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { ServiceSecrets } from '../ports/secrets.ts'
import type { Settings } from '../settings.ts'
import { webhookSender } from '../steps/builtin/webhooks.ts'
import { MoveRing } from '../store/lmdb/move-ring.ts'
import { openLmdbStore } from '../store/lmdb/store.ts'
import { limitsOf } from './limits.ts'

/**
 * Opens the store and creates an engine on it, which is not started yet. `clock`: that of the embedded store; with Redis,
 * all servers use Redis's time. Gives also where contexts are kept, to be shown to people.
 * @throws Error when the data folder is in use, or Redis cannot be used
 */
export async function openEngine(
  settings: Settings,
  given: Pick<EngineParts, 'catalog' | 'runner' | 'clock' | 'log' | 'memory' | 'onOwner' | 'signals'> & {
    readonly secrets: ServiceSecrets
  },
) {
  const { storage, ...parts } = await (settings.redisUrl === null
    ? openEmbedded(settings, given.clock, given.log)
    : openRedis(settings, settings.redisUrl, given.log))
  const limits = limitsOf(settings)
  const engine = createEngine({
    ...given,
    ...parts,
    ...limits,
    webhookSender: webhookSender(settings),
    traces: openTraces(),
  })
  return { engine, storage, notes: parts.store.notes, moves: parts.moves, tagLimits: limits.tagLimits }
}

/** Partitions of a namespace in a cluster, if the settings name no other number. */
const CLUSTER_PARTITIONS = 16

async function openEmbedded({ data, namespace, minFree }: Settings, clock: Clock, log: Log) {
  const store = await openLmdbStore({ folder: data, namespace, minFree, log, clock })
  const alarm = localAlarm({ clock, log })
  return { store, alarm, clock, others: null, moves: new MoveRing(systemClock), storage: resolve(data) }
}

/**
 * Milliseconds without heartbeat after which a server is declared dead: seven tenths of the time for recovery. In the
 * rest, other servers notice it and take over.
 */
export const deadAfterOf = ({ recovery }: Settings): number => heartbeatOf(recovery) * 7

/** Milliseconds between two heartbeats. */
const heartbeatOf = (recovery: number) => recovery / 10

/** Imports the modules of Redis only here: they would make each start without Redis take a fifth longer. */
async function openRedis(settings: Settings, redisUrl: string, log: Log) {
  const [{ BullAlarm }, { connect, explore }, { redisFeed }, { RedisMoves }, { openRedisStore }] = await Promise.all([
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
  const alarm = new BullAlarm({ connect: (role) => connect(address, role), namespace, clock, log })
  const feed = redisFeed({
    listening: connect(address, 'feed'),
    publish: (channel, text) => store.publish(channel, text),
    namespace,
    log,
  })
  const moves = new RedisMoves({
    connect: (role) => connect(address, role),
    signals: feed.signals,
    namespace,
    clock: systemClock,
    log,
  })
  await moves.start()
  return {
    store,
    alarm,
    clock,
    others: { beat: heartbeatOf(recovery), feed },
    moves,
    storage: `${address.cluster ? 'Redis Cluster' : 'Redis'} at ${address.place}, namespace '${namespace}'`,
  }
}
