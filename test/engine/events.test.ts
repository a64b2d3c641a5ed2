import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBench, outputs, type Bench } from '../support/engine.ts'

const set = (to: string, expression: string) => ({ type: 'set', expression, evaluate: true, to: [to] })

let bench: Bench
beforeAll(async () => {
  bench = await openBench({
    'p/Order.flux': {
      input: [{ name: 'customer' }],
      tags: ['order', 'customer-${customer}'],
      states: [
        {
          name: 'open',
          waiting: true,
          input: [{ name: 'sum', type: 'integer', required: true }],
          transitions: [
            { to: 'paid', event: 'pay' },
            { to: 'open', event: 'ping' },
          ],
        },
        { name: 'paid' },
      ],
    },
    'p/Plain.flux': {
      states: [
        {
          name: 'open',
          waiting: true,
          transitions: [
            { to: 'open', event: 'tick' },
            { to: 'closed', event: 'close' },
          ],
        },
        { name: 'closed' },
      ],
    },
    'p/OnTick.flux': {
      triggers: ['tick', 'other'],
      input: [{ name: 'size', type: 'integer' }],
      output: [{ name: 'by' }],
      tags: ['triggered'],
      states: [
        {
          name: 'open',
          action: { type: 'map', lines: [set('by', '$triggerFluxEvent')] },
          transitions: [{ to: 'hold' }],
        },
        { name: 'hold', waiting: true, transitions: [{ to: 'open', event: 'tick' }] },
      ],
    },
    'q/OnTick.flux': {
      triggers: ['tick'],
      input: [{ name: 'size', type: 'integer', required: true }],
      states: [{ name: 'open' }],
    },
    'p/Many.flux': {
      states: [
        {
          name: 'w',
          waiting: true,
          transitions: [
            { to: 'w', event: 'many' },
            { to: 'end', event: 'stop' },
          ],
        },
        { name: 'end' },
      ],
    },
  })
})
afterAll(() => bench.close())

describe('an event without a context', () => {
  test('moves those whose tags it carries, any of them; contexts with tags hear nothing else', async () => {
    const [ann, bob] = await Promise.all(
      ['ann', 'bob'].map((customer) => bench.run('Order', { customer }, { tags: ['extra'] })),
    )
    expect((await bench.getContext({ contextId: ann ?? 0 })).tags.toSorted()).toEqual([
      'customer-ann',
      'extra',
      'order',
    ])
    expect((await bench.sendEvent({ event: 'ping', input: { sum: 1 } })).transitions).toEqual([])
    expect((await bench.sendEvent({ event: 'ping', input: { sum: 1 }, tags: ['nobody'] })).transitions).toEqual([])
    expect((await bench.sendEvent({ event: 'ping', input: { sum: 1 }, tags: ['extra', 'order'] })).transitions).toEqual(
      [
        { contextId: ann, state: 'open' },
        { contextId: bob, state: 'open' },
      ],
    )
    const answer = await bench.sendEvent({ event: 'pay', input: { sum: 1 }, tags: ['customer-ann', 'nobody'] })
    expect(answer).toMatchObject({ transitions: [{ contextId: ann, state: 'paid' }], executions: [], ignored: [] })
  })

  test('names those that could not move, and why', async () => {
    const contextId = await bench.run('Order', { customer: 'carl' })
    const answer = await bench.sendEvent({ event: 'pay', tags: ['customer-carl'] })
    expect(answer).toMatchObject({
      transitions: [],
      ignored: [{ contextId, fluxName: 'Order', state: 'open', reason: expect.stringContaining('/input/sum') }],
    })
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'WAITING', currentState: 'open' })
  })

  test("starts the services that it triggers, which don't hear the event that started them", async () => {
    const plain = await bench.run('Plain')
    const answer = await bench.sendEvent({ event: 'tick', input: { size: 3, unknown: true } })
    expect(answer.transitions).toEqual([{ contextId: plain, state: 'open' }])
    expect(answer.executions.map(({ state }) => state).toSorted()).toEqual(['hold', 'open'])
    const held = answer.executions.find(({ state }) => state === 'hold')
    const view = await bench.getContext({ contextId: held?.contextId ?? 0 })
    expect(outputs(view)).toEqual({ by: 'tick' })
    expect(view.tags).toEqual(['triggered'])
    await bench.terminate({ contextId: plain })
  })

  test('gives its tags to what it starts, besides their own', async () => {
    const answer = await bench.sendEvent({ event: 'other', tags: ['t-1'] })
    const [{ contextId } = { contextId: 0 }] = answer.executions
    expect((await bench.getContext({ contextId })).tags.toSorted()).toEqual(['t-1', 'triggered'])
    expect((await bench.sendEvent({ event: 'tick', tags: ['t-1'], input: { size: 1 } })).transitions).toEqual([
      { contextId, state: 'hold' },
    ])
  })

  test('names the services that it could not start', async () => {
    const answer = await bench.sendEvent({ event: 'tick', tags: ['zz'] })
    expect(answer.ignored).toEqual([
      { contextId: null, fluxName: 'OnTick', state: null, reason: expect.stringContaining('/input/size') },
    ])
  })

  test('moves each of many contexts once, also when two are sent at the same moment', async () => {
    const ids = await Promise.all(Array.from({ length: 1500 }, () => bench.run('Many')))
    const [one, two] = await Promise.all([bench.sendEvent({ event: 'many' }), bench.sendEvent({ event: 'many' })])
    expect(one.transitions.map(({ contextId }) => contextId)).toEqual(ids.toSorted((a, b) => a - b))
    expect(two.transitions).toHaveLength(1500)
    const view = await bench.getContext({ contextId: ids[7] ?? 0 })
    expect(view.stateContexts[0]?.transitionContexts).toHaveLength(2)
    expect((await bench.sendEvent({ event: 'stop' })).transitions).toHaveLength(1500)
  })

  test('that nobody knows does nothing', async () => {
    await expect(bench.sendEvent({ event: 'unheard of' })).resolves.toMatchObject({
      transitions: [],
      executions: [],
      ignored: [],
    })
  })
})

describe('tags', () => {
  test('are added and removed, and are found by', async () => {
    const contextId = await bench.run('Plain')
    await expect(bench.addTags({ contextId, tag: ['a', 'b', 'a'] })).resolves.toEqual({
      message: expect.stringMatching(/'a'.*'b'.*\d/),
    })
    await bench.addTags({ contextId, tag: ['b', 'c'] })
    expect((await bench.getContext({ contextId })).tags).toEqual(['a', 'b', 'c'])
    expect((await bench.sendEvent({ event: 'tick', input: { size: 1 } })).transitions).toEqual([])
    expect((await bench.listContexts({ tag: ['a', 'c'] })).map(({ id }) => id)).toEqual([contextId])
    expect(await bench.listContexts({ tag: ['a', 'zz'] })).toEqual([])
    await bench.removeTags({ contextId, tag: ['a', 'b', 'c', 'never'] })
    expect((await bench.sendEvent({ event: 'close' })).transitions).toEqual([{ contextId, state: 'closed' }])
    await expect(bench.addTags({ contextId, tag: ['x'] })).rejects.toMatchObject({ failure: { kind: 'conflict' } })
  })

  test.each([[['']], [['a,b']], [['x'.repeat(257)]], [Array.from({ length: 65 }, (_, index) => `t${index}`)]])(
    "that can't be are refused: %#",
    async (tags) => {
      const contextId = await bench.run('Plain')
      await expect(bench.addTags({ contextId, tag: tags })).rejects.toMatchObject({ failure: { kind: 'invalid' } })
      await expect(bench.execute({ package: 'p', fluxName: 'Plain', tags })).rejects.toMatchObject({
        failure: { kind: 'invalid' },
      })
      expect((await bench.getContext({ contextId })).tags).toEqual([])
      await bench.terminate({ contextId })
    },
  )
})
