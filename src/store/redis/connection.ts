// store/redis: connections to one Redis or to a cluster. A command fails at once while Redis is away, and a command
// that was under way when the connection was lost is never sent again automatically.
import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis'
import { messageOf } from '../../model/error-message.ts'

export type Connection = Redis | Cluster

/** Milliseconds without an answer after which a connection counts as dead. */
const SILENCE_MS = 5_000
/** The same for a worker, which blocks for up to 10 seconds. */
const WORKER_SILENCE_MS = 15_000
const CONNECT_TIMEOUT_MS = 5_000
/** How often a command is redirected to another node of a cluster, or waits 100 ms for its node to come back. */
const MAX_REDIRECTIONS = 5
/** Milliseconds between attempts to connect. */
const RETRY = { first: 50, most: 1_000 }

/** Redis cannot be used as it is; the message says why in one line. */
export class RedisError extends Error {
  override readonly name = 'RedisError'
}

/** The addresses of Redis, from the setting. */
export interface RedisAddress {
  readonly urls: readonly string[]
  readonly cluster: boolean
  /** The address without user and password, to be shown to people. */
  readonly place: string
}

const retry = (times: number) => Math.min(RETRY.first * 2 ** Math.min(times, 10), RETRY.most)

const COMMON = {
  connectTimeout: CONNECT_TIMEOUT_MS,
  // After a failover, the old master refuses writes: reconnecting resolves the name again.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} satisfies RedisOptions

/** For the store, and for the alarm's queue: a job that cannot be added now is not worth waiting for. */
const STORE = { ...COMMON, enableOfflineQueue: false, maxRetriesPerRequest: 0, socketTimeout: SILENCE_MS }
/** For the alarm's worker, which blocks until there is a job, and waits as long as Redis is away. */
const WORKER = { ...COMMON, enableOfflineQueue: true, maxRetriesPerRequest: null, socketTimeout: WORKER_SILENCE_MS }

/** For the feed, on which no message may arrive for days. */
const FEED = { ...COMMON, enableOfflineQueue: true, maxRetriesPerRequest: null, keepAlive: SILENCE_MS }

const ROLES = { store: STORE, queue: STORE, worker: WORKER, feed: FEED } as const

/** Opens a connection. The caller must close it, and listen to its errors. */
export function connect({ urls, cluster }: RedisAddress, role: keyof typeof ROLES): Connection {
  const [first = ''] = urls
  const { enableOfflineQueue, ...options } = ROLES[role]
  if (!cluster) return new Redis(first, { ...options, enableOfflineQueue, retryStrategy: retry })
  // User, password and TLS are the same for all nodes of a cluster.
  const { username, password, protocol } = new URL(first)
  const tls = protocol === 'rediss:'
  return new Cluster([...urls], {
    enableOfflineQueue,
    maxRedirections: MAX_REDIRECTIONS,
    redisOptions: {
      ...options,
      username: decodeURIComponent(username),
      password: decodeURIComponent(password),
      ...(tls && { tls: {} }),
    },
    clusterRetryStrategy: retry,
    // Host names are not resolved here, because certificates contain names, not addresses.
    ...(tls && ({ dnsLookup: (host, callback) => callback(null, host) } satisfies Partial<ClusterOptions>)),
  })
}

/**
 * Finds out whether the addresses lead to a cluster or to a single Redis, from the first node that answers.
 * @throws RedisError when no node answers
 */
export async function explore(setting: string): Promise<RedisAddress> {
  const urls = setting.split(',').map((url) => url.trim())
  const databases = urls.map(databaseOf)
  const reasons: string[] = []
  for (const [index, url] of urls.entries()) {
    const probe = new Redis(url, { ...COMMON, lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 })
    probe.on('error', (error) => {
      reasons.push(error.message)
    })
    try {
      await probe.connect()
      const cluster = infoOf(await probe.info('cluster'), 'cluster_enabled') === '1'
      if (urls.length > 1 && !cluster)
        throw new RedisError(`several nodes are given, but Redis at ${placeOf(url)} is no node of a cluster`)
      if (cluster && databases.some((database) => database !== 0))
        throw new RedisError(`Redis at ${placeOf(url)} is a node of a cluster, which has the database 0 alone`)
      await select(probe, databases[index] ?? 0, placeOf(url))
      return { urls, cluster, place: urls.map(placeOf).join(', ') }
    } catch (error) {
      if (error instanceof RedisError) throw error
      reasons.push(messageOf(error))
    } finally {
      probe.disconnect()
    }
  }
  throw outOfReach({ place: urls.map(placeOf).join(', ') }, reasons.find((reason) => reason !== '') ?? 'no answer')
}

export const outOfReach = ({ place }: Pick<RedisAddress, 'place'>, reason: string) =>
  new RedisError(`Redis can't be reached at ${place}: ${reason}`)

/** The database number after the slash; 0 without one. @throws RedisError for anything else */
function databaseOf(url: string): number {
  const { pathname, searchParams } = new URL(url)
  const database = pathname.slice(1) || (searchParams.get('db') ?? '')
  if (/^\d{0,9}$/.test(database)) return Number(database)
  throw new RedisError(`what follows Redis's address ${placeOf(url)} must be the number of a database, such as /0`)
}

/**
 * Selects the database explicitly: ioredis only reports a failed SELECT of its own, and continues on database 0.
 * @throws RedisError
 */
async function select(probe: Redis, database: number, place: string): Promise<void> {
  if (database === 0) return
  try {
    await probe.select(database)
  } catch (error) {
    throw new RedisError(`database ${database} of Redis at ${place} can't be used: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

/** The address without user and password. */
function placeOf(url: string): string {
  const { hostname, port } = new URL(url)
  return `${hostname}:${port || '6379'}`
}

/** The value of a field in the reply of INFO. */
export function infoOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1]
}

/** Resolves when commands may be sent, or after `patience` milliseconds. */
export function untilReady(connection: Connection, patience: number): Promise<void> {
  if (connection.status === 'ready') return Promise.resolve()
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      connection.off('ready', end)
      resolve()
    }
    const timer = setTimeout(end, patience)
    connection.on('ready', end)
  })
}

/** The masters of a cluster, or the single Redis. */
export function mastersOf(connection: Connection): Redis[] {
  return connection instanceof Cluster ? connection.nodes('master') : [connection]
}
