// Rows on Redis when the line is bad or the memory full, and what they cost there.
import { newest } from './listed.ts'
import { createHash, randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { partitionKey } from '../../src/store/redis/keys.ts'
import { type RedisStore } from '../../src/store/redis/store.ts'
import { startProxy, type Proxy } from '../support/proxy.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { contextOf, createOne, newId, update, writeOf } from './contract-support.ts'
import { mustWrite, rowOf } from './contract-rows.ts'
import { openRedis } from '../support/redis-store.ts'

const hash = (index: number) => createHash('sha256').update(`${index}`).digest('hex')

let server: RedisServer
let namespace: string
let admin: Redis
let proxy: Proxy
let [store, other]: RedisStore[] = []
const key = (name: string) => partitionKey(namespace, 0) + name
const valueOf = async (name: string) =>
  (await opened().readRow({ partition: 0, space: 'items', key: name }))?.value ?? null

const open = (url: string) => openRedis({ url, namespace, deadAfterMs: 1000 })

function opened(): RedisStore {
  if (other === undefined) throw new Error('no store is open')
  return other
}

function farStore(): RedisStore {
  if (store === undefined) throw new Error('no store is open')
  return store
}

beforeAll(async () => {
  server = await startRedis({ appendfsync: 'no' })
})
afterAll(() => server.close())
beforeEach(async () => {
  namespace = `test-${randomUUID()}`
  admin = new Redis(server.url)
  proxy = await startProxy(Number(new URL(server.url).port))
  store = await open(`redis://127.0.0.1:${proxy.port}`)
  other = await open(server.url)
})
afterEach(async () => {
  await store?.close()
  await other?.close()
  await proxy.close()
  await admin.config('SET', 'maxmemory', '0')
  admin.disconnect()
})

describe('a commit with rows whose answer was lost', () => {
  test('and which has no contexts is asked for again, and done once', async () => {
    await mustWrite(opened(), rowOf('count', '1'), rowOf('gone', '1'))
    proxy.cut(/row:mine/)
    const rows = [
      rowOf('count', '2', { expects: '1' }),
      rowOf('new', 'row:mine', { expects: null }),
      rowOf('gone', null, { expects: '1' }),
    ]
    expect(await farStore().commit({ writes: [], rows })).toEqual({ ok: true })
    expect(proxy.sent(/row:mine/)).toBe(2)
    expect([await valueOf('count'), await valueOf('new'), await valueOf('gone')]).toEqual(['2', 'row:mine', null])
  })

  test('is known although another server has changed the rows since, back again even', async () => {
    await mustWrite(opened(), rowOf('state', 'free'))
    proxy.cut(/row:mine/)
    const rows = [rowOf('state', 'taken', { expects: 'free' }), rowOf('by', 'row:mine')]
    const commit = farStore().commit({ writes: [], rows })
    await expect.poll(() => valueOf('state')).toBe('taken')
    await mustWrite(opened(), rowOf('state', 'free', { expects: 'taken' }))
    expect(await commit).toEqual({ ok: true })
    expect(proxy.sent(/row:mine/)).toBe(2)
    expect(await valueOf('state')).toBe('free')
  })

  test('is known by the number that its context has', async () => {
    const id = await createOne(opened())
    proxy.cut(/row:mine/)
    const rows = [rowOf('k', 'row:mine', { expects: null })]
    const commit = farStore().commit({ writes: [writeOf(contextOf(id, 2))], rows })
    await expect.poll(() => valueOf('k')).toBe('row:mine')
    await update(opened(), id, {})
    expect(await commit).toEqual({ ok: true })
    expect(await opened().version({ id })).toBe(3)
  })

  test('is known when it made a context with a unique key', async () => {
    const id = await newId(opened())
    proxy.cut(/key:mine/)
    const write = writeOf(contextOf(id, 1, { indexKeys: ['key:mine'] }), { unique: 'key:mine' })
    expect(await farStore().commit({ writes: [write] })).toEqual({ ok: true })
    expect(proxy.sent(/key:mine/)).toBe(2)
    expect(await newest(opened(), 'key:mine')).toBe(id)
  })

  test('tells of lookups, since it may have given a context an index key', async () => {
    const id = await createOne(opened())
    await mustWrite(opened(), rowOf('hear:go', '1', { space: 'lookups' }))
    proxy.cut(/key:mine/)
    const writes = [writeOf(contextOf(id, 2, { indexKeys: ['key:mine'] }))]
    expect(await farStore().commit({ writes })).toEqual({ ok: true, lookups: true })
    expect(proxy.sent(/key:mine/)).toBe(2)
  })

  test('is forgotten half a minute later', async () => {
    await admin.zadd(key('rc'), 1, 'someone=1', 2, 'someone=2')
    await mustWrite(opened(), rowOf('k', '1'))
    expect(await admin.zcard(key('rc'))).toBe(1)
    await opened().commit({ writes: [writeOf(contextOf(await newId(opened()), 1))], rows: [rowOf('k', '2')] })
    expect(await admin.zcard(key('rc'))).toBe(1)
  })
})

test('a Redis without memory left refuses contexts and rows together, and takes a sweep, which makes room', async () => {
  const id = await createOne(opened())
  await mustWrite(opened(), rowOf('old', '1', { expiresAt: 1 }), rowOf('k', '1'))
  await admin.config('SET', 'maxmemory', '1mb')
  const outcome = opened().commit({ writes: [writeOf(contextOf(id, 2))], rows: [rowOf('k', '2'), rowOf('l', '1')] })
  await expect(outcome).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
  expect(await opened().version({ id })).toBe(1)
  expect([await valueOf('k'), await valueOf('l')]).toEqual(['1', null])
  expect(await opened().sweepRows({ now: 1e15, limit: 9 })).toBe(1)
  expect(await opened().countRows({ space: 'items' })).toBe(1)
})

test('a row for idempotency takes at most 650 bytes, and nothing is left of one that was swept', async () => {
  const memory = async () => Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1])
  const value = JSON.stringify({
    hash: hash(0),
    status: 200,
    body: { contextId: 1, message: 'x'.repeat(60) },
    at: 1e12,
  })
  const before = await memory()
  const count = 4000
  for (let from = 0; from < count; from += 500)
    await mustWrite(
      opened(),
      ...Array.from({ length: 500 }, (_, index) =>
        rowOf(hash(from + index), value, { space: 'idempotency', expiresAt: 1e6 + from + index, expects: null }),
      ),
    )
  expect(((await memory()) - before) / count).toBeLessThan(650)
  let swept = 0
  for (let some = -1; some !== 0; swept += some) some = await opened().sweepRows({ now: 1e15, limit: 2 * count })
  expect(swept).toBe(count)
  expect((await admin.keys(key('r*'))).filter((name) => name !== key('rc'))).toEqual([])
})
