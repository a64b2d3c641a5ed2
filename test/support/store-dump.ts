// All that a store has, as one text, so that a test can tell that nothing has been written.
import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { isListed, ROW_SPACES } from '../../src/model/rows.ts'
import type { Store } from '../../src/ports/store.ts'
import type { EmbeddedStore } from '../../src/store/lmdb/store.ts'

const ALL = 1_000_000

/** By the port of stores: contexts, their logs, rows, and ids. */
export async function dumpOf(store: Store): Promise<string> {
  const { contexts } = await store.select({ any: [[]], order: 'asc', limit: ALL })
  const logs = await Promise.all(contexts.map(({ id }) => store.log({ id, limit: ALL })))
  const rows = await Promise.all(
    ROW_SPACES.map((space) =>
      isListed(space) ? store.listRows({ space, prefix: '', limit: ALL }) : store.countRows({ space }),
    ),
  )
  return JSON.stringify([contexts, logs, rows, await store.highestId()])
}

/** Of the embedded store, with what only it says: the rows that have expired, ids given out, and the number of writes. */
export async function dumpOfEmbedded(store: EmbeddedStore): Promise<string> {
  const rows = await Promise.all(
    ROW_SPACES.map((space) => store.listRows({ space, prefix: '', limit: ALL, withExpired: true })),
  )
  return JSON.stringify([await dumpOf(store), rows, store.lastId, store.revision])
}

/** What servers write by themselves: when they were last seen. */
const OF_SERVERS = /:owners$/

/** Of a namespace in the Redis that tests share: all keys, with their values as Redis stores them. */
export class RedisDump {
  readonly #redis = new Redis(inject('redisUrl'))
  readonly #pattern: string

  constructor(namespace: string) {
    this.#pattern = `*af:${namespace}*`
  }

  async read(): Promise<string> {
    const keys = (await this.#redis.keys(this.#pattern)).filter((key) => !OF_SERVERS.test(key)).sort()
    const values = await Promise.all(
      keys.map(async (key) => [key, await this.#redis.pttl(key), await this.#redis.dumpBuffer(key)] as const),
    )
    return JSON.stringify(values.map(([key, ttl, value]) => [key, ttl < 0, value?.toString('base64')]))
  }

  close(): void {
    this.#redis.disconnect()
  }
}
