// Pages far into long lists, on Redis: what they cost it, in what it counts itself.
import { listed, type ListQuery, waiting } from './listed.ts'
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { partitionKey } from '../../src/store/redis/keys.ts'
import { type RedisStore } from '../../src/store/redis/store.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { openRedis } from '../support/redis-store.ts'

const COUNT = 20_000

let server: RedisServer
let redis: Redis
beforeAll(async () => {
  server = await startRedis({ appendfsync: 'no' })
  redis = new Redis(server.url)
})
afterAll(async () => {
  redis.disconnect()
  await server.close()
})

/** Ids of a leaf. */
const LEAF = 128

/** A set of ids as the store makes it, or as version 0.1 did: in one piece. */
async function fill(root: string, name: string, ids: readonly string[], inLeaves: boolean): Promise<void> {
  const first = inLeaves ? ids.slice(0, LEAF / 2) : ids
  if (first.length > 0) await redis.zadd(root + name, ...first.flatMap((id) => [id, id]))
  for (let place = first.length; place < ids.length; place += LEAF) {
    const leaf = ids.slice(place, place + LEAF)
    const [begin = ''] = leaf
    await redis.zadd(`${root}d:${name}`, begin, begin)
    await redis.sadd(`${root}l:${begin}:${name}`, ...leaf)
    await redis.hset(`${root}last`, name, begin)
  }
}

/** Of contexts that have nothing but their version. */
async function indexed(partitions: number, inLeaves: boolean): Promise<RedisStore> {
  const namespace = randomUUID()
  const store = await openRedis({ url: server.url, namespace, partitions, deadAfterMs: 1000 })
  for (let partition = 0; partition < partitions; partition++) {
    const [root, all, even]: [string, string[], string[]] = [partitionKey(namespace, partition), [], []]
    for (let id = partition === 0 ? partitions : partition; id <= COUNT; id += partitions) {
      all.push(String(id))
      if (id % 2 === 0) even.push(String(id))
    }
    const rows = redis.pipeline()
    for (const id of all) rows.hset(`${root}c:${id}`, 'v', 1)
    await rows.exec()
    await fill(root, 'all', all, inLeaves)
    await fill(root, 't:open', all, inLeaves)
    await fill(root, 't:even', even, inLeaves)
  }
  await redis.zadd(`${partitionKey(namespace, 777 % partitions)}t:one`, 777, '777')
  return store
}

/** How often Redis was asked for what, and how many ids it named, while a page is read. */
async function costOf(
  store: RedisStore,
  query: ListQuery,
): Promise<{ scripts: number; commands: number; read: number }> {
  await redis.config('RESETSTAT')
  await listed(store, query)
  const calls = new Map(
    (await redis.info('commandstats')).split('\r\n').flatMap((line) => {
      const [, name = '', count = '0'] = /^cmdstat_(\w+):calls=(\d+)/.exec(line) ?? []
      return name === '' ? [] : [[name, Number(count)] as const]
    }),
  )
  const of = (...names: string[]) => names.reduce((sum, name) => sum + (calls.get(name) ?? 0), 0)
  return {
    scripts: of('evalsha'),
    commands: of('zrange', 'zcount', 'zcard', 'zmscore', 'zscore', 'scard', 'smembers', 'sismember'),
    read: of('hgetall'),
  }
}

describe.each([
  [1, 'leaves'],
  [5, 'leaves'],
  [1, 'one piece'],
  [5, 'one piece'],
] as const)('in %i partitions, in %s', (partitions, layout) => {
  let store: RedisStore
  const inLeaves = layout === 'leaves'
  beforeAll(async () => {
    store = await indexed(partitions, inLeaves)
  })
  afterAll(() => store.close())

  test('what is passed over is not read, and with a single one that is left out the rest is passed by leaves and ranks', async () => {
    const { scripts, commands, read } = await costOf(store, {
      all: ['open'],
      without: ['one'],
      skip: 15_000,
      limit: 30,
    })
    expect(read).toBe(30)
    expect(scripts).toBeLessThan(30 * partitions)
    // Some for each leaf, and at the end of the way.
    expect(commands).toBeLessThan(200 * partitions + (inLeaves ? (6 * 15_000) / LEAF : 0))
  })

  test('with many that are left out it takes many short scripts, each with a few commands', async () => {
    const { scripts, commands, read } = await costOf(store, {
      all: ['open'],
      without: ['even'],
      skip: 8_000,
      limit: 30,
    })
    expect(read).toBe(30)
    expect(scripts).toBeGreaterThan(5)
    expect(commands / scripts).toBeLessThan(100)
    // One for each that is passed over would be 16,000.
    expect(commands).toBeLessThan(4_000)
  })

  test('a page beyond all others costs a look at how many there are', async () => {
    for (const all of [['open'], ['open', 'even'], []]) {
      const { scripts, commands, read } = await costOf(store, {
        all,
        without: ['one'],
        skip: 999_999_999_000,
        limit: 1000,
      })
      expect({ scripts, read }).toEqual({ scripts: partitions, read: 0 })
      expect(commands).toBeLessThanOrEqual(6 * partitions)
    }
  })
})

test('who waits for any of many words is found by short scripts, which look at each word once', async ({
  onTestFinished,
}) => {
  const [namespace, WORDS] = [randomUUID(), 64]
  const store = await openRedis({ url: server.url, namespace, deadAfterMs: 1000 })
  onTestFinished(() => store.close())
  const words = Array.from({ length: WORDS }, (_, index) => `word ${index}`)
  const ids = Array.from({ length: 2000 }, (_, index) => String(index + 1))
  for (const word of words) await fill(partitionKey(namespace, 0), `t:${word}`, ids, true)
  await redis.config('RESETSTAT')
  const found = await waiting(store, { any: [...words, ...words], upTo: 5000, limit: 1000 })
  expect(found).toEqual(ids.slice(0, 1000).map(Number))
  const stats = await redis.info('commandstats')
  const callsOf = (name: string) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
  // Of each word the part of one leaf, or of two. All at once would be nine of each, in one script.
  expect((callsOf('zrange') + callsOf('smembers')) / callsOf('evalsha')).toBeLessThan(8 * WORDS)
})

test('large contexts are read a few by one script, all of them in the end', async ({ onTestFinished }) => {
  const namespace = randomUUID()
  const store = await openRedis({ url: server.url, namespace, deadAfterMs: 1000 })
  onTestFinished(() => store.close())
  for (let id = 1; id <= 40; id++) {
    const context = {
      id,
      version: 1,
      indexKeys: ['x'],
      due: null,
      owner: null,
      endedAt: null,
      parent: null,
      parts: { record: 'x'.repeat(100_000) },
    }
    await store.commit({
      writes: [{ context, previous: 0, changed: ['record'], log: [], notifies: [], answersNotification: false }],
    })
  }
  await redis.config('RESETSTAT')
  expect(await listed(store, { all: ['x'], limit: 100 })).toHaveLength(40)
  expect((await redis.info('commandstats')).match(/cmdstat_evalsha:calls=(\d+)/)?.[1]).toBe(
    String(1 + Math.ceil(40 / 6)),
  )
})
