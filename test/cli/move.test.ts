// `actorflux move`: what an embedded store has is in Redis after it, to the last field.
import { createHash, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, inject, test } from 'vitest'
import { createRuntime, moveData } from '../../src/main.ts'
import { MAX_LOG_ROWS } from '../../src/model/context.ts'
import type { RowWrite } from '../../src/model/rows.ts'
import { readSettings } from '../../src/settings.ts'
import { openLmdbStore } from '../../src/store/lmdb/store.ts'
import { contextOf, mustCommit, writeOf } from '../store/contract-support.ts'
import { cleanUp, placeFor, type Place } from '../support/server.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { commandText } from './world.ts'
import { putDefinition } from '../support/stores.ts'
import { silent as log } from '../support/silent.ts'
import { openRedis } from '../support/redis-store.ts'

const quiet = (): void => {}

afterEach(cleanUp)

const namespaceOf = () => `test-${randomUUID()}`
const move = ({ data }: Place, namespace: string, url = inject('redisUrl')) =>
  commandText(['move', data, url], { ACTORFLUX_NAMESPACE: namespace })
const hashOf = async ({ data }: Place, namespace: string) =>
  createHash('sha256')
    .update(await readFile(join(data, `${namespace}.mdb`)))
    .digest('hex')
const redisIn = (namespace: string) => openRedis({ namespace })

const SERVICES = {
  'p/Wait.flux': {
    key: '${name}',
    input: [{ name: 'name' }, { name: 'data', type: 'any' }],
    output: [{ name: 'said' }],
    states: [
      {
        name: 'W',
        waiting: true,
        input: [{ name: 'word' }],
        transitions: [
          { event: 'go', to: 'V', early: '1h', lines: [{ from: ['word'], to: ['word'] }] },
          { wait: 'duration:86400', to: 'V' },
        ],
      },
      {
        name: 'V',
        waiting: true,
        input: [{ name: 'word' }],
        action: { lines: [{ from: ['word'], to: ['said'] }] },
        transitions: [
          { event: 'end', to: 'E' },
          { event: 'back', to: 'W' },
        ],
      },
      { name: 'E' },
    ],
  },
  'p/Parent.flux': {
    states: [
      {
        name: 'P',
        action: { type: 'invokeFlux', name: 'Wait', inputs: [{ type: 'set', expression: 'child', to: ['name'] }] },
        transitions: [{ to: 'E' }],
      },
      { name: 'E' },
    ],
  },
  'p/Work.flux': {
    output: [{ name: 'n', type: 'integer' }],
    states: [
      {
        name: 'S',
        action: {
          type: 'invokeCode',
          className: 'work',
          methodName: 'work',
          outputs: [{ from: ['n'], to: ['n'] }],
        },
      },
    ],
  },
  'p/work.mjs': `export const work = (_, { signal }) => process.env.MOVE_TEST_DONE === '1' ? { n: 7 }
    : new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))`,
}

test('contexts, keys, pending events, steps and answers under keys are there, and go on', async () => {
  const place = await placeFor(SERVICES)
  const namespace = namespaceOf()
  const options = { actors: place.actors, data: place.data, namespace, log }
  const before = await createRuntime(options)
  const start = (fluxName: string, more: object = {}) => before.execute({ package: 'p', fluxName, ...more })
  const { contextId: waiting } = await start('Wait', { input: { name: 'a' }, tags: ['t'] })
  const { contextId: large } = await start('Wait', { input: { name: 'b', data: { text: 'ä'.repeat(100_000) } } })
  const { contextId: moved } = await start('Wait', { input: { name: 'c' }, idempotencyKey: 'k1' })
  for (let round = 0; round < 20; round += 1) {
    await before.sendEvent({ contextId: moved, event: 'go', input: { word: 'x' } })
    await before.sendEvent({ contextId: moved, event: 'back' })
  }
  await before.sendEvent({ contextId: moved, event: 'go', input: { word: 'x' }, eventId: 'e1' })
  await before.sendEvent({ contextId: moved, event: 'go', input: { word: 'early' } })
  await before.sendEvent({ event: 'later', ttl: 3600, eventId: 'unclaimed' }).catch(quiet)
  const { contextId: parent } = await start('Parent')
  const { contextId: working } = await start('Work')
  const { contextId: ended } = await start('Wait', { input: { name: 'd' } })
  await before.terminate({ contextId: ended })
  const ids = (await before.listContexts({ status: ['all'], limit: 100 })).map(({ id }) => id)
  expect(ids).toHaveLength(7)
  await before.close({ grace: 0 })
  const restarted = await createRuntime(options)
  const views = await Promise.all(ids.map((contextId) => restarted.getContext({ contextId })))
  const pending = await restarted.listPending({})
  await restarted.close({ grace: 0 })
  const bytes = await hashOf(place, namespace)

  expect(await move(place, namespace)).toEqual({
    code: 0,
    out: expect.stringMatching(
      /^moved to namespace '.*' of Redis at .*: contexts 7, definitions 3, rows \d+\nstart servers/,
    ),
    err: '',
  })
  expect(await hashOf(place, namespace)).toBe(bytes)

  process.env['MOVE_TEST_DONE'] = '1'
  const after = await createRuntime({ ...options, redisUrl: inject('redisUrl') })
  try {
    const isSame = (id: number) => id !== working
    const found = await Promise.all(ids.map((contextId) => after.getContext({ contextId })))
    expect(found.filter(({ id }) => isSame(id))).toEqual(views.filter(({ id }) => isSame(id)))
    expect(await after.listPending({})).toEqual(pending)
    expect(await after.waitFor({ contextId: working, status: ['COMPLETED'] })).toMatchObject({ status: 'COMPLETED' })
    // Under their keys: the same answers, and no second effect.
    const again = await after.execute({ package: 'p', fluxName: 'Wait', input: { name: 'c' }, idempotencyKey: 'k1' })
    expect(again.contextId).toBe(moved)
    await after.sendEvent({ contextId: moved, event: 'go', input: { word: 'x' }, eventId: 'e1' })
    expect((await after.getContext({ contextId: moved })).currentState).toBe('V')
    await expect(after.execute({ package: 'p', fluxName: 'Wait', input: { name: 'a' } })).rejects.toMatchObject({
      failure: { kind: 'conflict' },
    })
    // What was pending is taken.
    await after.sendEvent({ contextId: moved, event: 'back' })
    const said = (await after.getContext({ contextId: moved })).output.gloopProperties.find(
      ({ name }) => name === 'said',
    )
    expect(said).toMatchObject({ value: 'x' })
    expect((await after.getContext({ contextId: moved })).currentState).toBe('V')
    // The parent learns of the end of its child.
    const child = found.find(({ parent: of }) => of?.contextId === parent)?.id ?? 0
    await after.terminate({ contextId: child })
    expect(await after.waitFor({ contextId: parent, status: ['FAILED'] })).toMatchObject({ status: 'FAILED' })
    const { contextId } = await after.execute({ package: 'p', fluxName: 'Wait', input: { name: 'new' } })
    expect(contextId).toBeGreaterThan(Math.max(...ids))
    expect(await after.getContext({ contextId: large })).toMatchObject({ id: large, currentState: 'W' })
    await after.sendEvent({ event: 'go', tags: ['t'] })
    expect((await after.getContext({ contextId: waiting })).currentState).toBe('V')
  } finally {
    delete process.env['MOVE_TEST_DONE']
    await after.close({ grace: 0 })
  }
})

/** 1,234 contexts with all that a store knows of them, and rows of each kind. */
async function fill({ data }: Place, namespace: string) {
  const store = await openLmdbStore({ folder: data, namespace, log, clock: new SimulatedClock() })
  const { first } = await store.reserveIds({ count: 1300, partition: 0 })
  const ids = Array.from({ length: 1234 }, (_, index) => first + index)
  await Promise.all(
    ids.map(async (id, index) => {
      const facts = {
        indexKeys: [`k${index % 7}`, 'ü'],
        due: index % 3 === 0 ? 5_000_000 + index : null,
        owner: index % 5 === 0 ? 'boot-1' : null,
        endedAt: index % 11 === 0 ? 4_000_000 + index : null,
        parent: index % 13 === 0 ? first : null,
        parts: { record: `{"n":${index}}`, __proto__: 'p', large: index % 100 === 0 ? 'x'.repeat(100_000) : '' },
      }
      for (let version = 1; version <= 1 + (index % 3); version += 1)
        await mustCommit(store, writeOf(contextOf(id, version, facts), { log: [`row ${version}`] }))
    }),
  )
  const rows: RowWrite[] = [
    { partition: 0, space: 'idempotency', key: 'a', value: 'one', expiresAt: null },
    { partition: 0, space: 'pending', key: 'ä\u{1F600}', value: 'x'.repeat(70_000), expiresAt: 9_000_000_000_000 },
    ...Array.from({ length: 333 }, (_, index) => ({
      partition: 0,
      space: 'idempotency' as const,
      key: `b${index}`,
      value: `${index}`,
      expiresAt: 9_000_000_000_000,
    })),
  ]
  await mustCommit(store, writeOf(contextOf(first, 2), { notifies: [first + 1] }))
  expect(await store.commit({ writes: [], rows })).toMatchObject({ ok: true })
  await putDefinition(store, 'abc', '{"states":[]}')
  return { store, ids, rows, last: first + 1299 }
}

test('each context keeps its version, its fields, its log and what it was notified of', async () => {
  const place = await placeFor({})
  const namespace = namespaceOf()
  const { store, ids, rows, last } = await fill(place, namespace)
  const stored = await Promise.all(ids.map((id) => store.load({ id })))
  const logs = await Promise.all(ids.map((id) => store.log({ id, limit: MAX_LOG_ROWS })))
  expect(await move(place, namespace)).toMatchObject({ code: 1, err: expect.stringContaining('is in use by another') })
  await store.close()
  expect(await move(place, namespace)).toMatchObject({
    code: 0,
    out: expect.stringContaining('contexts 1234, definitions 1, rows 335'),
  })
  const redis = await redisIn(namespace)
  try {
    expect(await Promise.all(ids.map((id) => redis.load({ id })))).toEqual(stored)
    expect(await Promise.all(ids.map((id) => redis.log({ id, limit: MAX_LOG_ROWS })))).toEqual(logs)
    for (const { space, key, value, expiresAt } of rows)
      expect(await redis.readRow({ partition: 0, space, key })).toMatchObject({ value, expiresAt })
    expect((await redis.claimDue({ now: 0, limit: 10, hideFor: 1 })).ids).toEqual([ids[1]])
    expect(await redis.leasedTo({ owner: 'boot-1' })).toHaveLength(Math.floor(1234 / 5))
    expect((await redis.reserveIds({ count: 1, partition: 0 })).first).toBeGreaterThan(last)
  } finally {
    await redis.close()
  }
})

test('a move that was cut off keeps servers out, and goes on from there; other data, or a full namespace, is refused', async () => {
  const place = await placeFor({})
  const namespace = namespaceOf()
  const { store, ids } = await fill(place, namespace)
  await store.close()
  const settings = readSettings({ ACTORFLUX_DATA: place.data, ACTORFLUX_NAMESPACE: namespace })
  const written: number[] = []
  const broken = moveData(settings, {
    redisUrl: inject('redisUrl'),
    log,
    onProgress(done) {
      written.push(done)
      if (done > 1000) throw new Error('cut off')
    },
  })
  await expect(broken).rejects.toThrow('cut off')
  await expect(redisIn(namespace)).rejects.toThrow('let actorflux move come to its end first')
  const elsewhere = await placeFor({})
  await (await fill(elsewhere, namespace)).store.close()
  expect(await move(elsewhere, namespace)).toMatchObject({ code: 1, err: expect.stringContaining('began with other') })
  const later: number[] = []
  const moved = await moveData(settings, {
    redisUrl: inject('redisUrl'),
    log,
    onProgress: (done) => void later.push(done),
  })
  expect(moved).toMatchObject({ contexts: ids.length, unreadable: 0 })
  // Not from the beginning: the page that was cut off, and what is behind it.
  expect(later[0]).toBeGreaterThan(written[0] ?? 0)
  expect(later.at(-1)).toBe(ids.length)
  await (await redisIn(namespace)).close()
  expect(await move(place, namespace)).toMatchObject({ code: 1, err: expect.stringContaining('is not empty') })
})

test('rows that expire while a move is cut off do not keep it from its end', async () => {
  const place = await placeFor({})
  const namespace = namespaceOf()
  const { store } = await fill(place, namespace)
  const row = { partition: 0, space: 'idempotency', key: 'soon', value: 'x' } as const
  const expiresAt = Date.now() + 2000
  expect(await store.commit({ writes: [], rows: [{ ...row, expiresAt }] })).toMatchObject({ ok: true })
  await store.close()
  const settings = readSettings({ ACTORFLUX_DATA: place.data, ACTORFLUX_NAMESPACE: namespace })
  const broken = moveData(settings, {
    redisUrl: inject('redisUrl'),
    log,
    onProgress() {
      throw new Error('cut off')
    },
  })
  await expect(broken).rejects.toThrow('cut off')
  await expect.poll(() => Date.now(), { timeout: 5000 }).toBeGreaterThan(expiresAt)
  expect(await move(place, namespace)).toMatchObject({ code: 0 })
})

test('what is not there is not moved', async () => {
  const place = await placeFor({})
  expect(await move(place, namespaceOf())).toMatchObject({
    code: 1,
    err: expect.stringContaining('there is no data in'),
  })
  expect(await commandText(['move', place.data], {})).toMatchObject({
    code: 2,
    err: expect.stringContaining('are needed'),
  })
})
