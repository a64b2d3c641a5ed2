// Deliveries of webhooks, and a server that is killed by `kill -9`: each one that started a context is there.
import { afterEach, expect, inject, test } from 'vitest'
import type { DeliveryView } from '../../src/api/webhooks.ts'
import { cleanUp, placeFor, startServer } from '../support/server.ts'

const DELIVERIES = 40
const SERVICES = {
  'p/Wait.flux': {
    webhooks: [{ urlPath: '/wait', httpMethods: ['POST'] }],
    states: [{ name: 'wait', waiting: true, transitions: [{ event: 'go', to: 'end' }] }, { name: 'end' }],
  },
}

afterEach(cleanUp)

test('what was acknowledged is listed after kill -9, and can be sent again', async () => {
  const options = { program: inject('program'), ...(await placeFor(SERVICES)) }
  let server = await startServer(options)
  const deliver = async (n: number): Promise<number> => {
    const response = await fetch(`${server.url}/api/wait`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ n }),
    })
    expect(response.status).toBe(202)
    const answer: { contextId: number } = JSON.parse(await response.text())
    return answer.contextId
  }
  const contexts = await Promise.all(Array.from({ length: DELIVERIES }, (_, n) => deliver(n)))
  await server.kill('SIGKILL')
  server = await startServer(options)
  const response = await fetch(`${server.url}/flux-api/webhooks/deliveries?limit=100`)
  const list: DeliveryView[] = JSON.parse(await response.text())
  expect(list.map(({ contextId }) => contextId).toSorted()).toEqual(contexts.toSorted())
  expect(list.every(({ outcome }) => outcome === 'accepted')).toBe(true)
  const again = await fetch(`${server.url}/flux-api/webhooks/deliveries/replay?deliveryId=${list[0]?.deliveryId}`, {
    method: 'POST',
  })
  expect(JSON.parse(await again.text())).toMatchObject({ status: 202 })
})
