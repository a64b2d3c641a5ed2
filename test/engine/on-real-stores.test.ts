// What the engine does in memory it does on the stores that users have: a scenario for each kind of call and of effect,
// most of them over a new start on the same data.
import { describe, expect, test } from 'vitest'
import { outputs, type Bench, type Files } from '../support/engine.ts'
import { openOnReal, REAL_STORES } from '../support/real-stores.ts'

const set = (to: string, expression: string) => ({ type: 'set', expression, evaluate: true, to: [to] })
const OUT = { output: [{ name: 'n', type: 'integer', defaultValue: 0 }] }

const COUNT = {
  ...OUT,
  triggers: ['begin'],
  states: [
    {
      name: 'w',
      waiting: true,
      action: { type: 'map', lines: [set('n', 'n + 1')] },
      transitions: [
        { to: 'w', event: 'tick' },
        { to: 'done', event: 'finish' },
      ],
    },
    { name: 'done' },
  ],
}
const FILES: Files = {
  'p/Count.flux': COUNT,
  'p/Timer.flux': {
    states: [{ name: 'w', waiting: true, transitions: [{ to: 'done', wait: 'duration:60' }] }, { name: 'done' }],
  },
  'p/Fn.mjs': `export function work(_, { attempt }) {
  if (attempt < 3) throw new Error('not yet')
  return { n: attempt }
}
export function fail() { throw new RangeError('on purpose') }`,
  'p/Tries.flux': {
    ...OUT,
    states: [
      {
        name: 'act',
        action: {
          type: 'invokeCode',
          className: 'Fn',
          methodName: 'work',
          outputs: [{ from: ['n'], to: ['n'] }],
          retry: { maxAttempts: 3, delay: 10 },
        },
      },
    ],
  },
  'p/Fails.flux': {
    states: [{ name: 'act', action: { type: 'invokeCode', className: 'Fn', methodName: 'fail' } }],
  },
  'p/Parent.flux': {
    ...OUT,
    states: [
      {
        name: 'ask',
        action: { type: 'invokeFlux', name: 'Count', outputs: [{ from: ['n'], to: ['n'] }] },
        transitions: [{ to: 'end' }],
      },
      { name: 'end' },
    ],
  },
  'p/Late.flux': {
    states: [
      { name: 'begin', waiting: true, transitions: [{ to: 'open', event: 'go' }] },
      { name: 'open', waiting: true, transitions: [{ to: 'paid', event: 'paid' }] },
      { name: 'paid' },
    ],
  },
}
const HOUR_MS = 3_600_000

const countIn = async (bench: Bench, contextId: number) => outputs(await bench.getContext({ contextId }))['n']
const idsOf = async (bench: Bench, filter: object) =>
  (await bench.listContexts({ limit: 100, ...filter })).map(({ id }) => id).toSorted((one, other) => one - other)
const startUnderKey = (at: Bench, existing: 'refuse' | 'use' | 'replace') =>
  at.execute({ package: 'p', fluxName: 'Count', key: 'k', existing })
const startOnce = (at: Bench) => at.execute({ package: 'p', fluxName: 'Count', idempotencyKey: 'i' })
const tickOnce = (at: Bench, contextId: number) => at.sendEvent({ contextId, event: 'tick', eventId: 'e' })
const refusal = (kind: string) => ({ failure: expect.objectContaining({ kind }) })

describe.each(REAL_STORES)('on %s', (_, partitions) => {
  test('an event moves a context, and both are there after a new start', async () => {
    const { bench, again } = await openOnReal(partitions, FILES)
    const contextId = await bench.run('Count', {}, { tags: ['a'] })
    await bench.sendEvent({ contextId, event: 'tick' })
    const next = await again()
    expect(await next.getContext({ contextId })).toMatchObject({ currentState: 'w', tags: ['a'], version: 2 })
    expect((await next.sendEvent({ contextId, event: 'finish' })).transitions).toEqual([{ contextId, state: 'done' }])
    const { status, executionHistory } = await next.getContext({ contextId })
    expect([status, executionHistory.map(({ stateName }) => stateName)]).toEqual(['COMPLETED', ['w', 'w', 'done']])
    expect(await next.run('Count')).toBeGreaterThan(contextId)
  })

  test('events that come at once are all taken', async () => {
    const { bench } = await openOnReal(partitions, FILES)
    const contextId = await bench.run('Count')
    await Promise.all(Array.from({ length: 100 }, () => bench.sendEvent({ contextId, event: 'tick' })))
    expect(await countIn(bench, contextId)).toBe(100)
  })

  test('a context is woken at its time, and not before, also after a new start', async () => {
    const { bench, again } = await openOnReal(partitions, FILES)
    const [first, second] = [await bench.run('Timer'), await bench.run('Timer')]
    await bench.advance(59_999)
    expect(await bench.getContext({ contextId: first })).toMatchObject({ status: 'WAITING_UNTIL' })
    const next = await again()
    await next.advance(1)
    for (const contextId of [first, second])
      expect(await next.until(contextId, ({ currentState }) => currentState === 'done')).toMatchObject({
        status: 'COMPLETED',
      })
  })

  test('a step that fails is tried again at its time', async () => {
    const { bench } = await openOnReal(partitions, FILES)
    const contextId = await bench.run('Tries')
    await bench.until(contextId, ({ nextRun }) => nextRun !== null)
    await expect
      .poll(async () => {
        await bench.advance(10_000)
        return outputs(await bench.getContext({ contextId }))
      })
      .toEqual({ n: 3 })
  })

  test('a context that failed is retried', async () => {
    const { bench, again } = await openOnReal(partitions, FILES)
    const contextId = await bench.run('Fails')
    await bench.until(contextId, ({ status }) => status === 'FAILED')
    const next = await again()
    expect(await idsOf(next, { status: ['FAILED'] })).toEqual([contextId])
    await next.retry({ contextId })
    const view = await next.until(contextId, ({ status }) => status === 'FAILED')
    expect(view).toMatchObject({ error: { type: 'RangeError' } })
  })

  test('a child gives its outputs to its parent, also after a new start', async () => {
    const { bench, again } = await openOnReal(partitions, FILES)
    const contextId = await bench.run('Parent')
    const [child = 0] = await idsOf(bench, { fluxName: 'Count' })
    await bench.sendEvent({ contextId: child, event: 'tick' })
    const next = await again()
    await next.sendEvent({ contextId: child, event: 'finish' })
    expect(outputs(await next.until(contextId, ({ status }) => status === 'COMPLETED'))).toEqual({ n: 2 })
  })

  test('termination ends the child, too', async () => {
    const { bench } = await openOnReal(partitions, FILES)
    const contextId = await bench.run('Parent')
    const [child = 0] = await idsOf(bench, { fluxName: 'Count' })
    await bench.terminate({ contextId })
    await bench.until(child, ({ status }) => status === 'TERMINATED')
    expect(await idsOf(bench, {})).toEqual([])
  })

  test('a broadcast reaches those that have one of its tags, and starts what it triggers, once', async () => {
    const { bench, again } = await openOnReal(partitions, FILES)
    const tagged = [await bench.run('Count', {}, { tags: ['a'] }), await bench.run('Count', {}, { tags: ['b', 'c'] })]
    const other = await bench.run('Count', {}, { tags: ['x'] })
    const request = { event: 'tick', tags: ['a', 'b'], eventId: 'e' }
    const { transitions } = await bench.sendEvent(request)
    const moved = transitions.map(({ contextId }) => contextId)
    expect(moved.toSorted((one, two) => one - two)).toEqual(tagged)
    const { executions } = await bench.sendEvent({ event: 'begin', eventId: 'f' })
    expect(executions).toHaveLength(1)
    const next = await again()
    expect((await next.sendEvent(request)).transitions).toEqual(transitions)
    expect((await next.sendEvent({ event: 'begin', eventId: 'f' })).executions).toEqual(executions)
    expect(await next.getEvent({ eventId: 'e' })).toMatchObject({ done: true, repeated: 1, counts: { moved: 2 } })
    expect(await Promise.all([...tagged, other].map((id) => countIn(next, id)))).toEqual([1, 1, 0])
    expect(await idsOf(next, { fluxName: 'Count' })).toHaveLength(4)
  })

  test('an event that reached no context is taken by one that waits for it later', async () => {
    const { bench, again } = await openOnReal(partitions, FILES)
    await bench.sendEvent({ event: 'paid', ttl: 86_400 })
    const contexts = [await bench.run('Late'), await bench.run('Late')]
    const next = await again()
    expect(await next.listPending({})).toHaveLength(1)
    for (const contextId of contexts) {
      await next.sendEvent({ contextId, event: 'go' })
      await next.advance(2_000)
    }
    await expect.poll(() => next.listPending({})).toEqual([])
    const states = await Promise.all(contexts.map((contextId) => next.getContext({ contextId })))
    expect(states.map(({ currentState }) => currentState).toSorted()).toEqual(['open', 'paid'])
  })

  test('one context has a key: another start under it is refused, gives it, or replaces it', async () => {
    const { bench, again } = await openOnReal(partitions, FILES)
    const { contextId } = await startUnderKey(bench, 'refuse')
    const next = await again()
    await expect(startUnderKey(next, 'refuse')).rejects.toMatchObject(refusal('conflict'))
    expect(await startUnderKey(next, 'use')).toMatchObject({ contextId, started: false })
    const { contextId: replacing } = await startUnderKey(next, 'replace')
    expect(await next.getContext({ contextId })).toMatchObject({ status: 'TERMINATED' })
    expect(await next.getContext({ fluxName: 'Count', key: 'k' })).toMatchObject({ id: replacing })
  })

  test('calls under an idempotency key have their effect once', async () => {
    const { bench, again } = await openOnReal(partitions, FILES)
    const { contextId } = await startOnce(bench)
    await tickOnce(bench, contextId)
    const next = await again()
    expect(await startOnce(next)).toMatchObject({ contextId })
    await tickOnce(next, contextId)
    expect(await countIn(next, contextId)).toBe(1)
    expect(await idsOf(next, {})).toEqual([contextId])
  })

  test('lists, pages and counts find contexts by service, state, status and tag', async () => {
    const { bench, again } = await openOnReal(partitions, FILES)
    const ids: number[] = []
    for (let nr = 0; nr < 30; nr += 1) ids.push(await bench.run('Count', {}, { tags: nr % 3 === 0 ? ['third'] : [] }))
    const ended = ids.slice(0, 10)
    for (const contextId of ended) await bench.sendEvent({ contextId, event: 'finish' })
    const next = await again()
    const open = ids.slice(10)
    expect(await idsOf(next, { fluxName: 'Count', currentState: 'w' })).toEqual(open)
    expect(await idsOf(next, { status: ['COMPLETED'] })).toEqual(ended)
    expect(await idsOf(next, { tag: ['third'] })).toEqual(open.filter((_id, nr) => (nr + 10) % 3 === 0))
    expect(await next.countContexts({ by: 'status' })).toMatchObject({ counts: { WAITING: 20 } })
    const first = await next.listPage({ order: 'desc', limit: 15 })
    const second = await next.listPage({ order: 'desc', limit: 15, before: first.next ?? 0 })
    const paged = [first, second].flatMap(({ contexts }) => contexts.map(({ id }) => id))
    expect(paged).toEqual(open.toReversed())
  })

  test('a context that is paused keeps its events until it is resumed', async () => {
    const { bench, again } = await openOnReal(partitions, FILES)
    const contextId = await bench.run('Count')
    await bench.pause({ contextId })
    for (let nr = 0; nr < 3; nr += 1) await bench.sendEvent({ event: 'tick', contextId })
    const next = await again()
    expect(await next.listPending({ contextId })).toHaveLength(3)
    expect(await countIn(next, contextId)).toBe(0)
    await next.resume({ contextId })
    await expect.poll(() => countIn(next, contextId)).toBe(3)
  })

  test('an operation reaches each context once', async () => {
    const { bench } = await openOnReal(partitions, FILES)
    const ids = await Promise.all(Array.from({ length: 40 }, () => bench.run('Count')))
    const request = { filter: {}, do: 'event', with: { event: 'tick' }, rate: 100_000 } as const
    const { operationId = '' } = await bench.startOperation(request)
    await expect
      .poll(async () => {
        await bench.advance(50)
        return (await bench.getOperation({ operationId })).status
      })
      .toBe('done')
    expect(await bench.getOperation({ operationId })).toMatchObject({ matched: 40, changed: 40, failed: 0 })
    expect(await Promise.all(ids.map((id) => countIn(bench, id)))).toEqual(ids.map(() => 1))
  })

  test('a finished context is purged after its time', async () => {
    const { bench } = await openOnReal(partitions, FILES, { retention: HOUR_MS })
    const [contextId, other] = [await bench.run('Count'), await bench.run('Count')]
    await bench.sendEvent({ contextId, event: 'finish' })
    await bench.advance(2 * HOUR_MS)
    const isThere = () =>
      bench.getContext({ contextId }).then(
        () => true,
        () => false,
      )
    await expect
      .poll(async () => {
        await bench.advance(60_000)
        return isThere()
      })
      .toBe(false)
    expect(await idsOf(bench, { status: ['WAITING', 'COMPLETED'] })).toEqual([other])
  })

  test('a context goes on as the service was when it began', async () => {
    const { bench, again } = await openOnReal(partitions, FILES)
    const contextId = await bench.run('Count')
    const next = await again({ 'p/Count.flux': { states: [{ name: 'other' }] } })
    expect(await next.run('Count')).not.toBe(contextId)
    expect((await next.sendEvent({ contextId, event: 'tick' })).transitions).toEqual([{ contextId, state: 'w' }])
    expect(await countIn(next, contextId)).toBe(1)
  })
})
