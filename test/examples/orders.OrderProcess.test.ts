import { afterAll, beforeAll, expect, test } from 'vitest'
import { release, reserve } from '../../actors/examples/orders/inventory.ts'
import type { JsonObject } from '../../src/model/json/value.ts'
import { openExamples, outputs, path, values, type Examples } from './examples.ts'
import { silent } from '../support/silent.ts'

let examples: Examples
beforeAll(async () => {
  examples = await openExamples()
})
afterAll(() => examples.close())

/** There are 10 pears, 1,000 apples and no figs. */
const order = (id: string, sku = 'apple', quantity = 2, customer: JsonObject = {}) => ({
  id,
  customer: { id: 'c-7', name: 'Ada', ...customer },
  items: [{ sku, quantity, price: 5 }],
})

/** An order that waits for its payment. */
async function reserved(content: JsonObject, paymentTimeout = 3600): Promise<number> {
  const contextId = await examples.run('orders.OrderProcess', { order: content, paymentTimeout })
  await examples.untilIn(contextId, 'WaitForPayment')
  return contextId
}

const pay = (id: string, amount: number) =>
  examples.sendEvent({ event: 'paid', input: { amount }, tags: [`order-${id}`] })

test('reserves, and waits for the payment until a date', async () => {
  const contextId = await reserved(order('1'))
  const view = await examples.getContext({ contextId })
  const payBy = examples.now() + 3_600_000
  expect(view).toMatchObject({ status: 'WAITING_UNTIL', nextRun: payBy, tags: ['order-1', 'customer-c-7'] })
  expect(outputs(view)).toEqual({
    outcome: null,
    problem: null,
    total: 10,
    payBy,
    reservation: expect.stringMatching(String(contextId)),
    paid: null,
    tracking: null,
    refund: null,
  })
})

test('ships when it is paid, and tells the service that is triggered by it', async () => {
  const contextId = await reserved(order('2'))
  expect((await pay('2', 10)).transitions).toMatchObject([{ contextId }])
  const view = await examples.untilIn(contextId, 'Shipped')
  expect(view.status).toBe('COMPLETED')
  expect(path(view)).toEqual(['Price', 'Reserve', 'WaitForPayment', 'Ship', 'Announce', 'Shipped'])
  expect(outputs(view)).toMatchObject({
    outcome: 'shipped',
    problem: null,
    paid: 10,
    tracking: expect.stringMatching(/^NL-/),
    refund: null,
  })
  const [notice, ...others] = await examples.listContexts({ fluxName: 'Trigger', tag: ['order-2'] })
  expect(others).toEqual([])
  expect(notice && values(notice.input)).toEqual({ orderId: '2', tracking: outputs(view)['tracking'] })
})

test('waits on when too little is paid, but not longer', async () => {
  const contextId = await reserved(order('3'), 60)
  const { nextRun } = await examples.getContext({ contextId })
  await examples.pass(40)
  expect((await pay('3', 9)).transitions).toEqual([{ contextId, state: 'WaitForPayment' }])
  const short = await examples.getContext({ contextId })
  expect(short).toMatchObject({ status: 'WAITING_UNTIL', nextRun })
  expect(outputs(short)).toMatchObject({ problem: 'paid 9 of 10', paid: null })
  await pay('3', 10)
  expect(outputs(await examples.untilIn(contextId, 'Shipped'))).toMatchObject({
    outcome: 'shipped',
    problem: null,
    paid: 10,
  })
})

test('releases the stock when nobody pays in time', async () => {
  const contextId = await reserved(order('4', 'pear', 10), 60)
  expect(
    outputs(
      await examples.untilIn(await examples.run('orders.OrderProcess', { order: order('5', 'pear', 1) }), 'Refused'),
    ),
  ).toMatchObject({ outcome: 'refused', problem: 'not enough of: pear', reservation: null })
  await examples.pass(60)
  const view = await examples.untilIn(contextId, 'Closed')
  expect(view.status).toBe('COMPLETED')
  expect(path(view)).toEqual(['Price', 'Reserve', 'WaitForPayment', 'Release', 'Closed'])
  expect(outputs(view)).toMatchObject({ outcome: 'expired', problem: 'not paid in time', paid: null })
  await cancelled(await reserved(order('6', 'pear', 10)))
})

async function cancelled(contextId: number): Promise<JsonObject> {
  await examples.sendEvent({ contextId, event: 'cancel', input: { reason: 'too late' } })
  return outputs(await examples.untilIn(contextId, 'Closed'))
}

test('releases the stock when it is cancelled', async () => {
  expect(await cancelled(await reserved(order('7', 'pear', 10)))).toMatchObject({
    outcome: 'cancelled',
    problem: 'too late',
  })
  await cancelled(await reserved(order('8', 'pear', 10)))
})

test('sends the money back and releases the stock when it can not be delivered', async () => {
  const contextId = await reserved(order('9', 'pear', 10, { country: 'Atlantis' }))
  await pay('9', 50)
  for (const pause of [1, 2]) {
    const due = examples.now() + pause * 1000
    await examples.until(contextId, ({ nextRun }) => nextRun === due)
    await examples.pass(pause)
  }
  const view = await examples.untilIn(contextId, 'Closed')
  expect(view).toMatchObject({ status: 'COMPLETED', error: null })
  expect(path(view)).toEqual(['Price', 'Reserve', 'WaitForPayment', 'Ship', 'Refund', 'Release', 'Closed'])
  expect(outputs(view)).toMatchObject({
    outcome: 'undeliverable',
    problem: 'no ship goes to Atlantis',
    paid: 50,
    tracking: null,
    refund: expect.stringMatching(/^refund-/),
  })
  await cancelled(await reserved(order('10', 'pear', 10)))
})

test('what is out of stock is refused', async () => {
  const view = await examples.untilIn(
    await examples.run('orders.OrderProcess', { order: order('11', 'fig', 1) }),
    'Refused',
  )
  expect(path(view)).toEqual(['Price', 'Reserve', 'Refused'])
  expect(outputs(view)).toMatchObject({ outcome: 'refused', problem: 'not enough of: fig', total: 5 })
})

test('its model refuses an order without items or with a customer unnamed', async () => {
  await expect(
    examples.run('orders.OrderProcess', { order: { id: '12', customer: { id: 'c-7' } } }),
  ).rejects.toMatchObject({
    failure: {
      kind: 'invalid',
      errors: [{ pointer: '/input/order/customer/name' }, { pointer: '/input/order/items' }],
    },
  })
})

test('a step that runs twice reserves once', () => {
  const facts = {
    contextId: 1,
    fluxName: 'orders.OrderProcess',
    stateName: 'Reserve',
    rawBody: null,
    signal: new AbortController().signal,
    log: silent,
  }
  const run = (stepKey: string, attempt: number, quantity = 6) =>
    reserve({ items: [{ sku: 'pear', quantity }] }, { ...examples, ...facts, stepKey, attempt })
  const first = run('1-2', 1)
  expect(first).toEqual({ event: 'reserved', reservation: '1-2' })
  expect(run('1-2', 2)).toEqual(first)
  expect(run('2-2', 1)).toEqual({ event: 'outOfStock', missing: 'pear' })
  for (const _ of ['once', 'twice']) release({ reservation: '1-2' })
  expect(run('3-2', 1, 11)).toEqual({ event: 'outOfStock', missing: 'pear' })
  expect(run('4-2', 1, 10)).toEqual({ event: 'reserved', reservation: '4-2' })
})
