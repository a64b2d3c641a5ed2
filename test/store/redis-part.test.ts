// The store on a cluster of which a node is away: what is kept on the others goes on.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Redis } from 'ioredis'
import type { ContextId } from '../../src/model/context.ts'
import { type RedisStore } from '../../src/store/redis/store.ts'
import { startRedisCluster, type RedisCluster, type RedisServer } from '../support/redis.ts'
import { createAll } from './contract-support.ts'
import { openRedis } from '../support/redis-store.ts'

const PARTITIONS = 16
const SILENCE = 3000

let cluster: RedisCluster
let store: RedisStore
let away: RedisServer
/** Contexts in each partition: one that is due, one whose server is dead. */
let dues: ContextId[]
let abandoned: ContextId[]
/** Partitions on the nodes that stay. */
let living: number

beforeAll(async () => {
  cluster = await startRedisCluster()
  for (const { url } of cluster.nodes) {
    const admin = new Redis(url)
    await admin.config('SET', 'cluster-require-full-coverage', 'no')
    admin.disconnect()
  }
  store = await openRedis({ url: cluster.url, partitions: PARTITIONS, deadAfterMs: SILENCE })
  const each = Array.from({ length: PARTITIONS })
  dues = await createAll(store, ...each.map(() => ({ due: 1 })))
  abandoned = await createAll(store, ...each.map(() => ({ owner: 'dead' })))
  const [first] = cluster.nodes
  if (!first) throw new Error('a cluster has nodes')
  away = first
  await store.heartbeat({ owner: 'me' })
  const admin = new Redis(away.url)
  living = PARTITIONS - (await admin.keys('*}:due')).length
  admin.disconnect()
  expect(living).toBeGreaterThan(0)
  expect(living).toBeLessThan(PARTITIONS)
  await away.signal('SIGKILL')
}, 30_000)
afterAll(async () => {
  await store.close()
  await cluster.close()
})

const number = (ids: readonly ContextId[]) => new Set(ids).size

test('what is due there is claimed, and the next look is soon', async () => {
  const claimed: ContextId[] = []
  await expect
    .poll(
      async () => {
        const now = store.now()
        const { ids, next } = await store.claimDue({ now, limit: 10, hideFor: 600_000 })
        claimed.push(...ids)
        expect(next ?? Infinity).toBeLessThanOrEqual(now + 1000)
        return number(claimed)
      },
      { timeout: 15_000, interval: 100 },
    )
    .toBe(living)
}, 30_000)

test("what a dead server left there is claimed; elsewhere nobody is judged who couldn't be heard", async () => {
  const claimed: ContextId[] = []
  const beat = async () => {
    await store.heartbeat({ owner: 'me' })
    claimed.push(...(await store.claimAbandoned({ owner: 'me', limit: 10, hideFor: 600_000 })).map(({ id }) => id))
    return number(claimed)
  }
  await expect.poll(beat, { timeout: 15_000, interval: 200 }).toBe(living)
  await away.start()
  const back = performance.now()
  const due: ContextId[] = []
  let firstLate = Infinity
  await expect
    .poll(
      async () => {
        due.push(...(await store.claimDue({ now: store.now(), limit: 10, hideFor: 600_000 })).ids)
        if ((await beat()) > living) firstLate = Math.min(firstLate, performance.now())
        return [number(due), number(claimed)]
      },
      { timeout: 20_000, interval: 100 },
    )
    .toEqual([PARTITIONS - living, PARTITIONS])
  expect(firstLate - back).toBeGreaterThan(SILENCE)
  expect([...claimed].sort((a, b) => a - b)).toEqual(abandoned)
  expect(due.every((id) => dues.includes(id))).toBe(true)
}, 60_000)

test('a start while the cluster is down says so in the words of any start without Redis', async () => {
  const [, one, other] = cluster.nodes
  if (!one || !other) throw new Error('a cluster has several nodes')
  await Promise.all([one, other].map((node) => node.signal('SIGKILL')))
  const opening = async () => openRedis({ url: cluster.url, partitions: PARTITIONS, deadAfterMs: SILENCE })
  // Whether the others have noticed by then or not.
  for (let attempt = 0; attempt < 2; attempt += 1)
    await expect(opening()).rejects.toThrow(/^Redis can't be reached at 127\.0\.0\.1:\d+, [\d.:]+, [\d.:]+: [^\n]+$/)
}, 30_000)
