// The store on Redis: the contract, on a lone Redis and on a cluster, and what is Redis's alone.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { connect, explore, mastersOf, type RedisAddress } from '../../src/store/redis/connection.ts'
import { openRedisStore, type RedisStore } from '../../src/store/redis/store.ts'
import { startRedisCluster, type RedisCluster } from '../support/redis.ts'
import type { OpenedStore } from './contract-support.ts'
import { storeContract } from './contract.ts'

const quiet = (): void => {}
const log = { trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet }
/** Milliseconds. */
const SILENCE = 200

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await startRedisCluster()
})
afterAll(() => cluster.close())

storeContract('Redis', async () => openOn(await explore(inject('redisUrl')), 1))
storeContract('Redis, in 5 partitions', async () => openOn(await explore(inject('redisUrl')), 5))
storeContract('Redis Cluster', async () => openOn(await explore(cluster.url), 16))

test('a cluster has one database', async () => {
  await expect(explore(`${cluster.nodes[0]?.url}/1`)).rejects.toThrow(
    /^Redis at [\d.:]+ is a node of a cluster, which has the database 0 alone$/,
  )
  await expect(explore(`${cluster.url}/1`)).rejects.toThrow(/database 0 alone$/)
  expect(await explore(`${cluster.nodes[0]?.url}/0`)).toMatchObject({ cluster: true })
})

/** In a namespace of its own, which is gone afterwards. */
async function openOn(address: RedisAddress, partitions: number): Promise<OpenedStore> {
  const namespace = `test-${randomUUID()}`
  const open = (): Promise<RedisStore> => openRedisStore({ address, namespace, partitions, deadAfterMs: SILENCE, log })
  let store = await open()
  return {
    store,
    now: () => store.now(),
    async lapse(milliseconds) {
      const end = store.now() + milliseconds
      while (store.now() < end)
        await new Promise((resolve) => {
          setTimeout(resolve, 1)
        })
    },
    async reopen() {
      await store.close()
      store = await open()
      return store
    },
    async pass() {
      const end = store.now() + SILENCE * 1.5
      while (store.now() < end) {
        await store.heartbeat({ owner: 'me' })
        await new Promise((resolve) => {
          setTimeout(resolve, SILENCE / 5)
        })
      }
    },
    async close() {
      await store.close()
      await removeNamespace(address, namespace)
    },
  }
}

async function removeNamespace(address: RedisAddress, namespace: string): Promise<void> {
  const connection = connect(address, 'worker')
  await connection.ping()
  for (const master of mastersOf(connection)) {
    for await (const keys of master.scanStream({ match: `*af:${namespace}*`, count: 1000 }))
      await Promise.all(keys.map((key: string) => master.del(key)))
  }
  connection.disconnect()
}
