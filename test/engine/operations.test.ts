// Operations: something is done with all contexts that match, once with each, over crashes, servers and stops; with the
// rights of who asked, no faster than asked for; and everybody can see how far it is.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { RequestOf } from '../../src/api/call.ts'
import type { OPERATION_CALLS, OperationView } from '../../src/api/operations.ts'
import { ANONYMOUS, type Caller } from '../../src/model/caller.ts'
import { inDoubt, unavailable } from '../../src/model/failure.ts'
import type { CommitRequest, RowQuery, Store } from '../../src/ports/store.ts'
import { held } from '../support/held.ts'
import { openBench, outputs, type Bench, type BenchOptions, type Files } from '../support/engine.ts'
import { BEAT_MS, SharedMemory } from '../support/shared-memory.ts'
import type { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { withVerbs } from '../support/stores.ts'
import { nextTurn } from '../support/held.ts'
import { storesOf } from '../support/effort.ts'

vi.setConfig({ testTimeout: 60_000 })

const FILES: Files = {
  'p/Count.flux': {
    output: [{ name: 'n', type: 'integer', defaultValue: 0 }],
    states: [
      {
        name: 'w',
        waiting: true,
        action: { type: 'map', lines: [{ type: 'set', expression: 'n + 1', evaluate: true, to: ['n'] }] },
        transitions: [
          { to: 'w', event: 'tick' },
          { to: 'done', event: 'end' },
        ],
      },
      { name: 'done' },
    ],
  },
  'p/Secret.flux': {
    secured: true,
    states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'tick' }] }],
  },
  'p/Fragile.flux': {
    states: [
      { name: 'w', waiting: true, transitions: [{ to: 'broken', event: 'break' }] },
      { name: 'broken', action: { type: 'invokeCode', className: 'Errors', methodName: 'throwException' } },
    ],
  },
}
const FAST = 100_000
const DAY_MS = 86_400_000
const token = (role: 'read' | 'invoke' | 'admin'): Caller => ({ name: role, roles: [role] })
type OperationRequest = RequestOf<typeof OPERATION_CALLS.startOperation>

const ticks: OperationRequest = { filter: {}, do: 'event', with: { event: 'tick' }, rate: FAST }

const startAll = (bench: Bench, count: number, fluxName = 'Count') =>
  Promise.all(Array.from({ length: count }, () => bench.run(fluxName)))
const countsOf = async (bench: Bench, ids: readonly number[]) =>
  Promise.all(ids.map(async (contextId) => outputs(await bench.getContext({ contextId }))['n']))
const begin = async (bench: Bench, request: OperationRequest) => {
  const { operationId = '', matched } = await bench.startOperation(request)
  return { operationId, matched }
}
const ended = async (bench: Bench, operationId: string): Promise<OperationView> => {
  await expect
    .poll(
      async () => {
        await bench.advance(50)
        return (await bench.getOperation({ operationId })).status
      },
      { timeout: 40_000, interval: 1 },
    )
    .not.toBe('running')
  return bench.getOperation({ operationId })
}

/** Stops a server whose store is away: it leaves what it has under way as it is. */
const die = (bench: Bench) => bench.engine.close({ grace: 0 })

describe.each(storesOf([3, 1]))('in a store of %i partitions, an operation', (partitions) => {
  let shared: SharedMemory
  let clock: SimulatedClock
  /** Commits that the servers may still make; then the store is away. */
  let left: number

  /** `before`: what a commit waits for. */
  const open = ({ before, ...options }: BenchOptions & { before?: () => Promise<undefined> | undefined } = {}) =>
    openBench(FILES, {
      ...shared.server(),
      wrap: (store) =>
        withVerbs(store, {
          async commit(request: CommitRequest) {
            left -= 1
            if (left < 0) throw unavailable('away')
            await before?.()
            return store.commit(request)
          },
        }),
      ...options,
    })
  beforeEach(() => {
    shared = new SharedMemory(partitions)
    ;({ clock } = shared)
    left = Infinity
  })
  afterEach(() => {
    left = Infinity
  })

  const marksLeft = () => shared.store().countRows({ space: 'marks' })

  test('does it once with each that matches, and tells how far it is', async () => {
    const bench = await open()
    const ids = await startAll(bench, 20)
    const [gone = 0] = ids
    await bench.sendEvent({ contextId: gone, event: 'end' })
    const { operationId, matched } = await begin(bench, ticks)
    expect(matched).toBe(19)
    const view = await ended(bench, operationId)
    expect(view).toEqual({
      operationId,
      do: 'event',
      filter: {},
      status: 'done',
      matched: 19,
      done: 19,
      changed: 19,
      failed: 0,
      errors: [],
      startedAt: expect.any(Number),
      endedAt: expect.any(Number),
    })
    expect(await countsOf(bench, ids.slice(1))).toEqual(ids.slice(1).map(() => 1))
    expect(await bench.listOperations()).toEqual([view])
    await expect.poll(marksLeft).toBe(0)
  })

  test('leaves alone what was started later, and what does not match when its turn comes', async () => {
    const bench = await open()
    const ids = await startAll(bench, 30)
    const { operationId } = await begin(bench, { ...ticks, filter: { fluxName: ['Count'] }, rate: 10 })
    await bench.advance(10)
    const late = await bench.run('Count')
    const last = ids.at(-1) ?? 0
    await bench.sendEvent({ contextId: Math.max(last, ...ids), event: 'end' })
    const view = await ended(bench, operationId)
    expect(view).toMatchObject({ status: 'done', matched: 30, done: 29, changed: 29, failed: 0 })
    expect(await countsOf(bench, [late])).toEqual([0])
  })

  test('counts those that can not take it as failed, with the reasons of the first 100', async () => {
    const bench = await open()
    await startAll(bench, 120)
    const { operationId } = await begin(bench, { ...ticks, with: { event: 'nothing' } })
    const view = await ended(bench, operationId)
    expect(view).toMatchObject({ matched: 120, done: 120, changed: 0, failed: 120 })
    expect(view.errors).toHaveLength(100)
    expect(view.errors[0]).toEqual({ contextId: expect.any(Number), detail: expect.stringContaining('nothing') })
  })

  test('terminates, tags, untags, pauses and resumes', async () => {
    const bench = await open()
    const ids = await startAll(bench, 5)
    const list = async (filter: object) => (await bench.listContexts({ fluxName: 'Count', limit: 9, ...filter })).length
    const carry = async (request: OperationRequest) => ended(bench, (await begin(bench, request)).operationId)
    await carry({ filter: {}, do: 'tag', with: { tags: ['a', 'b'] } })
    expect(await list({ tag: ['a', 'b'] })).toBe(5)
    // What is as it should be is changed as well: the call for one context says the same.
    expect(await carry({ filter: { tag: 'a,b' }, do: 'tag', with: { tags: ['a'] } })).toMatchObject({ changed: 5 })
    await carry({ filter: { tag: ['a', 'b'] }, do: 'untag', with: { tags: ['b'] } })
    expect(await list({ tag: ['b'] })).toBe(0)
    await carry({ filter: {}, do: 'pause' })
    expect(await list({ paused: true })).toBe(5)
    expect(await carry({ ...ticks, filter: { paused: 'true' } })).toMatchObject({ changed: 5, failed: 0 })
    expect(await countsOf(bench, ids)).toEqual(ids.map(() => 0))
    await carry({ filter: { paused: true }, do: 'resume' })
    await expect.poll(() => countsOf(bench, ids)).toEqual(ids.map(() => 1))
    expect(await carry({ filter: { status: 'all' }, do: 'terminate' })).toMatchObject({ changed: 5 })
    expect(await list({ status: ['TERMINATED'] })).toBe(5)
    expect(await carry({ filter: { status: 'all' }, do: 'terminate' })).toMatchObject({ changed: 0, failed: 5 })
  })

  test('retries those that failed', async () => {
    const bench = await open()
    const ids = await startAll(bench, 4, 'Fragile')
    await bench.sendEvent({ event: 'break' })
    for (const contextId of ids) await bench.until(contextId, ({ status }) => status === 'FAILED')
    await expect(bench.startOperation({ filter: {}, do: 'retry' })).rejects.toMatchObject({
      failure: { kind: 'invalid' },
    })
    const { operationId, matched } = await begin(bench, { filter: { status: ['FAILED'] }, do: 'retry' })
    expect(matched).toBe(4)
    expect(await ended(bench, operationId)).toMatchObject({ changed: 4, failed: 0 })
    for (const contextId of ids) {
      const { executionHistory } = await bench.until(contextId, ({ status }) => status === 'FAILED')
      expect(executionHistory.filter(({ event }) => event === '$retry')).toHaveLength(1)
    }
  })

  test('is done with contexts that are named, in process', async () => {
    const bench = await open()
    const ids = await startAll(bench, 5)
    const { operationId, matched } = await begin(bench, { ...ticks, contextIds: [...ids.slice(0, 2), 10 ** 9] })
    expect(matched).toBe(2)
    expect(await ended(bench, operationId)).toMatchObject({ done: 2, changed: 2, failed: 0 })
    expect(await countsOf(bench, ids)).toEqual([1, 1, 0, 0, 0])
  })

  test('changes nothing in a dry run', async () => {
    const bench = await open()
    const ids = await startAll(bench, 3)
    const { would = [], ...counts } = await bench.startOperation({ ...ticks, dryRun: true })
    expect(counts).toEqual({ matched: 3, wouldMove: 3, wouldStart: 0, wouldIgnore: 0, dryRun: true })
    expect(would.map(({ contextId, changed }) => [contextId, changed])).toEqual(
      ids.map((id) => [id, [{ pointer: '/output/n', from: 0, to: 1 }]]),
    )
    expect(await bench.listOperations()).toEqual([])
    expect(await countsOf(bench, ids)).toEqual([0, 0, 0])
  })

  test('is no faster than asked for', async () => {
    const bench = await open()
    await startAll(bench, 20)
    const { operationId } = await begin(bench, { ...ticks, rate: 5 })
    await bench.advance(1)
    const at: number[] = []
    for (let second = 0; second < 5; second += 1) {
      at.push((await bench.getOperation({ operationId })).done)
      for (let tenth = 0; tenth < 10; tenth += 1) await bench.advance(100)
    }
    for (const [second, done] of at.entries()) {
      expect(done).toBeLessThanOrEqual(5 * second + 1)
      expect(done).toBeGreaterThanOrEqual(5 * (second - 1) - 1)
    }
    expect((await ended(bench, operationId)).done).toBe(20)
  })

  test('stops when it is asked to, on whichever server; what it changed stays so', async () => {
    const [one, two] = [await open(), await open()]
    const ids = await startAll(one, 50)
    const { operationId } = await begin(one, { ...ticks, rate: 20 })
    await one.advance(500)
    const stopping = two.stopOperation({ operationId })
    await one.advance(1000)
    const view = await stopping
    expect(view.status).toBe('stopped')
    expect(view.changed).toBeGreaterThan(2)
    expect(view.changed).toBeLessThan(40)
    expect((await countsOf(one, ids)).filter((count) => count === 1)).toHaveLength(view.changed)
    await one.advance(5000)
    expect((await countsOf(one, ids)).filter((count) => count === 1)).toHaveLength(view.changed)
    // Asked for once more, it is as it is.
    expect(await one.stopOperation({ operationId })).toEqual(view)
  })

  test('that is done can not be stopped', async () => {
    const bench = await open()
    await startAll(bench, 1)
    const { operationId } = await begin(bench, ticks)
    await ended(bench, operationId)
    await expect(bench.stopOperation({ operationId })).rejects.toMatchObject({ failure: { kind: 'conflict' } })
    const unknown = { operationId: 'x' }
    await expect(bench.stopOperation(unknown)).rejects.toMatchObject({ failure: { kind: 'notFound' } })
    await expect(bench.getOperation(unknown)).rejects.toMatchObject({ failure: { kind: 'notFound' } })
  })

  test('is kept for 7 days when it has ended', async () => {
    const bench = await open({ others: null })
    await startAll(bench, 1)
    const { operationId } = await begin(bench, ticks)
    await ended(bench, operationId)
    clock.jump(7 * DAY_MS - 60_000)
    await clock.advance(0)
    expect(await bench.listOperations()).toHaveLength(1)
    await clock.advance(60_000)
    expect(await bench.listOperations()).toEqual([])
    await expect(bench.getOperation({ operationId })).rejects.toMatchObject({ failure: { kind: 'notFound' } })
  })

  test.each([0, 1, 2, 7, 40, 260, 320, 333])(
    'goes on at another server when its own dies after %i commits more, and changes each once',
    async (commits) => {
      const [one, two] = [await open(), await open()]
      const ids = await startAll(one, 320)
      const { operationId } = await begin(one, ticks)
      left = commits
      await one.advance(200)
      await die(one)
      left = Infinity
      await clock.advance(10 * BEAT_MS)
      const view = await ended(two, operationId)
      expect(view).toMatchObject({ status: 'done', matched: 320, done: 320, changed: 320, failed: 0 })
      expect(await countsOf(two, ids)).toEqual(ids.map(() => 1))
    },
  )

  test('counts those that its dead server ended, although they match no more', async () => {
    const [one, two] = [await open(), await open()]
    const ids = await startAll(one, 320)
    const { operationId } = await begin(one, { filter: {}, do: 'terminate', rate: FAST })
    left = 150
    await one.advance(200)
    await die(one)
    left = Infinity
    await clock.advance(10 * BEAT_MS)
    expect(await ended(two, operationId)).toMatchObject({ done: 320, changed: 320, failed: 0 })
    expect(await two.listContexts({ fluxName: 'Count' })).toEqual([])
    expect(ids).toHaveLength(320)
  })

  test('counts those that were as they should be, also over the death of its server', async () => {
    const [one, two] = [await open(), await open()]
    const ids = await startAll(one, 320)
    await Promise.all(ids.map((contextId) => one.pause({ contextId })))
    const { operationId } = await begin(one, { filter: {}, do: 'pause', rate: FAST })
    left = 150
    await one.advance(200)
    await die(one)
    left = Infinity
    await clock.advance(10 * BEAT_MS)
    expect(await ended(two, operationId)).toMatchObject({ done: 320, changed: 320, failed: 0 })
  })

  test('is taken over from a server that was only held up, which then changes nobody a second time', async () => {
    const hold = held<undefined>()
    let isHeldUp = false
    const before = () => (isHeldUp ? hold.promise : undefined)
    const wrap = (store: Store): Store =>
      withVerbs(store, { heartbeat: async (request) => store.heartbeat((await before()) ?? request) })
    const one = await open({ before, wrap })
    const two = await open()
    const ids = await startAll(one, 300)
    const { operationId } = await begin(one, { ...ticks, rate: 500 })
    await one.advance(100)
    isHeldUp = true
    // All that it commits from now on, its heartbeats too, gets to the store late.
    await clock.advance(20 * BEAT_MS)
    expect(await ended(two, operationId)).toMatchObject({ done: 300, changed: 300, failed: 0 })
    hold.release(undefined)
    isHeldUp = false
    await one.advance(5 * BEAT_MS)
    expect(await countsOf(two, ids)).toEqual(ids.map(() => 1))
    expect(await two.getOperation({ operationId })).toMatchObject({ done: 300, changed: 300, failed: 0 })
  })

  test('is left by a server that stops, and goes on at the next start at once', async () => {
    const one = await open({ others: null })
    const ids = await startAll(one, 50)
    const { operationId } = await begin(one, { ...ticks, rate: 20 })
    await one.advance(300)
    await die(one)
    const two = await open({ others: null })
    expect(await ended(two, operationId)).toMatchObject({ status: 'done', done: 50, changed: 50 })
    expect(await countsOf(two, ids)).toEqual(ids.map(() => 1))
  })

  test('counts what it changed without hearing of it as changed, also where it can not be done again', async () => {
    const source = shared.store()
    let unanswered = 5
    const store = withVerbs(source, {
      async commit(request: CommitRequest) {
        const outcome = await source.commit(request)
        if (request.rows?.some(({ space }) => space === 'marks') !== true || request.writes.length === 0) return outcome
        unanswered -= 1
        if (unanswered >= 0) throw inDoubt('the answer was lost')
        return outcome
      },
    })
    const bench = await openBench(FILES, { clock, store, others: null })
    await startAll(bench, 30)
    const { operationId } = await begin(bench, { filter: {}, do: 'terminate', rate: FAST })
    expect(await ended(bench, operationId)).toMatchObject({ done: 30, changed: 30, failed: 0, errors: [] })
    expect(unanswered).toBeLessThan(0)
  })

  test('whose stop is stored, and no more is known, may have been stopped', async () => {
    const source = shared.store()
    let [isAsked, isAway] = [false, false]
    const store = withVerbs(source, {
      async commit(request: CommitRequest) {
        const outcome = await source.commit(request)
        if (!isAsked && request.rows?.some(({ value }) => value?.includes('"stops":true')) === true)
          isAsked = isAway = true
        return outcome
      },
      readRow: (row) => (isAway ? Promise.reject(unavailable('away')) : source.readRow(row)),
    })
    const bench = await openBench(FILES, { clock, store, others: null })
    await startAll(bench, 5)
    const { operationId } = await begin(bench, { ...ticks, rate: 1 })
    await expect(bench.stopOperation({ operationId })).rejects.toMatchObject({ failure: { inDoubt: true } })
    isAway = false
    expect((await ended(bench, operationId)).status).toBe('stopped')
  })

  test('waits while the store is away, and then goes on', async () => {
    const bench = await open()
    const ids = await startAll(bench, 30)
    const { operationId } = await begin(bench, { ...ticks, rate: 50 })
    await bench.advance(150)
    left = 0
    await bench.advance(3000)
    left = Infinity
    expect(await ended(bench, operationId)).toMatchObject({ done: 30, changed: 30, failed: 0 })
    expect(await countsOf(bench, ids)).toEqual(ids.map(() => 1))
  })

  test('can be stopped while the store is away for the contexts, and not for its own rows', async () => {
    const source = shared.store()
    let isAway = false
    const store = withVerbs(source, {
      async commit(request: CommitRequest) {
        if (isAway && request.writes.length > 0) throw unavailable('away')
        return source.commit(request)
      },
    })
    const bench = await openBench(FILES, { clock, store, others: null })
    const ids = await startAll(bench, 5)
    isAway = true
    const { operationId } = await begin(bench, ticks)
    await bench.advance(500)
    const stopping = bench.stopOperation({ operationId })
    expect((await ended(bench, operationId)).status).toBe('stopped')
    isAway = false
    expect(await stopping).toMatchObject({ status: 'stopped', done: 0 })
    expect(await countsOf(bench, ids)).toEqual([0, 0, 0, 0, 0])
  })

  test('has the rights of who asked, and shows to others no more than they may see', async () => {
    const bench = await open()
    const [secret = 0] = await startAll(bench, 1, 'Secret')
    const ids = await startAll(bench, 2)
    const apis = {
      nobody: bench.engine.api(ANONYMOUS),
      reader: bench.engine.api(token('read')),
      invoker: bench.engine.api(token('invoke')),
      admin: bench.engine.api(token('admin')),
    }
    const forAll = { ...ticks, contextIds: [secret, ...ids] }
    const unsecured = await apis.nobody.startOperation(ticks)
    expect(unsecured.matched).toBe(2)
    await ended(bench, unsecured.operationId ?? '')
    const named = await apis.nobody.startOperation(forAll)
    expect(await ended(bench, named.operationId ?? '')).toMatchObject({ done: 2, changed: 2, errors: [] })
    // A token never reduces rights: where none is needed, it may do what everybody may.
    expect((await apis.reader.startOperation({ ...ticks, dryRun: true })).matched).toBe(2)
    const more = await apis.invoker.startOperation(ticks)
    expect(more.matched).toBe(3)
    expect(await ended(bench, more.operationId ?? '')).toMatchObject({ changed: 3 })
    const pauses = { filter: {}, do: 'pause', dryRun: true } as const
    expect((await apis.invoker.startOperation(pauses)).matched).toBe(2)
    expect((await apis.admin.startOperation(pauses)).matched).toBe(3)
    expect(await apis.nobody.listOperations()).toHaveLength(2)
    expect(await apis.reader.listOperations()).toHaveLength(3)
    const theirs = { operationId: more.operationId ?? '' }
    await expect(apis.nobody.getOperation(theirs)).rejects.toMatchObject({ failure: { kind: 'notFound' } })
    await expect(apis.nobody.stopOperation(theirs)).rejects.toMatchObject({ failure: { kind: 'notFound' } })
    await expect(apis.reader.stopOperation(theirs)).rejects.toMatchObject({ failure: { kind: 'forbidden' } })
    await expect(apis.admin.stopOperation(theirs)).rejects.toMatchObject({ failure: { kind: 'conflict' } })
  })

  test('is refused, and nothing is changed, when it is not known what is to be done with which', async () => {
    const bench = await open()
    const ids = await startAll(bench, 1)
    for (const [request, kind] of REFUSED) {
      const given: OperationRequest = JSON.parse(JSON.stringify(request))
      await expect(bench.startOperation(given), JSON.stringify(request)).rejects.toMatchObject({ failure: { kind } })
    }
    const misspelt = { filter: {}, do: 'tag', with: JSON.parse('{ "tags": ["a"], "tgs": [], "a/b": 1 }') } as const
    await expect(bench.startOperation(misspelt)).rejects.toMatchObject({
      failure: {
        kind: 'invalid',
        errors: [
          { pointer: '/with/tgs', detail: "is not known; did you mean 'tags'?" },
          { pointer: '/with/a~1b', detail: 'is not known' },
        ],
      },
    })
    expect(await bench.listOperations()).toEqual([])
    expect(await countsOf(bench, ids)).toEqual([0])
  })

  test('that was asked to stop when its server had died is stopped by whoever takes it over', async () => {
    const [one, two] = [await open(), await open()]
    const ids = await startAll(one, 50)
    const { operationId } = await begin(one, { ...ticks, rate: 20 })
    await one.advance(300)
    left = 0
    await die(one)
    left = Infinity
    const stopping = two.stopOperation({ operationId })
    await clock.advance(10 * BEAT_MS)
    await stopping
    const view = await ended(two, operationId)
    expect(view.status).toBe('stopped')
    expect((await countsOf(two, ids)).filter((count) => count === 1)).toHaveLength(view.changed)
    expect(view.changed).toBeLessThan(50)
  })

  test('is about those between the ids of its filter, each once, in whatever order they are named', async () => {
    const bench = await open()
    const ids = (await startAll(bench, 5)).sort((one, other) => one - other)
    const [first = 0, second = 0, third = 0, , last = 0] = ids
    const between = { ...ticks, filter: { after: first, before: last } }
    const { operationId } = await begin(bench, between)
    expect(await ended(bench, operationId)).toMatchObject({ matched: 3, changed: 3 })
    const named = await begin(bench, { ...between, contextIds: [last, third, second, third, first] })
    expect(await ended(bench, named.operationId)).toMatchObject({ matched: 2, done: 2, changed: 2 })
    expect(await countsOf(bench, ids)).toEqual([0, 2, 2, 1, 0])
  })

  test('tells the first characters of a long reason', async () => {
    const bench = await open()
    await startAll(bench, 1)
    const { operationId } = await begin(bench, { ...ticks, with: { event: 'x'.repeat(250) } })
    const { errors } = await ended(bench, operationId)
    expect(errors.map(({ detail }) => detail.length)).toEqual([200])
  })

  test('is refused while a hundred are under way, half of them of one scope, and where as many are kept as may be', async () => {
    const bench = await open()
    await startAll(bench, 5)
    const overloaded = { failure: { kind: 'overloaded' } }
    const slow = { ...ticks, rate: 1 }
    const [one, other] = ['one', 'other'].map((name) => bench.engine.api({ name, roles: ['invoke'] }))
    const { operationId = '' } = (await one?.startOperation(slow)) ?? {}
    for (let count = 1; count < 50; count += 1) await one?.startOperation(slow)
    await expect(one?.startOperation(slow)).rejects.toMatchObject(overloaded)
    const stopping = bench.stopOperation({ operationId })
    await ended(bench, operationId)
    await stopping
    await one?.startOperation(slow)
    await expect(one?.startOperation(slow)).rejects.toMatchObject(overloaded)
    for (let count = 0; count < 50; count += 1) await other?.startOperation(slow)
    await expect(begin(bench, ticks)).rejects.toMatchObject(overloaded)
    const store = withVerbs(shared.store(), { countRows: () => Promise.resolve(20_000) })
    const full = await openBench(FILES, { ...shared.server(), store })
    await expect(begin(full, ticks)).rejects.toMatchObject({ failure: { kind: 'overloaded' } })
  })

  test('is refused while eight are being counted', async () => {
    const counting = held<undefined>()
    const wrap = (store: Store) =>
      withVerbs(store, {
        async count(query) {
          await counting.promise
          return store.count(query)
        },
      })
    const bench = await openBench(FILES, { ...shared.server(), wrap })
    await startAll(bench, 1)
    const begun = Array.from({ length: 9 }, () => begin(bench, ticks))
    const all = Promise.allSettled(begun)
    await clock.idle()
    counting.release(undefined)
    const refused = { status: 'rejected', reason: { failure: { kind: 'overloaded' } } }
    expect(await all).toMatchObject([...Array.from({ length: 8 }, () => ({ value: { matched: 1 } })), refused])
  })

  test('is refused while those under way have as much to remember as may be', async () => {
    const bench = await open()
    await startAll(bench, 2)
    const large = { event: 'tick', input: { all: Array.from({ length: 200_000 }, () => 0) } }
    const ids: string[] = []
    for (let count = 0; count < 5; count += 1)
      ids.push((await begin(bench, { ...ticks, with: large, rate: 1 })).operationId)
    await expect(begin(bench, { ...ticks, with: large })).rejects.toMatchObject({ failure: { kind: 'overloaded' } })
    const stopping = bench.stopOperation({ operationId: ids[0] ?? '' })
    await ended(bench, ids[0] ?? '')
    await stopping
    await begin(bench, { ...ticks, with: large, rate: 1 })
  })

  test('is listed with all others, the newest first', async () => {
    const bench = await open()
    const ids: string[] = []
    for (let count = 0; count < 105; count += 1) {
      const { operationId } = await begin(bench, ticks)
      await ended(bench, operationId)
      ids.unshift(operationId)
    }
    expect((await bench.listOperations()).map(({ operationId }) => operationId)).toEqual(ids)
  })

  test('is listed beside rows that are damaged, which are left out and logged once', async () => {
    const bench = await open()
    const { operationId } = await begin(bench, ticks)
    await ended(bench, operationId)
    const keys = ['o000000000-a', 'ozzzzzzzzz-a', 'ozzzzzzzzz-b']
    const rows = ['garbage{', 'null', '{}'].map(
      (value, nr) => ({ partition: 0, space: 'operations', key: keys[nr] ?? '', value, expiresAt: null }) as const,
    )
    await shared.store().commit({ writes: [], rows })
    const listed = async () => (await bench.listOperations()).map((one) => one.operationId)
    expect([await listed(), await listed()]).toEqual([[operationId], [operationId]])
    expect(bench.logged.flatMap(({ level, message }) => (level === 'error' ? message : []))).toEqual(
      keys.map((key) => `the stored row '${key}' in 'operations' can't be read: it is left out`),
    )
  })

  test('is in lists that are read one after the other', async () => {
    let [reading, most] = [0, 0]
    const source = shared.store()
    const store = withVerbs(source, {
      async listRows(query: RowQuery) {
        most = Math.max(most, (reading += 1))
        await nextTurn()
        reading -= 1
        return source.listRows(query)
      },
    })
    const bench = await openBench(FILES, { clock, store, others: null })
    await ended(bench, (await begin(bench, ticks)).operationId)
    most = 0
    const lists = await Promise.all(Array.from({ length: 10 }, () => bench.listOperations()))
    expect([most, ...lists.map(({ length }) => length)]).toEqual([1, ...Array.from({ length: 10 }, () => 1)])
  })

  test('retries what failed also where its filter names others, which it counts as failed', async () => {
    const bench = await open()
    const [contextId = 0] = await startAll(bench, 2, 'Fragile')
    await bench.sendEvent({ contextId, event: 'break' })
    await bench.until(contextId, ({ status }) => status === 'FAILED')
    const { operationId } = await begin(bench, { filter: { status: 'FAILED,WAITING' }, do: 'retry' })
    expect(await ended(bench, operationId)).toMatchObject({ changed: 1, failed: 1 })
  })
})

const REFUSED: readonly (readonly [object, string])[] = [
  [{ ...ticks, filter: { color: 'red' } }, 'malformed'],
  [{ ...ticks, filter: { limit: '5' } }, 'malformed'],
  [{ ...ticks, filter: { fluxName: ['a', 'b'] } }, 'malformed'],
  [{ ...ticks, filter: { status: 'LOST' } }, 'malformed'],
  [{ ...ticks, filter: { startedAfter: 'soon' } }, 'malformed'],
  [{ ...ticks, filter: { parent: '-1' } }, 'malformed'],
  [{ ...ticks, filter: { fluxName: [] } }, 'malformed'],
  [{ ...ticks, filter: { tag: [] } }, 'malformed'],
  [{ ...ticks, filter: { currentState: 'w', key: [] } }, 'malformed'],
  [{ ...ticks, filter: { fluxName: 'x'.repeat(33_000) } }, 'invalid'],
  [{ ...ticks, filter: { status: Array.from({ length: 600 }, () => 'FAILED') } }, 'invalid'],
  [{ do: 'terminate' }, 'malformed'],
  [{ ...ticks, rate: 0 }, 'invalid'],
  [{ ...ticks, rate: -1 }, 'invalid'],
  [{ ...ticks, rate: 0.99 }, 'invalid'],
  [{ ...ticks, rate: 'Infinity' }, 'malformed'],
  [{ ...ticks, with: undefined }, 'invalid'],
  [{ ...ticks, with: { input: {} } }, 'invalid'],
  [{ ...ticks, with: { event: '$x' } }, 'invalid'],
  [{ ...ticks, with: { event: 'tick', more: 1 } }, 'invalid'],
  [{ filter: {}, do: 'tag' }, 'invalid'],
  [{ filter: {}, do: 'tag', with: { tags: [] } }, 'invalid'],
  [{ filter: {}, do: 'tag', with: { tags: ['a,b'] } }, 'invalid'],
  [{ filter: {}, do: 'untag', with: {} }, 'invalid'],
  [{ filter: {}, do: 'terminate', with: { event: 'x' } }, 'invalid'],
  [{ filter: {}, do: 'explode' }, 'malformed'],
  [{ filter: {}, do: 'migrate', with: {} }, 'invalid'],
  [{ filter: { status: 'WAITING' }, do: 'retry' }, 'invalid'],
  [{ ...ticks, more: 1 }, 'malformed'],
]
