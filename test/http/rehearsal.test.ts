// Rehearsed calls, and versions that calls name, over HTTP: formats, headers, rights and limits.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { z } from 'zod'
import { rehearsalAnswer } from '../../src/api/rehearsal.ts'
import { xmlSchema } from '../../src/http/docs/xsd.ts'
import { storesOf } from '../support/effort.ts'
import { openLive, tokenOf, type Answer, type Live, type Request } from './live.ts'

const ORDER = {
  key: '${id}',
  input: [{ name: 'id', type: 'string', defaultValue: '0' }],
  output: [
    { name: 'paid', type: 'integer' },
    { name: 'receipt', type: 'string' },
  ],
  states: [
    {
      name: 'Open',
      waiting: true,
      input: [{ name: 'amount', type: 'integer' }],
      transitions: [
        { event: 'pay', to: 'Charge', lines: [{ from: ['amount'], to: ['amount'] }] },
        { event: 'hold', to: 'Open' },
        { wait: 'duration:86400', to: 'Late' },
      ],
    },
    {
      name: 'Charge',
      input: [{ name: 'amount', type: 'integer' }],
      action: {
        type: 'invokeCode',
        className: 'fns',
        methodName: 'charge',
        inputs: [{ from: ['amount'], to: ['amount'] }],
        outputs: [
          { from: ['amount'], to: ['paid'] },
          { from: ['id'], to: ['receipt'] },
        ],
      },
      transitions: [{ to: 'Done' }, { event: '$exception', to: 'Late' }],
    },
    { name: 'Late' },
    { name: 'Done' },
  ],
}
const set = (to: string, expression: string) => ({ type: 'set', expression, evaluate: true, to: [to] })
/** It copies what is secret to wherever it can. */
const HOOK = {
  webhooks: [{ urlPath: '/hook', httpMethods: ['POST'] }],
  onEnd: { url: 'http://x.example/${card}', secret: '$secrets.HOOK' },
  input: [{ name: 'card', sensitive: true }],
  output: [{ name: 'token' }, { name: 'all', type: 'any' }],
  states: [
    { name: 'Open', waiting: true, transitions: [{ event: 'copy', to: 'Copy' }] },
    {
      name: 'Copy',
      action: {
        lines: [set('token', '$request.headers.authorization'), set('all', '[$request]')],
      },
      transitions: [{ to: 'Call' }],
    },
    {
      name: 'Call',
      action: {
        type: 'invokeCode',
        className: 'fns',
        methodName: 'charge',
        inputs: [set('card', 'card'), set('token', '`x ${token}`'), set('key', '$secrets.HOOK')],
      },
      transitions: [{ to: 'Child' }],
    },
    {
      name: 'Child',
      action: { type: 'invokeFlux', name: 'Order', inputs: [set('id', 'token')] },
      transitions: [{ to: 'End' }],
    },
    { name: 'End' },
  ],
}
const SERVICES = {
  'p/Order.flux': ORDER,
  'p/Secret.flux': { ...ORDER, key: undefined, secured: true },
  'p/fns.mjs': 'export const charge = ({ amount }) => ({ amount, id: "r-" + amount })\n',
}

const JSON_ASSUMED = { steps: { Charge: [{ result: { amount: 7, id: 'r-7' } }] } }
const XML_ASSUMED =
  '<assume><steps><Charge><item><result><amount type="number">7</amount><id>r-7</id></result></item></Charge></steps></assume>'

const started = async (live: Live, id: string = randomUUID(), more: Request = {}, fluxName = 'Order') => {
  const { json, text } = await live.call('POST', '/flux-api/p/execute', { body: { fluxName, input: { id } }, ...more })
  const { contextId }: { contextId?: number } = { ...Object(json) }
  return contextId ?? expect.fail(text)
}
const pay = (live: Live, contextId: number, request: Request = {}, query = '') =>
  live.call('POST', `/flux-api/event?contextId=${contextId}${query}`, { body: { event: 'pay' }, ...request })
const viewOf = async (live: Live, contextId: number, request: Request = {}) =>
  live.call('GET', `/flux-api/context?contextId=${contextId}`, request)
const rehearsedIn = ({ status, json, text }: Answer) => {
  expect(status, text).toBe(200)
  return rehearsalAnswer.parse(json)
}

describe('a rehearsal over HTTP', () => {
  let live: Live
  beforeAll(async () => {
    live = await openLive({}, SERVICES)
  })
  afterAll(() => live.close())

  test('answers in JSON and in XML, to bodies of each', async () => {
    const contextId = await started(live)
    const inJson = { body: { event: 'pay', input: { amount: 7 }, assume: JSON_ASSUMED } }
    const inXml = {
      body: `<request><event>pay</event><input><amount>7</amount></input>${XML_ASSUMED}</request>`,
      type: 'application/xml',
    }
    for (const request of [inJson, inXml]) {
      const [would] = rehearsedIn(await pay(live, contextId, request, '&dryRun=true')).would
      expect(would).toMatchObject({ contextId, version: 1, from: 'Open', entered: ['Charge', 'Done'], to: 'Done' })
      expect(would?.changed).toContainEqual({ pointer: '/output/receipt', from: null, to: 'r-7' })
      expect(would?.steps).toMatchObject([{ state: 'Charge', arguments: { amount: 7 }, assumed: true }])
      const { status, headers, text } = await pay(
        live,
        contextId,
        { ...request, accept: 'application/xml' },
        '&dryRun=true',
      )
      expect([status, headers.get('content-type')]).toEqual([200, 'application/xml'])
      expect(text).toContain('<dryRun type="boolean">true</dryRun>')
      expect(text).toContain('<pointer>/output/receipt</pointer>')
      const checked = await validateXML({ xml: [{ fileName: 'answer.xml', contents: text }], schema: [xmlSchema()] })
      expect(checked.errors).toEqual([])
    }
    expect((await viewOf(live, contextId)).json).toMatchObject({ currentState: 'Open', version: 1 })
  })

  test('takes assumptions in XML without types', async () => {
    const contextId = await started(live)
    const steps = '<steps><Charge><item><error><type>Declined</type></error></item></Charge></steps>'
    const body = `<request><event>pay</event><assume>${steps}<until>2099-01-04</until><random>7</random></assume></request>`
    const [late] = rehearsedIn(await pay(live, contextId, { body, type: 'application/xml' }, '&dryRun=true')).would
    expect(late).toMatchObject({ entered: ['Charge', 'Late'] })
    const idle = '<request><assume><until>2099-01-04T00:00:00Z</until></assume></request>'
    const path = `/flux-api/context/pause?contextId=${contextId}&dryRun=true`
    const [paused] = rehearsedIn(await live.call('POST', path, { body: idle, type: 'application/xml' })).would
    expect(paused).toMatchObject({ to: 'Open', changed: [{ pointer: '/paused', from: false, to: true }] })
  })

  test('is of each call that can be rehearsed, with a body and without', async () => {
    const contextId = await started(live)
    const until = { body: { assume: { until: '2099-01-04' } } }
    for (const [method, path, to] of [
      ['DELETE', 'terminate?', 'Open'],
      ['PUT', 'context/tag?tag=x&', 'Late'],
      ['POST', 'context/tag?tag=x&', 'Late'],
      ['POST', 'context/pause?', 'Open'],
    ] as const) {
      const url = `/flux-api/${path}contextId=${contextId}&dryRun=true`
      expect(rehearsedIn(await live.call(method, url)).would).toMatchObject([{ contextId, to: 'Open' }])
      expect(rehearsedIn(await live.call(method, url, until)).would, path).toMatchObject([{ contextId, to }])
    }
    const operation = { body: { filter: { fluxName: 'Order' }, do: 'pause' } }
    expect(rehearsedIn(await live.call('POST', '/flux-api/operations?dryRun=true', operation))).toMatchObject({
      wouldMove: expect.any(Number),
    })
    const start = { body: { fluxName: 'Order', input: { id: randomUUID() } } }
    expect(rehearsedIn(await live.call('POST', '/flux-api/p/execute?dryRun=true', start))).toMatchObject({
      contextId: null,
      would: [{ contextId: null, to: 'Open' }],
    })
    expect(await viewOf(live, contextId)).toMatchObject({ json: { version: 1, paused: false, tags: [] } })
  })

  test('is none where dryRun is false, and a body that can not be meant is refused', async () => {
    const contextId = await started(live)
    const tag = `/flux-api/context/tag?contextId=${contextId}&tag=x`
    for (const method of ['PUT', 'POST', 'DELETE']) {
      for (const body of [{ dryRun: true }, { assume: {} }, { tags: ['y'] }])
        expect((await live.call(method, tag, { body })).status).toBe(400)
    }
    expect((await viewOf(live, contextId)).json).toMatchObject({ version: 1, tags: [] })
    const junk = { body: 'junk', type: 'text/plain' }
    expect((await live.call('DELETE', tag, junk)).status).toBe(200)
    for (const query of ['', '&dryRun=false']) {
      const { status, json } = await live.call('PUT', tag + query, { body: {} })
      expect([status, Object.keys(Object(json))]).toEqual([200, ['message']])
    }
    expect((await live.call('PUT', `${tag}&dryRun=perhaps`)).status).toBe(400)
    expect((await pay(live, contextId, { body: { event: 'hold', assume: {} } })).json).toMatchObject({
      status: 400,
      detail: 'assume must be given with dryRun',
    })
    expect((await viewOf(live, contextId)).json).toMatchObject({ version: 2, tags: ['x'] })
    expect((await live.call('DELETE', `/flux-api/terminate?contextId=${contextId}&dryRun=false`)).status).toBe(200)
  })

  test('hides what views hide', async () => {
    const hook = `whsec_${Buffer.from('the secret of the hook itself').toString('base64')}`
    const secrets = { ACTORFLUX_SECRET_HOOK: hook }
    const own = await openLive(secrets, { ...SERVICES, 'p/Hook.flux': HOOK })
    const answer = await fetch(`${own.url}/api/hook?card=1234-5678-9012`, {
      method: 'POST',
      headers: { authorization: 'Bearer of-this-very-token' },
    })
    expect(answer.status, await answer.text()).toBe(202)
    const [view] = z.array(z.object({ id: z.number() })).parse((await own.call('GET', '/flux-api/contexts')).json)
    const rehearsed = async (steps: object) => {
      const body = { event: 'copy', assume: { steps } }
      const told = await own.call('POST', `/flux-api/event?contextId=${view?.id}&dryRun=true`, { body })
      for (const secret of ['of-this-very-token', hook]) expect(told.text).not.toContain(secret)
      return rehearsedIn(told).would
    }
    const [waiting, child] = await rehearsed({ Call: [{ result: 1 }] })
    expect(waiting).toMatchObject({ to: 'Child', children: [{ input: { id: '[redacted]' } }] })
    expect(waiting?.steps).toMatchObject([
      { arguments: { card: '[redacted]', token: 'x [redacted]', key: '[redacted]' }, assumed: true },
    ])
    expect(waiting?.changed).toContainEqual({ pointer: '/output/token', from: null, to: '[redacted]' })
    expect(child?.changed).toEqual([{ pointer: '/input/id', from: null, to: '[redacted]' }])
    const [ended] = await rehearsed({ Call: [{ result: 1 }], Child: [{ result: {} }] })
    expect(ended).toMatchObject({ status: 'COMPLETED', onEnd: 'http://x.example/[redacted]' })
  })

  test('is not held, not accepted, and remembers no key', async () => {
    const contextId = await started(live)
    const held = await pay(live, contextId, { prefer: 'wait=30' }, '&dryRun=true')
    expect(rehearsedIn(held)).not.toHaveProperty('context')
    const toAll = { body: { event: 'hold' }, prefer: 'respond-async' }
    const sent = await live.call('POST', '/flux-api/event?dryRun=true', toAll)
    expect([sent.status, sent.headers.get('location')]).toEqual([200, null])
    const idempotencyKey = randomUUID()
    for (const [dry, replayed] of [
      ['&dryRun=true', null],
      ['', null],
      ['', 'true'],
      ['&dryRun=true', 'true'],
    ] as const) {
      const { status, headers } = await pay(live, contextId, { idempotencyKey }, dry)
      expect([status, headers.get('idempotency-replayed')], dry).toEqual([200, replayed])
    }
  })

  test('is of no line of a stream', async () => {
    const contextId = await started(live)
    const lines = [{ dryRun: true }, { assume: {} }].map((more) => ({ event: 'pay', contextId, ...more }))
    const body = lines.map((line) => JSON.stringify(line)).join('\n')
    const { text } = await live.call('POST', '/flux-api/events', { body, type: 'application/x-ndjson' })
    expect([...text.matchAll(/"status":(\d+),"problem"/g)].map(([, status]) => status)).toEqual(['400', '400'])
    const line = { body: JSON.stringify({ event: 'pay', contextId }), type: 'application/x-ndjson' }
    const batch = {
      body: JSON.stringify([
        { specversion: '1.0', id: '1', source: '/shop', type: 'pay', fluxcontextid: `${contextId}` },
      ]),
      type: 'application/cloudevents-batch+json',
    }
    for (const [path, request] of [
      ['events', line],
      ['p/executes', { ...line, body: '{"fluxName":"Order"}' }],
      ['event', batch],
    ] as const)
      expect((await live.call('POST', `/flux-api/${path}?dryRun=true`, request)).status, path).toBe(400)
    expect((await viewOf(live, contextId)).json).toMatchObject({ currentState: 'Open', version: 1 })
  })

  test('is of a CloudEvent, too', async () => {
    const contextId = await started(live)
    const send = (query: string, ifMatch?: string) =>
      live.call('POST', `/flux-api/event?contextId=${contextId}${query}`, {
        type: 'application/cloudevents+json',
        body: JSON.stringify({
          specversion: '1.0',
          id: randomUUID(),
          source: '/shop',
          type: 'pay',
          data: { amount: 7 },
        }),
        ...(ifMatch !== undefined && { ifMatch }),
      })
    expect(rehearsedIn(await send('&dryRun=true')).would).toMatchObject([{ contextId, entered: ['Charge'] }])
    expect((await send('', '"2"')).json).toMatchObject({ status: 412, version: 1 })
    expect((await send('', '"1"')).status).toBe(200)
    const batch = { type: 'application/cloudevents-batch+json', body: '[]', ifMatch: '*' }
    expect((await live.call('POST', '/flux-api/event', batch)).status).toBe(400)
  })

  test('is refused as its call, and what is assumed is checked', async () => {
    const contextId = await started(live)
    for (const [status, body] of [
      [409, { event: 'unknown' }],
      [400, { event: 'pay', assume: { steps: { Charge: [] } } }],
      [400, { event: 'pay', assume: { steps: { Charge: [{ results: 1 }] } } }],
      [400, { event: 'pay', assume: { until: 'soon' } }],
      [400, { event: 'pay', assume: { other: 1 } }],
      [422, { event: 'pay', input: { amount: 'much' } }],
    ] as const) {
      const { status: told, text } = await pay(live, contextId, { body }, '&dryRun=true')
      expect(told, text).toBe(status)
    }
    expect((await pay(live, 999_999, {}, '&dryRun=true')).status).toBe(404)
  })

  test.skipIf(process.env['STORES'] === 'first')(
    'of an event for more than ten thousand contexts answers 200, and says that it is a sample',
    async () => {
      const many = await openLive(
        {},
        { 'p/Order.flux': { ...ORDER, key: undefined }, 'p/fns.mjs': SERVICES['p/fns.mjs'] },
      )
      const lines = `${JSON.stringify({ fluxName: 'Order' })}\n`.repeat(10_100)
      await many.call('POST', '/flux-api/p/executes', { body: lines, type: 'application/x-ndjson' })
      const { status, json } = await many.call('POST', '/flux-api/event?dryRun=true', { body: { event: 'hold' } })
      const { would, ...counts } = rehearsalAnswer.parse(json)
      expect([status, counts]).toMatchObject([200, { matched: 10_000, wouldMove: 10_000, sampled: true }])
      expect(would).toHaveLength(100)
    },
  )
})

describe('versions over HTTP', () => {
  let live: Live
  beforeAll(async () => {
    live = await openLive({}, SERVICES)
  })
  afterAll(() => live.close())

  test('are the ETag of a context, by id and by key, in each format', async () => {
    const id = randomUUID()
    const contextId = await started(live, id)
    for (const version of ['"1"', '"2"']) {
      for (const accept of ['application/json', 'application/xml'])
        for (const query of [`contextId=${contextId}`, `key=${id}&fluxName=Order`]) {
          const { status, headers } = await live.call('GET', `/flux-api/context?${query}`, { accept })
          expect([status, headers.get('etag')]).toEqual([200, version])
        }
      await pay(live, contextId, { body: { event: 'hold' }, ifMatch: version })
    }
    for (const path of [`context/events?contextId=${contextId}`, 'contexts'])
      expect((await live.call('GET', `/flux-api/${path}`)).headers.get('etag')).toBe(null)
  })

  test('decide whether a call has its effect', async () => {
    const id = randomUUID()
    const contextId = await started(live, id)
    const calls = [
      ['POST', `event?contextId=${contextId}`, { body: { event: 'hold' } }],
      ['POST', `event?key=${id}&fluxName=Order`, { body: { event: 'hold' } }],
      ['PUT', `context/tag?contextId=${contextId}&tag=x`, {}],
      ['DELETE', `context/tag?contextId=${contextId}&tag=x`, {}],
      ['POST', `context/pause?contextId=${contextId}`, {}],
      ['POST', `context/resume?contextId=${contextId}`, {}],
      ['POST', `context/retry?contextId=${contextId}`, { body: { state: 'Open' } }],
      ['DELETE', `terminate?contextId=${contextId}`, {}],
    ] as const
    for (const [method, path, request] of calls)
      for (const dry of ['', '&dryRun=true']) {
        const other = await live.call(method, `/flux-api/${path}${dry}`, { ...request, ifMatch: '"9"' })
        expect([other.status, other.json], `${method} ${path}${dry}`).toMatchObject([
          412,
          { type: 'urn:actorflux:problem:version-mismatch', title: 'Version mismatch', version: 1 },
        ])
        const xml = await live.call(method, `/flux-api/${path}${dry}`, {
          ...request,
          ifMatch: '"9"',
          accept: 'application/xml',
        })
        expect([xml.status, xml.text]).toEqual([412, expect.stringMatching(/<version[^>]*>1<\/version>/)])
        for (const malformed of ['9', '""', '"0"', 'w/"1"', '"1", "2"', '"one"', '"1234567890123456"', '*, "1"'])
          expect(
            (await live.call(method, `/flux-api/${path}${dry}`, { ...request, ifMatch: malformed })).status,
            `${method} ${path}${dry} ${malformed}`,
          ).toBe(400)
      }
    const gone = path('999999')
    for (const ifMatch of ['*', '"1"']) expect((await live.call('DELETE', gone, { ifMatch })).status, ifMatch).toBe(404)
    expect((await viewOf(live, contextId)).headers.get('etag')).toBe('"1"')
    for (const [place, [method, each, request]] of calls.entries()) {
      const { status, text } = await live.call(method, `/flux-api/${each}`, {
        ...request,
        ifMatch: place % 2 === 0 ? ((await viewOf(live, contextId)).headers.get('etag') ?? '') : '*',
      })
      expect(status, text).toBe(each.includes('retry') ? 409 : 200)
    }
  })

  test('go with calls to a single context alone', async () => {
    for (const ifMatch of ['"1"', '*']) {
      for (const [target, body] of [
        ['/flux-api/p/execute', { fluxName: 'Order' }],
        ['/flux-api/server/resume', {}],
        ['/flux-api/operations', { filter: {}, do: 'pause' }],
      ] as const)
        expect((await live.call('POST', target, { body, ifMatch })).status, target).toBe(400)
      const lines = { body: '{"event":"hold"}\n', type: 'application/x-ndjson' }
      expect((await live.call('POST', '/flux-api/events', { ...lines, ifMatch })).status).toBe(400)
      const { status } = await live.call('POST', '/flux-api/event', { body: { event: 'hold' }, ifMatch })
      expect([ifMatch, status]).toEqual([ifMatch, 400])
    }
  })

  test('stand in the lines of a stream', async () => {
    const [one, other] = [await started(live), await started(live)]
    const lines = [
      { event: 'hold', contextId: one, version: 1 },
      { event: 'hold', contextId: one, version: 1 },
      { event: 'hold', contextId: one, version: 2 },
      { event: 'hold', contextId: other, version: 9 },
      { event: 'hold', version: 1 },
      { event: 'hold', contextId: other, version: 0 },
    ]
    const body = lines.map((line) => JSON.stringify(line)).join('\n')
    const { text } = await live.call('POST', '/flux-api/events', { body, type: 'application/x-ndjson' })
    const answers = text
      .trim()
      .split('\n')
      .map((line): { n?: number; status?: number; problem?: { version?: number } } => JSON.parse(line))
      .filter(({ n }) => n !== undefined)
      .sort((first, second) => Number(first.n) - Number(second.n))
    expect(answers.map(({ status, problem }) => [status, problem?.version])).toEqual([
      [200, undefined],
      [412, 2],
      [200, undefined],
      [412, 1],
      [400, undefined],
      [400, undefined],
    ])
  })
})

const path = (contextId: string) => `/flux-api/terminate?contextId=${contextId}`

describe('rights', () => {
  const TOKENS = {
    read: 'read',
    invoke: 'invoke',
    admin: 'admin',
    slow: { role: 'invoke', rate: '3/m' },
  } as const

  test('a caller who may not make a call learns nothing by its rehearsal', async () => {
    const live = await openLive({}, SERVICES, TOKENS)
    const contextId = await started(live, '0', { token: tokenOf('admin') }, 'Secret')
    const calls = [
      ['POST', `event?contextId=${contextId}`, { body: { event: 'pay' } }],
      ['POST', 'p/execute?', { body: { fluxName: 'Secret' } }],
      ['PUT', `context/tag?contextId=${contextId}&tag=x`, {}],
      ['DELETE', `terminate?contextId=${contextId}`, {}],
      ['POST', `context/pause?contextId=${contextId}`, {}],
    ] as const
    for (const [method, each, request] of calls)
      for (const [token, status] of [
        [undefined, 401],
        ['read', 403],
      ] as const) {
        const isStart = each.startsWith('p/')
        for (const [dry, ifMatch] of [
          ['', '"9"'],
          ['&dryRun=true', undefined],
          ['&dryRun=true', '"9"'],
        ] as const) {
          const answer = await live.call(method, `/flux-api/${each}${dry}`, {
            ...request,
            ...(token && { token: tokenOf(token) }),
            ...(ifMatch !== undefined && !isStart && { ifMatch }),
          })
          expect(answer.status, `${method} ${each}${dry} ${token}`).toBe(status)
          expect(answer.text).not.toMatch(/would|version|Open/)
        }
      }
    const some = await live.call('POST', '/flux-api/event?dryRun=true', { body: { event: 'pay' } })
    expect(some.json).toMatchObject({ matched: 0, would: [] })
    const all = await live.call('POST', '/flux-api/event?dryRun=true', {
      body: { event: 'pay' },
      token: tokenOf('invoke'),
    })
    expect(all.json).toMatchObject({ matched: 1, would: [{ contextId }] })
  })

  test('a rehearsal counts for the rate of its token', async () => {
    const live = await openLive({}, SERVICES, TOKENS)
    const token = tokenOf('slow')
    const start = { body: { fluxName: 'Order' }, token }
    const statuses: number[] = []
    for (let calls = 0; calls < 4; calls += 1)
      statuses.push((await live.call('POST', '/flux-api/p/execute?dryRun=true', start)).status)
    expect(statuses).toEqual([200, 200, 200, 429])
  })

  test('a server that needs tokens needs them for rehearsals', async () => {
    const live = await openLive({ ACTORFLUX_REQUIRE_AUTH: 'true' }, SERVICES, TOKENS)
    const contextId = await started(live, '1', { token: tokenOf('admin') })
    const statusOf = async (token?: string) =>
      (await pay(live, contextId, token === undefined ? {} : { token: tokenOf(token) }, '&dryRun=true')).status
    expect([await statusOf(), await statusOf('read'), await statusOf('invoke')]).toEqual([401, 403, 200])
    const pause = `/flux-api/context/pause?contextId=${contextId}&dryRun=true`
    expect((await live.call('POST', pause, { token: tokenOf('invoke') })).status).toBe(403)
    expect((await live.call('POST', pause, { token: tokenOf('admin') })).status).toBe(200)
  })

  test('a paused server rehearses nothing', async () => {
    const live = await openLive({}, SERVICES, {}, { paused: true })
    const start = { body: { fluxName: 'Order' } }
    expect((await live.call('POST', '/flux-api/p/execute?dryRun=true', start)).status).toBe(503)
  })
})

const redis = () => ({ ACTORFLUX_REDIS_URL: inject('redisUrl'), ACTORFLUX_NAMESPACE: randomUUID() })

describe.each(
  storesOf([
    ['one server', 1, () => ({})],
    ['one server on Redis', 1, redis],
    ['two servers on one Redis', 2, redis],
  ]),
)('%s', (_, count, env) => {
  test('lets one of twenty calls at once under one version have its effect', async () => {
    const settings = env()
    const servers: Live[] = []
    while (servers.length < count) servers.push(await openLive(settings, SERVICES))
    const [first] = servers
    const contextId = first ? await started(first) : 0
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (__, place) => {
        const live = servers[place % count]
        const ifMatch = '"1"'
        return live && (await pay(live, contextId, { body: { event: 'hold' }, ifMatch }))
      }),
    )
    const told = answers.map((answer) => [answer?.status, Object(answer?.json).version])
    expect(told.filter(([status]) => status === 200)).toHaveLength(1)
    expect(told.filter(([status, version]) => status === 412 && version === 2)).toHaveLength(19)
    expect(first && (await viewOf(first, contextId)).headers.get('etag')).toBe('"2"')
  })
})
