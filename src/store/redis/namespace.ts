// store/redis: checks Redis and the namespace before a server works with them.
import type { Log } from '../../ports/log.ts'
import { infoOf, mastersOf, RedisError, type Connection } from './connection.ts'
import { settingsKey } from './keys.ts'

/** The format of keys and their content; incremented when older versions cannot work with it. */
const FORMAT = '2'
/**
 * The format of version 0.1, which is also read: a context is converted when it is next written, a set of ids stays as
 * it is. Version 0.1 refuses the namespace from then on; none of its servers may still be running.
 */
const OLDER = '1'
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

/**
 * Creates the namespace if it does not exist.
 * @throws RedisError when it was created with other settings or another format
 */
export async function checkNamespace(
  connection: Connection,
  { namespace, partitions }: { readonly namespace: string; readonly partitions: number },
): Promise<void> {
  const key = settingsKey(namespace)
  await connection.hsetnx(key, 'partitions', partitions)
  await connection.hsetnx(key, 'format', FORMAT)
  const found = await connection.hgetall(key)
  if (found['format'] === OLDER && found['partitions'] === String(partitions)) {
    await connection.hset(key, 'format', FORMAT)
    found['format'] = FORMAT
  }
  if (found['format'] !== FORMAT)
    throw new RedisError(`namespace '${namespace}' has data of format ${found['format']}; this version reads ${FORMAT}`)
  if (found['partitions'] !== String(partitions)) {
    throw new RedisError(
      `namespace '${namespace}' was created with ACTORFLUX_PARTITIONS=${found['partitions']}, which can't be changed; the setting is now ${partitions}`,
    )
  }
}
