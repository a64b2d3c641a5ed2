// How Redis keeps contexts and their index: small ones as one text, large ones as a hash, sets of ids in leaves. Nobody
// who asks sees a difference.
import { listed, waiting } from './listed.ts'
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ContextId } from '../../src/model/context.ts'
import { FORMAT } from '../../src/model/format.ts'
import { partitionKey, settingsKey } from '../../src/store/redis/keys.ts'
import { type RedisStore } from '../../src/store/redis/store.ts'
import { Random } from '../recorded/random.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { contextOf, createOne, idsOf, mustCommit, update, writeOf } from './contract-support.ts'
import { openRedis } from '../support/redis-store.ts'

let server: RedisServer
let namespace: string
let admin: Redis
let store: RedisStore
beforeAll(async () => {
  server = await startRedis({ appendfsync: 'no' })
})
afterAll(() => server.close())
beforeEach(async () => {
  namespace = `test-${randomUUID()}`
  admin = new Redis(server.url)
  store = await openRedis({ url: server.url, namespace, deadAfterMs: 1000 })
})
afterEach(async () => {
  await store.close()
  admin.disconnect()
})

const key = (name: string) => partitionKey(namespace, 0) + name
const kindsOf = async (id: ContextId) => [await admin.type(key(`p:${id}`)), await admin.type(key(`c:${id}`))]
const leaves = (word: string) => admin.zcard(key(`d:t:${word}`))
const found = (word: string) => idsOf(listed(store, { all: [word], limit: 5000 }))
const memory = async () => Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1])
const SMALL = ['string', 'none']
const LARGE = ['none', 'hash']

describe('a context', () => {
  const large = 'x'.repeat(5000)
  const facts = { indexKeys: ['word'], due: 1e15, owner: 'boot', endedAt: 7, parent: 9 }

  test('becomes a hash as it grows, and one text again as it shrinks, with all its parts', async () => {
    const id = await createOne(store, { ...facts, parts: { head: '1', '"quoted': 'q', empty: '' } })
    expect(await kindsOf(id)).toEqual(SMALL)
    // Only what changed is sent.
    const grown = { head: '2', '"quoted': 'q', empty: '', large }
    await mustCommit(store, writeOf(contextOf(id, 2, { ...facts, parts: grown }), { changed: ['head', 'large'] }))
    expect(await kindsOf(id)).toEqual(LARGE)
    expect(await store.load({ id })).toEqual(contextOf(id, 2, { ...facts, parts: grown }))
    await mustCommit(
      store,
      writeOf(contextOf(id, 3, { ...facts, parts: { ...grown, head: '3' } }), { changed: ['head'] }),
    )
    expect(await store.load({ id })).toEqual(contextOf(id, 3, { ...facts, parts: { ...grown, head: '3' } }))
    await mustCommit(
      store,
      writeOf(contextOf(id, 4, { indexKeys: [], parts: { head: '4', empty: '' } }), {
        changed: ['head', 'large', '"quoted'],
      }),
    )
    expect(await kindsOf(id)).toEqual(SMALL)
    expect(await store.load({ id })).toEqual(contextOf(id, 4, { parts: { head: '4', empty: '' } }))
  })

  test('whose texts hold what separates them is a hash', async () => {
    for (const parts of [{ head: 'a\x1fb' }, { 'a\x1fb': 'head' }]) {
      const id = await createOne(store, { parts })
      expect(await kindsOf(id)).toEqual(LARGE)
      await update(store, id, { parts: { head: '\x1e' } })
      expect(await kindsOf(id)).toEqual(SMALL)
      expect((await store.load({ id }))?.parts).toEqual({ head: '\x1e' })
    }
  })

  test.each([
    ['small', 'x'],
    ['large', large],
  ])(
    'that is %s keeps its reservation, its notification and its last commits apart from its texts',
    async (_, text) => {
      const id = await createOne(store, { parts: { head: text } })
      const other = await createOne(store)
      await update(store, other, {}, { notifies: [id] })
      expect((await store.claimDue({ now: store.now(), limit: 9, hideFor: 1 })).ids).toEqual([id])
      expect(await store.commit({ writes: [writeOf(contextOf(id, 9))], lost: 3 })).toMatchObject({
        ok: false,
        stale: id,
        current: { version: 1, parts: { head: text } },
      })
      const reservation =
        text === large ? await admin.hget(key(`c:${id}`), 'r') : (await admin.get(key(`p:${id}`)))?.split('\x1f')[2]
      expect(reservation).toMatch(/^[\w-]{11}:\d{13}$/)
      expect((await store.load({ id }))?.parts).toEqual({ head: text })
      await update(store, id, { parts: { head: text, tail: 't' } })
      // Still asked to look, until it answers.
      await expect
        .poll(async () => (await store.claimDue({ now: store.now(), limit: 9, hideFor: 1 })).ids)
        .toEqual([id])
      await update(store, id, {}, { answersNotification: true })
      expect((await store.claimDue({ now: store.now() + 1000, limit: 9, hideFor: 1 })).ids).toEqual([])
    },
  )

  test('of which nothing changed but its parts is written by two commands', async () => {
    const id = await createOne(store, { indexKeys: ['a', 'b', 'c'], parent: 7 })
    await admin.config('RESETSTAT')
    await mustCommit(
      store,
      writeOf(contextOf(id, 2, { indexKeys: ['a', 'b', 'c'], parent: 7, parts: { record: '2' } })),
    )
    const names = [...(await admin.info('commandstats')).matchAll(/cmdstat_([\w|]+):/g)].map(([, name]) => name)
    expect(names.filter((name) => name !== 'config|resetstat').sort()).toEqual(['evalsha', 'getrange', 'set'])
  })
})

describe('a set of ids', () => {
  test('is whole in whatever order its contexts come, leave and come back', async () => {
    const { first } = await store.reserveIds({ count: 900, partition: 0 })
    const ids = Array.from({ length: 900 }, (_, index) => first + index)
    // By turns, as two servers with ids ahead make them, and a third from the end.
    const order = ids.slice(0, 300).flatMap((id, index) => [id, ids[300 + index] ?? 0, ids[899 - index] ?? 0])
    for (const id of order)
      await store.commit({
        writes: [writeOf(contextOf(id, 1, { indexKeys: ['word', id % 7 === 0 ? 'seventh' : 'rest'] }))],
      })
    expect(await found('word')).toEqual(ids)
    expect(await leaves('word')).toBeGreaterThan(4)
    expect(await leaves('seventh')).toBeGreaterThan(0)
    expect(await idsOf(listed(store, { all: ['word', 'seventh'], limit: 5000 }))).toEqual(
      ids.filter((id) => id % 7 === 0),
    )
    expect(await idsOf(listed(store, { all: ['word'], without: ['seventh'], skip: 300, limit: 5000 }))).toEqual(
      ids.filter((id) => id % 7 !== 0).slice(300),
    )
    for (const id of ids.slice(100, 700).toReversed()) await update(store, id, { indexKeys: [] })
    const stayed = [...ids.slice(0, 100), ...ids.slice(700)]
    expect(await found('word')).toEqual(stayed)
    expect(
      await waiting(store, { any: ['word', 'seventh'], upTo: ids[750] ?? 0, after: ids[50] ?? 0, limit: 5000 }),
    ).toEqual(stayed.filter((id) => id > (ids[50] ?? 0) && id <= (ids[750] ?? 0)))
    for (const id of ids.slice(650, 700)) await update(store, id, { indexKeys: ['word'] })
    expect(await found('word')).toEqual([...ids.slice(0, 100), ...ids.slice(650)])
    for (const id of [...ids.slice(0, 100), ...ids.slice(650)]) await update(store, id, { indexKeys: [] })
    expect(await found('word')).toEqual([])
    // Nothing of it is left.
    expect(await admin.keys(key('*word'))).toEqual([])
    expect(await admin.hget(key('last'), 't:word')).toBeNull()
    expect(await store.highestId()).toBe(ids.at(-1))
  })

  test.each([1, 2 ** 53 - 601])('from id %i on is as a model has it, in any order', async (lowest) => {
    const random = new Random(lowest)
    const words = ['common', 'rare', '\ud800', 'n\0l', 'a\x1fb\x1ec', '__proto__']
    const model = new Map<ContextId, { readonly version: number; readonly indexKeys: readonly string[] }>()
    for (let round = 0; round < 8; round += 1) {
      const [way, density] = [random.pick(['up', 'down', 'anywhere', 'dense']), random.pick([0.05, 0.5, 0.95])]
      const writes = Array.from({ length: 200 }, (_, step) => {
        const place = { up: 3 * step, down: 599 - 3 * step, anywhere: random.between(0, 599), dense: step }[way] ?? 0
        const id = lowest + place
        const indexKeys = words.filter((word) => random.chance(word === 'rare' ? 0.05 : density))
        const version = (model.get(id)?.version ?? 0) + 1
        model.set(id, { version, indexKeys })
        return writeOf(contextOf(id, version, { indexKeys }))
      })
      await Promise.all(writes.map((write) => mustCommit(store, write)))
      const ids = [...model.keys()].sort((one, other) => one - other)
      const having = (word: string) => ids.filter((id) => model.get(id)?.indexKeys.includes(word))
      expect(await idsOf(listed(store, { all: [], limit: 5000 }))).toEqual(ids)
      for (const word of words) {
        expect(await found(word), word).toEqual(having(word))
        const without = new Set(having('common'))
        expect(await idsOf(listed(store, { all: [word], without: ['common'], skip: 5, limit: 40 }))).toEqual(
          having(word)
            .filter((id) => !without.has(id))
            .slice(5, 45),
        )
      }
      const any = new Set([...having('rare'), ...having('n\0l')])
      expect(await waiting(store, { any: ['rare', 'n\0l'], upTo: lowest + 599, limit: 5000 })).toEqual(
        ids.filter((id) => any.has(id)),
      )
    }
  })

  test('of which many are made in one commit is split as often as it must be', async () => {
    const { first } = await store.reserveIds({ count: 400, partition: 0 })
    const ids = Array.from({ length: 400 }, (_, index) => first + index)
    for (const odd of [0, 1]) {
      await mustCommit(
        store,
        ...ids.filter((id) => id % 2 === odd).map((id) => writeOf(contextOf(id, 1, { indexKeys: ['word'] }))),
      )
    }
    expect(await found('word')).toEqual(ids)
    for (let skip = 0; skip < 400; skip += 37)
      expect(await idsOf(listed(store, { all: ['word'], skip, limit: 3 }))).toEqual(ids.slice(skip, skip + 3))
  })

  test('in which lies what is no id is split without it', async () => {
    await admin.zadd(key('t:word'), 1e15, 'garbage')
    const { first } = await store.reserveIds({ count: 300, partition: 0 })
    const ids = Array.from({ length: 300 }, (_, index) => first + index)
    await mustCommit(store, ...ids.map((id) => writeOf(contextOf(id, 1, { indexKeys: ['word'] }))))
    expect(await leaves('word')).toBeGreaterThan(0)
    expect(await admin.zscore(key('t:word'), 'garbage')).toBe('1000000000000000')
    expect(await found('word')).toEqual(ids)
  })

  test('takes a few bytes for each id, and a small waiting context at most 1.5 KB', async () => {
    const words = [
      'u:all',
      'status:WAITING',
      'u:flux:6:Spread',
      'u:start:8:counting',
      'u:state:8:counting',
      'open:5:bench:6:Spread',
      'hear:4:tick',
      'hear:6:finish',
    ]
    const parts = {
      base: 'b'.repeat(245),
      head: 'h'.repeat(340),
      tail: 't'.repeat(140),
      input: '{"nr":0}',
      output: '{"count":0}',
      s0: '{"input":{},"output":{}}',
    }
    const count = 4000
    const { first } = await store.reserveIds({ count, partition: 0 })
    const before = await memory()
    await Promise.all(
      Array.from({ length: count }, (_, index) =>
        mustCommit(store, writeOf(contextOf(first + index, 1, { indexKeys: words, parts }))),
      ),
    )
    expect(((await memory()) - before) / count).toBeLessThan(1500)
    let bytes = 0
    for (const name of await admin.keys(key('l:*'))) bytes += Number(await admin.memory('USAGE', name))
    expect(bytes / count / (words.length + 1)).toBeLessThan(12)
  })
})

test.each([FORMAT - 1, FORMAT + 1])(
  'a namespace of format %i is refused in a line that says so, and stays as it is',
  async (format) => {
    await createOne(store, { indexKeys: ['word'] })
    await admin.hset(settingsKey(namespace), 'format', format)
    const names = (await admin.keys(`*${namespace}*`)).toSorted()
    const contents = () => Promise.all(names.map((name) => admin.dumpBuffer(name)))
    const before = await contents()
    for (const options of [{}, { source: 'a folder' }])
      await expect(openRedis({ url: server.url, namespace, partitions: 4, ...options })).rejects.toThrow(
        `namespace '${namespace}' has format ${format}, and this version of actorflux reads format ${FORMAT} alone: use the version that wrote it`,
      )
    expect((await admin.keys(`*${namespace}*`)).toSorted()).toEqual(names)
    expect(await contents()).toEqual(before)
  },
)
