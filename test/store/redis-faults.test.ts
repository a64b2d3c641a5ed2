// The store on Redis when the line is bad, when servers compete, and when Redis isn't as it must be.
import { setTimeout as sleep } from 'node:timers/promises'
import { listed } from './listed.ts'
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { explore } from '../../src/store/redis/connection.ts'
import { type RedisStore } from '../../src/store/redis/store.ts'
import type { AbandonedLease } from '../../src/ports/store.ts'
import { startProxy, type Proxy } from '../support/proxy.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { contextOf, createOne, newId, update, writeOf } from './contract-support.ts'
import { atEndOfTest } from '../support/at-end.ts'
import { openRedis } from '../support/redis-store.ts'
import { silent } from '../support/silent.ts'

const warnings: string[] = []
const log = { ...silent, warn: (message: string) => void warnings.push(message) }

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis({ appendfsync: 'no' })
})
afterAll(() => redis.close())
afterEach(() => {
  warnings.length = 0
})

async function openStore({
  url = redis.url,
  namespace = randomUUID(),
  partitions = 1,
  silence = 1000,
} = {}): Promise<RedisStore> {
  const store = await openRedis({ url, namespace, partitions, deadAfterMs: silence, log })
  atEndOfTest(() => store.close())
  return store
}

async function openProxy(): Promise<Proxy & { url: string }> {
  const proxy = await startProxy(Number(new URL(redis.url).port))
  atEndOfTest(() => proxy.close())
  return Object.assign(proxy, { url: `redis://127.0.0.1:${proxy.port}` })
}

describe('a commit whose answer was lost', () => {
  test('is asked for again, and done once', async () => {
    const proxy = await openProxy()
    const store = await openStore({ url: proxy.url })
    const id = await createOne(store, { log: ['first'] })
    proxy.cut(/row:second/)
    expect(await store.commit({ writes: [writeOf(contextOf(id, 2), { log: ['row:second'] })] })).toEqual({ ok: true })
    expect(proxy.sent(/row:second/)).toBe(2)
    expect(await store.log({ id, limit: 10 })).toEqual(['first', 'row:second'])
    expect(await store.version({ id })).toBe(2)
  })

  test('is known although another server has written since', async () => {
    const [proxy, namespace] = [await openProxy(), randomUUID()]
    const [store, other] = [await openStore({ url: proxy.url, namespace }), await openStore({ namespace })]
    const id = await createOne(store)
    proxy.cut(/row:mine/)
    const commit = store.commit({ writes: [writeOf(contextOf(id, 2), { log: ['row:mine'] })] })
    await expect.poll(() => other.version({ id })).toBe(2)
    await update(other, id, {}, { log: ['other'] })
    expect(await commit).toEqual({ ok: true })
    expect(await store.log({ id, limit: 10 })).toEqual(['row:mine', 'other'])
  })

  test('is refused as in doubt when Redis stays away, and whoever looks later sees what became of it', async () => {
    const [proxy, namespace] = [await openProxy(), randomUUID()]
    const [store, other] = [await openStore({ url: proxy.url, namespace }), await openStore({ namespace })]
    const id = await createOne(store)
    proxy.cut(/./, 1_000_000)
    await expect(store.commit({ writes: [writeOf(contextOf(id, 2))] })).rejects.toMatchObject({
      failure: { kind: 'unavailable', inDoubt: true },
    })
    expect(await other.version({ id })).toBe(2)
    proxy.cut(/./, 0)
    await expect.poll(() => store.trouble()).toBeNull()
    expect(await store.version({ id })).toBe(2)
  })

  test('of many is remembered for each writer', async () => {
    const namespace = randomUUID()
    const first = await openStore({ namespace })
    const id = await createOne(first)
    const others = await Promise.all(Array.from({ length: 20 }, () => openStore({ namespace })))
    for (const other of others) await update(other, id, {})
    expect(await first.version({ id })).toBe(21)
  })
})

test('what is asked while Redis is away is refused at once', async () => {
  const proxy = await startProxy(Number(new URL(redis.url).port))
  const store = await openStore({ url: `redis://127.0.0.1:${proxy.port}` })
  const id = await newId(store)
  await proxy.close()
  await expect.poll(() => store.trouble()).toBe('Redis is out of reach')
  const begun = performance.now()
  await expect(store.load({ id })).rejects.toMatchObject({ failure: { kind: 'unavailable', retryAfter: 1 } })
  const commit = store.commit({ writes: [writeOf(contextOf(id, 1))] })
  await expect(commit).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
  await expect(commit).rejects.not.toMatchObject({ failure: { inDoubt: true } })
  expect(performance.now() - begun).toBeLessThan(200)
})

test('scripts that Redis has forgotten are told it again', async () => {
  const store = await openStore()
  const id = await createOne(store)
  const address = await explore(redis.url)
  expect(address.cluster).toBe(false)
  const { Redis } = await import('ioredis')
  const admin = new Redis(redis.url)
  await admin.script('FLUSH')
  admin.disconnect()
  await update(store, id, {})
  expect(await store.version({ id })).toBe(2)
})

describe('two servers that write the same context', () => {
  test('both get their turn, however far one of them is away', async () => {
    const [proxy, namespace] = [await openProxy(), randomUUID()]
    const [far, near] = [await openStore({ url: proxy.url, namespace }), await openStore({ namespace })]
    const id = await createOne(near)
    proxy.delay = 3
    const end = performance.now() + 1500
    const compete = async (store: RedisStore) => {
      let [lost, longest, won] = [0, 0, 0]
      let version = (await store.version({ id })) ?? 0
      while (performance.now() < end) {
        const outcome = await store.commit({ writes: [writeOf(contextOf(id, version + 1))], lost })
        if (outcome.ok) [version, lost, won] = [version + 1, 0, won + 1]
        else {
          version = ('current' in outcome ? outcome.current?.version : undefined) ?? 0
          lost += 1
        }
        longest = Math.max(longest, lost)
      }
      return { longest, won }
    }
    const [slow, fast] = await Promise.all([compete(far), compete(near)])
    expect(slow.longest).toBeLessThanOrEqual(8)
    expect(slow.won).toBeGreaterThan(10)
    expect(fast.won).toBeGreaterThan(10)
    expect(await near.version({ id })).toBe(1 + slow.won + fast.won)
  })
})

describe('a server that is taken for dead', () => {
  test('is told so, and no other is', async () => {
    const namespace = randomUUID()
    const [one, other] = [await openStore({ namespace, silence: 300 }), await openStore({ namespace, silence: 300 })]
    const id = await createOne(one, { owner: 'one' })
    expect(await one.heartbeat({ owner: 'one' })).toBe(true)
    const claimed: AbandonedLease[] = []
    await expect
      .poll(
        async () => {
          await other.heartbeat({ owner: 'other' })
          claimed.push(...(await other.claimAbandoned({ owner: 'other', limit: 10, hideFor: 60_000 })))
          return claimed
        },
        { timeout: 5000, interval: 50 },
      )
      .toEqual([{ id, owner: 'one' }])
    expect(await one.heartbeat({ owner: 'one' })).toBe(false)
    expect(await one.heartbeat({ owner: 'one again' })).toBe(true)
    expect(await other.heartbeat({ owner: 'other' })).toBe(true)
  })

  test('is none of those that nobody heard while Redis was away', async () => {
    const namespace = randomUUID()
    const [one, other] = [await openStore({ namespace, silence: 300 }), await openStore({ namespace, silence: 300 })]
    await createOne(one, { owner: 'one' })
    for (const [store, owner] of [
      [one, 'one'],
      [other, 'other'],
    ] as const)
      await store.heartbeat({ owner })
    await sleep(400)
    // The first to be back must not judge the others.
    expect(await other.heartbeat({ owner: 'other' })).toBe(true)
    expect(await other.claimAbandoned({ owner: 'other', limit: 10, hideFor: 60_000 })).toEqual([])
    expect(await one.heartbeat({ owner: 'one' })).toBe(true)
  })

  test('is none of those whose heartbeats some partitions have', async () => {
    const { Redis } = await import('ioredis')
    const namespace = randomUUID()
    const store = await openStore({ namespace, partitions: 3 })
    await store.heartbeat({ owner: 'one' })
    const admin = new Redis(redis.url)
    const keys = await admin.keys(`*${namespace}*owners`)
    expect(keys).toHaveLength(3)
    for (const key of keys.slice(1)) await admin.zincrby(key, -60_000, 'one')
    admin.disconnect()
    expect(await store.servers()).toEqual([{ runId: 'one', silentMs: expect.any(Number) }])
    expect((await store.servers())[0]?.silentMs).toBeLessThan(30_000)
  })
})

test('its time is that of Redis, and never ahead of it', async () => {
  const store = await openStore()
  for (let beat = 0; beat < 20; beat += 1) {
    await store.heartbeat({ owner: 'me' })
    const guess = store.now()
    const told = await timeOf(redis.url)
    expect(guess).toBeLessThanOrEqual(told)
    expect(told - guess).toBeLessThan(1000)
  }
})

test('it asks for the time again as soon as another Redis may have come, and not with the next heartbeat only', async () => {
  const proxy = await openProxy()
  const store = await openStore({ url: proxy.url })
  const id = await createOne(store)
  proxy.cut(/evalsha/i)
  await expect(store.version({ id })).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
  const before = proxy.sent(/evalsha/i)
  // The store itself asks nothing else.
  await expect.poll(() => proxy.sent(/evalsha/i)).toBe(before + 1)
  expect(store.now()).toBeLessThanOrEqual(await timeOf(redis.url))
})

async function keysIn(url: string, db: number): Promise<number> {
  const { Redis } = await import('ioredis')
  const admin = new Redis(url, { db })
  const size = await admin.dbsize()
  admin.disconnect()
  return size
}

async function timeOf(url: string): Promise<number> {
  const { Redis } = await import('ioredis')
  const admin = new Redis(url)
  const [seconds = 0, microseconds = 0] = await admin.time()
  admin.disconnect()
  return Number(seconds) * 1000 + Number(microseconds) / 1000
}

describe("a Redis that isn't as it must be is refused in one line", () => {
  test('one that throws keys away', async () => {
    const careless = await startRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] })
    atEndOfTest(() => careless.close())
    await expect(openStore({ url: careless.url })).rejects.toThrow(/^Redis would delete .* must be noeviction$/)
  })

  test('one that keeps nothing is warned of', async () => {
    const forgetful = await startRedis({ args: ['--appendonly', 'no'] })
    atEndOfTest(() => forgetful.close())
    await openStore({ url: forgetful.url })
    expect(warnings).toEqual([expect.stringContaining('append-only file')])
  })

  test('another number of partitions', async () => {
    const namespace = randomUUID()
    await openStore({ namespace, partitions: 4 })
    await openStore({ namespace, partitions: 4 })
    await expect(openStore({ namespace, partitions: 1 })).rejects.toThrow(
      /^namespace '.*' was created with ACTORFLUX_PARTITIONS=4, .* the setting is now 1$/,
    )
  })

  test('none that answers, or several that are no cluster', async () => {
    await expect(explore('redis://:secret@127.0.0.1:1')).rejects.toThrow(/^Redis can't be reached at 127\.0\.0\.1:1: /)
    await expect(explore(`${redis.url},${redis.url}`)).rejects.toThrow(/no node of a cluster$/)
  })

  test("a database that it doesn't have, and what is no number of one", async () => {
    await expect(explore(`${redis.url}/99`)).rejects.toThrow(/^database 99 of Redis at [\d.:]+ can't be used: [^\n]+$/)
    await expect(explore(`${redis.url}/?db=99`)).rejects.toThrow(/^database 99 of Redis at /)
    for (const path of ['/abc', '/1/2', '/-1', '/1e1', '?db=x'])
      await expect(explore(redis.url + path)).rejects.toThrow(
        /^what follows Redis's address [\d.:]+ must be the number of a database/,
      )
    expect(await createOne(await openStore({ url: `${redis.url}/3` }))).toBe(1)
    expect(await keysIn(redis.url, 3)).toBeGreaterThan(0)
  })

  test('one with a password is entered with it, and not without', async () => {
    const guarded = await startRedis({ args: ['--requirepass', 's3cret/:@'] })
    atEndOfTest(() => guarded.close())
    await expect(openStore({ url: guarded.url })).rejects.toThrow()
    const store = await openStore({
      url: guarded.url.replace('redis://', `redis://:${encodeURIComponent('s3cret/:@')}@`),
    })
    expect(await createOne(store)).toBe(1)
  })
})

test('a Redis without memory left refuses whole commits, and takes a purge, which makes room', async () => {
  const full = await startRedis({ appendfsync: 'no' })
  atEndOfTest(() => full.close())
  const store = await openStore({ url: full.url })
  const [id, ended] = [await createOne(store, { indexKeys: ['before'] }), await createOne(store, { endedAt: 1 })]
  const { Redis } = await import('ioredis')
  const admin = new Redis(full.url)
  await admin.config('SET', 'maxmemory', '1mb')
  const before = await store.load({ id })
  const outcome = store.commit({
    writes: [writeOf(contextOf(id, 2, { indexKeys: ['after'], due: 5, owner: 'me' }), { log: ['row'] })],
  })
  await expect(outcome).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
  await expect(outcome).rejects.not.toMatchObject({ failure: { inDoubt: true } })
  expect(await store.load({ id })).toEqual(before)
  expect(await listed(store, { all: ['before'], limit: 9 })).toEqual([before])
  expect(await store.heartbeat({ owner: 'me' })).toBe(true)
  expect(await store.purge({ endedBefore: 2, limit: 10 })).toBe(1)
  expect(await store.load({ id: ended })).toBeNull()
  await admin.config('SET', 'maxmemory', '0')
  admin.disconnect()
  await update(store, id, { indexKeys: ['after'] })
})
