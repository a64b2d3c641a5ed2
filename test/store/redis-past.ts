// Brings a Redis back as it was a moment ago: what lost power, or a failover to a replica that lagged, does. And lets it
// believe that time has passed.
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { partitionKey } from '../../src/store/redis/keys.ts'
import type { RedisServer } from '../support/redis.ts'

/** Remembers what Redis has now. The function that it gives kills Redis and starts it again with nothing but that. */
export async function remember(redis: RedisServer): Promise<() => Promise<void>> {
  const admin = new Redis(redis.url)
  const [, folder = ''] = await admin
    .config('GET', 'dir')
    .then((answer) => (Array.isArray(answer) ? answer.map(String) : []))
  admin.disconnect()
  const [present, past] = [join(folder, 'appendonlydir'), join(folder, 'past')]
  await rm(past, { recursive: true, force: true })
  await cp(present, past, { recursive: true })
  return async () => {
    await redis.signal('SIGKILL')
    await rm(present, { recursive: true })
    await cp(past, present, { recursive: true })
    await redis.start()
  }
}

/** Whoever was given ids last in that partition has been the only one for years. */
export async function letTimePass(redis: RedisServer, namespace: string, partition: number): Promise<void> {
  const admin = new Redis(redis.url)
  const key = `${partitionKey(namespace, partition)}taker`
  const [writer = ''] = ((await admin.get(key)) ?? '').split(':')
  await admin.set(key, `${writer}:1`)
  admin.disconnect()
}
