// The examples of webhooks, called as their comments say.
import { createHmac } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServer, type Server } from '../../src/main.ts'
import { readSettings } from '../../src/settings.ts'
import { ACTORS, SILENT } from './examples.ts'

let server: Server
let data: string
beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), 'actorflux-webhooks-'))
  server = await startServer(readSettings({ ACTORFLUX_PORT: '0', ACTORFLUX_ACTORS: ACTORS, ACTORFLUX_DATA: data }), { log: SILENT })
})
afterAll(async () => {
  await server.close({ grace: 0 })
  await rm(data, { recursive: true, force: true })
})

const call = (path: string, init: RequestInit = {}) => fetch(`${server.url}${path}`, init)

test('webhooks.Greeting answers in text', async () => {
  expect(await (await call('/api/greeting?name=Ada')).text()).toBe('Hello, Ada!')
  expect(await (await call('/api/greeting')).text()).toBe('Hello, world!')
})

const order = (body: string, headers: Record<string, string> = {}) =>
  call('/api/customers/42/orders?express=true', { method: 'POST', body, headers: { 'content-type': 'application/json', 'X-Client-Ref': 'shop-7', ...headers } })

describe('webhooks.Order', () => {
  test('answers 201 with headers, a cookie and the order', async () => {
    const response = await order('{"items":[{"sku":"A-1","count":2}]}')
    expect(response.status).toBe(201)
    const answer = await response.json() as { order: number }
    expect(answer).toEqual({ order: expect.any(Number), customer: 42, express: true, items: [{ sku: 'A-1', count: 2 }] })
    expect(response.headers.get('location')).toBe(`/api/orders/${answer.order}`)
    expect(response.headers.get('x-client-ref')).toBe('shop-7')
    expect(response.headers.getSetCookie()).toEqual([expect.stringContaining(`lastOrder=${answer.order}; `)])
  })

  test('answers in XML if that is asked for, and takes it', async () => {
    const response = await order('<order><items><item><sku>A-1</sku></item></items></order>', { 'content-type': 'application/xml', accept: 'application/xml' })
    expect(response.status).toBe(201)
    expect(await response.text()).toContain('<items type="array"><item><sku>A-1</sku></item></items>')
  })

  test('refuses an order without items, and a customer who is no number', async () => {
    const empty = await order('{}')
    expect([empty.status, await empty.text()]).toEqual([400, 'an order needs items'])
    expect((await call('/api/customers/x/orders', { method: 'POST' })).status).toBe(400)
  })
})

const PUSHED = '{"repository":{"full_name":"ada/engine"},"after":"1a2b3c"}'
const push = (secret: string) => call('/api/github/push', {
  method: 'POST', body: PUSHED, headers: { 'content-type': 'application/json', 'X-Hub-Signature-256': `sha256=${createHmac('sha256', secret).update(PUSHED).digest('hex')}` },
})

describe('webhooks.GithubPush', () => {
  test('starts a deployment that waits for approval', async () => {
    const response = await push('it is a secret to everybody')
    expect(response.status).toBe(202)
    const { deployment } = await response.json() as { deployment: number }
    expect(await (await call(`/flux-api/context?contextId=${deployment}`)).json()).toMatchObject({ fluxName: 'webhooks.Deployment', tags: ['ada/engine'], currentState: 'WaitForApproval' })
    const approved = await call('/flux-api/event', { method: 'POST', body: '{"event":"approve","tags":["ada/engine"]}', headers: { 'content-type': 'application/json' } })
    expect(await approved.json()).toMatchObject({ transitions: [{ contextId: deployment, state: 'Deployed' }] })
  })

  test('refuses a wrong signature', async () => expect((await push('guessed')).status).toBe(401))
})

describe('webhooks.Upload', () => {
  test('tells what was sent, by a script', async () => {
    const form = new FormData()
    form.append('title', 'Notes')
    form.append('file', new Blob(['one\ntwo\nthree\n'], { type: 'text/markdown' }), 'notes.md')
    const response = await call('/api/uploads', { method: 'POST', body: form })
    expect([response.status, await response.json()]).toEqual([200, { title: 'Notes', contentType: 'text/markdown', size: 14, lines: 3 }])
  })

  test('wants a file', async () => expect((await call('/api/uploads', { method: 'POST', body: 'x' })).status).toBe(415))
})
