import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBench, outputs, type Bench } from '../support/engine.ts'

const set = (to: string, expression: string, evaluate = true) => ({ type: 'set', expression, evaluate, to: [to] })
const map = (...lines: object[]) => ({ type: 'map', lines })
const text = (...names: string[]) => names.map((name) => ({ name }))

let bench: Bench
beforeAll(async () => {
  bench = await openBench({
    'p/Lone.flux': {
      output: text('end'),
      states: [
        { name: 'a', action: map(set('end', '"not yet"')), transitions: [{ to: 'b' }] },
        { name: 'b', action: map(set('end', '"reached"')) },
      ],
    },
    'p/ByEvent.flux': {
      input: [{ name: 'pick', type: 'any' }],
      output: text('end'),
      states: [
        {
          name: 'a',
          action: map({ from: ['pick'], to: ['$fluxEvent'] }),
          transitions: [
            { to: 'yes', event: 'true' },
            { to: 'seven', event: '7' },
            { to: 'word', event: 'word' },
            { to: 'other', event: '$else' },
          ],
        },
        { name: 'yes', action: map(set('end', 'yes', false)) },
        { name: 'seven', action: map(set('end', 'seven', false)) },
        { name: 'word', action: map(set('end', 'word', false)) },
        { name: 'other', action: map(set('end', 'other', false)) },
      ],
    },
    'p/NoElse.flux': {
      input: text('pick'),
      states: [
        {
          name: 'a',
          action: map({ from: ['pick'], to: ['$fluxEvent'] }),
          transitions: [
            { to: 'b', event: 'x' },
            { to: 'caught', event: '$exception' },
          ],
        },
        { name: 'b' },
        { name: 'caught' },
      ],
    },
    'p/OnlyException.flux': {
      output: text('end'),
      input: [{ name: 'fail', type: 'boolean' }],
      states: [
        {
          name: 'a',
          action: map(set('end', 'parseJson(fail ? "{" : "1")')),
          transitions: [
            {
              to: 'caught',
              event: '$exception',
              lines: [
                { from: ['$fluxException', 'message'], to: ['message'] },
                { from: ['$fluxException', 'fluxStackTrace'], to: ['trace'] },
              ],
            },
          ],
        },
        { name: 'caught', input: [...text('message'), { name: 'trace', type: 'any' }] },
      ],
    },
    'p/Terminate.flux': {
      states: [
        {
          name: 'a',
          action: map(set('$fluxEvent', '$fluxTerminate', false)),
          transitions: [{ to: 'b', event: '$else' }],
        },
        { name: 'b' },
      ],
    },
    'p/Loop.flux': { states: [{ name: 'a', transitions: [{ to: 'a' }] }] },
    'p/Delayed.flux': {
      input: [{ name: 'seconds', type: 'double' }],
      output: text('end'),
      states: [
        {
          name: 'a',
          output: text('mine'),
          action: map(set('mine', '"kept"')),
          transitions: [
            { to: 'b', wait: 'duration:${seconds}', lines: [{ from: ['mine'], to: ['got'] }, set('at', 'now()')] },
          ],
        },
        {
          name: 'b',
          input: [...text('got'), { name: 'at', type: 'date' }],
          action: map({ from: ['got'], to: ['end'] }),
        },
      ],
    },
  })
})
afterAll(() => bench.close())

describe('after an action', () => {
  test('a lone event-less transition is taken', async () => {
    const view = await bench.getContext({ contextId: await bench.run('Lone') })
    expect(view).toMatchObject({ status: 'COMPLETED', currentState: 'b', waiting: false, nextRun: null, error: null })
    expect(outputs(view)).toEqual({ end: 'reached' })
    expect(view.executionHistory.map(({ stateName, stateIndex }) => [stateName, stateIndex])).toEqual([
      ['a', 0],
      ['b', 1],
    ])
    expect(view.stateContexts[0]?.transitionContexts).toMatchObject([{ event: null, to: 'b', values: {} }])
  })

  test.each([
    [true, 'yes'],
    ['true', 'yes'],
    [7, 'seven'],
    ['word', 'word'],
    ['unheard', 'other'],
    [null, 'other'],
    [{ a: 1 }, 'other'],
  ])('$fluxEvent %j is compared as text', async (pick, end) => {
    expect(outputs(await bench.getContext({ contextId: await bench.run('ByEvent', { pick }) }))).toEqual({ end })
  })

  test('an event that nobody names fails the context, past its $exception transition', async () => {
    const view = await bench.getContext({ contextId: await bench.run('NoElse', { pick: 'y' }) })
    expect(view).toMatchObject({ status: 'FAILED', currentState: 'a', error: { type: 'UndefinedEventException' } })
    expect(view.endedAt).toBe(view.startedAt)
  })

  test('a state with nothing but $exception is an end when its action succeeds', async () => {
    expect(await bench.getContext({ contextId: await bench.run('OnlyException', { fail: false }) })).toMatchObject({
      status: 'COMPLETED',
      currentState: 'a',
    })
  })

  test('a failure takes the $exception transition, whose lines see the exception', async () => {
    const contextId = await bench.run('OnlyException', { fail: true })
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'COMPLETED', currentState: 'caught' })
    const { input } = await bench.getStateContext({ contextId, stateName: 'caught' })
    expect(input.gloopProperties).toMatchObject([
      { name: 'message', value: expect.stringContaining('JSON') },
      { name: 'trace', value: [{ fluxName: 'OnlyException', stateName: 'a', transition: null, stateIndex: 0 }] },
    ])
  })

  test('$fluxTerminate ends the context', async () => {
    expect(await bench.getContext({ contextId: await bench.run('Terminate') })).toMatchObject({
      status: 'TERMINATED',
      currentState: 'a',
    })
  })

  test('1,000 moves without a pause fail the context, and the newest 1,000 entries of its history stay', async () => {
    const view = await bench.getContext({ contextId: await bench.run('Loop') })
    expect(view).toMatchObject({ status: 'FAILED', error: { type: 'TooManyMoves' } })
    expect(view.executionHistory).toHaveLength(1000)
  })

  test('a transition with a wait parks the context; its lines run when it is due, and no event is taken meanwhile', async () => {
    const contextId = await bench.run('Delayed', { seconds: 1.5 })
    const start = bench.clock.now()
    expect(await bench.getContext({ contextId })).toMatchObject({
      status: 'WAITING_UNTIL',
      waiting: true,
      currentState: 'a',
      nextRun: start + 1500,
    })
    await expect(bench.sendEvent({ contextId, event: 'x' })).rejects.toMatchObject({ failure: { kind: 'conflict' } })
    await bench.advance(1499)
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'WAITING_UNTIL' })
    await bench.advance(1)
    const view = await bench.until(contextId, ({ status }) => status === 'COMPLETED')
    expect(outputs(view)).toEqual({ end: 'kept' })
    expect(view.stateContexts[0]?.transitionContexts).toEqual([
      { event: null, to: 'b', takenAt: start + 1500, values: { got: 'kept', at: start + 1500 } },
    ])
  })

  test.each([[-5], [0]])('a wait of %j seconds is due at once', async (seconds) => {
    const contextId = await bench.run('Delayed', { seconds })
    await bench.advance(0)
    await bench.until(contextId, ({ status }) => status === 'COMPLETED')
  })

  test('a wait that is none fails the context', async () => {
    expect(await bench.getContext({ contextId: await bench.run('Delayed') })).toMatchObject({
      status: 'FAILED',
      error: {
        type: 'WaitError',
        message: "the wait of the transition to 'b' (duration:${seconds}): null is no number of seconds to wait",
      },
    })
  })
})

test('a line sees what those before it wrote, over what was there before', async () => {
  const order = { name: 'order', type: 'object' }
  const lines = await openBench({
    'p/Fields.flux': {
      input: [order],
      output: [order, { name: 'sum', type: 'integer' }],
      states: [
        {
          name: 'a',
          output: [order],
          action: {
            type: 'map',
            lines: [
              { from: ['order', 'a'], to: ['order', 'a'] },
              set('order', '{ a: order.a + 1, b: order.b }'),
              { type: 'set', expression: 'order.a + order.b', evaluate: true, to: ['sum'] },
            ],
          },
          transitions: [
            {
              to: 'b',
              lines: [
                { from: ['order', 'a'], to: ['order', 'x'] },
                { from: ['order', 'b'], to: ['order', 'y'] },
                { from: ['order', 'x'], to: ['order', 'z'] },
              ],
            },
          ],
        },
        { name: 'b', input: [order], action: { type: 'map', lines: [{ from: ['order'], to: ['order'] }] } },
      ],
    },
  })
  expect(outputs(await lines.getContext({ contextId: await lines.run('Fields', { order: { a: 1, b: 10 } }) }))).toEqual(
    { sum: 12, order: { x: 2, y: 10, z: 2 } },
  )
})
