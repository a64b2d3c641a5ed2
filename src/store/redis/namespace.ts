// store/redis: what a namespace and its Redis must be like before a server works with them.
import type { Log } from '../../ports/log.ts'
import { infoOf, mastersOf, RedisError, type Connection } from './connection.ts'
import { settingsKey } from './keys.ts'

/** Raised when keys or their content change so that older versions can't go on with them. */
const FORMAT = '2'
/**
 * What version 0.1 wrote is read, too: a context is kept anew when it is next written, a set of ids stays where it is.
 * Version 0.1 is refused from then on; none of its servers may run any more.
 */
const OLDER = '1'
/**
 * The scripts say in their first line what they may do, so that Redis refuses them whole when it has no memory left.
 */
const OLDEST_REDIS_VERSION = 7

/** @throws RedisError in one line, when nothing must be kept there */
export async function checkRedis(connection: Connection, log: Log): Promise<void> {
  for (const master of mastersOf(connection)) {
    const info = await master.info()
    const version = infoOf(info, 'redis_version') ?? ''
    if (Number.parseInt(version, 10) < OLDEST_REDIS_VERSION)
      throw new RedisError(`Redis ${OLDEST_REDIS_VERSION} or newer is needed; this one is ${version}`)
    const policy = infoOf(info, 'maxmemory_policy')
    if (policy !== 'noeviction') {
      throw new RedisError(
        `Redis would throw contexts away when its memory is full: its maxmemory-policy is ${policy}, and must be noeviction`,
      )
    }
    if (infoOf(info, 'aof_enabled') !== '1')
      log.warn('Redis keeps no append-only file: what was acknowledged is lost when it stops. Set appendonly yes')
  }
}

/**
 * Makes the namespace, if it isn't there.
 * @throws RedisError when it was made otherwise
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
      `namespace '${namespace}' was made with ACTORFLUX_PARTITIONS=${found['partitions']}, which can't be changed; now it is ${partitions}`,
    )
  }
}
