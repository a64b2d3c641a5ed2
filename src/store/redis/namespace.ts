// store/redis: checks Redis and the namespace before a server works with them.
import { FORMAT, otherFormat } from '../../model/format.ts'
import type { Log } from '../../ports/log.ts'
import { infoOf, mastersOf, RedisError, type Connection } from './connection.ts'
import { settingsKey } from './keys.ts'

/**
 * Since version 7, the first line of a script declares what it may do, so that Redis refuses it as a whole when it has
 * no memory left.
 */
const OLDEST_REDIS_VERSION = 7

/** @throws RedisError with one line, when contexts would not be safe in this Redis */
export async function checkRedis(connection: Connection, log: Log): Promise<void> {
  for (const master of mastersOf(connection)) {
    const info = await master.info()
    const version = infoOf(info, 'redis_version') ?? ''
    if (Number.parseInt(version, 10) < OLDEST_REDIS_VERSION)
      throw new RedisError(`Redis ${OLDEST_REDIS_VERSION} or newer is needed; this one is ${version}`)
    const policy = infoOf(info, 'maxmemory_policy')
    if (policy !== 'noeviction') {
      throw new RedisError(
        `Redis would delete contexts when its memory is full: its maxmemory-policy is ${policy}, and must be noeviction`,
      )
    }
    if (infoOf(info, 'aof_enabled') !== '1')
      log.warn('Redis keeps no append-only file: what was acknowledged is lost when it stops. Set appendonly yes')
  }
}

/** The field that says from where contexts are being moved into the namespace. Until it is gone, no server opens it. */
const SOURCE = 'source'

/**
 * Creates the namespace if it does not exist. `source`: contexts are to be moved into it from there.
 * @throws RedisError when it was created with other settings or another format, or is being filled from elsewhere
 */
export async function checkNamespace(
  connection: Connection,
  namespace: string,
  partitions: number,
  source: string | undefined,
): Promise<void> {
  const key = settingsKey(namespace)
  checkFormat(namespace, await connection.hget(key, 'format'))
  if (source !== undefined && (await connection.exists(key)) === 0) await connection.hset(key, SOURCE, source)
  const begun = await connection.hget(key, SOURCE)
  if (begun === null && source !== undefined)
    throw new RedisError(`namespace '${namespace}' is not empty: contexts are moved to a new one`)
  if (begun !== null && begun !== source) {
    throw new RedisError(
      source === undefined
        ? `contexts are being moved to namespace '${namespace}': let actorflux move come to its end first`
        : `the move to namespace '${namespace}' began with other data, or with older data of the same folder: choose another namespace (ACTORFLUX_NAMESPACE), or delete that one`,
    )
  }
  await connection.hsetnx(key, 'partitions', partitions)
  await connection.hsetnx(key, 'format', FORMAT)
  const found = await connection.hgetall(key)
  checkFormat(namespace, found['format'] ?? null)
  if (found['partitions'] !== String(partitions)) {
    throw new RedisError(
      `namespace '${namespace}' was created with ACTORFLUX_PARTITIONS=${found['partitions']}, which can't be changed; the setting is now ${partitions}`,
    )
  }
}

/** `format`: null while there is none yet. @throws RedisError when it is another one */
function checkFormat(namespace: string, format: string | null): void {
  if (format !== null && format !== String(FORMAT))
    throw new RedisError(otherFormat(`namespace '${namespace}'`, format))
}

/** All contexts were moved into the namespace: servers may open it. */
export async function endMove(connection: Connection, namespace: string): Promise<void> {
  await connection.hdel(settingsKey(namespace), SOURCE)
}
