// What the calls that send tell and refuse: contents under one key, hints, what is logged, and bounds that do not concern
// the steps of services.
import { describe, expect, test } from 'vitest'
import { ANONYMOUS } from '../../src/model/caller.ts'
import { openBench, type Bench, type BenchOptions, type Files } from '../support/engine.ts'

const states = [
  { name: 'a', waiting: true, transitions: [{ to: 'b', event: 'go' }] },
  { name: 'b', waiting: true, transitions: [{ to: 'a', event: 'back' }] },
]
const FILES: Files = {
  'p/Thing.flux': { states, input: [{ name: 'n', type: 'integer' }] },
  'p/All.flux': { states: [{ name: 's', waiting: true, transitions: [{ to: 's', event: 'tick' }] }] },
  'p/Fn.ts': 'export const send = async (args, flux) => (await flux.sendEvent({ event: "tick" })).transitions.length',
  'p/Sends.flux': {
    output: [{ name: 'n', type: 'any' }],
    states: [
      {
        name: 'send',
        action: {
          type: 'invokeCode',
          className: 'Fn',
          methodName: 'send',
          outputs: [{ from: ['$result'], to: ['n'] }],
        },
      },
    ],
  },
}
/** More contexts than those for which a broadcast has no place. */
const MANY = 70

let bench: Bench
const open = async (options?: BenchOptions) => {
  bench = await openBench(FILES, options)
}
const KEYED = { key: 'k', fluxName: 'Thing' }
const mismatch = { failure: { kind: 'idempotencyMismatch' } }

describe('under one key', () => {
  test.each([
    ['input', { input: { n: 2 } }],
    ['tags', { tags: ['t'] }],
    ['start state', { startState: 'b' }],
    ['manner', { existing: 'use' as const }],
    ['package', { package: undefined }],
  ])('a start with another %s is another content', async (_, more) => {
    await open()
    const request = { package: 'p', fluxName: 'Thing', key: 'k', idempotencyKey: 'i', input: { n: 1 } }
    const { contextId } = await bench.execute(request)
    await expect(bench.execute({ ...request, ...more })).rejects.toMatchObject(mismatch)
    expect(await bench.execute(request)).toMatchObject({ contextId })
    expect(await bench.listContexts({})).toHaveLength(1)
  })

  test.each([
    ['input', { input: { n: 2 } }],
    ['tags', { tags: ['t'] }],
    ['time to live', { ttl: 60 }],
    ['name', { event: 'back' }],
  ])('an event with another %s is another content', async (_, more) => {
    await open()
    const contextId = await bench.run('Thing', {}, { key: 'k' })
    const request = { contextId, event: 'go', eventId: 'e', input: { n: 1 } }
    await bench.sendEvent(request)
    await expect(bench.sendEvent({ ...request, ...more })).rejects.toMatchObject(mismatch)
    expect((await bench.getContext({ contextId })).currentState).toBe('b')
    expect((await bench.getEvent({ eventId: 'e' })).repeated).toBe(0)
  })
})

describe('under one key, for another addressee', () => {
  test.each([
    ['key', { key: 'other' }],
    ['service', { fluxName: 'All', input: {} }],
  ])('a start with another %s is another request', async (_, more) => {
    await open()
    const request = { package: 'p', fluxName: 'Thing', key: 'k', idempotencyKey: 'i', input: { n: 1 } }
    const first = await bench.execute(request)
    const other = await bench.execute({ ...request, ...more })
    expect(await bench.execute({ ...request, ...more })).toEqual(other)
    expect(await bench.execute(request)).toEqual(first)
    expect(await bench.listContexts({})).toHaveLength(2)
  })

  test('an event by another address is another request, also if it means the same context', async () => {
    await open()
    const contextId = await bench.run('Thing', {}, { key: 'k' })
    const request = { contextId, event: 'go', eventId: 'e', input: { n: 1 } }
    await bench.sendEvent(request)
    const conflict = { failure: { kind: 'conflict' } }
    await expect(bench.sendEvent({ ...request, contextId: undefined, ...KEYED })).rejects.toMatchObject(conflict)
    const notFound = { failure: { kind: 'notFound' } }
    await expect(bench.sendEvent({ ...request, contextId: 999 })).rejects.toMatchObject(notFound)
    expect(await bench.getEvent({ eventId: 'e' })).toMatchObject({ repeated: 0, counts: { moved: 1 } })
  })
})

describe('an event that no service knows', () => {
  test('has its hint also under a key, where it is refused and where it is kept', async () => {
    await open()
    const contextId = await bench.run('Thing')
    const request = { contextId, event: 'tack', eventId: 'e' }
    const hint = "no service knows the event 'tack'; did you mean 'tick'?"
    await expect(bench.sendEvent(request)).rejects.toMatchObject({ failure: { kind: 'conflict', hint } })
    expect(await bench.sendEvent({ ...request, ttl: 60 })).toMatchObject({ pending: [{ contextId }], hint })
  })
})

test('an event by key that is refused is logged with its context', async () => {
  await open()
  const contextId = await bench.run('Thing', {}, { key: 'k' })
  await expect(bench.sendEvent({ key: 'k', fluxName: 'Thing', event: 'back' })).rejects.toMatchObject({
    failure: { kind: 'conflict' },
  })
  await expect
    .poll(() => bench.logged.find(({ message }) => message === 'an event was refused')?.fields)
    .toMatchObject({ contextId, fluxName: 'Thing', state: 'a', event: 'back' })
})

const startAll = () => Promise.all(Array.from({ length: MANY }, () => bench.run('All')))

describe('broadcasts at once', () => {
  test('are counted while they are under way, and not longer', async () => {
    await open({ bounds: { broadcasts: 1 } })
    await startAll()
    for (let nr = 0; nr < 3; nr += 1)
      for (const more of [{}, { eventId: `e${nr}` }, { eventId: `f${nr}`, respondAsync: true, respondWithin: 10 }])
        expect((await bench.sendEvent({ event: 'tick', ...more })).transitions).toHaveLength(MANY)
  })

  test('do not count those of steps', async () => {
    await open({ bounds: { broadcasts: 0 } })
    await startAll()
    await expect(bench.sendEvent({ event: 'tick' })).rejects.toMatchObject({ failure: { kind: 'overloaded' } })
    const contextId = await bench.run('Sends')
    const view = await bench.until(contextId, ({ status }) => status !== 'RUNNING')
    expect([view.status, view.output.gloopProperties.map(({ value }) => value)]).toEqual(['COMPLETED', [MANY]])
  })
})

test('receipts of those who have no token are those of nobody', async () => {
  await open()
  const contextId = await bench.run('Thing')
  await bench.engine.api(ANONYMOUS).sendEvent({ contextId, event: 'go', eventId: 'e' })
  const admin = bench.engine.api({ name: 'root', roles: ['admin'] })
  await expect(admin.getEvent({ eventId: 'e' })).rejects.toMatchObject({ failure: { kind: 'notFound' } })
  expect((await admin.getEvent({ eventId: 'e', scope: 'nobody' })).moved).toMatchObject([{ contextId }])
})

test.each([
  ['/orStart/tags/0', { tags: [''] }],
  ['/orStart/input/n', { input: { n: 'x' } }],
])('a fault of what is to be started is told at %s', async (pointer, orStart) => {
  await open()
  const sent = bench.sendEvent({ key: 'k', fluxName: 'Thing', event: 'go', orStart })
  await expect(sent).rejects.toMatchObject({ failure: { kind: 'invalid', errors: [{ pointer }] } })
  expect(await bench.listContexts({})).toEqual([])
})

test.each([0, 1.5, -1, 604_801])('a ttl of %d seconds is refused, and changes nothing', async (ttl) => {
  await open()
  const contextId = await bench.run('Thing')
  const sent = bench.sendEvent({ contextId, event: 'back', ttl })
  await expect(sent).rejects.toMatchObject({ failure: { kind: 'invalid', errors: [{ pointer: '/ttl' }] } })
  expect(await bench.listPending({})).toEqual([])
})
