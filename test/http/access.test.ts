// What secured services, tokens and roles come to, over real sockets.
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { openLive, raw, tokenOf, type Answer, type Live, type Request, type Tokens } from './live.ts'

const inAnHour = () => Date.now() + 3_600_000
const TOKENS: Tokens = {
  read: 'read',
  invoke: { role: 'invoke', expires: inAnHour() },
  admin: 'admin',
  expired: { role: 'admin', expires: Date.now() - 1 },
}

/** Every call on a context of a service; the last ends it. */
const callsOn = (service: string, id: number): [method: string, path: string, view: boolean, request?: Request][] => [
  ['POST', 'p/execute', false, { body: { fluxName: service } }],
  ['GET', `context?contextId=${id}`, true],
  ['GET', `context/state?contextId=${id}&stateName=open`, true],
  ['GET', `definition?contextId=${id}`, true],
  ['POST', `event?contextId=${id}`, false, { body: { event: 'hold', input: { by: 'x' } } }],
  ['PUT', `context/tag?contextId=${id}&tag=t`, false],
  ['DELETE', `context/tag?contextId=${id}&tag=t`, false],
  ['DELETE', `terminate?contextId=${id}`, false],
]

const start = async (live: Live, token: string, fluxName = 'Secret') =>
  ((await live.call('POST', '/flux-api/p/execute', { body: { fluxName }, token })).json as { contextId: number })
    .contextId
const idsIn = ({ json }: Answer) => (json as { id: number }[]).map(({ id }) => id)

describe('an open server', () => {
  let live: Live
  beforeAll(async () => {
    live = await openLive({}, undefined, TOKENS)
  })
  afterAll(() => live.close())

  test.each(['invoke', 'admin'] as const)('lets the role %s do everything with a secured service', async (role) => {
    for (const [method, path, , request] of callsOn('Secret', await start(live, tokenOf('admin')))) {
      const { status, text } = await live.call(method, `/flux-api/${path}`, { ...request, token: tokenOf(role) })
      expect(status, `${method} ${path} ${text}`).toBe(200)
    }
  })

  test('lets the role read look at a secured service and no more', async () => {
    for (const [method, path, view, request] of callsOn('Secret', await start(live, tokenOf('admin')))) {
      const { status, headers } = await live.call(method, `/flux-api/${path}`, { ...request, token: tokenOf('read') })
      expect(status, `${method} ${path}`).toBe(view ? 200 : 403)
      if (!view) expect(headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope"')
    }
  })

  test('lets nobody without a token near a secured service', async () => {
    const id = await start(live, tokenOf('admin'))
    for (const [method, path, , request] of [
      ...callsOn('Secret', id),
      ['GET', 'definition?fluxName=Secret', true] as const,
    ]) {
      const { status, headers, text } = await live.call(method, `/flux-api/${path}`, request)
      expect(status, `${method} ${path}`).toBe(401)
      expect(headers.get('www-authenticate')).toBe('Bearer')
      expect(text).not.toContain('Secret')
    }
    expect(
      (await live.call('GET', `/flux-api/context?contextId=${id}`, { token: tokenOf('admin') })).json,
    ).toMatchObject({
      status: 'WAITING_UNTIL',
      version: 1,
    })
  })

  test('lets anybody do everything with an open service', async () => {
    for (const [method, path, , request] of callsOn('Waiter', await start(live, tokenOf('admin'), 'Waiter'))) {
      expect((await live.call(method, `/flux-api/${path}`, request)).status, `${method} ${path}`).toBe(200)
    }
  })

  test('lets a reader do with an open service what anybody may', async () => {
    for (const [method, path, , request] of callsOn('Waiter', await start(live, tokenOf('admin'), 'Waiter'))) {
      expect(
        (await live.call(method, `/flux-api/${path}`, { ...request, token: tokenOf('read') })).status,
        `${method} ${path}`,
      ).toBe(200)
    }
  })

  test.each(['expired', 'nobody'] as const)('takes no one with a token that is %s for anonymous', async (which) => {
    for (const [method, path, , request] of callsOn('Waiter', await start(live, tokenOf('admin'), 'Waiter'))) {
      const { status, headers } = await live.call(method, `/flux-api/${path}`, { ...request, token: tokenOf(which) })
      expect(status).toBe(401)
      expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
    }
  })

  test('shows secured contexts in lists to those who may see them', async () => {
    const [hidden, open] = [await start(live, tokenOf('admin')), await start(live, tokenOf('admin'), 'Waiter')]
    const list = async (token?: string) =>
      idsIn(await live.call('GET', '/flux-api/contexts?limit=1000', token === undefined ? {} : { token }))
    expect(await list()).not.toContain(hidden)
    expect(await list()).toContain(open)
    expect(await list(tokenOf('read'))).toEqual(expect.arrayContaining([hidden, open]))
  })

  test('passes secured contexts and services over in broadcasts, unless the sender may move them', async () => {
    const [hidden, open] = [await start(live, tokenOf('admin')), await start(live, tokenOf('admin'), 'Waiter')]
    const moved = async (token?: string) => {
      const { json } = await live.call('POST', '/flux-api/event', {
        body: { event: 'hold', input: { by: 'x' } },
        ...(token === undefined ? {} : { token }),
      })
      return (json as { transitions: { contextId: number }[] }).transitions.map(({ contextId }) => contextId)
    }
    expect(await moved()).not.toContain(hidden)
    expect(await moved(tokenOf('read'))).not.toContain(hidden)
    expect(await moved(tokenOf('invoke'))).toEqual(expect.arrayContaining([hidden, open]))
    const triggered = async (token?: string) =>
      (
        await live.call('POST', '/flux-api/event', {
          body: { event: 'alarm' },
          ...(token === undefined ? {} : { token }),
        })
      ).json as { executions: object[]; ignored: object[] }
    expect(await triggered()).toMatchObject({ executions: [expect.anything()], ignored: [] })
    expect((await triggered(tokenOf('invoke'))).executions).toHaveLength(2)
  })

  test('shows its health and its description to anybody', async () => {
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs', '/flux-api/schema.xsd', '/flux-schema.json'])
      expect((await live.call('GET', path)).status).toBe(200)
  })
})

describe('a server with ACTORFLUX_REQUIRE_AUTH', () => {
  let live: Live
  beforeAll(async () => {
    live = await openLive({ ACTORFLUX_REQUIRE_AUTH: 'true' }, undefined, TOKENS)
  })
  afterAll(() => live.close())

  test('wants a token for every call, with the role that it needs', async () => {
    const calls: [string, string, boolean, Request?][] = [
      ['GET', 'contexts', true],
      ['GET', 'definition?fluxName=Secret', true],
      ['POST', 'event', false, { body: { event: 'nothing' } }],
      ['GET', 'schema.xsd', true],
      ...callsOn('Waiter', await start(live, tokenOf('admin'), 'Waiter')),
    ]
    for (const [method, path, view, request] of calls) {
      const status = async (token?: string) =>
        (await live.call(method, `/flux-api/${path}`, token === undefined ? { ...request } : { ...request, token }))
          .status
      expect(await status(), `${method} ${path}`).toBe(401)
      expect(await status(tokenOf('nobody'))).toBe(401)
      expect(await status(tokenOf('read'))).toBe(view ? 200 : 403)
      expect(await status(tokenOf('invoke'))).toBe(200)
    }
  })

  test('wants one for what is not there, too', async () => {
    for (const [method, path] of [
      ['GET', 'nonsense'],
      ['GET', ''],
      ['POST', 'contexts'],
      ['GET', 'contexts/'],
    ] as const) {
      expect((await live.call(method, `/flux-api/${path}`)).status, path).toBe(401)
      expect((await live.call(method, `/flux-api/${path}`, { token: tokenOf('read') })).status, path).not.toBe(401)
    }
  })

  test('takes one Authorization header only', async () => {
    const answer = await raw(
      live.url,
      [
        'GET /flux-api/contexts HTTP/1.1',
        'Host: localhost',
        'Connection: close',
        `Authorization: Bearer ${tokenOf('admin')}`,
        `Authorization: Bearer ${tokenOf('nobody')}`,
        '',
        '',
      ].join('\r\n'),
    )
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  })

  test('says so before it says what is wrong with the request', async () => {
    expect((await live.call('POST', '/flux-api/event', { body: '{' })).status).toBe(401)
  })

  test('still tells its health to anybody', async () => expect((await live.call('GET', '/readyz')).status).toBe(200))
})

const ask = (live: Live, method: string, path: string, headers: object) =>
  fetch(live.url + path, { method, headers: { ...headers } })

const origin = 'https://shop.example'

describe('a service that is secured while it runs', () => {
  const open = { tags: ['t'], states: [{ name: 'wait', waiting: true, transitions: [{ event: 'go', to: 'wait' }] }] }
  let live: Live

  test.each([
    ['embedded', () => ({})],
    ['Redis', () => ({ ACTORFLUX_REDIS_URL: inject('redisUrl'), ACTORFLUX_NAMESPACE: `securing-${process.pid}` })],
  ])('closes the contexts that it started before, on the store %s', async (_store, env) => {
    live = await openLive(env(), { 'p/S.flux': open }, TOKENS)
    const { contextId } = (await live.call('POST', '/flux-api/p/execute', { body: { fluxName: 'S' } })).json as {
      contextId: number
    }
    expect((await live.call('POST', `/flux-api/event?contextId=${contextId}`, { body: { event: 'go' } })).status).toBe(
      200,
    )
    await live.reload({ 'p/S.flux': { ...open, secured: true } })
    for (const [method, path, body] of [
      ['POST', `event?contextId=${contextId}`, { event: 'go' }],
      ['PUT', `context/tag?contextId=${contextId}&tag=x`],
      ['GET', `context?contextId=${contextId}`],
      ['DELETE', `terminate?contextId=${contextId}`],
    ] as const)
      expect((await live.call(method, `/flux-api/${path}`, body === undefined ? {} : { body })).status, path).toBe(401)
    expect((await live.call('POST', '/flux-api/event', { body: { event: 'go', tags: ['t'] } })).json).toMatchObject({
      transitions: [],
      executions: [],
      ignored: [],
    })
    expect((await live.call('GET', '/flux-api/contexts')).json).toEqual([])
    // What is done to it meanwhile is no secret once it is open again.
    const again = { body: { event: 'go' }, token: tokenOf('invoke') }
    expect((await live.call('POST', `/flux-api/event?contextId=${contextId}`, again)).status).toBe(200)
    await live.reload({ 'p/S.flux': open })
    expect((await live.call('GET', '/flux-api/contexts')).json).toMatchObject([{ id: contextId }])
  })
})

describe('CORS', () => {
  test('is off unless origins are named', async () => {
    const live = await openLive()
    const response = await ask(live, 'GET', '/flux-api/contexts', { origin })
    const preflight = await ask(live, 'OPTIONS', '/flux-api/event', { origin, 'access-control-request-method': 'POST' })
    await live.close()
    expect(
      [...response.headers.keys(), ...preflight.headers.keys()].filter((name) => name.startsWith('access-control')),
    ).toEqual([])
    expect(preflight.status).toBe(405)
  })

  test('lets the pages of an origin that is named call, and read problems', async () => {
    const live = await openLive({ ACTORFLUX_CORS: `${origin},http://localhost:3000`, ACTORFLUX_REQUIRE_AUTH: 'true' })
    const preflight = await ask(live, 'OPTIONS', '/flux-api/event', {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    })
    const refused = await ask(live, 'GET', '/flux-api/contexts', { origin })
    const other = await ask(live, 'GET', '/flux-api/contexts', { origin: 'https://evil.example' })
    const nowhere = await ask(live, 'GET', '/nowhere', { origin })
    await live.close()
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe(origin)
    expect(preflight.headers.get('access-control-allow-headers')?.split(',')).toEqual(
      expect.arrayContaining(['authorization', 'content-type', 'idempotency-key', 'if-match', 'prefer']),
    )
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, origin])
    expect(refused.headers.get('access-control-expose-headers')?.split(',')).toEqual(
      expect.arrayContaining([
        'idempotency-replayed',
        'preference-applied',
        'ratelimit',
        'ratelimit-policy',
        'retry-after',
      ]),
    )
    expect(other.headers.get('access-control-allow-origin')).toBeNull()
    expect(nowhere.status).toBe(404)
  })
})

const answering = (headers: object, httpMethods: string[]) => ({
  webhooks: [{ urlPath: `/${httpMethods.join('')}`, httpMethods }],
  output: [{ name: 'out', type: 'object' }],
  states: [
    {
      name: 'end',
      action: {
        type: 'map',
        lines: [
          { type: 'set', expression: headers, to: ['$response', 'headers'] },
          { from: ['$response'], to: ['out'] },
        ],
      },
    },
  ],
})

describe('CORS at webhooks', () => {
  let live: Live
  beforeAll(async () => {
    live = await openLive(
      { ACTORFLUX_CORS: '*' },
      {
        'p/Own.flux': answering({ 'Access-Control-Allow-Origin': 'https://mine.example' }, ['GET']),
        'p/Options.flux': answering({}, ['OPTIONS', 'POST']),
        'p/Expose.flux': answering({ 'Access-Control-Expose-Headers': 'X-Total' }, ['PUT']),
      },
    )
  })
  afterAll(() => live.close())

  test('lets a page send any header, for it may be an input', async () => {
    const preflight = await ask(live, 'OPTIONS', '/api/OPTIONSPOST', {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-client-ref',
    })
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([204, 'x-client-ref'])
    expect((await ask(live, 'POST', '/api/OPTIONSPOST', { origin })).headers.get('access-control-allow-origin')).toBe(
      '*',
    )
  })

  test('leaves the workflow the last word', async () => {
    expect((await ask(live, 'GET', '/api/GET', { origin })).headers.get('access-control-allow-origin')).toBe(
      'https://mine.example',
    )
    expect((await ask(live, 'OPTIONS', '/api/OPTIONSPOST', {})).status).toBe(200)
    const exposing = await ask(live, 'PUT', '/api/PUT', { origin })
    expect([
      exposing.headers.get('access-control-allow-origin'),
      exposing.headers.get('access-control-expose-headers'),
    ]).toEqual(['*', 'X-Total'])
  })
})

describe('limits that are set', () => {
  test('hold', async () => {
    const live = await openLive({
      ACTORFLUX_MAX_DEPTH: '4',
      ACTORFLUX_MAX_BODY: '1000',
      ACTORFLUX_MAX_TAGS: '2',
      ACTORFLUX_MAX_TAG_BYTES: '5',
    })
    const event = async (more: object, type?: string) =>
      (
        await live.call('POST', '/flux-api/event', {
          body: { event: 'e', ...more },
          ...(type === undefined ? {} : { type }),
        })
      ).status
    const xml = async (body: string) =>
      (await live.call('POST', '/flux-api/event', { body: `<e><event>e</event>${body}</e>`, type: 'text/xml' })).status
    const found = [
      await event({ input: { a: { b: {} } } }),
      await event({ input: { a: { b: { c: {} } } } }),
      await xml('<input><a><b><c>1</c></b></a></input>'),
      await xml('<input><a><b><c><d>1</d></c></b></a></input>'),
      await event({ tags: ['a', 'b'] }),
      await event({ tags: ['a', 'b', 'c'] }),
      await event({ tags: ['fünf'] }),
      await event({ tags: ['sechs!'] }),
      await event({ input: { a: 'x'.repeat(900) } }),
      await event({ input: { a: 'x'.repeat(1000) } }),
    ]
    const { json } = await live.call('POST', '/flux-api/p/execute', {
      body: { fluxName: 'Waiter', input: { tag: 'own' }, tags: ['a'] },
    })
    const { contextId } = json as { contextId: number }
    const third = await live.call('POST', `/flux-api/context/tag?contextId=${contextId}&tag=b`)
    await live.close()
    expect(found).toEqual([200, 400, 200, 400, 200, 422, 200, 422, 200, 413])
    expect(third.status).toBe(422)
  })
})
