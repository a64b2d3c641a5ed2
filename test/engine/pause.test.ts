// Contexts that are paused: nothing begins, what was begun is decided, and what came meanwhile is taken in order.
import { describe, expect, test } from 'vitest'
import { outputs } from '../support/engine.ts'
import { call, eventuallyTrue, gate, has, isIn, openSteered, refusalOf, set, STEERED_STORES } from './steered.ts'

const HOUR_S = 3600
const seen = { name: 'seen', defaultValue: '' }
const note = (what: string) => ({ type: 'map', lines: [set('seen', `seen + ${what}`)] })
const FILES = {
  'p/Waits.flux': {
    output: [seen],
    states: [
      {
        name: 'idle',
        waiting: true,
        input: [{ name: 'n', type: 'integer', required: true }],
        action: note('n + ","'),
        transitions: [
          { to: 'idle', event: 'tick' },
          { to: 'late', wait: `duration:${HOUR_S}` },
          { to: 'over', event: 'stop' },
        ],
      },
      { name: 'late', waiting: true, action: note('"any,"'), transitions: [{ to: 'over', event: '$else' }] },
      { name: 'over', waiting: true, transitions: [{ to: 'over', event: 'more' }] },
    ],
  },
  'p/Steps.flux': {
    output: [{ name: 'done', type: 'integer' }],
    states: [
      { name: 'one', action: call({ retry: { maxAttempts: 3, delay: 60 } }), transitions: [{ to: 'between' }] },
      { name: 'between', transitions: [{ to: 'two' }] },
      { name: 'two', action: call({ outputs: [{ from: ['done'], to: ['done'] }] }) },
    ],
  },
  'p/Parent.flux': {
    output: [{ name: 'got', type: 'any' }],
    states: [
      { name: 'wait', waiting: true, transitions: [{ to: 'first', event: 'go' }] },
      { name: 'first', action: { type: 'invokeFlux', name: 'Child' }, transitions: [{ to: 'second' }] },
      {
        name: 'second',
        action: { type: 'invokeFlux', name: 'Child', timeout: 100, outputs: [{ from: ['$result'], to: ['got'] }] },
      },
    ],
  },
  'p/Child.flux': {
    states: [{ name: 'hold', waiting: true, transitions: [{ to: 'end', event: 'end' }] }, { name: 'end' }],
  },
  'p/Then.flux': {
    states: [
      { name: 'act', action: call(), transitions: [{ to: 'hold' }] },
      { name: 'hold', waiting: true, transitions: [{ to: 'paid', event: 'paid' }] },
      { name: 'paid' },
    ],
  },
  'p/Secured.flux': { secured: true, states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'x' }] }] },
}

describe.each(STEERED_STORES)('on the %s store, a paused context', (kind) => {
  test('keeps events, and takes them in order when it is resumed, then what is due', async () => {
    const { bench, clock } = await openSteered(kind, FILES)
    const contextId = await bench.run('Waits')
    const before = await bench.getContext({ contextId })
    expect(await bench.pause({ contextId })).toEqual({ message: `paused context ${contextId}` })
    const paused = await bench.getContext({ contextId })
    expect(paused).toMatchObject({ paused: true, status: 'WAITING_UNTIL', nextRun: before.nextRun })
    for (const n of [1, 2, 3])
      expect(await bench.sendEvent({ contextId, event: 'tick', input: { n } })).toMatchObject({
        transitions: [],
        ignored: [],
        pending: [{ contextId, expiresAt: null }],
      })
    expect(await bench.listPending({ contextId })).toHaveLength(3)
    await bench.advance(2 * HOUR_S * 1000)
    const kept = await bench.getContext({ contextId })
    expect(kept).toMatchObject({ currentState: 'idle', paused: true, status: 'WAITING_UNTIL', nextRun: before.nextRun })
    expect(kept.pending).toHaveLength(3)
    await bench.resume({ contextId })
    const resumed = await bench.getContext({ contextId })
    expect(outputs(resumed)['seen']).toBe('1,2,3,')
    expect(resumed).toMatchObject({ paused: false, currentState: 'idle', pending: [] })
    expect(resumed.nextRun).toBe(clock.now() + HOUR_S * 1000)
    expect(await bench.listPending({ contextId })).toEqual([])
  })

  test('takes no wake-up until it is resumed, also over a new start', async () => {
    const { bench, open } = await openSteered(kind, FILES)
    const contextId = await bench.run('Waits')
    await bench.pause({ contextId })
    await bench.advance(HOUR_S * 1000)
    await bench.engine.close({ grace: 0 })
    const again = kind === 'embedded' ? await open({ folder: bench.folder }) : await open()
    await again.advance(HOUR_S * 1000)
    expect(await again.getContext({ contextId })).toMatchObject({ currentState: 'idle', paused: true })
    await again.resume({ contextId })
    expect(await again.getContext({ contextId })).toMatchObject({ currentState: 'late', paused: false })
  })

  test('is in no list of what is due or may be claimed, and is found by its filter', async () => {
    const { bench, store, calls } = await openSteered(kind, FILES)
    const held = gate()
    calls.gate = held.opened
    const [waits, steps, plain] = [await bench.run('Waits'), await bench.run('Steps'), await bench.run('Waits')]
    await eventuallyTrue(bench, () => calls.came.length === 1)
    await bench.pause({ contextId: waits })
    await bench.pause({ contextId: steps })
    held.open()
    await bench.until(steps, isIn('two'))
    const [one, two] = await Promise.all([store.load({ id: waits }), store.load({ id: steps })])
    expect([one?.due, one?.owner, two?.due, two?.owner]).toEqual([null, null, null, null])
    const ids = async (paused: boolean) => (await bench.listContexts({ paused })).map(({ id }) => id)
    expect(await ids(true)).toEqual([waits, steps])
    expect(await ids(false)).toEqual([plain])
    expect(await bench.countContexts({ by: 'status', paused: true })).toMatchObject({ total: 2 })
    const { due } = (await store.load({ id: plain })) ?? {}
    expect(due).toEqual(expect.any(Number))
  })

  test('finishes the step under way, commits its result, and does not start the next', async () => {
    const { bench, calls } = await openSteered(kind, FILES)
    const held = gate()
    calls.gate = held.opened
    const contextId = await bench.run('Steps')
    await eventuallyTrue(bench, () => calls.came.length === 1)
    await bench.pause({ contextId })
    held.open()
    const after = await bench.until(contextId, isIn('two'))
    expect(after).toMatchObject({
      status: 'RUNNING',
      paused: true,
      step: { state: 'two', startedAt: null, server: null },
    })
    await bench.advance(10_000)
    expect(calls.came).toHaveLength(1)
    await bench.resume({ contextId })
    const done = await bench.until(contextId, has('COMPLETED'))
    expect(outputs(done)['done']).toBe(2)
    expect(done).toMatchObject({ paused: false })
    expect(calls.came.map(({ attempt }) => attempt)).toEqual([1, 1])
  })

  test('waits in a back-off', async () => {
    const { bench, calls } = await openSteered(kind, FILES)
    calls.fails = true
    const contextId = await bench.run('Steps')
    const { nextRun } = await bench.until(contextId, ({ step }) => step?.attempt === 2)
    await bench.pause({ contextId })
    await bench.advance(600_000)
    expect(calls.came).toHaveLength(1)
    expect(await bench.getContext({ contextId })).toMatchObject({ paused: true, nextRun, step: { attempt: 2 } })
    calls.fails = false
    await bench.resume({ contextId })
    await bench.until(contextId, has('COMPLETED'))
    expect(calls.came.map(({ attempt }) => attempt)).toEqual([1, 2, 1])
  })

  test('takes the end of its child, and starts the next child when it is resumed', async () => {
    const { bench, clock } = await openSteered(kind, FILES)
    const contextId = await bench.run('Parent')
    await bench.sendEvent({ contextId, event: 'go' })
    const { child } = await bench.getContext({ contextId })
    await bench.pause({ contextId })
    const first = child?.contextId ?? 0
    expect(await bench.getContext({ contextId: first })).toMatchObject({ paused: false })
    await bench.sendEvent({ contextId: first, event: 'end' })
    const held = await bench.until(contextId, isIn('second'))
    expect(held).toMatchObject({ paused: true, child: null, status: 'RUNNING' })
    await bench.advance(1_000_000)
    await bench.resume({ contextId })
    const resumed = await bench.getContext({ contextId })
    expect(resumed).toMatchObject({ child: { fluxName: 'Child' }, nextRun: clock.now() + 100_000 })
    expect(resumed.child?.contextId).not.toBe(first)
    await bench.sendEvent({ contextId: resumed.child?.contextId ?? 0, event: 'end' })
    await bench.until(contextId, has('COMPLETED'))
  })

  test('is paused and resumed as often as one likes, tagged and terminated; one that has ended is neither', async () => {
    const { bench } = await openSteered(kind, FILES)
    const contextId = await bench.run('Waits')
    await bench.resume({ contextId })
    const { version } = await bench.getContext({ contextId })
    await bench.pause({ contextId })
    await bench.pause({ contextId })
    expect(await bench.getContext({ contextId })).toMatchObject({ version: version + 1 })
    await bench.addTags({ contextId, tag: ['blue'] })
    expect(await bench.getContext({ contextId })).toMatchObject({ tags: ['blue'], paused: true })
    await bench.sendEvent({ contextId, event: 'tick', input: { n: 1 } })
    await bench.terminate({ contextId })
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'TERMINATED', paused: false, pending: [] })
    expect(await refusalOf(bench.pause({ contextId }))).toMatchObject({ kind: 'conflict' })
    expect(await refusalOf(bench.resume({ contextId }))).toMatchObject({ kind: 'conflict' })
    expect(await refusalOf(bench.pause({ contextId: 999_999 }))).toMatchObject({ kind: 'notFound' })
  })

  test('keeps what a broadcast would have moved, and events for later states', async () => {
    const { bench } = await openSteered(kind, FILES)
    const contextId = await bench.run('Waits')
    await bench.pause({ contextId })
    await bench.addTags({ contextId, tag: ['blue'] })
    const answer = await bench.sendEvent({ event: 'stop', input: { n: 5 }, tags: ['blue'] })
    expect(await bench.listPending({ contextId })).toMatchObject([{ event: 'stop', tags: ['blue'] }])
    expect(answer).toMatchObject({ transitions: [], pending: [{ contextId, expiresAt: null }] })
    expect(await bench.sendEvent({ contextId, event: 'more' })).toMatchObject({ pending: [{ contextId }] })
    await bench.resume({ contextId })
    const view = await bench.getContext({ contextId })
    expect(view).toMatchObject({ currentState: 'over', pending: [] })
    expect(view.executionHistory.map(({ stateName }) => stateName)).toEqual(['idle', 'over', 'over'])
  })

  test('refuses what it can never take, tells of a wrong input, and keeps no more than any context', async () => {
    const { bench } = await openSteered(kind, FILES)
    const contextId = await bench.run('Steps')
    await bench.until(contextId, has('COMPLETED'))
    const waits = await bench.run('Child')
    await bench.pause({ contextId: waits })
    expect(await refusalOf(bench.sendEvent({ contextId: waits, event: 'odd' }))).toMatchObject({ kind: 'conflict' })
    const other = await bench.run('Waits')
    await bench.pause({ contextId: other })
    const wrong = bench.sendEvent({ contextId: other, event: 'tick', input: { n: 'x' } })
    expect(await refusalOf(wrong)).toMatchObject({ kind: 'invalid' })
    for (let n = 0; n < 100; n += 1) await bench.sendEvent({ contextId: other, event: 'tick', input: { n } })
    const many = bench.sendEvent({ contextId: other, event: 'tick', input: { n: 100 } })
    expect(await refusalOf(many)).toMatchObject({ kind: 'busy' })
  })

  test('a state that takes any event takes what was kept for it', async () => {
    const { bench } = await openSteered(kind, FILES)
    const contextId = await bench.run('Waits')
    await bench.advance(HOUR_S * 1000)
    await bench.until(contextId, isIn('late'))
    await bench.pause({ contextId })
    expect(await bench.sendEvent({ contextId, event: 'whatever' })).toMatchObject({ pending: [{ contextId }] })
    await bench.resume({ contextId })
    expect(outputs(await bench.getContext({ contextId }))['seen']).toBe('any,')
  })

  test('shows what it would take', async () => {
    const { bench } = await openSteered(kind, FILES)
    const contextId = await bench.run('Waits')
    await bench.pause({ contextId })
    const view = await bench.getContextEvents({ contextId })
    expect(view).toMatchObject({ paused: true, status: 'WAITING_UNTIL' })
    expect(view.events.map(({ event }) => event)).toEqual(['tick', 'stop'])
  })

  test('is not paused by who may not, and is paused once under a key', async () => {
    const { bench } = await openSteered(kind, FILES)
    const contextId = await bench.run('Secured')
    for (const roles of [[], ['invoke']] as const) {
      const api = bench.engine.api({ roles })
      const kinds = roles.length === 0 ? 'unauthorized' : 'forbidden'
      expect(await refusalOf(api.pause({ contextId }))).toMatchObject({ kind: kinds })
      expect(await refusalOf(api.resume({ contextId }))).toMatchObject({ kind: kinds })
    }
    await bench.pause({ contextId, idempotencyKey: 'k' })
    await bench.resume({ contextId })
    await bench.pause({ contextId, idempotencyKey: 'k' })
    expect(await bench.getContext({ contextId })).toMatchObject({ paused: false })
  })

  test('takes an event that is held for nobody when it is resumed', async () => {
    const { bench, calls } = await openSteered(kind, FILES)
    const held = gate()
    calls.gate = held.opened
    const contextId = await bench.run('Then')
    await eventuallyTrue(bench, () => calls.came.length === 1)
    await bench.pause({ contextId })
    expect(await bench.sendEvent({ event: 'paid', ttl: 86_400 })).toMatchObject({ pending: [{ contextId: null }] })
    held.open()
    await bench.until(contextId, has('WAITING'))
    await bench.advance(100)
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'WAITING', paused: true, pending: [] })
    expect(await bench.listPending({})).toMatchObject([{ contextId: null }])
    await bench.resume({ contextId })
    await bench.until(contextId, has('COMPLETED'))
    await expect.poll(() => bench.listPending({})).toEqual([])
  })

  test('whose step waits for a slot gives it to others', async () => {
    const { bench, calls } = await openSteered(kind, FILES, { stepConcurrency: 1 })
    const held = gate()
    calls.gate = held.opened
    const ids = [await bench.run('Then'), await bench.run('Then'), await bench.run('Then')]
    const [first = 0, second = 0, third = 0] = ids
    await eventuallyTrue(bench, () => calls.came.length === 1)
    await bench.pause({ contextId: second })
    held.open()
    await bench.until(first, has('WAITING'))
    await bench.until(third, has('WAITING'))
    await bench.advance(20_000)
    expect(await bench.getContext({ contextId: second })).toMatchObject({ status: 'RUNNING', paused: true })
    expect(calls.came).toHaveLength(2)
    await bench.resume({ contextId: second })
    await bench.until(second, has('WAITING'))
    expect(calls.came).toHaveLength(3)
  })

  test('makes the attempt that a retry asks for when it is resumed', async () => {
    const { bench, calls } = await openSteered(kind, FILES)
    calls.fails = true
    const contextId = await bench.run('Steps')
    await bench.until(contextId, ({ step }) => step?.attempt === 2)
    await bench.pause({ contextId })
    await bench.retry({ contextId })
    await bench.advance(1000)
    expect(calls.came).toHaveLength(1)
    calls.fails = false
    await bench.resume({ contextId })
    await bench.until(contextId, has('COMPLETED'))
    expect(calls.came.map(({ attempt }) => attempt)).toEqual([1, 2, 1])
  })
  test('leaves alone the child that is under way, and starts one with the time of the resume', async () => {
    const { bench, clock } = await openSteered(kind, FILES)
    const contextId = await bench.run('Parent')
    await bench.sendEvent({ contextId, event: 'go' })
    const { child } = await bench.getContext({ contextId })
    await bench.pause({ contextId })
    await bench.resume({ contextId })
    expect((await bench.getContext({ contextId })).child).toEqual(child)
    await bench.pause({ contextId })
    await bench.sendEvent({ contextId: child?.contextId ?? 0, event: 'end' })
    await bench.until(contextId, isIn('second'))
    await bench.advance(5000)
    await bench.resume({ contextId })
    expect(await bench.getContext({ contextId })).toMatchObject({ step: { startedAt: clock.now() } })
  })

  test('counts as changed when it is paused, and when it is resumed', async () => {
    const { bench, clock } = await openSteered(kind, FILES)
    const contextId = await bench.run('Waits')
    for (const change of [bench.pause, bench.resume]) {
      await bench.advance(1000)
      await change({ contextId })
      expect(await bench.getContext({ contextId })).toMatchObject({ updatedAt: clock.now() })
    }
  })

  test('keeps an event for no longer than its sender says', async () => {
    const { bench, clock } = await openSteered(kind, FILES)
    const contextId = await bench.run('Waits')
    await bench.pause({ contextId })
    const answer = await bench.sendEvent({ contextId, event: 'tick', input: { n: 1 }, ttl: 60 })
    expect(answer).toMatchObject({ pending: [{ contextId, expiresAt: clock.now() + 60_000 }] })
    await bench.advance(60_000)
    await bench.resume({ contextId })
    expect(outputs(await bench.getContext({ contextId }))['seen']).toBe('')
  })
})
