// The store on Redis in several partitions, and on a cluster: the contract, and what is Redis's alone.
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { explore } from '../../src/store/redis/connection.ts'
import { startRedisCluster, type RedisCluster } from '../support/redis.ts'
import { storeContract } from './contract.ts'
import { openOn } from './redis-opened.ts'

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await startRedisCluster()
})
afterAll(() => cluster.close())

storeContract('Redis, in 5 partitions', async () => openOn(await explore(inject('redisUrl')), 5))
storeContract('Redis Cluster', async () => openOn(await explore(cluster.url), 16))

test('a cluster has one database', async () => {
  await expect(explore(`${cluster.nodes[0]?.url}/1`)).rejects.toThrow(
    /^Redis at [\d.:]+ is a node of a cluster, which has the database 0 alone$/,
  )
  await expect(explore(`${cluster.url}/1`)).rejects.toThrow(/database 0 alone$/)
  expect(await explore(`${cluster.nodes[0]?.url}/0`)).toMatchObject({ cluster: true })
})
