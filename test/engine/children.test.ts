import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBench, outputs, type Bench } from '../support/engine.ts'

const set = (to: string, expression: string) => ({ type: 'set', expression, evaluate: true, to: [to] })
const invoke = (name: string, more: object = {}) => ({
  type: 'invokeFlux',
  name,
  inputs: [set('n', 'n')],
  outputs: [
    { from: ['double'], to: ['got'] },
    { from: ['$result'], to: ['all'] },
  ],
  ...more,
})
const parent = (action: object) => ({
  input: [{ name: 'n', type: 'integer' }],
  output: [
    { name: 'got', type: 'integer' },
    { name: 'all', type: 'any' },
    { name: 'error', type: 'any' },
  ],
  states: [
    {
      name: 'call',
      action,
      transitions: [
        { to: 'end' },
        { to: 'caught', event: '$exception', lines: [{ from: ['$fluxException'], to: ['e'] }] },
      ],
    },
    { name: 'end' },
    {
      name: 'caught',
      input: [{ name: 'e', type: 'any' }],
      action: { type: 'map', lines: [{ from: ['e'], to: ['error'] }] },
    },
  ],
})

let bench: Bench
beforeAll(async () => {
  bench = await openBench({
    'p/Double.flux': {
      input: [{ name: 'n', type: 'integer', required: true }],
      output: [{ name: 'double', type: 'integer' }, { name: 'never' }],
      states: [{ name: 's', action: { type: 'map', lines: [set('double', 'n * 2')] } }],
    },
    'q/Double.flux': {
      input: [{ name: 'n', type: 'integer' }],
      output: [{ name: 'double', type: 'integer' }],
      states: [{ name: 's', action: { type: 'map', lines: [set('double', '-1')] } }],
    },
    'q/Elsewhere.flux': {
      input: [{ name: 'n', type: 'integer' }],
      output: [{ name: 'double', type: 'integer' }],
      states: [{ name: 's', action: { type: 'map', lines: [set('double', 'n + 1000')] } }],
    },
    'p/Waits.flux': {
      input: [{ name: 'n', type: 'integer' }],
      output: [{ name: 'double', type: 'integer' }],
      states: [
        {
          name: 'w',
          waiting: true,
          input: [{ name: 'k', type: 'integer' }],
          action: { type: 'map', lines: [set('double', 'n * k')] },
          transitions: [{ to: 'end', event: 'go' }],
        },
        { name: 'end' },
      ],
    },
    'p/Fails.flux': {
      input: [{ name: 'n', type: 'integer' }],
      states: [{ name: 's', action: { type: 'map', lines: [set('$fluxEvent', 'parseJson("{")')] } }],
    },
    'p/CallsDouble.flux': parent(invoke('Double')),
    'p/CallsElsewhere.flux': parent(invoke('Elsewhere')),
    'p/CallsWaits.flux': parent(invoke('Waits')),
    'p/CallsWaitsShortly.flux': parent(invoke('Waits', { timeout: 3 })),
    'p/CallsFails.flux': parent(invoke('Fails')),
    'p/CallsNobody.flux': parent(invoke('Nobody')),
    'p/CallsWrongly.flux': parent({ ...invoke('Double'), inputs: [set('n', '"one"')] }),
    'p/CallsCaller.flux': parent({ ...invoke('CallsWaits'), outputs: [{ from: ['got'], to: ['got'] }] }),
    'p/Endless.flux': {
      input: [{ name: 'n', type: 'integer' }],
      output: [{ name: 'double', type: 'integer' }],
      states: [{ name: 's', action: { type: 'invokeFlux', name: 'Endless', inputs: [set('n', 'n + 1')] } }],
    },
    'p/Spins.flux': {
      states: [
        { name: 's', action: { type: 'invokeFlux', name: 'Nobody' }, transitions: [{ to: 's', event: '$exception' }] },
      ],
    },
  })
})
afterAll(() => bench.close())

const done = ({ status }: { status: string }) => ['COMPLETED', 'FAILED', 'TERMINATED'].includes(status)
const childOf = async (fluxName: string) => (await bench.listContexts({ fluxName })).at(-1)?.id ?? 0

describe('a service that invokes another', () => {
  test('waits for its end and sees its outputs; the own package is sought first', async () => {
    const view = await bench.until(await bench.run('CallsDouble', { n: 21 }), done)
    expect(view.status).toBe('COMPLETED')
    expect(outputs(view)).toEqual({ got: 42, all: { double: 42, never: null }, error: null })
  })

  test('finds a service of another package', async () => {
    expect(outputs(await bench.until(await bench.run('CallsElsewhere', { n: 1 }), done))).toMatchObject({ got: 1001 })
  })

  test('goes on when a waiting child ends, however late', async () => {
    const contextId = await bench.run('CallsWaits', { n: 5 })
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'RUNNING', currentState: 'call' })
    await bench.advance(86_400_000)
    await bench.sendEvent({ contextId: await childOf('Waits'), event: 'go', input: { k: 7 } })
    expect(outputs(await bench.until(contextId, done))).toMatchObject({ got: 35 })
  })

  test.each([
    ['CallsFails', { type: 'ServiceFailed', realException: { contextId: expect.any(Number) } }],
    ['CallsNobody', { type: 'ServiceNotFound' }],
    ['CallsWrongly', { type: 'InvalidInput', message: expect.stringContaining('/input/n') }],
  ])('%s: takes its $exception transition when the child fails', async (name, error) => {
    const view = await bench.until(await bench.run(name, { n: 1 }), done)
    expect(view.currentState).toBe('caught')
    expect(outputs(view)['error']).toMatchObject(error)
  })

  test('fails when its child is terminated', async () => {
    const contextId = await bench.run('CallsWaits', { n: 5 })
    await bench.terminate({ contextId: await childOf('Waits') })
    expect(outputs(await bench.until(contextId, done))['error']).toMatchObject({ type: 'ServiceTerminated' })
  })

  test('terminates its children, and theirs, when it is terminated', async () => {
    const contextId = await bench.run('CallsCaller', { n: 5 })
    const middle = await childOf('CallsWaits')
    const leaf = await childOf('Waits')
    await bench.terminate({ contextId })
    for (const id of [contextId, middle, leaf])
      expect(await bench.getContext({ contextId: id })).toMatchObject({ status: 'TERMINATED' })
  })

  test('passes a result up through several levels', async () => {
    const contextId = await bench.run('CallsCaller', { n: 5 })
    await bench.sendEvent({ contextId: await childOf('Waits'), event: 'go', input: { k: 3 } })
    expect(outputs(await bench.until(contextId, done))).toMatchObject({ got: 15 })
  })

  test('gives up after its timeout, and ends the child', async () => {
    const contextId = await bench.run('CallsWaitsShortly', { n: 5 })
    const child = await childOf('Waits')
    await bench.advance(3000)
    expect(outputs(await bench.until(contextId, done))['error']).toMatchObject({ type: 'TimeoutError' })
    expect(await bench.getContext({ contextId: child })).toMatchObject({ status: 'TERMINATED' })
  })

  test("can't go deeper than 32", async () => {
    const view = await bench.until(await bench.run('Endless', { n: 0 }), done)
    expect(view).toMatchObject({ status: 'FAILED', error: { type: 'ServiceFailed' } })
    const failed = await bench.listContexts({ fluxName: 'Endless', status: 'FAILED', limit: 100 })
    expect(failed).toHaveLength(33)
    expect(await bench.getContext({ contextId: failed.at(-1)?.id ?? 0 })).toMatchObject({
      error: { type: 'InvocationTooDeep' },
    })
  })

  test("can't spin for ever on a child that never starts", async () => {
    expect(await bench.until(await bench.run('Spins'), done)).toMatchObject({
      status: 'FAILED',
      error: { type: 'TooManyMoves' },
    })
  })

  test("hears of its child's end after a restart", async () => {
    const contextId = await bench.run('CallsWaits', { n: 5 })
    bench = await bench.restart()
    await bench.sendEvent({ contextId: await childOf('Waits'), event: 'go', input: { k: 2 } })
    expect(outputs(await bench.until(contextId, done))).toMatchObject({ got: 10 })
  })
})
