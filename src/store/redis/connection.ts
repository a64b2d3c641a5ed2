// store/redis: connections, to one Redis or to a cluster. What is sent while Redis is away fails at once, and what was
// under way when it went is never sent again behind our back.
import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis'
import { messageOf } from '../../model/error-message.ts'

export type Connection = Redis | Cluster

/** Milliseconds without an answer after which a connection counts as dead. */
const SILENCE_MS = 5_000
/** A worker blocks for up to 10 seconds. */
const WORKER_SILENCE_MS = 15_000
const CONNECT_TIMEOUT_MS = 5_000
/** How often a command goes to another node of a cluster, or waits 100 ms for its own to come back. */
const MAX_REDIRECTIONS = 5
/** Milliseconds between attempts to connect. */
const RETRY = { first: 50, most: 1_000 }

/** A Redis can't be used as it is: told in one line. */
export class RedisError extends Error {
  override readonly name = 'RedisError'
}

/** Redis's addresses, as the setting has them. */
export interface RedisAddress {
  readonly urls: readonly string[]
  readonly cluster: boolean
  /** For people: without user and password. */
  readonly place: string
}

const retry = (times: number) => Math.min(RETRY.first * 2 ** Math.min(times, 10), RETRY.most)

const COMMON = {
  connectTimeout: CONNECT_TIMEOUT_MS,
  // After a failover the old master refuses writes: the name is to be looked up again.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} satisfies RedisOptions

/** For a store. */
const STORE = { ...COMMON, enableOfflineQueue: false, maxRetriesPerRequest: 0, socketTimeout: SILENCE_MS }
/** For an alarm's queue: what can't be added now isn't worth waiting for. */
const QUEUE = { ...COMMON, enableOfflineQueue: false, maxRetriesPerRequest: 0, socketTimeout: SILENCE_MS }
/** For an alarm's worker, which blocks until there is something to do and waits as long as Redis is away. */
const WORKER = { ...COMMON, enableOfflineQueue: true, maxRetriesPerRequest: null, socketTimeout: WORKER_SILENCE_MS }

/** For a feed, on which nothing may come for days. */
const FEED = { ...COMMON, enableOfflineQueue: true, maxRetriesPerRequest: null, keepAlive: SILENCE_MS }

const ROLES = { store: STORE, queue: QUEUE, worker: WORKER, feed: FEED } as const

/** A new connection; the caller closes it, and must listen to its errors. */
export function connect({ urls, cluster }: RedisAddress, role: keyof typeof ROLES): Connection {
  const [first = ''] = urls
  const { enableOfflineQueue, ...options } = ROLES[role]
  if (!cluster) return new Redis(first, { ...options, enableOfflineQueue, retryStrategy: retry })
  const { username, password, tls } = credentials(first)
  const redisOptions = {
    ...options,
    ...(username && { username }),
    ...(password && { password }),
    ...(tls && { tls: {} }),
  }
  return new Cluster([...urls], {
    enableOfflineQueue,
    maxRedirections: MAX_REDIRECTIONS,
    redisOptions,
    clusterRetryStrategy: retry,
    ...(tls && { dnsLookup: asGiven }),
  })
}

/** Certificates name hosts: they must not be replaced by addresses. */
const asGiven: NonNullable<ClusterOptions['dnsLookup']> = (host, callback) => callback(null, host)

/** All nodes of a cluster take the same. */
function credentials(url: string): { username: string; password: string; tls: boolean } {
  const { username, password, protocol } = new URL(url)
  return { username: decodeURIComponent(username), password: decodeURIComponent(password), tls: protocol === 'rediss:' }
}

/**
 * Looks whether a cluster is there or a lone Redis, by the first node that answers.
 * @throws RedisError when none does
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

/** The number after the slash; 0 without. @throws RedisError when something else stands there */
function databaseOf(url: string): number {
  const { pathname, searchParams } = new URL(url)
  const database = pathname.slice(1) || (searchParams.get('db') ?? '')
  if (/^\d{0,9}$/.test(database)) return Number(database)
  throw new RedisError(`what follows Redis's address ${placeOf(url)} must be the number of a database, such as /0`)
}

/** A connection whose own SELECT failed only says so and goes on, on database 0. */
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

/** Without user and password. */
function placeOf(url: string): string {
  const { hostname, port } = new URL(url)
  return `${hostname}:${port || '6379'}`
}

/** A line of what INFO tells. */
export function infoOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1]
}

/** Resolves once commands may be sent, or when so many milliseconds have passed. */
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

/** Every master. */
export function mastersOf(connection: Connection): Redis[] {
  return connection instanceof Cluster ? connection.nodes('master') : [connection]
}
