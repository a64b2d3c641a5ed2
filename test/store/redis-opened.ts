// A store on Redis for the contract of the port, in a namespace of its own.
import { setTimeout as sleep } from 'node:timers/promises'
import { randomUUID } from 'node:crypto'
import { connect, mastersOf, type RedisAddress } from '../../src/store/redis/connection.ts'
import { openRedisStore, type RedisStore } from '../../src/store/redis/store.ts'
import type { OpenedStore } from './contract-support.ts'
import { silent as log } from '../support/silent.ts'

/** Milliseconds. */
const SILENCE = 200

/** The namespace is gone afterwards. */
export async function openOn(address: RedisAddress, partitions: number): Promise<OpenedStore> {
  const namespace = `test-${randomUUID()}`
  const open = (): Promise<RedisStore> => openRedisStore({ address, namespace, partitions, deadAfterMs: SILENCE, log })
  let store = await open()
  return {
    store,
    now: () => store.now(),
    async lapse(milliseconds) {
      const end = store.now() + milliseconds
      while (store.now() < end) await sleep(1)
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
        await sleep(SILENCE / 5)
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
