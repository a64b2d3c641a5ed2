// pinned: a Redis namespace as the commands that bring it about, with a name that stands for that of the namespace.
import { Redis } from 'ioredis'
import { ROW_SPACES } from '../../../src/model/rows.ts'
import type { EmbeddedStore } from '../../../src/store/lmdb/store.ts'
import { explore } from '../../../src/store/redis/connection.ts'
import { openRedisStore, type RedisStore } from '../../../src/store/redis/store.ts'
import { fill, type Commands, type Corpus } from './corpus.ts'
import { silent as log } from '../../support/silent.ts'

const NAME = 'NAMESPACE'

export const openNamespace = async (url: string, namespace: string): Promise<RedisStore> =>
  openRedisStore({ address: await explore(url), namespace, partitions: 1, deadAfterMs: 60_000, log })

/** Fills a new namespace with the corpus and the rows of a store, and gives the commands for all its keys. */
export async function writeNamespace(url: string, corpus: Corpus, rowsOf: EmbeddedStore): Promise<Commands> {
  const store = await openNamespace(url, NAME)
  const admin = new Redis(url)
  try {
    await fill(store, corpus)
    for (const space of ROW_SPACES) {
      const rows = await rowsOf.listRows({ space, prefix: '', limit: 1000 })
      if (rows.length > 0) await store.commit({ writes: [], rows: rows.map((row) => ({ ...row, space })) })
    }
    const keys = await admin.keys('*')
    return await Promise.all(keys.toSorted().map((key) => commandFor(admin, key)))
  } finally {
    await store.close()
    admin.disconnect()
  }
}

async function commandFor(admin: Redis, key: string): Promise<Commands[number]> {
  const type = await admin.type(key)
  switch (type) {
    case 'string':
      return ['SET', key, (await admin.get(key)) ?? '']
    case 'hash':
      return ['HSET', key, ...Object.entries(await admin.hgetall(key)).flat()]
    case 'list':
      return ['RPUSH', key, ...(await admin.lrange(key, 0, -1))]
    case 'set':
      return ['SADD', key, ...(await admin.smembers(key))]
    case 'zset':
      return ['ZADD', key, ...(await admin.zrange(key, 0, '-1', 'WITHSCORES')).reduce<string[]>(pairs, [])]
    default:
      throw new Error(`'${key}' is a ${type}`)
  }
}

/** Members come before their scores, and are given behind them. */
const pairs = (list: string[], text: string, place: number): string[] =>
  place % 2 === 0 ? [...list, text] : [...list.slice(0, -1), text, ...list.slice(-1)]

export async function replay(url: string, commands: Commands, namespace: string): Promise<void> {
  const admin = new Redis(url)
  try {
    for (const [name, key, ...values] of commands) await admin.call(name, key.replace(NAME, namespace), ...values)
  } finally {
    admin.disconnect()
  }
}
