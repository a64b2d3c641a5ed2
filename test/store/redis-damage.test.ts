// Rows in Redis that hold what nobody wrote: each spoils nothing but itself.
import { listed, waiting } from './listed.ts'
import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, inject, test } from 'vitest'
import { Redis } from 'ioredis'
import { createRuntime } from '../../src/main.ts'
import type { ContextId } from '../../src/model/context.ts'
import { PARTITION_KEYS, partitionKey } from '../../src/store/redis/keys.ts'
import { type RedisStore } from '../../src/store/redis/store.ts'
import { contextOf, createAll, createOne, update, writeOf } from './contract-support.ts'
import { silent } from '../support/silent.ts'
import { openRedis } from '../support/redis-store.ts'
import { atEndOfTest, newFolder } from '../support/at-end.ts'

const errors: (object | undefined)[] = []
const log = {
  ...silent,
  error: (_: string, fields?: object) => void errors.push(fields),
}

let namespace: string
let admin: Redis
beforeEach(() => {
  namespace = `test-${randomUUID()}`
  errors.length = 0
  admin = new Redis(inject('redisUrl'))
  atEndOfTest(() => admin.disconnect())
})

const root = () => partitionKey(namespace, 0)
const row = (id: ContextId) => `${root()}c:${id}`
const text = (id: ContextId) => `${root()}p:${id}`
/** Parts that are too large for one text. */
const LARGE = { parts: { record: 'x'.repeat(5000) } }

/** Between the texts of a context that is one text, and before its facts. */
const [SEPARATOR, FACTS] = ['\x1f', '\x1e']

/** Changes a context that is one text. */
async function edit(id: ContextId, change: (text: string) => string): Promise<void> {
  const before = (await admin.get(text(id))) ?? ''
  const after = change(before)
  expect(after).not.toBe(before)
  await admin.set(text(id), after)
}

async function openStore(): Promise<RedisStore> {
  const store = await openRedis({
    namespace,
    deadAfterMs: 1000,
    // One of its own: a log is told of a context once.
    log: { ...log },
  })
  atEndOfTest(() => store.close())
  return store
}

type Damages = readonly (readonly [what: string, facts: object, damage: (id: ContextId) => Promise<unknown>])[]

const DAMAGES: Damages = [
  ['a version that is no number', LARGE, (id) => admin.hset(row(id), 'v', 'garbage')],
  ['no version', LARGE, (id) => admin.hdel(row(id), 'v')],
  ['index words that are no JSON', LARGE, (id) => admin.hset(row(id), 't', '["a')],
  ['index words that are no list of texts', LARGE, (id) => admin.hset(row(id), 't', '[1,{}]')],
  ['a due time that is no number', LARGE, (id) => admin.hset(row(id), 'd', 'soon')],
  ['a part whose name is no JSON', LARGE, (id) => admin.hset(row(id), '."x', '1')],
  [
    'a key of another type',
    LARGE,
    async (id) => {
      await admin.del(row(id))
      await admin.set(row(id), 'garbage')
    },
  ],
  ['one text with a version that is no number', {}, (id) => edit(id, (whole) => whole.replace(/^\d+/, 'garbage'))],
  ['one text without version', {}, (id) => edit(id, (whole) => whole.replace(/^\d+/, ''))],
  ['one text with index words that are no JSON', {}, (id) => edit(id, (whole) => whole.replace(/\[.*?\]/, '["a'))],
  [
    'one text with index words that are no list of texts',
    {},
    (id) => edit(id, (whole) => whole.replace(/\[.*?\]/, '[1,{}]')),
  ],
  ['one text with a due time that is no number', {}, (id) => edit(id, (whole) => whole.replace(FACTS, `${FACTS}soon`))],
  ['one text with a part whose name is no JSON', {}, (id) => edit(id, (whole) => whole.replace('record', '"x'))],
  [
    'one text that is cut short',
    {},
    (id) => edit(id, (whole) => whole.slice(0, whole.slice(0, -1).lastIndexOf(SEPARATOR) + 1)),
  ],
  ['one text that is cut shorter', {}, (id) => edit(id, (whole) => whole.slice(0, whole.indexOf(SEPARATOR)))],
  ['one text that is none', {}, (id) => admin.set(text(id), 'garbage')],
  [
    'a text of another type',
    {},
    async (id) => {
      await admin.del(text(id))
      await admin.hset(text(id), 'v', '1')
    },
  ],
]

test('what follows more damaged rows than a script looks at is in the list all the same', async () => {
  const store = await openStore()
  const ids: ContextId[] = []
  for (let batch = 0; batch < 5; batch += 1)
    ids.push(...(await createAll(store, ...Array.from({ length: 250 }, () => ({})))))
  const last = ids.at(-1) ?? 0
  const damaged = admin.pipeline()
  for (const id of ids) if (id !== last) damaged.set(text(id), 'garbage')
  await damaged.exec()
  expect((await listed(store, { all: [], limit: 30 })).map(({ id }) => id)).toEqual([last])
})

describe.each(DAMAGES)('%s', (_, facts, damage) => {
  test('is told as a failure at once to who asks for it, and left out of lists, which go on', async () => {
    const store = await openStore()
    const ids = await createAll(store, facts, facts, facts, facts)
    const [first = 0, bad = 0, third = 0, fourth = 0] = ids
    await damage(bad)
    await expect(store.load({ id: bad })).rejects.toMatchObject({ failure: { kind: 'unreadable' } })
    expect((await listed(store, { all: [], limit: 2 })).map(({ id }) => id)).toEqual([first, third])
    expect((await listed(store, { all: [], limit: 9 })).map(({ id }) => id)).toEqual([first, third, fourth])
    expect((await listed(store, { all: [], limit: 9, skip: 2 })).map(({ id }) => id)).toEqual([third, fourth])
    expect(errors).toMatchObject([{ contextId: bad }])
  })

  test('keeps nothing else from being claimed, taken over or purged', async () => {
    const store = await openStore()
    const [bad = 0, good = 0] = await createAll(
      store,
      ...[0, 1].map(() => ({ due: 1, owner: 'dead', endedAt: 1, indexKeys: ['word'], ...facts })),
    )
    await damage(bad)
    await admin.zadd(`${root()}due`, 0, 'garbage')
    await admin.zadd(`${root()}t:word`, 1, 'garbage')
    expect((await store.claimDue({ now: 2, limit: 10, hideFor: 1e6 })).ids).toEqual([bad, good])
    expect(await waiting(store, { any: ['word'], upTo: good, limit: 10 })).toEqual([bad, good])
    await admin.zunionstore(`${root()}run:${unowned()}`, 1, `${root()}run:dead`)
    expect((await store.claimAbandoned({ owner: 'me', limit: 10, hideFor: 1e6 })).map(({ id }) => id)).toContain(good)
    expect(await store.purge({ endedBefore: 10, limit: 10 })).toBe(2)
    expect(await store.load({ id: good })).toBeNull()
  })
})

/** What scripts call the owner of steps that nobody runs. */
function unowned(): string {
  return /local unowned = '(.*)'/.exec(PARTITION_KEYS)?.[1] ?? ''
}

test('a commit in which one is damaged writes none of its contexts', async () => {
  const store = await openStore()
  const [good, bad] = [await createOne(store, { indexKeys: ['a'] }), await createOne(store, { indexKeys: ['a'] })]
  await edit(bad, (whole) => whole.replace('["a"]', '['))
  await expect(
    store.commit({ writes: [good, bad].map((id) => writeOf(contextOf(id, 2, { indexKeys: ['b'] }))) }),
  ).rejects.toMatchObject({ failure: { kind: 'unreadable' } })
  expect(await store.load({ id: good })).toMatchObject({ version: 1, indexKeys: ['a'] })
  await update(store, good, { indexKeys: ['b'] })
})

test.each(DAMAGES)('%s spoils no commit that asks it to look', async (_, facts, damage) => {
  const store = await openStore()
  const [good, bad] = [await createOne(store, { indexKeys: ['a'] }), await createOne(store, facts)]
  await damage(bad)
  await update(store, good, { indexKeys: ['b'] }, { log: ['row'], notifies: [bad, good] })
  expect(await store.load({ id: good })).toMatchObject({ version: 2, indexKeys: ['b'] })
  expect((await store.claimDue({ now: 1, limit: 9, hideFor: 1 })).ids).toEqual([good, bad])
})

test('an event to a context whose version is no number fails at once, and so does its end; the others go on', async () => {
  const folder = await newFolder()
  await mkdir(join(folder, 'p'))
  await writeFile(
    join(folder, 'p/Wait.flux'),
    JSON.stringify({ states: [{ name: 'W', waiting: true, transitions: [{ event: 'go', to: 'E' }] }, { name: 'E' }] }),
  )
  const open = async () => {
    const runtime = await createRuntime({ actors: [folder], redisUrl: inject('redisUrl'), namespace, log })
    atEndOfTest(() => runtime.close({ grace: 0 }))
    return runtime
  }
  const [runtime, other] = [await open(), await open()]
  const [bad, good] = [
    await runtime.execute({ package: 'p', fluxName: 'Wait' }),
    await runtime.execute({ package: 'p', fluxName: 'Wait' }),
  ]
  await edit(bad.contextId, (whole) => whole.replace(/^\d+/, 'garbage'))
  for (const each of [runtime, other]) {
    await expect(each.sendEvent({ contextId: bad.contextId, event: 'go' })).rejects.toMatchObject({
      failure: { kind: 'unreadable' },
    })
    await expect(each.terminate({ contextId: bad.contextId })).rejects.toMatchObject({
      failure: { kind: 'unreadable' },
    })
    await expect(each.getContext({ contextId: bad.contextId })).rejects.toMatchObject({
      failure: { kind: 'unreadable' },
    })
    expect((await each.listContexts({})).map(({ id }) => id)).toEqual([good.contextId])
  }
  expect((await runtime.sendEvent({ event: 'go' })).transitions).toEqual([{ contextId: good.contextId, state: 'E' }])
})

test('a damaged row of a history is left out, and the rest is shown', async () => {
  const folder = await newFolder()
  await mkdir(join(folder, 'p'))
  await writeFile(
    join(folder, 'p/Loop.flux'),
    JSON.stringify({ states: [{ name: 'W', waiting: true, transitions: [{ event: 'go', to: 'W' }] }] }),
  )
  // One of its own: a log is told of a context once.
  const runtime = await createRuntime({ actors: [folder], redisUrl: inject('redisUrl'), namespace, log: { ...log } })
  atEndOfTest(() => runtime.close({ grace: 0 }))
  const { contextId } = await runtime.execute({ package: 'p', fluxName: 'Loop' })
  for (let move = 0; move < 40; move += 1) await runtime.sendEvent({ contextId, event: 'go' })
  const history = `${root()}h:${contextId}`
  expect(await admin.llen(history)).toBeGreaterThan(3)
  await admin.lset(history, 2, '[0,"garbage')
  const { executionHistory } = await runtime.getContext({ contextId })
  expect(executionHistory).toHaveLength(40)
  expect(errors).toHaveLength(1)
})
