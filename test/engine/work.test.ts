// What one turn may do is counted: over all lines of an action and all moves, and by no clock.
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { openBench, outputs, type Bench } from '../support/engine.ts'

const set = (to: string, expression: string) => ({ type: 'set', expression, evaluate: true, to: [to] })
const times = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))
const HEAVY = 'list.map(x => text == other).length'

let bench: Bench
beforeAll(async () => {
  const input = [{ name: 'text' }, { name: 'other' }, { name: 'list', type: 'any' }, { name: 'wide', type: 'object' }]
  bench = await openBench({
    'p/Lines.flux': {
      input,
      states: [
        { name: 'a', output: [{ name: 'n', type: 'integer' }], action: { lines: times(400, () => set('n', HEAVY)) } },
      ],
    },
    'p/Caught.flux': {
      input,
      output: [{ name: 'end' }],
      states: [
        {
          name: 'a',
          output: [{ name: 'n', type: 'integer' }],
          action: { lines: [set('n', 'list.map(x => list.map(y => list.map(z => z)))')] },
          transitions: [{ to: 'b', event: '$exception' }],
        },
        { name: 'b', action: { lines: [set('end', '"caught"')] } },
      ],
    },
    'p/Moves.flux': {
      input,
      states: [
        {
          name: 'a',
          output: [{ name: 'n', type: 'integer' }],
          action: { lines: [set('n', HEAVY)] },
          transitions: [{ to: 'a' }],
        },
      ],
    },
    'p/Wide.flux': {
      input,
      states: [
        {
          name: 'a',
          output: [{ name: 'wide', type: 'object' }],
          action: {
            lines: [
              { from: ['wide'], to: ['wide'] },
              ...times(400, (index) => ({ type: 'set', expression: 'x', to: ['wide', `n${index}`] })),
            ],
          },
        },
      ],
    },
    'p/Event.flux': {
      input,
      states: [
        {
          name: 'a',
          action: { lines: [{ from: ['wide'], to: ['$fluxEvent'] }] },
          transitions: [{ to: 'a', event: '$else' }],
        },
      ],
    },
    'p/Count.flux': {
      output: [{ name: 'count', type: 'integer', defaultValue: 0 }],
      states: [
        {
          name: 'a',
          action: { lines: [set('count', 'count + 1'), set('$fluxEvent', 'count < 900 ? "again" : "end"')] },
          transitions: [
            { to: 'a', event: 'again' },
            { to: 'b', event: 'end' },
          ],
        },
        { name: 'b' },
      ],
    },
    'p/Integers.flux': {
      input: [{ name: 'numbers', type: 'integer', array: true, choices: times(50, (index) => index) }],
      states: [{ name: 'a' }],
    },
    'p/Decimals.flux': { input: [{ name: 'numbers', type: 'bigDecimal', array: true }], states: [{ name: 'a' }] },
    'p/Models.flux': {
      input: [
        {
          name: 'rows',
          type: 'model',
          array: true,
          gloopProperties: times(50, (index) => ({ name: `f${index}`, defaultValue: `value ${index}` })),
        },
      ],
      states: [{ name: 'a' }],
    },
  })
})
afterAll(() => bench.close())
afterEach(() => {
  vi.restoreAllMocks()
})

const heavy = () => ({ text: 'a'.repeat(60_000), other: 'a'.repeat(60_000), list: times(500, (index) => index) })
const wide = () => ({ wide: Object.fromEntries(times(50_000, (index) => [`k${index}`, index])) })

/** Milliseconds of processor time. The whole budget is 30 to 100; what isn't counted takes seconds. */
async function effort(run: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await run()
  return process.cpuUsage(before).user / 1000
}
const STALL_MS = 1500

describe('the work of a turn', () => {
  test.each([
    ['400 lines, each within its bound', 'Lines', heavy],
    ['a thousand moves', 'Moves', heavy],
    ['lines that each copy a wide object', 'Wide', wide],
    ['an event that is a large object', 'Event', wide],
  ])('%s fail the context', async (_, fluxName, input) => {
    const given = input()
    let id = 0
    expect(
      await effort(async () => {
        id = await bench.run(fluxName, given)
      }),
    ).toBeLessThan(STALL_MS)
    expect(await bench.getContext({ contextId: id })).toMatchObject({
      status: 'FAILED',
      error: {
        type: 'TooMuchWork',
        message: 'the lines and moves take more than 3000000 steps without a pause or a step',
      },
    })
  })

  test('leaves enough for an $exception transition after one expression that took too much', async () => {
    const view = await bench.getContext({ contextId: await bench.run('Caught', heavy()) })
    expect(view.status).toBe('COMPLETED')
    expect(outputs(view)).toEqual({ end: 'caught' })
  })

  test('is not measured in time: each look at a clock finds two seconds gone', async () => {
    let passed = performance.now()
    vi.spyOn(performance, 'now').mockImplementation(() => {
      passed += 2000
      return passed
    })
    const view = await bench.getContext({ contextId: await bench.run('Count') })
    expect(view.status).toBe('COMPLETED')
    expect(outputs(view)).toEqual({ count: 900 })
  })
})

describe('inputs that would make more than they are', () => {
  test.each([
    ['numbers of ten thousand digits in six characters', 'Decimals', { numbers: times(90_000, () => '1e9990') }],
    ['models that take fifty defaults each', 'Models', { rows: times(90_000, () => ({})) }],
  ])('%s are refused', async (_, fluxName, input) => {
    const took = await effort(() =>
      expect(bench.run(fluxName, input)).rejects.toMatchObject({
        failure: { kind: 'invalid', detail: expect.stringContaining('makes too much work') as string },
      }),
    )
    expect(took).toBeLessThan(STALL_MS)
  })

  test('are taken as far as they are only many', async () => {
    const view = await bench.getContext({
      contextId: await bench.run('Integers', { numbers: times(400_000, (index) => index % 50) }),
    })
    expect(view.status).toBe('COMPLETED')
  })
})
