// What an endpoint does with a request that passed: `when`, `answer` and `send`, over real sockets.
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { openLive, tokenOf, type Live } from './live.ts'
import { sendTo } from './webhook-client.ts'
import { storesOf } from '../support/effort.ts'

const set = (expression: string, ...to: string[]) => ({ type: 'set', expression, evaluate: true, to })
const from = (path: string[], ...to: string[]) => ({ from: path, to })
const hook = (urlPath: string, more: object, ...httpMethods: string[]) => ({
  webhooks: [{ urlPath, httpMethods: httpMethods.length > 0 ? httpMethods : ['POST'], ...more }],
})
const OUT = { output: [{ name: 'out', type: 'any' }] }
const ending = (...lines: object[]) => ({ states: [{ name: 'end', action: { type: 'map', lines } }] })
const when = (urlPath: string, expression: string) => ({
  ...OUT,
  ...ending(set('"came"', 'out')),
  ...hook(urlPath, { when: expression }, 'POST', 'GET'),
})
/** A service of its own for each endpoint, which sends to others. */
const sends = (urlPath: string, send: object, more: object = {}) => ({
  states: [{ name: 'never' }],
  ...hook(urlPath, { send }),
  ...more,
})
const VERIFY = { verify: { scheme: 'token', secrets: ['$secrets.TOKEN'] } }
const TOKEN = 'the-token-of-the-door'

/** Waits for `paid`, with a key and a tag. */
const order = (more: object = {}) => ({
  key: '${id}',
  tags: ['${tag}'],
  input: [{ name: 'id' }, { name: 'tag' }, { name: 'n', type: 'integer' }],
  output: [
    { name: 'amount', type: 'integer' },
    { name: 'seen', type: 'any' },
  ],
  states: [
    {
      name: 'open',
      waiting: true,
      input: [{ name: 'amount', type: 'integer' }],
      transitions: [
        { event: 'paid', to: 'done', lines: [from(['amount'], 'amount')] },
        { event: 'other', to: 'open' },
      ],
    },
    {
      name: 'done',
      input: [{ name: 'amount', type: 'integer' }],
      action: { type: 'map', lines: [from(['amount'], 'amount')] },
    },
  ],
  ...more,
})

const SERVICES = {
  'w/fns.ts': `
import { setTimeout as sleep } from 'node:timers/promises'
export const never = async (_: object, flux: { signal: AbortSignal }) => { await sleep(60_000, undefined, { signal: flux.signal }) }
export const raw = (_: object, flux: { rawBody: Uint8Array }) => Buffer.from(flux.rawBody).toString()
`,
  'w/Type.flux': when('/type', "$request.body.type == 'sale'"),
  'w/Body.flux': when('/body', '$request.body'),
  'w/Bad.flux': when('/bad', "'x'.repeat($request.body.n)"),
  'w/Header.flux': when('/header', "$request.headers['x-go']"),
  'w/Never.flux': {
    ...OUT,
    input: [{ name: 'n', type: 'integer', required: true }],
    states: [
      { name: 'act', action: { type: 'invokeCode', className: 'fns', methodName: 'never', inputs: [], outputs: [] } },
    ],
    ...hook('/accepted', { answer: 'accepted' }),
  },
  'w/Rests.flux': {
    states: [{ name: 'rest', waiting: true, transitions: [{ event: 'never', to: 'rest' }] }],
    ...hook('/rests', { answer: 'accepted' }),
  },
  'w/Order.flux': order(),
  'w/Secured.flux': order({ secured: true }),
  'w/ById.flux': sends('/by-id/{id}', {
    event: "'paid'",
    contextId: '$request.parameters.id',
    input: '{ amount: $request.body.amount }',
  }),
  'w/ByKey.flux': sends('/by-key', {
    event: '$request.body.event',
    key: '$request.body.key',
    fluxName: 'Order',
    input: '$request.body.input',
  }),
  'w/ByTags.flux': sends('/by-tags', { event: "'paid'", tags: '$request.body.tags' }),
  'w/Broadcast.flux': sends('/all', { event: '$request.body.event' }),
  'w/Alarmed.flux': { triggers: ['fire'], states: [{ name: 'end' }] },
  'w/OrStart.flux': sends('/or-start', {
    event: "'paid'",
    key: '$request.body.key',
    fluxName: 'Order',
    input: '$request.body.input',
    orStart: { input: '{ id: $request.body.key, n: $request.body.n }', tags: '$request.body.tags' },
  }),
  'w/OpenToSecured.flux': sends('/open', { event: "'paid'", key: "'s'", fluxName: 'Secured' }),
  'w/VerifiedToSecured.flux': {
    states: [{ name: 'never' }],
    ...hook('/verified', {
      ...VERIFY,
      send: { event: "'paid'", key: "'s'", fluxName: 'Secured', orStart: { input: "{ id: 's' }" } },
    }),
  },
  'w/Proven.flux': {
    states: [{ name: 'never' }],
    ...hook('/proven', {
      ...VERIFY,
      send: { event: "'paid'", key: '$request.body.key', fluxName: 'Secured' },
    }),
  },
  'w/KeyOfHeader.flux': sends('/key-of-header', {
    event: "'paid'",
    key: "$request.headers['x-session-token']",
    fluxName: 'Order',
  }),
  'w/EventOfHeader.flux': sends('/event-of-header/{id}', {
    event: "$request.headers['x-session-token']",
    contextId: '$request.parameters.id',
  }),
  'w/PartOfHeader.flux': {
    states: [{ name: 'never' }],
    ...hook('/part-of-header', { when: "parseJson($request.headers['x-session-token'])" }),
  },
  'w/Self.flux': {
    input: [
      { name: 'n', type: 'integer', required: true },
      { name: 'list', type: 'integer', array: true },
    ],
    output: [{ name: 'seen', type: 'any' }, { name: 'bytes' }],
    states: [
      {
        name: 'open',
        waiting: true,
        input: [{ name: 'amount', type: 'integer' }],
        transitions: [{ event: 'paid', to: 'read' }],
      },
      {
        name: 'read',
        action: {
          type: 'invokeCode',
          className: 'fns',
          methodName: 'raw',
          inputs: [],
          outputs: [from(['$result'], 'bytes')],
        },
        transitions: [{ to: 'show' }],
      },
      {
        name: 'show',
        action: {
          type: 'map',
          lines: [set('{ n: n, list: list, uri: $request.uri, header: $request.headers.authorization }', 'seen')],
        },
        transitions: [{ to: 'rest' }],
      },
      { name: 'rest', waiting: true, transitions: [{ event: 'paid', to: 'rest' }] },
    ],
    ...hook('/self/{key}', {
      ...VERIFY,
      send: {
        event: "'paid'",
        key: '$request.parameters.key',
        input: '{ amount: $request.body.amount }',
        orStart: true,
      },
    }),
  },
}

describe.each(
  storesOf([
    ['embedded', () => ({})],
    ['Redis', () => ({ ACTORFLUX_REDIS_URL: inject('redisUrl'), ACTORFLUX_NAMESPACE: `send-${process.pid}` })],
  ]),
)('on the store %s', (_store, env) => {
  let live: Live
  const token = tokenOf('caller')
  beforeAll(async () => {
    live = await openLive({ ...env(), ACTORFLUX_SECRET_TOKEN: TOKEN }, SERVICES, { caller: 'invoke' })
  })
  afterAll(() => live.close())

  const post = async (path: string, body: object = {}, more: { accept?: string; token?: string } = {}) => {
    const { status, json, headers, text } = await live.call('POST', `/api${path}`, { body, ...more })
    return { status, json, headers, text }
  }
  const started = async (fluxName: string, input: object = {}): Promise<number> => {
    const { json } = await live.call('POST', '/flux-api/w/execute', { body: { fluxName, input }, token })
    return Object(json).contextId
  }
  const stand = async (contextId: number) => {
    const { json } = await live.call('GET', `/flux-api/context?contextId=${contextId}`, { token })
    const { currentState, status, output, key, tags } = Object(json)
    const values = Object.fromEntries(
      (output.gloopProperties as { name: string; value: unknown }[]).map(({ name, value }) => [name, value]),
    )
    return { currentState, status, values, key, tags }
  }
  /** Those that have not ended, and those that have. */
  const count = async (fluxName: string) => {
    const list = async (status: string): Promise<number> => {
      const { json } = await live.call('GET', `/flux-api/contexts?fluxName=${fluxName}&limit=1000${status}`, { token })
      return Array.isArray(json) ? json.length : expect.fail()
    }
    return (await list('')) + (await list('&status=COMPLETED')) + (await list('&status=FAILED'))
  }

  describe('when', () => {
    test.each([
      ['/type', { type: 'sale' }, 200],
      ['/type', { type: 'refund' }, 204],
      ['/type', {}, 204],
      ['/body', { a: 1 }, 200],
      ['/body', [], 200],
      ['/header', {}, 204],
    ])('%s with %j: %i', async (path, body, status) => {
      const fluxName = { '/type': 'Type', '/body': 'Body', '/header': 'Header' }[path] ?? ''
      const before = await count(fluxName)
      const { status: got, text } = await post(path, body)
      expect([got, text]).toEqual(status === 200 ? [200, 'came'] : [204, ''])
      expect(await count(fluxName)).toBe(before + (status === 200 ? 1 : 0))
    })

    test.each([['0'], ['""'], ['null'], ['false']])('is judged as a condition is: %s', async (body) => {
      expect((await live.call('POST', '/api/body', { body })).status).toBe(204)
    })

    test('HEAD is judged as GET', async () => {
      expect((await live.call('HEAD', '/api/type')).status).toBe(204)
    })

    test.each([[1e9], [-1]])('that fails is 400: %d', async (n) => {
      const { status, json } = await post('/bad', { n })
      expect([status, json]).toMatchObject([
        400,
        { type: 'urn:actorflux:problem:malformed-request', errors: [{ pointer: '/when' }] },
      ])
      expect(await count('Bad')).toBe(0)
    })
  })

  describe('accepted', () => {
    test('is answered when the context is stored', async () => {
      const { status, json, headers } = await live
        .call('POST', '/api/accepted?n=5', { body: {} })
        .then((answer) => answer)
      const { contextId } = Object(json)
      expect([status, json]).toEqual([202, { contextId: expect.any(Number), status: 'RUNNING' }])
      expect(headers.get('location')).toBe(`/flux-api/context?contextId=${contextId}`)
      expect((await stand(contextId)).currentState).toBe('act')
    })

    test('says where it rests, in XML if Accept asks for that', async () => {
      const { status, text } = await post('/rests', {}, { accept: 'application/xml' })
      expect([status, text]).toEqual([202, expect.stringMatching(/<contextId[^>]*>\d+<\/contextId>/)])
      expect(text).toContain('WAITING')
    })

    test('refuses invalid inputs all the same', async () => {
      const before = await count('Never')
      const { status, json } = await post('/accepted?n=x')
      expect([status, json]).toMatchObject([400, { errors: [{ pointer: '/input/n' }] }])
      expect(await count('Never')).toBe(before)
    })
  })

  describe('send', () => {
    test('by id', async () => {
      const contextId = await started('Order', { id: 'by-id' })
      const { status, json } = await post(`/by-id/${contextId}`, { amount: '12' })
      expect([status, json]).toEqual([
        200,
        { eventId: expect.stringMatching(/^[\da-f-]{36}$/), contextIds: [contextId] },
      ])
      expect(await stand(contextId)).toMatchObject({ currentState: 'done', values: { amount: 12 } })
      expect(await count('ById')).toBe(0)
      // It has ended.
      expect((await post(`/by-id/${contextId}`, { amount: 1 })).status).toBe(409)
      expect((await post('/by-id/999999999', { amount: 1 })).status).toBe(404)
    })

    test('by key, in the format that Accept asks for', async () => {
      const contextId = await started('Order', { id: '17' })
      const { status, text } = await post(
        '/by-key',
        { event: 'paid', key: 17, input: { amount: 3 } },
        { accept: 'application/xml' },
      )
      expect([status, text]).toEqual([200, expect.stringContaining(String(contextId))])
      expect(text).toContain('<eventId>')
      expect(await stand(contextId)).toMatchObject({ currentState: 'done', values: { amount: 3 } })
      expect((await post('/by-key', { event: 'paid', key: 'nobody' })).status).toBe(404)
    })

    test('refuses what the context refuses', async () => {
      const contextId = await started('Order', { id: 'refuses' })
      const key = 'refuses'
      expect((await post('/by-key', { event: 'unknown', key })).status).toBe(409)
      const wrong = await post('/by-key', { event: 'paid', key, input: { amount: 'x' } })
      expect([wrong.status, wrong.json]).toMatchObject([400, { errors: [{ pointer: '/input/amount' }] }])
      expect((await stand(contextId)).currentState).toBe('open')
    })

    test('by tags, and to all', async () => {
      const tagged = await Promise.all(['a', 'b'].map((id) => started('Order', { id: `tag-${id}`, tag: 'blue' })))
      const other = await started('Order', { id: 'tag-c', tag: 'red' })
      const { status, json } = await post('/by-tags', { tags: ['blue'] })
      expect([status, Object(json).contextIds.toSorted()]).toEqual([200, tagged.toSorted()])
      expect((await stand(other)).currentState).toBe('open')
      expect((await post('/by-tags', { tags: 'green' })).json).toEqual({ eventId: expect.any(String), contextIds: [] })
      // That is for those without tags.
      const untagged = await started('Order', { id: 'tag-none' })
      const all = await post('/all', { event: 'other' })
      expect([all.status, Object(all.json).contextIds]).toEqual([200, expect.arrayContaining([untagged])])
      const fired = await post('/all', { event: 'fire' })
      expect([fired.status, Object(fired.json).contextIds.length, await count('Alarmed')]).toEqual([200, 1, 1])
    })

    test('or starts a service with the inputs that are given', async () => {
      const body = { key: 'new', n: '5', input: { amount: 8 }, tags: ['one', 'two'] }
      const { status, json } = await post('/or-start', body)
      const [contextId] = Object(json).contextIds
      expect([status, json]).toEqual([200, { eventId: expect.any(String), contextIds: [contextId] }])
      expect(await stand(contextId)).toMatchObject({
        currentState: 'done',
        values: { amount: 8 },
        key: 'new',
        tags: expect.arrayContaining(['one', 'two']),
      })
      const before = await count('Order')
      const wrong = await post('/or-start', { ...body, key: 'wrong', n: 'x' })
      expect([wrong.status, wrong.json]).toMatchObject([400, { errors: [{ pointer: '/orStart/input/n' }] }])
      expect(await count('Order')).toBe(before)
    })

    test('or starts this service, as a request starts it', async () => {
      const request = { token: TOKEN, body: '{"amount": 4}' }
      const first = await live.call('POST', '/api/self/k%201?n=5&list=1&list=2', request)
      const [contextId] = Object(first.json).contextIds
      expect([first.status, first.json]).toEqual([200, { eventId: expect.any(String), contextIds: [contextId] }])
      await live.call('GET', `/flux-api/context/wait?contextId=${contextId}&state=rest`)
      const { currentState, key, values } = await stand(contextId)
      expect([currentState, key]).toEqual(['rest', 'k 1'])
      expect(values).toEqual({
        seen: { n: 5, list: [1, 2], uri: '/api/self/k%201?n=5&list=1&list=2', header: '[redacted]' },
        bytes: '{"amount": 4}',
      })
      const again = await live.call('POST', '/api/self/k%201?n=6', request)
      expect(Object(again.json).contextIds).toEqual([contextId])
      const invalid = await live.call('POST', '/api/self/k2?n=x', request)
      expect([invalid.status, invalid.json]).toMatchObject([400, { errors: [{ pointer: '/orStart/input/n' }] }])
      expect(await count('Self')).toBe(1)
      expect((await live.call('POST', '/api/self/k3?n=1', { body: {} })).status).toBe(401)
    })

    test.each([
      ['/by-key', { key: 'x' }, '/send/event'],
      ['/by-key', { key: 'x', event: 5 }, '/send/event'],
      ['/by-key', { key: 'x', event: '' }, '/event'],
      ['/by-key', { key: 'x', event: '$own' }, '/event'],
      ['/by-key', { event: 'paid' }, '/send/key'],
      ['/by-key', { event: 'paid', key: '' }, '/send/key'],
      ['/by-key', { event: 'paid', key: {} }, '/send/key'],
      ['/by-key', { event: 'paid', key: 2 ** 53 }, '/send/key'],
      ['/by-key', { event: 'paid', key: 'x'.repeat(300) }, '/key'],
      ['/by-key', { event: 'paid', key: 'x', input: 5 }, '/send/input'],
      ['/by-key', { event: 'paid', key: 'x', input: ['x'] }, '/send/input'],
      ['/by-id/x', {}, '/send/contextId'],
      ['/by-id/0', {}, '/send/contextId'],
      ['/by-id/99999999999999999', {}, '/send/contextId'],
      ['/by-tags', {}, '/send/tags'],
      ['/by-tags', { tags: {} }, '/send/tags'],
      ['/by-tags', { tags: [] }, '/send/tags'],
      ['/by-tags', { tags: ['a', 5] }, '/send/tags/1'],
      ['/by-tags', { tags: ['a,b'] }, '/tags/0'],
      ['/or-start', { key: 'x', tags: 5 }, '/send/orStart/tags'],
    ])('of the wrong type is 400: %s %j', async (path, body, pointer) => {
      const { status, json } = await post(path, body)
      expect([status, json]).toMatchObject([400, { errors: [{ pointer, detail: expect.any(String) }] }])
    })

    test('reaches secured services only through a door that is locked', async () => {
      const contextId = await started('Secured', { id: 's' })
      expect((await post('/open')).status).toBe(404)
      expect((await post(`/by-id/${contextId}`, { amount: 1 })).status).toBe(404)
      expect((await stand(contextId)).currentState).toBe('open')
      const { status, json } = await post('/verified', {}, { token: TOKEN })
      expect([status, json]).toMatchObject([200, { contextIds: [contextId] }])
      expect((await stand(contextId)).currentState).toBe('done')
    })
  })

  /** Of the newest delivery to that path, as that caller sees it in both lists. */
  const newest = async (urlPath: string, as: { token?: string } = {}) => {
    const { json } = await live.call('GET', `/flux-api/webhooks/deliveries?urlPath=${urlPath}&limit=1`, as)
    const [delivery] = Array.isArray(json) ? json : expect.fail()
    const { json: webhooks } = await live.call('GET', '/flux-api/webhooks', as)
    const webhook: unknown = Array.isArray(webhooks) ? webhooks.find((one) => one.urlPath === urlPath) : expect.fail()
    expect(webhook).toMatchObject({ last: { deliveryId: delivery.deliveryId, reason: delivery.reason } })
    return delivery
  }

  test('what passed `verify` is shown, and sent again, only to and by who has a token', async () => {
    expect((await post('/proven', { key: 'later' }, { token: TOKEN })).status).toBe(404)
    const { deliveryId, ...shown } = await newest('/proven', { token })
    expect(shown).toMatchObject({ outcome: 'refused', reason: expect.stringContaining("the key 'later'") })
    expect(shown.request).toMatchObject({ body: { key: 'later' } })
    const hidden = { outcome: 'refused', status: 404, reason: "a token with the role 'read' shows why", request: null }
    expect(await newest('/proven')).toMatchObject({ deliveryId, ...hidden })
    // The secured service waits for it now.
    const contextId = await started('Secured', { id: 'later' })
    const replay = `/flux-api/webhooks/deliveries/replay?deliveryId=${deliveryId}`
    const { status, headers } = await live.call('POST', replay)
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    expect((await stand(contextId)).currentState).toBe('open')
    expect((await live.call('POST', replay, { token })).json).toMatchObject({ status: 200, contextId })
    expect((await stand(contextId)).currentState).toBe('done')
  })

  test('why a proof was not accepted is told to all who may list deliveries, and not to the sender', async () => {
    const { status, text } = await post('/proven', { key: 'k' }, { token: 'another' })
    expect([status, text]).toEqual([401, expect.not.stringContaining('token is wrong')])
    expect(await newest('/proven')).toMatchObject({ outcome: 'signature-invalid', reason: 'the token is wrong' })
  })

  test('reasons and the log quote no secret of a request, not in part either', async () => {
    const contextId = await started('Order', { id: 'quotes' })
    const secret = `SESSIONsecret77-${'x'.repeat(40)}`
    const sent = { headers: [['X-Session-Token', secret] as const], body: '' }
    const paths = [
      ['/key-of-header', '/key-of-header', 404],
      ['/event-of-header/{id}', `/event-of-header/${contextId}`, 409],
      ['/part-of-header', '/part-of-header', 400],
    ] as const
    for (const [urlPath, path, status] of paths) {
      expect((await sendTo(live.url, { ...sent, path: `/api${path}` })).status).toBe(status)
      const delivery = JSON.stringify(await newest(urlPath))
      expect(delivery).toContain('[redacted]')
      expect(delivery).not.toContain(secret.slice(0, 8))
    }
    const lines = live.lines.filter(({ message }) => /^an? (event|webhook) was refused$/.test(message))
    expect(JSON.stringify(lines)).toContain(`doesn't wait for '[redacted]'`)
    expect(JSON.stringify(lines)).not.toContain(secret.slice(0, 8))
  })
})
