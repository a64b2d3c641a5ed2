// The store on a Redis that has forgotten its last moments: nothing is mixed up with what it forgot.
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { type RedisStore } from '../../src/store/redis/store.ts'
import { startProxy } from '../support/proxy.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { contextOf, createOne, newId, update, writeOf } from './contract-support.ts'
import { remember } from './redis-past.ts'
import { atEndOfTest } from '../support/at-end.ts'
import { openRedis } from '../support/redis-store.ts'

let redis: RedisServer
beforeEach(async () => {
  redis = await startRedis()
  atEndOfTest(() => redis.close())
})

async function openStore({ url = redis.url, namespace = randomUUID(), partitions = 1 } = {}): Promise<RedisStore> {
  const store = await openRedis({ url, namespace, partitions, deadAfterMs: 1000 })
  atEndOfTest(() => store.close())
  return store
}

/** `mine` speaks through the proxy, `other` doesn't. */
async function openTwo() {
  const proxy = await startProxy(Number(new URL(redis.url).port))
  atEndOfTest(() => proxy.close())
  const namespace = randomUUID()
  return {
    proxy,
    mine: await openStore({ url: `redis://127.0.0.1:${proxy.port}`, namespace }),
    other: await openStore({ namespace }),
  }
}

const data = (version: number, text: string) => ({ parts: { head: `${text} ${version}`, data: text } })
const ready = (...stores: readonly RedisStore[]) =>
  expect.poll(() => stores.map((store) => store.trouble()), { timeout: 5000 }).toEqual(stores.map(() => null))

describe('a commit that is sent again', () => {
  test('to a Redis that has forgotten what it was decided on is not done, whatever others have written since', async () => {
    const { proxy, mine, other } = await openTwo()
    const id = await createOne(mine, data(1, 'mine'))
    const goBack = await remember(redis)
    await update(mine, id, data(2, 'mine'))
    proxy.swallow(/mine 3/)
    const third = mine.commit({ writes: [writeOf(contextOf(id, 3, data(3, 'mine')), { changed: ['head'] })] })
    await expect.poll(() => proxy.sent(/mine 3/)).toBe(1)
    proxy.refuses = true
    await goBack()
    await expect.poll(() => other.trouble(), { timeout: 5000 }).toBeNull()
    await update(other, id, data(2, 'other'))
    proxy.refuses = false
    const now = contextOf(id, 2, data(2, 'other'))
    expect(await third).toEqual({ ok: false, stale: id, current: now })
    expect(await mine.load({ id })).toEqual(now)
  })

  test('is decided anew where it never arrived, and arrives in vain after that', async () => {
    const { proxy, mine, other } = await openTwo()
    const id = await createOne(mine, data(1, 'mine'))
    proxy.swallow(/mine 2/)
    expect(
      await mine.commit({ writes: [writeOf(contextOf(id, 2, data(2, 'mine')), { log: ['twice'] })] }),
    ).toMatchObject({ ok: false, stale: id, current: { version: 1 } })
    await proxy.deliver()
    expect(await other.version({ id })).toBe(1)
    await update(mine, id, data(2, 'again'), { log: ['once'] })
    await proxy.deliver()
    expect(await other.log({ id, limit: 9 })).toEqual(['once'])
  })

  test('is done if all that it does is to create', async () => {
    const { proxy, mine } = await openTwo()
    const id = await newId(mine)
    proxy.swallow(/mine 1/)
    expect(await mine.commit({ writes: [writeOf(contextOf(id, 1, data(1, 'mine')), { log: ['once'] })] })).toEqual({
      ok: true,
    })
    expect(await mine.log({ id, limit: 9 })).toEqual(['once'])
  })
})

describe('ids that a Redis acknowledged and lost', () => {
  test('are given by no server again, whether it gave any before or not', async () => {
    const namespace = randomUUID()
    const [one, other] = [await openStore({ namespace }), await openStore({ namespace })]
    expect(await newId(one)).toBe(1)
    const goBack = await remember(redis)
    const lost = [await newId(one), await newId(one)]
    await goBack()
    await ready(one, other)
    const third = await openStore({ namespace })
    const given = [await newId(other), await newId(third), await newId(one)]
    for (const id of given) expect(id).toBeGreaterThan(Math.max(...lost) + 1000)
    // Passed over once, not by each.
    expect(given).toEqual([0, 1, 2].map((more) => (given[0] ?? 0) + more))
  })

  test("aren't when all servers start anew with Redis, nor when it goes away again at once", async () => {
    const namespace = randomUUID()
    const first = await openStore({ namespace, partitions: 3 })
    for (let partition = 0; partition < 3; partition += 1) await newId(first, partition)
    const goBack = await remember(redis)
    const given = [await newId(first, 2), await newId(first, 2)]
    await first.close()
    for (let time = 0; time < 3; time += 1) {
      await goBack()
      const store = await openStore({ namespace, partitions: 3 })
      given.push(await newId(store, 2), await newId(store, 2))
      await store.close()
    }
    expect(new Set(given).size).toBe(given.length)
    expect(given.every((id) => id % 3 === 2)).toBe(true)
  })

  test('leave no gap where Redis lost nothing, however often servers start', async () => {
    const namespace = randomUUID()
    const ids: number[] = []
    for (let time = 0; time < 3; time += 1) ids.push(await newId(await openStore({ namespace })))
    expect(ids).toEqual([1, 2, 3])
  })
})

test('a Redis that comes back empty gives higher ids than any that a server knows of', async () => {
  const forgetful = await startRedis({ args: ['--appendonly', 'no'] })
  atEndOfTest(() => forgetful.close())
  const namespace = randomUUID()
  const [giver, writer] = [
    await openStore({ url: forgetful.url, namespace, partitions: 3 }),
    await openStore({ url: forgetful.url, namespace, partitions: 3 }),
  ]
  // More than any gap that is left for what a Redis may have lost.
  const { first } = await giver.reserveIds({ count: 1_000_000, partition: 2 })
  const last = first + 3 * 999_999
  await writer.commit({ writes: [writeOf(contextOf(last, 1))] })
  await giver.close()
  await forgetful.signal('SIGKILL')
  await forgetful.start()
  await ready(writer)
  const fresh = await openStore({ url: forgetful.url, namespace, partitions: 3 })
  // One that knows nothing begins anew; what it gives is passed over by the first that knows more.
  expect(await newId(fresh, 2)).toBeLessThan(last)
  const next = await newId(writer, 2)
  expect(next).toBeGreaterThan(last + 1000)
  expect(await newId(fresh, 2)).toBe(next + 3)
})

test('ids that a Redis gave and forgot are not given again', async () => {
  const forgetful = await startRedis({ args: ['--appendonly', 'no'] })
  atEndOfTest(() => forgetful.close())
  const store = await openStore({ url: forgetful.url })
  const [id, { incarnation }] = [await createOne(store), store]
  await forgetful.signal('SIGKILL')
  await forgetful.start()
  await expect.poll(() => store.trouble(), { timeout: 5000 }).toBeNull()
  expect(store.incarnation).toBeGreaterThan(incarnation)
  expect(await store.load({ id })).toBeNull()
  const [first, second] = [await newId(store), await newId(store)]
  expect(first).toBeGreaterThan(id + 1000)
  expect(second).toBe(first + 1)
})
