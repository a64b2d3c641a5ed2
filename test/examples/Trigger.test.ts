import { afterAll, beforeAll, expect, test } from 'vitest'
import { openExamples, outputs, path, type Examples } from './examples.ts'

let examples: Examples
beforeAll(async () => {
  examples = await openExamples()
})
afterAll(() => examples.close())

const ship = (orderId: string) =>
  examples.sendEvent({ event: 'orderShipped', input: { orderId, tracking: 'NL-1' }, tags: [`order-${orderId}`] })

test('the event starts it, and gives it its inputs and tags', async () => {
  const answer = await ship('1')
  expect(answer).toMatchObject({ transitions: [], executions: [{ state: 'WaitForDelivery' }], ignored: [] })
  const view = await examples.getContext({ contextId: answer.executions[0]?.contextId ?? 0 })
  expect(view).toMatchObject({
    fluxName: 'Trigger',
    status: 'WAITING_UNTIL',
    tags: ['order-1'],
    nextRun: examples.now() + 604_800_000,
  })
  expect(outputs(view)).toEqual({ notice: 'Order 1 is on its way: NL-1.', startedBy: 'orderShipped', ending: null })
})

test('a later event with the same tag finds it, and the first does not move it', async () => {
  const contextId = (await ship('2')).executions[0]?.contextId ?? 0
  const again = await ship('2')
  expect(again.transitions).toEqual([])
  const { transitions } = await examples.sendEvent({ event: 'delivered', tags: ['order-2'] })
  expect(transitions).toEqual([
    { contextId, state: 'Delivered' },
    { contextId: again.executions[0]?.contextId, state: 'Delivered' },
  ])
  const view = await examples.getContext({ contextId })
  expect(view.status).toBe('COMPLETED')
  expect(path(view)).toEqual(['Notify', 'WaitForDelivery', 'Delivered'])
  expect(outputs(view)).toMatchObject({ ending: 'delivered' })
})

test('an event whose inputs do not fit starts nothing, and says why', async () => {
  const answer = await examples.sendEvent({ event: 'orderShipped', input: {}, tags: ['order-3'] })
  expect(answer).toMatchObject({
    executions: [],
    ignored: [{ contextId: null, fluxName: 'Trigger', state: null, reason: expect.stringContaining('/input/orderId') }],
  })
})

test('what is not delivered within a week is lost', async () => {
  const contextId = (await ship('4')).executions[0]?.contextId ?? 0
  await examples.pass(604_800)
  expect(outputs(await examples.untilIn(contextId, 'Lost'))).toMatchObject({ ending: 'lost' })
})

test('started directly, it knows no event', async () => {
  const view = await examples.getContext({ contextId: await examples.run('Trigger', { orderId: '5' }) })
  expect(view.tags).toEqual([])
  expect(outputs(view)).toEqual({ notice: 'Order 5 is on its way: not traced.', startedBy: null, ending: null })
})
