// Contexts that are retried: they go on where they failed, or where they stood, once, with their data as it was.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ContextView } from '../../src/api/contexts.ts'
import { outputs } from '../support/engine.ts'
import { call, eventuallyTrue, gate, has, isIn, openSteered, refusalOf, set, STEERED_STORES } from './steered.ts'

const counted = { name: 'count', type: 'integer', defaultValue: 0 }
const FILES = {
  'p/Pay.flux': {
    input: [{ name: 'order' }],
    output: [{ name: 'done', type: 'integer' }],
    states: [
      {
        name: 'wait',
        waiting: true,
        input: [{ name: 'amount', type: 'integer' }],
        action: call({
          inputs: [set('amount', 'amount'), set('event', '$fluxEvent'), set('at', 'now()')],
          outputs: [{ from: ['done'], to: ['done'] }],
        }),
        transitions: [{ to: 'paid', event: 'pay' }],
      },
      {
        name: 'paid',
        waiting: true,
        input: [
          { name: 'word', defaultValue: 'none' },
          { name: 'count', type: 'integer', defaultValue: 3 },
        ],
        transitions: [{ to: 'over', event: 'close' }],
      },
      { name: 'over' },
    ],
  },
  'p/Map.flux': {
    output: [counted, { name: 'zero', type: 'integer', defaultValue: 0 }],
    states: [
      { name: 'go', waiting: true, transitions: [{ to: 'sum', event: 'go' }] },
      {
        name: 'sum',
        action: {
          type: 'map',
          lines: [set('count', 'count + 1'), { type: 'set', expression: 'x', to: ['$fluxEvent'] }],
        },
        transitions: [
          { to: 'end', event: 'never' },
          { to: 'end', event: 'ever' },
        ],
      },
      { name: 'end' },
    ],
  },
  'p/Back.flux': {
    output: [{ name: 'done', type: 'integer' }],
    states: [
      {
        name: 'act',
        action: call({ retry: { maxAttempts: 3, delay: 600 }, outputs: [{ from: ['done'], to: ['done'] }] }),
      },
    ],
  },
  'p/Timed.flux': {
    states: [
      {
        name: 'w',
        waiting: true,
        transitions: [
          { to: 'slow', event: 'go' },
          { to: 'late', wait: 'duration:3600' },
        ],
      },
      { name: 'slow', transitions: [{ to: 'late', wait: 'duration:3600' }] },
      { name: 'late' },
    ],
  },
  'p/Keyed.flux': {
    input: [{ name: 'id' }],
    key: '${id}',
    states: [{ name: 'act', action: call() }],
  },
  'p/Parent.flux': {
    output: [{ name: 'got', type: 'any' }],
    states: [
      { name: 'call', action: { type: 'invokeFlux', name: 'Child', outputs: [{ from: ['$result'], to: ['got'] }] } },
    ],
  },
  'p/Child.flux': {
    output: [{ name: 'done', type: 'integer' }],
    states: [{ name: 'act', action: call({ outputs: [{ from: ['done'], to: ['done'] }] }) }],
  },
  'p/Stops.flux': {
    output: [counted],
    states: [
      { name: 'w', waiting: true, transitions: [{ to: 'stop', event: 'go' }] },
      {
        name: 'stop',
        action: {
          type: 'map',
          lines: [set('count', 'count + 1'), { type: 'set', expression: '$fluxTerminate', to: ['$fluxEvent'] }],
        },
        transitions: [{ to: 'w', event: 'x' }],
      },
    ],
  },
  'p/Loop.flux': {
    states: [
      { name: 'a', waiting: true, transitions: [{ to: 'b', event: 'go' }] },
      { name: 'b', waiting: true, transitions: [{ to: 'a', event: 'go' }] },
    ],
  },
  'p/Two.flux': {
    states: [
      { name: 'one', action: call(), transitions: [{ to: 'two' }] },
      { name: 'two', action: call() },
    ],
  },
  'p/Needs.flux': {
    states: [
      { name: 'bad', waiting: true, transitions: [{ to: 'act', event: 'go' }] },
      { name: 'act', input: [{ name: 'n', type: 'integer', required: true }], action: call() },
      {
        name: 'hold',
        waiting: true,
        input: [{ name: 'n', type: 'integer', required: true }],
        transitions: [{ to: 'bad', event: 'go' }],
      },
    ],
  },
  'p/Secured.flux': { secured: true, states: [{ name: 'act', action: call() }] },
}

const retries = ({ executionHistory }: ContextView) =>
  executionHistory.filter(({ event }) => event === '$retry').map(({ stateName }) => stateName)

describe.each(STEERED_STORES)('on the %s store, a retry', (kind) => {
  test('runs the failed action again, under the same key, with the inputs and the event that it had', async () => {
    const { bench, calls } = await openSteered(kind, FILES)
    calls.fails = true
    const contextId = await bench.run('Pay', { order: 'o-1' })
    await bench.sendEvent({ contextId, event: 'pay', input: { amount: 7 } })
    const failed = await bench.until(contextId, has('FAILED'))
    expect(retries(failed)).toEqual([])
    await bench.advance(5000)
    calls.fails = false
    expect(await bench.retry({ contextId })).toEqual({ message: `retried context ${contextId}`, contextId })
    const paid = await bench.until(contextId, isIn('paid'))
    expect(paid).toMatchObject({ status: 'WAITING', error: null, endedAt: null })
    expect(outputs(paid)['done']).toBe(2)
    expect(retries(paid)).toEqual(['wait'])
    expect(paid.executionHistory.map(({ stateName }) => stateName)).toEqual(['wait', 'wait', 'paid'])
    const [first, second] = calls.came
    expect(second).toEqual({ ...first, attempt: 1 })
    expect(first?.args).toMatchObject({ amount: 7, event: 'pay' })
    expect(await refusalOf(bench.retry({ contextId }))).toMatchObject({ kind: 'conflict' })
    await bench.sendEvent({ contextId, event: 'close' })
    await bench.until(contextId, has('COMPLETED'))
    expect(await refusalOf(bench.retry({ contextId }))).toMatchObject({ kind: 'conflict' })
  })

  test('takes another key where that is asked for, and keeps its own over several', async () => {
    const { bench, calls } = await openSteered(kind, FILES)
    calls.fails = true
    const contextId = await bench.run('Child')
    await bench.until(contextId, has('FAILED'))
    for (const newKey of [false, false, true, false]) {
      const came = calls.came.length
      await bench.retry({ contextId, newKey })
      await eventuallyTrue(bench, () => calls.came.length > came)
      await bench.until(contextId, has('FAILED'))
    }
    const keys = calls.came.map(({ key }) => key)
    expect(new Set(keys.slice(0, 3)).size).toBe(1)
    expect(new Set(keys.slice(3)).size).toBe(1)
    expect(keys[3]).not.toBe(keys[0])
    const view = await bench.getContext({ contextId })
    expect(view.step).toBeNull()
    expect(retries(view)).toHaveLength(4)
  })

  test('keeps its key for the step that failed, and not for the next one', async () => {
    const { bench, calls } = await openSteered(kind, FILES)
    calls.fails = true
    const contextId = await bench.run('Two')
    await bench.until(contextId, has('FAILED'))
    calls.fails = false
    await bench.retry({ contextId })
    await bench.until(contextId, has('COMPLETED'))
    const [first, again, next] = calls.came.map(({ key }) => key)
    expect(again).toBe(first)
    expect(next).not.toBe(first)
  })

  test('into a state that acts needs what the state requires, into one that waits gets it with the event', async () => {
    const { bench } = await openSteered(kind, FILES)
    const contextId = await bench.run('Needs')
    await bench.terminate({ contextId })
    const { updatedAt } = await bench.getContext({ contextId })
    expect(await refusalOf(bench.retry({ contextId, state: 'act' }))).toMatchObject({ kind: 'invalid' })
    const untyped = { contextId, state: 'act', input: { n: '7' } }
    expect(await refusalOf(bench.retry(untyped))).toMatchObject({ kind: 'invalid' })
    await bench.advance(1000)
    await bench.retry({ contextId, state: 'hold' })
    const view = await bench.getContext({ contextId })
    expect(view).toMatchObject({ currentState: 'hold', status: 'WAITING', updatedAt: updatedAt + 1000 })
  })

  test('has the exception of the failure no more', async () => {
    const { bench, calls, store } = await openSteered(kind, FILES)
    calls.fails = true
    const contextId = await bench.run('Pay')
    await bench.sendEvent({ contextId, event: 'pay', input: { amount: 7 } })
    await bench.until(contextId, has('FAILED'))
    await bench.retry({ contextId, state: 'paid' })
    const { parts } = (await store.load({ id: contextId })) ?? {}
    expect(JSON.stringify(parts)).not.toContain('on purpose')
  })

  test('has the data that was there before the action, when what comes after it fails', async () => {
    const { bench } = await openSteered(kind, FILES)
    const contextId = await bench.run('Map')
    await bench.sendEvent({ contextId, event: 'go' })
    for (let times = 0; times < 3; times += 1) {
      const view = await bench.getContext({ contextId })
      expect(view).toMatchObject({ status: 'FAILED', currentState: 'sum' })
      expect(outputs(view)['count']).toBe(1)
      await bench.retry({ contextId })
    }
    expect(retries(await bench.getContext({ contextId }))).toEqual(['sum', 'sum', 'sum'])
  })

  test('enters another state, with inputs over its defaults; what is wrong changes nothing', async () => {
    const { bench, calls } = await openSteered(kind, FILES)
    calls.fails = true
    const contextId = await bench.run('Pay', { order: 'o-1' })
    await bench.sendEvent({ contextId, event: 'pay', input: { amount: 7 } })
    const failed = await bench.until(contextId, has('FAILED'))
    const wrong = [
      { state: 'payd' },
      { state: 'paid', input: { count: 'many' } },
      { state: 'paid', input: { unknown: 1 } },
      { input: { word: 'alone' } },
    ]
    for (const body of wrong)
      expect(await refusalOf(bench.retry({ contextId, ...body })), JSON.stringify(body)).toMatchObject({
        kind: 'invalid',
      })
    expect(await bench.getContext({ contextId })).toEqual(failed)
    await bench.retry({ contextId, state: 'paid', input: { word: 'given' } })
    const view = await bench.getContext({ contextId })
    expect(view).toMatchObject({ status: 'WAITING', currentState: 'paid' })
    const state = await bench.getStateContext({ contextId, stateName: 'paid' })
    expect(state.input.gloopProperties.map(({ name, value }) => [name, value])).toEqual([
      ['word', 'given'],
      ['count', 3],
    ])
    expect(retries(view)).toEqual(['paid'])
  })

  test('in a back-off makes the attempt now, and goes on counting', async () => {
    const { bench, calls } = await openSteered(kind, FILES)
    calls.fails = true
    const contextId = await bench.run('Back')
    await bench.until(contextId, ({ step }) => step?.attempt === 2)
    for (const body of [{ state: 'act' }, { definition: 'current' as const }, { input: {} }])
      expect(await refusalOf(bench.retry({ contextId, ...body }))).toMatchObject({ kind: 'conflict' })
    await bench.retry({ contextId })
    await bench.until(contextId, ({ step }) => step?.attempt === 3)
    calls.fails = false
    await bench.retry({ contextId, newKey: true })
    await bench.until(contextId, has('COMPLETED'))
    expect(calls.came.map(({ attempt }) => attempt)).toEqual([1, 2, 3])
    const [one, two, three] = calls.came.map(({ key }) => key)
    expect(two).toBe(one)
    expect(three).not.toBe(one)
  })

  test('of a terminated context lets it wait on, until the original time', async () => {
    const { bench } = await openSteered(kind, FILES)
    const contextId = await bench.run('Timed')
    const { nextRun } = await bench.getContext({ contextId })
    await bench.advance(1000)
    await bench.terminate({ contextId })
    await bench.advance(1000)
    await bench.retry({ contextId })
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'WAITING_UNTIL', currentState: 'w', nextRun })
    await bench.sendEvent({ contextId, event: 'go' })
    const delayed = await bench.getContext({ contextId })
    await bench.terminate({ contextId })
    await bench.retry({ contextId })
    const again = await bench.getContext({ contextId })
    expect(again).toMatchObject({ status: 'WAITING_UNTIL', currentState: 'slow', nextRun: delayed.nextRun })
    await bench.terminate({ contextId })
    await bench.advance(3 * 3_600_000)
    await bench.retry({ contextId })
    await bench.until(contextId, has('COMPLETED'))
  })

  test('of a terminated context lets it act on', async () => {
    const { bench, calls } = await openSteered(kind, FILES)
    const held = gate()
    calls.gate = held.opened
    const contextId = await bench.run('Child')
    await eventuallyTrue(bench, () => calls.came.length === 1)
    await bench.terminate({ contextId })
    await bench.retry({ contextId })
    await eventuallyTrue(bench, () => calls.came.length === 2)
    held.open()
    await bench.until(contextId, has('COMPLETED'))
    expect(calls.came[1]).toEqual(calls.came[0])
    const stops = await bench.run('Stops')
    await bench.sendEvent({ contextId: stops, event: 'go' })
    await bench.retry({ contextId: stops })
    const view = await bench.getContext({ contextId: stops })
    expect([view.status, outputs(view)['count'], retries(view)]).toEqual(['TERMINATED', 1, ['stop']])
  })

  test('of two at once has one effect', async () => {
    const { bench, calls } = await openSteered(kind, FILES)
    calls.fails = true
    const slow = await bench.run('Child')
    await bench.until(slow, has('FAILED'))
    const map = await bench.run('Map')
    await bench.sendEvent({ contextId: map, event: 'go' })
    for (const contextId of [slow, map]) {
      const refusals = await Promise.all([1, 2, 3].map(() => refusalOf(bench.retry({ contextId }))))
      expect(refusals.filter((failure) => failure === null).length).toBeGreaterThan(0)
      for (const failure of refusals) if (failure) expect(failure).toMatchObject({ kind: 'conflict' })
      const view = await bench.until(contextId, has('FAILED'))
      expect(retries(view)).toHaveLength(1)
    }
    expect(calls.came).toHaveLength(2)
  })

  test('under an idempotency key has one effect, and one answer', async () => {
    const { bench, calls } = await openSteered(kind, FILES)
    calls.fails = true
    const contextId = await bench.run('Child')
    await bench.until(contextId, has('FAILED'))
    const answer = await bench.retry({ contextId, idempotencyKey: 'k' })
    await eventuallyTrue(bench, () => calls.came.length === 2)
    await bench.until(contextId, has('FAILED'))
    expect(await bench.retry({ contextId, idempotencyKey: 'k' })).toEqual(answer)
    const other = bench.retry({ contextId, idempotencyKey: 'k', newKey: true })
    expect(await refusalOf(other)).toMatchObject({ kind: 'idempotencyMismatch' })
    await bench.advance(100)
    expect(calls.came).toHaveLength(2)
  })

  test('under an idempotency key has its first answer, also when the context is gone', async () => {
    const { bench, store, calls, clock } = await openSteered(kind, FILES)
    calls.fails = true
    const contextId = await bench.run('Child')
    await bench.until(contextId, has('FAILED'))
    const answer = await bench.retry({ contextId, idempotencyKey: 'k' })
    await eventuallyTrue(bench, () => calls.came.length === 2)
    await bench.until(contextId, has('FAILED'))
    expect(await store.purge({ endedBefore: clock.now() + 1, limit: 10 })).toBeGreaterThan(0)
    expect(await bench.retry({ contextId, idempotencyKey: 'k' })).toEqual(answer)
    expect(await refusalOf(bench.retry({ contextId, idempotencyKey: 'another' }))).toMatchObject({ kind: 'notFound' })
  })

  test('is refused while another context has the key', async () => {
    const { bench, calls } = await openSteered(kind, FILES)
    calls.fails = true
    const contextId = await bench.run('Keyed', { id: 'k' })
    await bench.until(contextId, has('FAILED'))
    const held = gate()
    calls.gate = held.opened
    calls.fails = false
    const other = await bench.run('Keyed', { id: 'k' })
    expect(await refusalOf(bench.retry({ contextId }))).toMatchObject({ kind: 'conflict', contextId: other })
    held.open()
    await bench.until(other, has('COMPLETED'))
    calls.gate = gate().opened
    await bench.retry({ contextId })
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'RUNNING', key: 'k' })
    const third = bench.run('Keyed', { id: 'k' })
    expect(await refusalOf(third)).toMatchObject({ kind: 'conflict', contextId })
    expect(await bench.getContext({ key: 'k', fluxName: 'Keyed' })).toMatchObject({ id: contextId })
  })

  test('of a parent that failed by its child starts a new child; the old one stays', async () => {
    const { bench, calls } = await openSteered(kind, FILES)
    calls.fails = true
    const contextId = await bench.run('Parent')
    const { child } = await bench.getContext({ contextId })
    const first = child?.contextId ?? contextId + 1
    await bench.until(contextId, has('FAILED'))
    expect(await refusalOf(bench.retry({ contextId: first }))).toMatchObject({ kind: 'conflict' })
    calls.fails = false
    await bench.retry({ contextId })
    const done = await bench.until(contextId, has('COMPLETED'))
    expect(outputs(done)['got']).toEqual({ done: 2 })
    expect(await bench.getContext({ contextId: first })).toMatchObject({ status: 'FAILED' })
  })

  test('of a terminated parent starts a new child', async () => {
    const { bench, calls } = await openSteered(kind, FILES)
    const held = gate()
    calls.gate = held.opened
    const contextId = await bench.run('Parent')
    const { child } = await bench.getContext({ contextId })
    await bench.terminate({ contextId })
    await bench.retry({ contextId })
    const again = await bench.getContext({ contextId })
    expect(again.child?.contextId).not.toBe(child?.contextId)
    expect(await bench.getContext({ contextId: child?.contextId ?? 0 })).toMatchObject({ status: 'TERMINATED' })
    held.open()
    await bench.until(contextId, has('COMPLETED'))
  })

  test('needs the role admin, and a context', async () => {
    const { bench, calls } = await openSteered(kind, FILES)
    calls.fails = true
    const contextId = await bench.run('Secured')
    await bench.until(contextId, has('FAILED'))
    expect(await refusalOf(bench.engine.api({ roles: ['invoke'] }).retry({ contextId }))).toMatchObject({
      kind: 'forbidden',
    })
    expect(await refusalOf(bench.retry({ contextId: 999_999 }))).toMatchObject({ kind: 'notFound' })
    await bench.engine.api({ roles: ['admin'] }).retry({ contextId })
  })

  test('gives the context a new end, from which its time counts', async () => {
    const { bench, store, calls, clock } = await openSteered(kind, FILES, { retention: 10_000_000 })
    calls.fails = true
    const contextId = await bench.run('Pay')
    await bench.sendEvent({ contextId, event: 'pay', input: { amount: 7 } })
    await bench.until(contextId, has('FAILED'))
    const end = clock.now()
    await bench.advance(9_000_000)
    await bench.retry({ contextId, state: 'paid' })
    await bench.advance(9_000_000)
    expect(await store.purge({ endedBefore: end + 1000, limit: 10 })).toBe(0)
    expect(await store.load({ id: contextId })).toMatchObject({ endedAt: null })
    await bench.terminate({ contextId })
    expect(await bench.getContext({ contextId })).toMatchObject({ endedAt: clock.now() })
    await bench.advance(9_000_000)
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'TERMINATED' })
    await bench.advance(2_000_000)
    await expect
      .poll(async () => {
        await bench.advance(60_000)
        return store.load({ id: contextId })
      })
      .toBeNull()
  })

  test('is taken by a context that was ended before a new start', async () => {
    const { bench, calls, open } = await openSteered(kind, FILES)
    calls.fails = true
    const contextId = await bench.run('Pay', { order: 'o-1' })
    await bench.sendEvent({ contextId, event: 'pay', input: { amount: 7 } })
    await bench.until(contextId, has('FAILED'))
    await bench.engine.close({ grace: 0 })
    const again = await open({ folder: bench.folder })
    calls.fails = false
    await again.retry({ contextId })
    await again.until(contextId, isIn('paid'))
    expect(calls.came[1]).toEqual(calls.came[0])
  })

  test('goes on with the current definition, by the names of its states', async () => {
    const { bench, calls } = await openSteered(kind, FILES)
    calls.fails = true
    const contextId = await bench.run('Pay', { order: 'o-1' })
    await bench.sendEvent({ contextId, event: 'pay', input: { amount: 7 } })
    const before = await bench.until(contextId, has('FAILED'))
    const second = await bench.run('Pay', { order: 'o-2' })
    await bench.sendEvent({ contextId: second, event: 'pay', input: { amount: 8 } })
    await bench.until(second, has('FAILED'))
    const { states, ...rest } = FILES['p/Pay.flux']
    const [wait, paid, over] = states
    const write = async (service: object) => {
      await writeFile(join(bench.folder, 'actors/p/Pay.flux'), JSON.stringify(service))
      expect((await bench.parts.catalog.reload()).filter(({ severity }) => severity === 'fault')).toEqual([])
    }
    await write({ ...rest, input: [{ name: 'order', type: 'integer' }], states })
    expect(await refusalOf(bench.retry({ contextId, definition: 'current' }))).toMatchObject({ kind: 'invalid' })
    const renamed = { ...wait, name: 'other' }
    await write({ ...rest, states: [renamed, paid, over] })
    expect(await refusalOf(bench.retry({ contextId, definition: 'current' }))).toMatchObject({ kind: 'invalid' })
    const gone = bench.retry({ contextId, definition: 'current', state: 'wait' })
    expect(await refusalOf(gone)).toMatchObject({ kind: 'invalid' })
    expect(await bench.getContext({ contextId })).toEqual(before)
    await bench.retry({ contextId, definition: 'current', state: 'paid' })
    const moved = await bench.getContext({ contextId })
    expect(moved).toMatchObject({ currentState: 'paid', status: 'WAITING' })
    expect(moved.definition).not.toBe(before.definition)
    expect(moved.executionHistory.map(({ stateName }) => stateName)).toEqual(['wait', 'paid'])
    calls.fails = false
    await write({
      ...rest,
      output: [...rest.output, { name: 'more', defaultValue: 'new' }],
      states: [over, paid, wait],
    })
    await bench.retry({ contextId: second, definition: 'current' })
    const done = await bench.until(second, isIn('paid'))
    expect(outputs(done)).toMatchObject({ done: 3, more: 'new' })
    expect(done.executionHistory.map(({ stateName }) => stateName)).toEqual(['wait', 'wait', 'paid'])
    expect(done.stateContexts.map(({ name }) => name)).toEqual(['wait', 'paid'])
    await bench.sendEvent({ contextId: second, event: 'close' })
    await bench.until(second, has('COMPLETED'))
  })

  test('with another definition still tells the whole history, by the names that the states had', async () => {
    const { bench } = await openSteered(kind, FILES)
    const contextId = await bench.run('Loop')
    for (let times = 0; times < 20; times += 1) await bench.sendEvent({ contextId, event: 'go' })
    const names = async () => (await bench.getContext({ contextId })).executionHistory.map(({ stateName }) => stateName)
    const before = await names()
    const write = async (states: object[]) => {
      await writeFile(join(bench.folder, 'actors/p/Loop.flux'), JSON.stringify({ states }))
      expect((await bench.parts.catalog.reload()).filter(({ severity }) => severity === 'fault')).toEqual([])
    }
    const [a] = FILES['p/Loop.flux'].states
    await write([{ name: 'first' }, { ...a, transitions: [{ to: 'a', event: 'go' }] }])
    await bench.terminate({ contextId })
    await bench.retry({ contextId, definition: 'current' })
    expect(await names()).toEqual([...before, 'a'])
    for (let times = 0; times < 20; times += 1) await bench.sendEvent({ contextId, event: 'go' })
    const longer = await names()
    expect(longer.slice(0, 23)).toEqual([...before, 'a', 'a'])
    await write([{ ...a, transitions: [{ to: 'a', event: 'go' }] }, { name: 'b' }])
    await bench.terminate({ contextId })
    await bench.retry({ contextId, definition: 'current' })
    expect(await names()).toEqual([...longer, 'a'])
    expect((await bench.getContext({ contextId })).stateContexts.map(({ name }) => name)).toEqual(['a'])
  })
})
