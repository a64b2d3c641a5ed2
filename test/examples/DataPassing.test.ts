import { afterAll, beforeAll, expect, test } from 'vitest'
import { openExamples, outputs, path, values, type Examples } from './examples.ts'

let examples: Examples
beforeAll(async () => {
  examples = await openExamples()
})
afterAll(() => examples.close())

const customer = { id: 'c-7', name: 'Ada' }
const items = [
  { sku: 'pear', quantity: 4, price: 30 },
  { sku: 'fig', price: 5.5 },
]

test('ends with the letter and the invoice', async () => {
  const view = await examples.getContext({ contextId: await examples.run('DataPassing', { customer, items }) })
  expect(view.status).toBe('COMPLETED')
  expect(path(view)).toEqual(['AddUp', 'Discount', 'Write'])
  expect(outputs(view)).toEqual({
    letter: 'Dear Ada, please pay EUR 112.95 for 2 items.',
    invoice: { customer: 'Ada', country: 'NL', currency: 'EUR', firstItem: 'pear', total: 112.95 },
  })
})

test('each state holds what its transition carried', async () => {
  const view = await examples.getContext({ contextId: await examples.run('DataPassing', { customer, items }) })
  expect(view.stateContexts.map(({ name, input, output }) => [name, values(input), values(output)])).toEqual([
    ['AddUp', {}, { subtotal: 125.5 }],
    ['Discount', { amount: 125.5, percent: 10, firstItem: 'pear' }, { total: 112.95 }],
    ['Write', { total: 112.95, firstItem: 'pear' }, {}],
  ])
  expect(
    view.stateContexts.map(({ transitionContexts }) =>
      transitionContexts.map(({ event, to, values }) => ({ event, to, values })),
    ),
  ).toEqual([
    [{ event: null, to: 'Discount', values: { amount: 125.5, percent: 10, firstItem: 'pear' } }],
    [{ event: null, to: 'Write', values: { total: 112.95, firstItem: 'pear' } }],
    [],
  ])
})

test('the models hold the inputs to their rules', async () => {
  await expect(
    examples.run('DataPassing', { customer: { id: 'c-7' }, items: [{ sku: 'pear', quantity: 0, price: 1 }] }),
  ).rejects.toMatchObject({
    failure: { kind: 'invalid', errors: [{ pointer: '/input/customer/name' }, { pointer: '/input/items/0/quantity' }] },
  })
})

async function invoice(price: number) {
  const view = await examples.getContext({
    contextId: await examples.run('DataPassing', { customer, items: [{ sku: 'fig', price }] }),
  })
  return outputs(view)['invoice']
}

test('there is no discount on a small order, and one on a hundred', async () => {
  expect(await invoice(99.99)).toMatchObject({ total: 99.99 })
  expect(await invoice(100)).toMatchObject({ total: 90 })
})
