// A namespace that version 0.1 wrote, command by command: it is read as it is, and kept anew where it is written.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { explore } from '../../src/store/redis/connection.ts'
import { partitionKey, settingsKey } from '../../src/store/redis/keys.ts'
import { openRedisStore, type RedisStore } from '../../src/store/redis/store.ts'
import { contextOf, createOne, idsOf, newId, update, writeOf } from './contract-support.ts'

const quiet = (): void => {}
const log = { trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet }

const id = z.number()
const PINNED = z
  .object({
    ids: z.object({ due: id, owned: id, large: id, parent: id, child: id, ended: id, logged: id }),
    commands: z.array(z.tuple([z.string(), z.string()], z.string())),
    contexts: z.array(
      z
        .object({
          id,
          version: z.number(),
          terms: z.array(z.string()),
          due: z.number().nullable(),
          owner: z.string().nullable(),
          endedAt: z.number().nullable(),
          parent: z.number().nullable(),
          parts: z.record(z.string(), z.string()),
        })
        .transform(({ terms: indexKeys, ...context }) => ({ ...context, indexKeys })),
    ),
  })
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, 'pinned/redis-0.1.json'), 'utf8')))
const { ids, contexts } = PINNED
const MANY = contexts.filter(({ indexKeys }) => indexKeys.includes('many')).map((context) => context.id)

let namespace: string
let admin: Redis
let store: RedisStore
const open = async () =>
  openRedisStore({ address: await explore(inject('redisUrl')), namespace, partitions: 1, deadAfterMs: 1000, log })

beforeEach(async () => {
  namespace = `test-${randomUUID()}`
  admin = new Redis(inject('redisUrl'))
  for (const [name, key, ...values] of PINNED.commands)
    await admin.call(name, key.replace('NAMESPACE', namespace), ...values)
  store = await open()
})
afterEach(async () => {
  await store.close()
  admin.disconnect()
})

const root = () => partitionKey(namespace, 0)

test('is read as it was written', async () => {
  for (const context of contexts) expect(await store.load({ id: context.id })).toEqual(context)
  expect(await store.version({ id: ids.logged })).toBe(2)
  expect(await store.list({ all: [], limit: 1000 })).toEqual(contexts)
  expect(await idsOf(store.list({ all: ['many'], without: ['third'], skip: 90, limit: 5 }))).toEqual(
    MANY.filter((_, index) => index % 3 !== 0).slice(90, 95),
  )
  expect(await store.waitingFor({ any: ['any', 'hear:2:go'], upTo: 1000, limit: 9 })).toEqual([ids.due, ids.parent])
  expect(await store.log({ id: ids.logged, limit: 9 })).toEqual(['one', 'two', 'three'])
  expect(await store.getDefinition({ hash: 'abc' })).toBe('{"states":[]}')
  expect(await store.highestId()).toBe(ids.logged)
})

test("each context is kept anew when it is next written, under its old writers' commits, and found by its new words alone", async () => {
  for (const context of contexts) {
    const [was] = await admin.hmget(`${root()}c:${context.id}`, 'w')
    await update(store, context.id, {
      indexKeys: ['now', context.id % 2 === 0 ? 'even' : 'odd'],
      parts: { ...context.parts, head: 'next' },
    })
    const row = await admin.get(`${root()}p:${context.id}`)
    if (context.id === ids.large) expect(row).toBeNull()
    else expect(row).toContain(`;${was}\x1e`)
    expect(await admin.exists(`${root()}c:${context.id}`)).toBe(context.id === ids.large ? 1 : 0)
  }
  for (const context of contexts) {
    const indexKeys = ['now', context.id % 2 === 0 ? 'even' : 'odd']
    const next = { ...context, version: context.version + 1, indexKeys, parts: { ...context.parts, head: 'next' } }
    expect(await store.load({ id: context.id })).toEqual(next)
  }
  expect(await idsOf(store.list({ all: ['now'], limit: 1000 }))).toEqual(contexts.map((context) => context.id))
  expect(await idsOf(store.list({ all: ['even', 'now'], limit: 1000 }))).toEqual(
    contexts.map((context) => context.id).filter((one) => one % 2 === 0),
  )
  for (const word of ['many', 'third', 'other', 'u:all', 'f:all', 'any', 'é'])
    expect(await idsOf(store.list({ all: [word], limit: 1000 })), word).toEqual([])
})

test('new contexts are found together with the old ones', async () => {
  const added: number[] = []
  for (let count = 0; count < 200; count += 1) added.push(await createOne(store, { indexKeys: ['many'] }))
  expect(added[0]).toBeGreaterThan(ids.logged + 9)
  const all = [...MANY, ...added]
  expect(await idsOf(store.list({ all: ['many'], limit: 1000 }))).toEqual(all)
  expect(await idsOf(store.list({ all: ['many'], skip: 140, limit: 40 }))).toEqual(all.slice(140, 180))
  expect(await store.waitingFor({ any: ['many', 'third'], upTo: 1e6, limit: 1000 })).toEqual(all)
  // One of old that comes back to a word that it once had.
  await update(store, MANY[70] ?? 0, { indexKeys: [] })
  await update(store, MANY[70] ?? 0, { indexKeys: ['many'] })
  expect(await idsOf(store.list({ all: ['many'], limit: 1000 }))).toEqual(all)
  expect(await store.highestId()).toBe(added.at(-1))
})

test('what is due, what asks for a look, what a dead server left and what has ended are found', async () => {
  const now = store.now()
  expect(await store.claimDue({ now, limit: 9, hideFor: 1e6 })).toMatchObject({ ids: [ids.parent, ids.due] })
  await admin.zadd(`${root()}owners`, 1, 'boot-of-0.1')
  await expect
    .poll(
      async () => {
        await store.heartbeat({ owner: 'me' })
        return store.claimAbandoned({ owner: 'me', limit: 9, hideFor: 1e6 })
      },
      { timeout: 5000, interval: 100 },
    )
    .toEqual([{ id: ids.owned, owner: 'boot-of-0.1' }])
  // The child waits for its parent.
  expect(await store.purge({ endedBefore: now, limit: 9 })).toBe(1)
  expect(await store.load({ id: ids.ended })).toBeNull()
  await update(store, ids.parent, {}, { answersNotification: true })
  expect(await store.purge({ endedBefore: now, limit: 9 })).toBe(1)
  expect(await store.load({ id: ids.child })).toBeNull()
})

test('a commit of old that is sent again is known', async () => {
  const [writer = '', number = ''] = (await admin.hget(`${root()}c:${ids.logged}`, 'w'))?.split('=') ?? []
  await update(store, ids.logged, {})
  expect(await admin.get(`${root()}p:${ids.logged}`)).toContain(`${writer}=${number}`)
})

test('version 0.1 is refused from then on, and so is a format that is not known', async () => {
  expect(await admin.hget(settingsKey(namespace), 'format')).toBe('2')
  await admin.hset(settingsKey(namespace), 'format', '3')
  await expect(open()).rejects.toThrow(/has data of format 3; this version reads 2$/)
})

test('ids go on where they were', async () => {
  expect(await newId(store)).toBeGreaterThan(ids.logged + 10)
  expect(await store.commit({ writes: [writeOf(contextOf(ids.due, 1))] })).toMatchObject({
    ok: false,
    stale: ids.due,
    current: { version: 1 },
  })
})
