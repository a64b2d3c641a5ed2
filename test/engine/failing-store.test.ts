// A store that fails now and then: what is refused has changed nothing, and what must go on does.
import { afterEach, describe, expect, test } from 'vitest'
import { inDoubt, unavailable } from '../../src/model/failure.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench, outputs, type Bench, type Files } from '../support/engine.ts'

const set = (to: string, expression: string) => ({ type: 'set', expression, evaluate: true, to: [to] })
const FILES: Files = {
  'p/Fn.ts': `export function f(args, flux) { return { key: flux.stepKey } }
let runs = 0
export async function slow(args, flux) {
  runs += 1
  flux.signal.addEventListener('abort', () => flux.log.info('slow is aborted', { id: flux.contextId, why: flux.signal.reason.message }))
  flux.log.info('slow has begun', { id: flux.contextId })
  while (!(await flux.getContext({ contextId: flux.contextId })).tags.includes('end')) await new Promise((resolve) => setTimeout(resolve, 5))
  return { runs }
}`,
  'p/Slow.flux': {
    output: [{ name: 'runs', type: 'integer' }],
    states: [
      {
        name: 's',
        action: {
          type: 'invokeCode',
          className: 'Fn',
          methodName: 'slow',
          outputs: [{ from: ['runs'], to: ['runs'] }],
        },
      },
    ],
  },
  'p/Child.flux': {
    output: [{ name: 'n', type: 'integer' }, { name: 'constructor' }],
    states: [
      {
        name: 'w',
        waiting: true,
        action: { type: 'map', lines: [set('n', '7')] },
        transitions: [{ to: 'end', event: 'go' }],
      },
      { name: 'end' },
    ],
  },
  'p/Parent.flux': {
    output: [{ name: 'n', type: 'integer' }, { name: 'none' }],
    states: [
      { name: 'w', waiting: true, transitions: [{ to: 'call', event: 'call' }] },
      {
        name: 'call',
        action: {
          type: 'invokeFlux',
          name: 'Child',
          outputs: [
            { from: ['n'], to: ['n'] },
            { from: ['constructor'], to: ['none'] },
          ],
        },
        transitions: [{ to: 'end' }],
      },
      { name: 'end' },
    ],
  },
  'p/Step.flux': {
    output: [{ name: 'key' }],
    states: [
      {
        name: 's',
        action: { type: 'invokeCode', className: 'Fn', methodName: 'f', outputs: [{ from: ['key'], to: ['key'] }] },
      },
    ],
  },
  'p/Wait.flux': { states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'tick' }] }] },
}

/** Calls of these verbs fail, `skip` of them left out; `after`: only after they have taken effect. */
const faults: { verb: keyof Store; after: boolean; times: number; skip: number }[] = []

function unreliable(store: Store): Store {
  return new Proxy(store, {
    get(target, verb: keyof Store) {
      const method = target[verb]
      if (typeof method !== 'function') return method
      return async (request: never) => {
        const fault = faults.find((one) => one.verb === verb && one.times > 0)
        if (!fault || fault.skip-- > 0) return Reflect.apply(method, target, [request])
        fault.times -= 1
        if (fault.after) await Reflect.apply(method, target, [request])
        throw fault.after ? inDoubt('the store is out of reach') : unavailable('the store is out of reach')
      }
    },
  })
}

let bench: Bench
const open = async () => {
  bench = await openBench(FILES, { wrap: unreliable })
}
const fail = (verb: keyof Store, { times = 1, after = false, skip = 0 } = {}) => {
  faults.push({ verb, times, after, skip })
}
afterEach(() => {
  faults.length = 0
})
const done = ({ status }: { status: string }) => ['COMPLETED', 'FAILED', 'TERMINATED'].includes(status)

describe('when the store fails', () => {
  test('a call is refused as unavailable and changes nothing; sent again, it works', async () => {
    await open()
    const contextId = await bench.run('Wait')
    const before = await bench.getContext({ contextId, snapshot: true })
    fail('commit')
    await expect(bench.sendEvent({ contextId, event: 'tick' })).rejects.toMatchObject({
      failure: { kind: 'unavailable', retryAfter: 1 },
    })
    expect(await bench.getContext({ contextId, snapshot: true })).toEqual(before)
    await expect(bench.sendEvent({ contextId, event: 'tick' })).resolves.toMatchObject({ transitions: [{ contextId }] })
  })

  test('a step is aborted when its context ended with a commit that landed all the same', async () => {
    await open()
    const contextId = await bench.run('Slow')
    const told = (word: string) =>
      bench.logged.filter(({ message }) => message === `slow ${word}`).map(({ fields }) => fields)
    await expect.poll(() => told('has begun'), { timeout: 5000 }).toMatchObject([{ id: contextId }])
    fail('commit', { after: true })
    await expect(bench.terminate({ contextId })).rejects.toMatchObject({ failure: { inDoubt: true } })
    await expect
      .poll(() => told('is aborted'), { timeout: 5000 })
      .toMatchObject([{ id: contextId, why: 'the context has ended' }])
  })

  test('what follows from a commit that landed all the same, follows', async () => {
    await open()
    const contextId = await bench.run('Wait')
    fail('commit', { after: true })
    await expect(bench.sendEvent({ contextId, event: 'tick' })).rejects.toMatchObject({
      failure: { kind: 'unavailable', inDoubt: true },
    })
    expect((await bench.getContext({ contextId })).executionHistory).toHaveLength(2)
    // The first one is that of the definition.
    fail('commit', { after: true, skip: 1 })
    await expect(bench.run('Step')).rejects.toMatchObject({ failure: { inDoubt: true } })
    await expect.poll(async () => bench.listContexts({ fluxName: 'Step', status: 'COMPLETED' })).toHaveLength(1)
    const [step] = await bench.listContexts({ fluxName: 'Step', status: 'COMPLETED' })
    expect(step && outputs(step)['key']).toBe(`${step?.id}-1`)
  })

  test('a step is not started twice when the commit in doubt is another one', async () => {
    await open()
    const contextId = await bench.run('Slow')
    fail('commit', { after: true })
    await expect(bench.addTags({ contextId, tag: ['t'] })).rejects.toMatchObject({ failure: { inDoubt: true } })
    for (let turn = 0; turn < 5; turn += 1) await bench.advance(200)
    await bench.addTags({ contextId, tag: ['end'] })
    expect(outputs(await bench.until(contextId, done))['runs']).toBe(1)
  })

  test('half of what an event does never becomes true', async () => {
    await open()
    const contextId = await bench.run('Parent')
    fail('commit')
    await expect(bench.sendEvent({ contextId, event: 'call' })).rejects.toMatchObject({
      failure: { kind: 'unavailable' },
    })
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'WAITING', currentState: 'w' })
    await bench.sendEvent({ contextId, event: 'call' })
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'RUNNING', currentState: 'call' })
    expect(await bench.listContexts({ fluxName: 'Child' })).toHaveLength(1)
  })

  test("a parent hears of its child's end later", async () => {
    await open()
    const contextId = await bench.run('Parent')
    await bench.sendEvent({ contextId, event: 'call' })
    const [child] = await bench.listContexts({ fluxName: 'Child' })
    fail('commit', { skip: 1 })
    await bench.sendEvent({ contextId: child?.id ?? 0, event: 'go' })
    await expect.poll(() => bench.logged.map(({ message }) => message)).toContain('a context could not be carried on')
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'RUNNING' })
    await bench.advance(1000)
    expect(outputs(await bench.until(contextId, done))).toEqual({ n: 7, none: null })
  })

  test('the result of a step is brought home when the store is back', async () => {
    await open()
    const contextId = await bench.run('Step')
    fail('commit', { times: 3 })
    for (let turn = 0; turn < 10; turn += 1) await bench.advance(1000)
    expect(await bench.until(contextId, done)).toMatchObject({ status: 'COMPLETED' })
  })

  test('a broadcast tells who was not reached, and is refused when that is everyone', async () => {
    await open()
    await bench.run('Wait')
    await bench.run('Wait')
    fail('commit', { times: 9 })
    await expect(bench.sendEvent({ event: 'tick' })).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
    faults.length = 0
    fail('commit')
    const answer = await bench.sendEvent({ event: 'tick' })
    expect(answer.transitions.length + answer.ignored.length).toBe(2)
    expect(answer.ignored).toMatchObject([
      { contextId: expect.any(Number), reason: expect.stringContaining('out of reach') },
    ])
  })
})
