// Stores in Redis for tests.
import { randomUUID } from 'node:crypto'
import { inject } from 'vitest'
import type { Log } from '../../src/ports/log.ts'
import { explore } from '../../src/store/redis/connection.ts'
import { openRedisStore, type RedisStore } from '../../src/store/redis/store.ts'
import { silent } from './silent.ts'

interface RedisOptions {
  readonly url?: string
  /** One that nobody else has, if left out. */
  readonly namespace?: string
  readonly partitions?: number
  readonly deadAfterMs?: number
  readonly log?: Log
}

/** A store in the Redis that tests share, unless another one is given. */
export const openRedis = async ({ url = inject('redisUrl'), ...more }: RedisOptions = {}): Promise<RedisStore> =>
  openRedisStore({
    address: await explore(url),
    namespace: `test-${randomUUID()}`,
    partitions: 1,
    deadAfterMs: 60_000,
    log: silent,
    ...more,
  })
