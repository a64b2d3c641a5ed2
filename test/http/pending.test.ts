// The calls for events that are pending: what they are asked with, how they answer in JSON and XML, and page by page.
import { beforeEach, describe, expect, test } from 'vitest'
import type { Hono } from 'hono'
import { validateXML } from 'xmllint-wasm'
import { xmlSchema } from '../../src/http/docs/xsd.ts'
import type { Env } from '../../src/http/request/incoming.ts'
import { openBench, type Bench, type Files } from '../support/engine.ts'
import { testApp } from './support.ts'

const FILES: Files = {
  'p/Early.flux': {
    states: [
      { name: 'away', waiting: true, transitions: [{ to: 'ready', event: 'go' }] },
      { name: 'ready', waiting: true, transitions: [{ to: 'away', event: 'paid', early: '1h' }] },
    ],
  },
}
const PENDING = '/flux-api/events/pending'

let bench: Bench
let app: Hono<Env>
beforeEach(async () => {
  bench = await openBench(FILES)
  app = testApp(bench).app
})

async function call(method: string, path: string, { body, accept = 'application/json', headers = {} }: Sent = {}) {
  const response = await app.request(path, {
    method,
    headers: { accept, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, link: response.headers.get('link'), text: await response.text() }
}

interface Sent {
  readonly body?: object
  readonly accept?: string
  readonly headers?: { readonly [name: string]: string }
}

const send = (body: object) => call('POST', '/flux-api/event', { body: { event: 'paid', ...body } })
const listed = async (query = '') => JSON.parse((await call('GET', PENDING + query)).text)

describe('the list of pending events', () => {
  test('has those that contexts keep, and those for nobody yet, by arrival', async () => {
    const contextId = await bench.run('Early')
    const at = bench.clock.now()
    await send({ contextId, eventId: 'first' })
    await bench.clock.advance(1)
    await send({ eventId: 'second', tags: ['a'], ttl: 60 })
    const [first, second] = await listed()
    const row = { event: 'paid', tags: [] }
    expect(first).toEqual({
      ...row,
      eventId: 'first',
      contextId,
      fluxName: 'Early',
      receivedAt: at,
      expiresAt: at + 3_600_000,
    })
    expect(second).toEqual({
      ...row,
      eventId: 'second',
      contextId: null,
      fluxName: null,
      tags: ['a'],
      receivedAt: at + 1,
      expiresAt: at + 60_001,
    })
    expect(await listed(`?contextId=${contextId}`)).toEqual([first])
    expect(await listed('?tag=a')).toEqual([second])
    expect(await listed('?event=paid')).toEqual([first, second])
    expect(await listed('?event=other')).toEqual([])
  })

  test('leads to the next page, with the same filters', async () => {
    for (let n = 0; n < 5; n += 1) {
      await send({ eventId: `e-${n}`, tags: ['a', 'b'], ttl: 60 })
      await bench.clock.advance(1)
    }
    const found: string[] = []
    let path: string | undefined = `${PENDING}?limit=2&tag=a&tag=b&event=paid`
    while (path !== undefined) {
      const { status, text, link } = await call('GET', path)
      expect(status).toBe(200)
      const events: { eventId: string }[] = JSON.parse(text)
      found.push(...events.map(({ eventId }) => eventId))
      path = /<(.*)>; rel="next"/.exec(link ?? '')?.[1]
      if (path !== undefined) expect(path).toContain('event=paid')
    }
    expect(found).toEqual(['e-0', 'e-1', 'e-2', 'e-3', 'e-4'])
    expect((await listed('?limit=2&page=2')).length).toBe(1)
  })

  test('is valid XML', async () => {
    await send({ eventId: 'e', tags: ['a'], ttl: 60 })
    const { text } = await call('GET', PENDING, { accept: 'application/xml' })
    expect(text).toMatch(/<pendingEvents\b.*<eventId>e<\/eventId>/s)
    const { valid, errors } = await validateXML({ xml: text, schema: xmlSchema() })
    expect([valid, errors]).toEqual([true, []])
  })

  test.each([
    ['?what=1', 400],
    ['?after=1', 400],
    ['?contextId=0', 400],
    ['?key=k', 400],
    ['?limit=0', 400],
    ['?contextId=12345', 200],
  ])('with %s is %i', async (query, status) => {
    expect((await call('GET', PENDING + query)).status).toBe(status)
  })
})

describe('DELETE', () => {
  test('withdraws all copies of an event', async () => {
    const ids = [await bench.run('Early', {}, { tags: ['a'] }), await bench.run('Early', {}, { tags: ['a'] })]
    await send({ eventId: 'e', tags: ['a'] })
    expect(await listed()).toHaveLength(2)
    const done = await call('DELETE', `${PENDING}?eventId=e`)
    expect([done.status, JSON.parse(done.text)]).toEqual([200, { message: "withdrew the event 'e'" }])
    expect(await listed()).toEqual([])
    const receipt = JSON.parse((await call('GET', '/flux-api/event?eventId=e')).text)
    expect(receipt).toMatchObject({ pending: [], counts: { withdrawn: 2 } })
    for (const contextId of ids) await bench.sendEvent({ contextId, event: 'go' })
    expect((await bench.listContexts({ currentState: 'ready' })).length).toBe(2)
    expect((await call('DELETE', `${PENDING}?eventId=e`)).status).toBe(409)
    expect((await call('DELETE', `${PENDING}?eventId=unknown`)).status).toBe(404)
    expect((await call('DELETE', PENDING)).status).toBe(400)
  })

  test('withdraws an event for nobody yet, and answers in XML', async () => {
    await send({ eventId: 'e', ttl: 60 })
    const { status, text } = await call('DELETE', `${PENDING}?eventId=e`, { accept: 'application/xml' })
    expect([status, text]).toEqual([200, expect.stringContaining('<message>withdrew the event')])
  })
})

test('a CloudEvent may have a time to live', async () => {
  const headers = {
    'ce-specversion': '1.0',
    'ce-id': '1',
    'ce-source': 'shop',
    'ce-type': 'paid',
    'ce-fluxtags': 'a',
    'ce-fluxttl': '60',
  }
  expect(JSON.parse((await call('POST', '/flux-api/event', { headers })).text)).toMatchObject({
    pending: [{ contextId: null, expiresAt: bench.clock.now() + 60_000 }],
  })
  const wrong = await call('POST', '/flux-api/event', { headers: { ...headers, 'ce-id': '2', 'ce-fluxttl': '0' } })
  expect(wrong.status).toBe(422)
  expect((await listed()).map(({ eventId }: { eventId: string }) => eventId)).toEqual(['shop 1'])
})
