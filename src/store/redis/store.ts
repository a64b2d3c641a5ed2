// store/redis: contexts in Redis, for any number of servers. A partition is one slot of a cluster, and each commit is
// one script in one partition.
import { randomBytes } from 'node:crypto'
import { messageOf } from '../../model/error-message.ts'
import { unreadable } from '../../model/failure.ts'
import { readStandstill } from '../../model/standstill.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { dueClaims, serverClaims } from './claims.ts'
import { commitSender } from './commit-sender.ts'
import { connect, outOfReach, RedisError, untilReady, type Connection, type RedisAddress } from './connection.ts'
import { idNumbers } from './id-numbers.ts'
import { partitionKey, standstillKey } from './keys.ts'
import { PartitionClient, PATIENCE_MS } from './partition-client.ts'
import { checkNamespace, checkRedis, endMove } from './namespace.ts'
import { redisNotesPlace } from './notes.ts'
import { rowQueries } from './rows.ts'
import { listOf, texts } from './scripts.ts'
import { selections } from './selections.ts'
import { decodeContext, versionOf } from './stored-context.ts'
import { RedisTime } from './time.ts'

/** Contexts purged by one script: others want to be served too. */
const PURGED_AT_ONCE = 100

export interface RedisStoreOptions {
  readonly address: RedisAddress
  readonly namespace: string
  /** Fixed when a namespace is made. */
  readonly partitions: number
  /** Milliseconds without heartbeat after which a server is dead. */
  readonly deadAfterMs: number
  /** Contexts are moved from there into the namespace, which must be new, or have been made for that. */
  readonly source?: string
  readonly log: Log
}

export interface RedisStore extends Store {
  /** The time of Redis, epoch milliseconds, never ahead of it. */
  now(): number
  /** Asks all partitions: the first of them counts, unless it is out of reach. */
  learnTime(): Promise<void>
  /** For the feed: the store's own connection can send. That it can't is no trouble of the store. */
  publish(channel: string, text: string): Promise<unknown>
  /** All contexts were moved into the namespace: servers may open it. */
  endMove(): Promise<void>
}

/**
 * Connects, and makes the namespace if it isn't there.
 * @throws RedisError in one line when Redis can't be reached, or isn't set up so that contexts are safe there
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const connection = connect(options.address, 'store')
  const store = storeOn(connection, options)
  let reason = options.address.cluster ? 'the cluster is down' : 'it does not get ready'
  connection.on('error', ({ message }) => {
    reason = message
  })
  try {
    await untilReady(connection, PATIENCE_MS)
    if (connection.status !== 'ready') throw outOfReach(options.address, reason)
    await checkRedis(connection, options.log)
    await checkNamespace(connection, options.namespace, options.partitions, options.source)
    await store.learnTime()
    return store
  } catch (error) {
    connection.disconnect()
    throw error instanceof RedisError ? error : outOfReach(options.address, messageOf(error))
  }
}

function storeOn(connection: Connection, options: RedisStoreOptions): RedisStore {
  const { namespace, partitions, log } = options
  const roots = Array.from({ length: partitions }, (_, partition) => partitionKey(namespace, partition))
  const client = new PartitionClient(connection, { roots, log })
  const time = new RedisTime()
  // Names this store among all that write.
  const writer = randomBytes(8).toString('base64url')
  const ids = idNumbers(client, writer)

  const learnTime = async () => {
    await client.reachable(async (partition) => {
      const asked = performance.now()
      const [now] = texts(await client.run('time', partition, []))
      time.received({ time: Number(now), asked, partition, storeIncarnation: client.storeIncarnation })
    })
  }
  // The one that came may have a time of its own. If it goes again at once, the next one is asked.
  connection.on('ready', () => void learnTime().catch(() => {}))

  return {
    ...selections(client, log),
    ...rowQueries(client),
    ...dueClaims(client, time, options.address),
    ...serverClaims(client, time, options.deadAfterMs),
    partitions,
    learnTime,
    notes: redisNotesPlace(options),
    get incarnation() {
      return client.storeIncarnation
    },
    now: () => time.now(),
    reserveIds: (request) => ids.reserve(request),
    highestId: () => ids.highest(),
    trouble: () => client.trouble(),
    async load({ id }) {
      const [stored = []] = listOf(await client.run('load', id % partitions, [0, id]))
      return decodeContext(id, stored)
    },
    async version({ id }) {
      const version = await client.run('version', id % partitions, [id])
      try {
        return version === null ? null : versionOf(String(version))
      } catch (cause) {
        throw unreadable(id, cause)
      }
    },
    commit: commitSender(client, ids, writer),
    async log({ id, limit }) {
      return limit > 0 ? texts(await client.run('rows', id % partitions, [id, limit])) : []
    },
    async standstill({ owner }) {
      const text = await client.ask(() => connection.get(standstillKey(namespace, owner)))
      return text === null ? null : readStandstill(text)
    },
    publish: (channel, text) => connection.publish(channel, text),
    endMove: () => client.ask(() => endMove(connection, namespace)),
    purge: (request) => purge(client, request),
    close: () => client.close(),
  }
}

async function purge(client: PartitionClient, { endedBefore, limit }: Parameters<Store['purge']>[0]): Promise<number> {
  let purged = 0
  for (let partition = 0; partition < client.partitions; partition += 1) {
    for (let passed = 0; purged < limit;) {
      const look = Math.min(PURGED_AT_ONCE, limit - purged)
      const reply = texts(await client.run('purge', partition, [endedBefore, look, passed]))
      const [deleted = 0, stayed = 0] = reply.map(Number)
      purged += deleted
      passed += stayed
      if (deleted + stayed < look) break
    }
  }
  return purged
}
