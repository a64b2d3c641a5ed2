// main: creates an engine on the store that the settings name, with the alarm clock, the clock and the commit feed that
// go with it, and divides the memory of the process between what is in flight and the cache of contexts.
import { resolve } from 'node:path'
import { getHeapStatistics } from 'node:v8'
import { systemClock } from '../alarms/clock.ts'
import { localAlarm } from '../alarms/local.ts'
import type { MemoryLimits } from '../engine/contexts/context-loader.ts'
import { createEngine, type Engine, type EngineParts } from '../engine/engine.ts'
import { settlementOf } from '../http/webhooks/settlement.ts'
import { ByteBudget } from '../model/byte-budget.ts'
import { openTraces } from '../observe/traces.ts'
import type { Clock } from '../ports/clock.ts'
import type { MoveFeed } from '../ports/feeds.ts'
import type { Log } from '../ports/log.ts'
import type { ServiceSecrets } from '../ports/secrets.ts'
import type { NotesPlace } from '../ports/steps.ts'
import type { Settings } from '../settings.ts'
import { createDispatcher } from '../steps/dispatcher.ts'
import { Slots } from '../steps/slots.ts'
import { webhookSender } from '../steps/webhook-sender.ts'
import { MoveRing } from '../store/lmdb/move-ring.ts'
import { openLmdbStore } from '../store/lmdb/store.ts'

export interface OpenedEngine {
  readonly engine: Engine
  /** Where contexts are kept, to be shown to people. */
  readonly storage: string
  readonly notes: NotesPlace
  /** What is committed, for those who watch. */
  readonly moves: MoveFeed
}

/**
 * Opens the store and creates an engine on it, which is not started yet. If the store cannot be opened, the runner is
 * closed.
 * @throws Error when the data folder is in use, or Redis cannot be used
 */
export async function openEngine(
  settings: Settings,
  given: Pick<EngineParts, 'catalog' | 'runner' | 'clock' | 'log' | 'memory' | 'onOwner' | 'signals'> & {
    readonly secrets: ServiceSecrets
  },
): Promise<OpenedEngine> {
  const { retention, idempotency: kept, maxIdempotency: max, maxTags, maxTagBytes } = settings
  const { storage, parts } = await openStorage(settings, given).catch((error: unknown) => {
    given.runner.close()
    throw error
  })
  const bounds = {
    commits: settings.maxCommits,
    broadcasts: settings.maxBroadcasts,
    waits: settings.maxWaits,
    pending: settings.maxPending,
    answeredBroadcast: settings.broadcastAsync,
  }
  const tagLimits = { count: maxTags, bytes: maxTagBytes }
  const dispatcher = createDispatcher({ runner: given.runner, clock: parts.clock, secrets: given.secrets })
  const slots = new Slots({ code: settings.stepConcurrency, isolated: settings.isolated })
  const engine = createEngine({
    ...given,
    ...parts,
    retention,
    idempotency: { kept, max, keptOfWebhooks: settings.webhookIdempotency },
    dispatcher,
    webhookSender: webhookSender({ allowPrivate: settings.allowPrivate }),
    traces: openTraces(),
    slots,
    tagLimits,
    bounds,
    webhooks: { deliveries: settings.deliveries, settlementOf },
  })
  return { engine, storage, notes: parts.store.notes, moves: parts.moves }
}

/** Partitions of a namespace in a cluster, if the settings name no other number. */
const CLUSTER_PARTITIONS = 16

/** The parts that differ between the embedded store and Redis. */
interface Storage {
  readonly parts: Pick<EngineParts, 'store' | 'alarm' | 'clock' | 'others'> & { readonly moves: MoveFeed }
  /** Where contexts are kept, to be shown to people. */
  readonly storage: string
}

/** @param clock the clock of the embedded store; with Redis, all servers use Redis's time */
function openStorage(settings: Settings, { clock, log }: { clock: Clock; log: Log }): Promise<Storage> {
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

/** Shares of the heap: what may be in flight, and the cache of contexts. */
const HEAP_SHARES = { inFlight: 1 / 4, cache: 1 / 3 }

/** Shares of what may be in flight; the rest is for contexts that turns have parsed. */
const IN_FLIGHT_SHARES = { requests: 3 / 8, waiting: 1 / 8, steps: 1 / 4 }
/** Share of the memory for requests that requests to webhooks may take before they are verified. */
const UNVERIFIED_SHARE = 1 / 2

export interface ServerMemory extends MemoryLimits {
  /** For callers of webhooks that wait for their answers. */
  readonly waiting: ByteBudget
  /** For requests to webhooks whose senders are not known yet. */
  readonly unverified: ByteBudget
}

/** The limits that follow from the settings and from the heap that Node gives the process. */
export function memoryOf({ maxInFlight, maxRecord }: Settings): ServerMemory {
  const heap = getHeapStatistics().heap_size_limit
  const inFlight = maxInFlight ?? heap * HEAP_SHARES.inFlight
  const requests = inFlight * IN_FLIGHT_SHARES.requests
  return {
    requests: new ByteBudget({ bytes: requests, what: 'requests' }),
    unverified: new ByteBudget({ bytes: requests * UNVERIFIED_SHARE, what: 'webhooks that are not verified yet' }),
    waiting: new ByteBudget({ bytes: inFlight * IN_FLIGHT_SHARES.waiting, what: 'webhooks that wait' }),
    steps: inFlight * IN_FLIGHT_SHARES.steps,
    cache: heap * HEAP_SHARES.cache,
    record: maxRecord,
  }
}
