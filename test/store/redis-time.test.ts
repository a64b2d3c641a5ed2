// The time of Redis as a server estimates it: when answers are slow, when its clock is set back, when a node of a
// cluster is mute.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Redis } from 'ioredis'
import { RedisTime } from '../../src/store/redis/time.ts'
import { startRedisCluster } from '../support/redis.ts'
import { createAll } from './contract-support.ts'
import { atEndOfTest } from '../support/at-end.ts'
import { openRedis } from '../support/redis-store.ts'

describe('the estimate', () => {
  let here = 0
  beforeEach(() => {
    here = 1000
    vi.spyOn(performance, 'now').mockImplementation(() => here)
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  /**
   * Asked now, read by Redis after `there` milliseconds, come after `back` more. `ahead`: Redis's clock less this
   * process's.
   */
  function answer(
    time: RedisTime,
    { there = 0, back = 0, ahead = 500_000, partition = 0, incarnation = 0 } = {},
  ): void {
    const asked = here
    here += there
    const read = here + ahead
    here += back
    time.received({ time: read, asked, partition, storeIncarnation: incarnation })
  }

  test('is as near as the quickest of the last answers, and never ahead', () => {
    const time = new RedisTime()
    answer(time, { there: 1, back: 2 })
    expect(time.now()).toBe(here + 500_000 - 2)
    answer(time, { back: 5000 })
    answer(time, { there: 5000 })
    expect(time.now()).toBe(here + 500_000)
    for (let slow = 0; slow < 5; slow += 1) answer(time, { back: 300 })
    expect(time.now()).toBe(here + 500_000 - 300)
  })

  test('follows a clock that was set back at the first answer that tells, however many were told before', () => {
    const time = new RedisTime()
    for (let told = 0; told < 5; told += 1) answer(time)
    answer(time, { there: 20, back: 10, ahead: 486_000 })
    expect(time.now()).toBe(here + 486_000 - 10)
  })

  test('keeps what a slow answer does not contradict', () => {
    const time = new RedisTime()
    answer(time)
    answer(time, { there: 4000, back: 1000, ahead: 498_000 })
    // It may have been read at once, or just before it came: only what is more than 5 s ahead of the question would be
    // wrong.
    expect(time.now()).toBe(here + 500_000)
  })

  test('goes by one partition as long as that one answers now and then, and by the first of them if it can', () => {
    const time = new RedisTime()
    answer(time, { partition: 3, ahead: 700_000 })
    answer(time, { partition: 1, ahead: 600_000 })
    answer(time, { partition: 3, ahead: 700_000 })
    expect(time.now()).toBe(here + 600_000)
    answer(time)
    expect(time.now()).toBe(here + 500_000)
    here += 59_000
    answer(time, { partition: 1, ahead: 600_000 })
    expect(time.now()).toBe(here + 500_000)
    here += 2_000
    answer(time, { partition: 1, ahead: 600_000 })
    expect(time.now()).toBe(here + 600_000)
    expect(time.isFrom(1)).toBe(true)
  })

  test('forgets what an earlier Redis told', () => {
    const time = new RedisTime()
    answer(time)
    answer(time, { incarnation: 1, partition: 2, ahead: 1000 })
    expect(time.now()).toBe(here + 1000)
  })
})

describe('the store', () => {
  test('tells no time that is late while a node of the cluster is mute', async () => {
    const cluster = await startRedisCluster()
    atEndOfTest(() => cluster.close())
    for (const { url } of cluster.nodes) {
      const admin = new Redis(url)
      await admin.config('SET', 'cluster-require-full-coverage', 'no')
      admin.disconnect()
    }
    const store = await openRedis({ url: cluster.url, partitions: 8 })
    atEndOfTest(() => store.close())
    await createAll(store, ...Array.from({ length: 8 }, () => ({ due: 1 })))
    // One of another partition than the first: the heartbeat there is answered at once, the whole after the silence of
    // five seconds.
    const owners = await Promise.all(
      cluster.nodes.map(async ({ url }) => {
        const admin = new Redis(url)
        const keys = await admin.keys('*}:due')
        admin.disconnect()
        return keys.some((key) => key.includes(':0}:'))
      }),
    )
    const mute = cluster.nodes[owners.indexOf(false)]
    if (!mute) throw new Error('a cluster has several nodes')
    atEndOfTest(() => mute.signal('SIGCONT'))
    for (let beat = 0; beat < 5; beat += 1) {
      await mute.signal('SIGSTOP')
      const heartbeat = store.heartbeat({ owner: 'me' })
      await sleep(1000)
      await mute.signal('SIGCONT')
      await heartbeat
    }
    // All of it runs on this machine, so its clock is theirs.
    expect(Math.abs(store.now() - Date.now())).toBeLessThan(500)
  }, 60_000)

  test('claims nothing that is not due by the clock of Redis, whatever the caller believes', async () => {
    const store = await openRedis({ partitions: 2, deadAfterMs: 1000 })
    atEndOfTest(() => store.close())
    const [due, later] = [store.now() - 1000, store.now() + 60_000]
    const [first] = await createAll(store, { due }, { due: later }, { due: later })
    expect(await store.claimDue({ now: later + 1000, limit: 10, hideFor: 600_000 })).toEqual({
      ids: [first],
      next: later,
    })
  })
})
