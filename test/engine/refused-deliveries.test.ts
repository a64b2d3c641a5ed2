// The deliveries that were refused to several endpoints: their order in the list.
import { expect, test } from 'vitest'
import type { Endpoint } from '../../src/model/webhook.ts'
import { openBench } from '../support/engine.ts'

const service = (urlPath: string) => ({
  webhooks: [{ urlPath, httpMethods: ['POST'] }],
  states: [{ name: 'end' }],
})
const endpointAt = (fluxName: string, urlPath: string): Endpoint => ({
  package: 'p',
  fluxName,
  urlPath,
  timeout: null,
  verify: null,
})
const idOf = (n: number) => `00000000-0000-7000-8000-00000000000${n}`

test('refused deliveries come newest first, whichever endpoint they are of, also if answered in another order', async ({
  onTestFinished,
}) => {
  const bench = await openBench({ 'p/One.flux': service('/one'), 'p/Other.flux': service('/other') })
  onTestFinished(() => bench.close())
  const refuse = (endpoint: Endpoint, n: number) =>
    bench.engine.webhooks.settled({
      deliveryId: idOf(n),
      endpoint,
      method: 'POST',
      path: '/',
      time: 0,
      outcome: 'signature-invalid',
      status: 401,
      duration: 0,
      contextId: null,
      replayOf: null,
      reason: null,
      request: null,
      rawBody: null,
    })
  for (const n of [1, 4, 3, 7]) refuse(endpointAt('One', '/one'), n)
  for (const n of [2, 6, 5]) refuse(endpointAt('Other', '/other'), n)
  const { deliveries, next } = await bench.listDeliveriesPage({})
  expect(deliveries.map(({ deliveryId, urlPath }) => [deliveryId, urlPath])).toEqual([
    [idOf(7), '/one'],
    [idOf(6), '/other'],
    [idOf(5), '/other'],
    [idOf(4), '/one'],
    [idOf(3), '/one'],
    [idOf(2), '/other'],
    [idOf(1), '/one'],
  ])
  expect(next).toBeNull()
  const second = await bench.listDeliveriesPage({ limit: 2, page: 1 })
  expect(second.deliveries.map(({ deliveryId }) => deliveryId)).toEqual([idOf(5), idOf(4)])
  const third = await bench.listDeliveriesPage({ limit: 2, after: second.next ?? '' })
  expect(third.deliveries.map(({ deliveryId }) => deliveryId)).toEqual([idOf(3), idOf(2)])
  expect((await bench.listDeliveries({ urlPath: '/other' })).map(({ deliveryId }) => deliveryId)).toEqual(
    [6, 5, 2].map(idOf),
  )
})
