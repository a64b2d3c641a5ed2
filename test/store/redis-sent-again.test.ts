// A commit that is sent again, because its answer was lost, by a writer who has lost so often that the context is reserved
// for it: what is there stays readable.
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { expect, inject, test } from 'vitest'
import { partitionKey } from '../../src/store/redis/keys.ts'
import { sendScript } from '../../src/store/redis/scripts.ts'
import { pushWrite } from '../../src/store/redis/stored-context.ts'
import { contextOf, createOne, writeOf } from './contract-support.ts'
import { openRedis } from '../support/redis-store.ts'

test.each([
  ['small', 'x'],
  ['large', 'x'.repeat(100_000)],
])('a %s context that is refused and reserved at once is not damaged', async (_, text) => {
  const [namespace, redis] = [randomUUID(), new Redis(inject('redisUrl'))]
  const store = await openRedis({ namespace })
  try {
    const id = await createOne(store, { parts: { one: text, other: 'y' }, indexKeys: ['k'] })
    const before = await store.load({ id })
    const values = ['another', '7', '20', '1', '']
    pushWrite(values, writeOf(contextOf(id, 2, { parts: { one: 'z', other: 'z' } })))
    const reply = await sendScript(redis, 'commit', partitionKey(namespace, 0), values)
    expect(reply).toEqual([1, String(id), expect.anything()])
    expect(await store.load({ id })).toEqual(before)
    // Refused for good.
    values[3] = '0'
    expect(await sendScript(redis, 'commit', partitionKey(namespace, 0), values)).toEqual([
      1,
      String(id),
      expect.anything(),
    ])
    expect(await store.load({ id })).toEqual(before)
  } finally {
    await store.close()
    redis.disconnect()
  }
})
