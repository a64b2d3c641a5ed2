// The examples of providers, called as their comments say: `actorflux webhook test` plays the provider.
import { delimiter } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ACTORS, PACKAGE, PROVIDERS } from './examples.ts'
import { commandLines } from '../cli/world.ts'
import { openLive, type Live } from '../http/live.ts'

const ENV = {
  ACTORFLUX_ACTORS: [ACTORS, ...PROVIDERS].join(delimiter),
  ACTORFLUX_LOG_LEVEL: 'error',
  ACTORFLUX_SECRET_GITHUB_WEBHOOK: 'it is a secret to everybody',
  ACTORFLUX_SECRET_STRIPE_SIGNING: 'whsec_c3RyaXBl',
}

let server: Live
beforeAll(async () => {
  server = await openLive(ENV, {})
})
afterAll(() => server.close())

/** The status, and the body as JSON; null: there is none. */
async function deliver(...args: string[]): Promise<{ code: number; status: number; body: unknown }> {
  const { code, out, err } = await commandLines(['webhook', 'test', ...args, '--url', server.url], ENV)
  const [status, ...body] = out
  if (status === undefined) throw new Error(err.join('\n'))
  return { code, status: Number.parseInt(status, 10), body: body.length === 0 ? null : JSON.parse(body.join('\n')) }
}

async function call(method: string, path: string, body?: object): Promise<unknown> {
  const init = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(server.url + path, { method, ...(body && init) })
  return response.json()
}

const contexts = async (fluxName: string) => {
  const list = await call('GET', `/flux-api/contexts?fluxName=${fluxName}`)
  return Array.isArray(list) ? list : []
}

test('webhooks.GithubPush starts a deployment of each push, once', async () => {
  const pushed = ['/github/push', '--header', 'X-GitHub-Delivery: 1']
  const first = await deliver(...pushed)
  expect(first).toMatchObject({ code: 0, status: 202, body: { contextId: expect.any(Number) } })
  expect(await deliver(...pushed)).toEqual(first)
  await vi.waitFor(async () => expect(await contexts('webhooks.Deployment')).toHaveLength(1))
  expect(await contexts('webhooks.Deployment')).toMatchObject([{ currentState: 'WaitForApproval' }])
  const approval = { event: 'approve', tags: ['ada/engine'] }
  expect(await call('POST', '/flux-api/event', approval)).toMatchObject({ transitions: [{ state: 'Deployed' }] })
  expect((await deliver('/github/push')).status).toBe(202)
  await vi.waitFor(async () => expect(await contexts('webhooks.Deployment')).toHaveLength(1))
})

test.each([
  [204, ['X-GitHub-Event: ping']],
  [401, ['X-Hub-Signature-256: sha256=00']],
  [401, [`X-Hub-Signature-256: sha256=${'0'.repeat(64)}`]],
])('webhooks.GithubPush answers %i, and starts nothing, for %j', async (status, [header = '']) => {
  const before = (await contexts('webhooks.GithubPush')).length
  expect((await deliver('/github/push', '--header', header)).status).toBe(status)
  expect(await contexts('webhooks.GithubPush')).toHaveLength(before)
})

test('webhooks.StripeCheckout wakes the order that is paid', async () => {
  const customer = { id: 'c-7', name: 'Ada' }
  const order = { id: '4711', customer, items: [{ sku: 'pear', quantity: 2, price: 5 }] }
  const started = await call('POST', `/flux-api/${PACKAGE}/execute`, {
    fluxName: 'orders.OrderProcess',
    input: { order },
  })
  expect(started).toMatchObject({ contextId: expect.any(Number) })
  const contextId = Number(Object(started).contextId)
  const view = () => call('GET', `/flux-api/context?contextId=${contextId}`)
  await vi.waitFor(async () => expect(await view()).toMatchObject({ currentState: 'WaitForPayment' }))
  expect(await deliver('/stripe', '--scheme', 'stripe')).toEqual({
    code: 0,
    status: 200,
    body: { eventId: expect.any(String), contextIds: [contextId] },
  })
  await vi.waitFor(async () => expect(await view()).toMatchObject({ currentState: 'Shipped', status: 'COMPLETED' }))
  expect((await deliver('/stripe')).status).toBe(409)
})
