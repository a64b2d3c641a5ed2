// Triggers with keys: an event starts one context for one thing, and goes to that one from then on.
import { beforeEach, expect, test } from 'vitest'
import { openBench, type Bench } from '../support/engine.ts'
import { PINGED as states } from '../support/services.ts'

const input = [{ name: 'orderId', defaultValue: '' }]

let bench: Bench
beforeEach(async () => {
  bench = await openBench({
    'p/ByKey.flux': { states, input, tags: ['by-${orderId}'], triggers: [{ event: 'ping', key: '${orderId}' }] },
    'p/Root.flux': { states, input, key: 'root-${orderId}', triggers: ['begin'] },
    'p/Once.flux': { states, input, keyReuse: 'never', triggers: [{ event: 'once', key: '${orderId}' }] },
    'p/Late.flux': { states, triggers: [{ event: 'late', unlessMoved: true }] },
    'p/Waits.flux': { states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'late' }] }] },
  })
})

const send = (event: string, orderId: string, tags?: string[]) => bench.sendEvent({ event, input: { orderId }, tags })

test('starts a context under its key, and moves that one from then on, whatever its tags', async () => {
  const { executions } = await send('ping', '1')
  expect(executions).toEqual([{ contextId: expect.any(Number), state: 'open' }])
  const [{ contextId } = { contextId: 0 }] = executions
  expect(await bench.getContext({ contextId })).toMatchObject({ key: '1', tags: ['by-1'] })
  expect(await send('ping', '1')).toMatchObject({
    transitions: [{ contextId, state: 'open' }],
    executions: [],
    ignored: [],
  })
  expect(await send('ping', '2')).toMatchObject({ transitions: [], executions: [{ state: 'open' }] })
  await bench.terminate({ contextId })
  expect((await send('ping', '1')).executions).toHaveLength(1)
})

test('gives an event to the context that has the key only once', async () => {
  const [{ contextId } = { contextId: 0 }] = (await send('ping', '1')).executions
  const answer = await send('ping', '1', ['by-1'])
  expect(answer).toMatchObject({ transitions: [{ contextId }], executions: [], ignored: [] })
  expect((await bench.getContext({ contextId })).executionHistory).toHaveLength(2)
})

test('that comes out empty starts nothing', async () => {
  expect(await send('ping', '')).toMatchObject({
    executions: [],
    ignored: [{ contextId: null, fluxName: 'ByKey', reason: expect.stringContaining('comes out empty') }],
  })
})

test('tells of a context that has the key and does not wait for the event', async () => {
  const [{ contextId } = { contextId: 0 }] = (await send('begin', '1')).executions
  expect(await bench.getContext({ contextId })).toMatchObject({ key: 'root-1' })
  expect(await send('begin', '1')).toMatchObject({
    executions: [],
    ignored: [{ contextId, fluxName: 'Root', state: 'open', reason: expect.stringContaining("doesn't wait") }],
  })
})

test('an ended context keeps a key that is never used again', async () => {
  const [{ contextId } = { contextId: 0 }] = (await send('once', '1')).executions
  await bench.terminate({ contextId })
  expect(await send('once', '1')).toMatchObject({
    executions: [],
    ignored: [{ contextId, reason: expect.stringContaining('has ended') }],
  })
})

test('unlessMoved: starts only if nobody was moved', async () => {
  expect(await send('late', '')).toMatchObject({ transitions: [], executions: [{ state: 'open' }] })
  const contextId = await bench.run('Waits')
  expect(await send('late', '')).toMatchObject({ transitions: [{ contextId }], executions: [] })
  await bench.terminate({ contextId })
  expect((await send('late', '')).executions).toHaveLength(1)
})

test('many events at once for one key start one context, and all others move it', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => send('ping', 'n')))
  const started = answers.flatMap(({ executions }) => executions)
  expect(started).toHaveLength(1)
  expect(answers.flatMap(({ transitions }) => transitions)).toHaveLength(19)
  const { executionHistory } = await bench.getContext({ key: 'n', fluxName: 'ByKey' })
  expect(executionHistory).toHaveLength(20)
})
