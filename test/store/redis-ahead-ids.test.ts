// Ids that the store on Redis gives ahead to a server that is alone: they are refused once others were given later ones.
import { newest } from './listed.ts'
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { beforeEach, describe, expect, test } from 'vitest'
import { AheadIds } from '../../src/store/redis/ahead-ids.ts'
import { type RedisStore } from '../../src/store/redis/store.ts'
import { startProxy } from '../support/proxy.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { contextOf, newId, writeOf } from './contract-support.ts'
import { rowOf } from './contract-rows.ts'
import { letTimePass, remember } from './redis-past.ts'
import { atEndOfTest } from '../support/at-end.ts'
import { openRedis } from '../support/redis-store.ts'

let redis: RedisServer
let namespace: string
beforeEach(async () => {
  namespace = randomUUID()
  redis = await startRedis()
  atEndOfTest(() => redis.close())
})

async function openStore({ url = redis.url, partitions = 1 } = {}): Promise<RedisStore> {
  const store = await openRedis({ url, namespace, partitions, deadAfterMs: 1000 })
  atEndOfTest(() => store.close())
  return store
}

const ready = (...stores: readonly RedisStore[]) =>
  expect.poll(() => stores.map((store) => store.trouble()), { timeout: 5000 }).toEqual(stores.map(() => null))

/** The ids that a store is given in a partition after it was alone for long. */
async function reserveAhead(store: RedisStore, partition = 0): Promise<number[]> {
  await newId(store, partition)
  await letTimePass(redis, namespace, partition)
  const { first, count } = await store.reserveIds({ count: 2, partition })
  return Array.from({ length: count }, (_, index) => first + index * store.partitions)
}

const create = (store: RedisStore, ...ids: readonly number[]) =>
  store.commit({ writes: ids.map((id) => writeOf(contextOf(id, 1))) })

describe('a server that is alone', () => {
  test('gets ids ahead, and one of several gets none', async () => {
    const [one, other] = [await openStore(), await openStore()]
    expect(await one.reserveIds({ count: 2, partition: 0 })).toMatchObject({ count: 2 })
    const ids = await reserveAhead(one)
    expect(ids.length).toBeGreaterThan(100)
    expect(await other.reserveIds({ count: 2, partition: 0 })).toEqual({ first: (ids.at(-1) ?? 0) + 1, count: 2 })
    expect(await one.reserveIds({ count: 2, partition: 0 })).toMatchObject({ count: 2 })
    await letTimePass(redis, namespace, 0)
    expect(await other.reserveIds({ count: 2, partition: 0 })).toMatchObject({ count: 2 })
  })

  test('creates contexts under them, in any order, in each partition', async () => {
    const store = await openStore({ partitions: 3 })
    for (const partition of [0, 1, 2]) {
      const [first = 0, second = 0, third = 0, fourth = 0] = await reserveAhead(store, partition)
      expect(await create(store, third)).toEqual({ ok: true })
      expect(await create(store, first, fourth)).toEqual({ ok: true })
      expect(await create(store, second)).toEqual({ ok: true })
    }
  })

  test('has its commit done once though the answer was lost and others were given ids since', async () => {
    const proxy = await startProxy(Number(new URL(redis.url).port))
    atEndOfTest(() => proxy.close())
    const [mine, other] = [await openStore({ url: `redis://127.0.0.1:${proxy.port}` }), await openStore()]
    const id = (await reserveAhead(mine)).at(-1) ?? 0
    proxy.cut(/row:mine/)
    const commit = mine.commit({ writes: [writeOf(contextOf(id, 1), { log: ['row:mine'] })] })
    await expect.poll(() => other.version({ id })).toBe(1)
    await newId(other)
    expect(await commit).toEqual({ ok: true })
    expect(await mine.log({ id, limit: 9 })).toEqual(['row:mine'])
  })
})

describe('an id that was given ahead', () => {
  test('is refused once another server was given one, and nothing is written', async () => {
    const [mine, other] = [await openStore(), await openStore()]
    const ids = await reserveAhead(mine)
    const [asked = 0, , third = 0, fourth = 0] = ids
    expect(await create(mine, third)).toEqual({ ok: true })
    const later = await newId(other)
    expect(later).toBeGreaterThan(Math.max(...ids))
    expect(await create(mine, fourth)).toEqual({ ok: false, overtaken: [fourth] })
    expect(await mine.load({ id: fourth })).toBeNull()
    // A parent and its new child are one commit.
    const parent = writeOf(contextOf(third, 2))
    expect(await mine.commit({ writes: [parent, writeOf(contextOf(fourth, 1))] })).toEqual({
      ok: false,
      overtaken: [fourth],
    })
    expect(await mine.version({ id: third })).toBe(1)
    // Asked for when its context started, as all ids of a server that isn't alone.
    expect(await create(mine, asked)).toEqual({ ok: true })
    expect(await create(other, later)).toEqual({ ok: true })
    expect(await newId(mine)).toBeGreaterThan(later)
  })

  test('is refused with the rows and the unique key of its commit', async () => {
    const [mine, other] = [await openStore(), await openStore()]
    const [, , third = 0, fourth = 0] = await reserveAhead(mine)
    const rows = [rowOf('k', '1', { expects: null })]
    const commit = (id: number) =>
      mine.commit({ writes: [writeOf(contextOf(id, 1, { indexKeys: ['mine'] }), { unique: 'mine' })], rows })
    await newId(other)
    expect(await commit(third)).toEqual({ ok: false, overtaken: [third] })
    expect(await mine.readRow({ partition: 0, space: 'items', key: 'k' })).toBeNull()
    expect(await newest(mine, 'mine')).toBeNull()
    // Rows alone need no id.
    expect(await mine.commit({ writes: [], rows })).toEqual({ ok: true })
    expect(await commit(fourth)).toEqual({ ok: false, overtaken: [fourth] })
    expect(await commit(await newId(mine))).toMatchObject({ ok: false, row: { key: 'k', value: '1' } })
  })

  test('is refused where Redis has forgotten that it gave it, before and after others get theirs', async () => {
    const [mine, other] = [await openStore(), await openStore()]
    await newId(other)
    await newId(mine)
    await letTimePass(redis, namespace, 0)
    const goBack = await remember(redis)
    const { first, count } = await mine.reserveIds({ count: 1, partition: 0 })
    expect(count).toBeGreaterThan(100)
    await create(mine, first + 1)
    await goBack()
    await ready(mine, other)
    expect(await create(mine, first + 2)).toEqual({ ok: false, overtaken: [first + 2] })
    const given = [await newId(other), await newId(mine)]
    for (const id of given) expect(id).toBeGreaterThan(first + count)
    expect(await create(mine, first + 3)).toEqual({ ok: false, overtaken: [first + 3] })
  })

  test('is used by nobody else where Redis has forgotten the context, but not the ids', async () => {
    const [mine, other] = [await openStore(), await openStore()]
    const ids = await reserveAhead(mine)
    const goBack = await remember(redis)
    await create(mine, ids.at(-2) ?? 0)
    await goBack()
    await ready(mine, other)
    expect(await create(mine, ids.at(-1) ?? 0)).toEqual({ ok: true })
    expect(await newId(other)).toBeGreaterThan(Math.max(...ids))
  })
})

test('a clock that was set back only puts off that ids are given ahead', async () => {
  const store = await openStore()
  await newId(store)
  const client = new Redis(redis.url)
  atEndOfTest(() => client.disconnect())
  const key = `{af:${namespace}:0}:taker`
  const writer = (await client.get(key))?.split(':')[0]
  await client.set(key, `${writer}:${Date.now() + 86_400_000}`)
  expect(await store.reserveIds({ count: 1, partition: 0 })).toMatchObject({ count: 1 })
  await letTimePass(redis, namespace, 0)
  expect((await store.reserveIds({ count: 1, partition: 0 })).count).toBeGreaterThan(100)
})

test('ids of more blocks than are remembered are refused, unless they were asked for', () => {
  const ahead = new AheadIds()
  for (let block = 1; block <= 40; block += 1) ahead.add({ first: block * 100 + 1, last: block * 100 + 50 })
  expect(ahead.fenceOf([4050])).toBe('4050')
  expect(ahead.fenceOf([4001, 4002])).toBe('4050')
  expect(ahead.fenceOf([3901])).toBe('-')
  expect(ahead.fenceOf([4000])).toBe('')
  expect(ahead.fenceOf([4051])).toBe('')
  expect(ahead.fenceOf([4000, 4001])).toBe('4050')
  expect(ahead.fenceOf([3901, 4001])).toBe('-')
  expect(ahead.fenceOf([101])).toBe('-')
})
