// Webhooks over real sockets: how they are found, what services get, and what callers are answered.
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { openLive, raw, type Live } from './live.ts'
import { storesOf } from '../support/effort.ts'

const set = (expression: string, ...to: string[]) => ({ type: 'set', expression, evaluate: true, to })
const text = (expression: string, ...to: string[]) => ({ type: 'set', expression, to })
const from = (path: string[], ...to: string[]) => ({ from: path, to })
const hook = (urlPath: string, ...httpMethods: string[]) => ({
  webhooks: [{ urlPath, httpMethods: httpMethods.length > 0 ? httpMethods : ['GET'] }],
})
const ending = (...lines: object[]) => ({ states: [{ name: 'end', action: { type: 'map', lines } }] })
const code = (methodName: string, ...names: string[]) => ({
  type: 'invokeCode',
  className: 'fns',
  methodName,
  inputs: names.map((name) => from([name], name)),
  outputs: [from(['$result'], 'out')],
})
const OUT = { output: [{ name: 'out', type: 'any' }] }

/** Says who was called, and with which inputs. */
const named = (name: string, ...inputs: object[]) => ({ ...OUT, input: inputs, ...ending(text(name, 'out')) })
const answers = (...lines: object[]) => ({ ...OUT, ...ending(...lines, from(['$response'], 'out')) })

const SERVICES = {
  'w/fns.ts': `
import { setTimeout as sleep } from 'node:timers/promises'
export const slow = async () => { await sleep(200); return 'slept' }
export const never = async (_: object, flux: { signal: AbortSignal }) => { await sleep(60_000, undefined, { signal: flux.signal }) }
export const fail = async () => { throw new Error('secret inner reason') }
export const raw = async (_: object, flux: { rawBody: Uint8Array }) => ({ bytes: [...flux.rawBody] })
`,
  // Routes
  'w/Order.flux': { ...named('order', { name: 'id' }), ...hook('/orders/{id}', 'GET', 'put') },
  'w/Special.flux': { ...named('special'), ...hook('/orders/special') },
  'w/Lines.flux': {
    ...OUT,
    input: [{ name: 'id' }, { name: 'line', type: 'integer' }],
    ...ending(set('id + ":" + string(line)', 'out')),
    ...hook('/orders/{id}/lines/{line}'),
  },
  'w/Deep.flux': { ...named('deep'), ...hook('/orders/{id}/special/x') },
  'w/Post.flux': { ...named('posted'), ...hook('/orders/{id}', 'POST') },
  'w/Root.flux': { ...named('root'), ...hook('/') },
  'w/Umlaut.flux': { ...named('umlaut'), ...hook('/gr%C3%BC%C3%9Fe/a b') },
  'w/Off.flux': { ...named('off'), webhooks: [{ urlPath: '/off', httpMethods: ['GET'], enabled: false }] },
  // Inputs
  'w/Inputs.flux': {
    ...OUT,
    input: [
      { name: 'id' },
      { name: 'X-Client-Ref' },
      { name: 'x-client-ref' },
      { name: 'n', type: 'integer' },
      { name: 'list', type: 'integer', array: true },
      { name: 'flag', type: 'boolean' },
      { name: 'when', type: 'date' },
      { name: 'kind', defaultValue: 'usual' },
      { name: '__proto__' },
    ],
    ...ending(set('{ id: id }', 'out')),
    ...hook('/inputs/{id}', 'GET', 'POST'),
  },
  'w/Required.flux': {
    ...OUT,
    input: [{ name: 'must', required: true }],
    ...ending(from(['must'], 'out')),
    ...hook('/required'),
  },
  'w/Request.flux': { ...OUT, ...ending(from(['$request'], 'out')), ...hook('/request/{id}', 'GET', 'POST', 'DELETE') },
  'w/Carried.flux': {
    ...OUT,
    input: [{ name: 'Authorization' }, { name: 'theme' }],
    output: [{ name: 'out', type: 'any' }, { name: 'token' }, { name: 'theme' }],
    states: [
      {
        name: 'first',
        output: [{ name: 'kept', type: 'any' }],
        action: {
          type: 'map',
          lines: [
            from(['$request'], 'kept'),
            from(['$request'], 'out'),
            set('$request.headers.authorization', 'token'),
            set('$request.cookies.theme', 'theme'),
          ],
        },
        transitions: [{ to: 'second', lines: [from(['kept'], 'got')] }],
      },
      { name: 'second', input: [{ name: 'got', type: 'any' }] },
    ],
    ...hook('/carried'),
  },
  'w/Parent.flux': {
    ...OUT,
    states: [
      { name: 'act', action: { type: 'invokeFlux', name: 'Kid', inputs: [from(['$request'], 'req')], outputs: [] } },
    ],
    ...hook('/parent'),
  },
  'w/Kid.flux': { input: [{ name: 'req', type: 'any' }], states: [{ name: 'end' }] },
  'w/Telling.flux': {
    ...OUT,
    states: [
      {
        name: 'log',
        action: {
          type: 'invokeCode',
          className: 'Logger',
          methodName: 'warn',
          inputs: [from(['$request'], 'message'), from(['$request', 'cookies'], 'cookies')],
          outputs: [],
        },
        transitions: [{ to: 'fail' }],
      },
      {
        name: 'fail',
        action: {
          type: 'invokeCode',
          className: 'Errors',
          methodName: 'throwException',
          inputs: [set('`bad ${$request.headers.authorization}`', 'message')],
          outputs: [],
        },
      },
    ],
    ...hook('/telling'),
  },
  'w/Script.flux': {
    ...OUT,
    input: [{ name: 'who' }, { name: 'odd name' }],
    states: [
      {
        name: 'act',
        output: [{ name: 'unset' }],
        action: {
          type: 'script',
          script: 'return [who ?? "nobody", unset, names["odd name"], $response, typeof $request, $triggerFluxEvent]',
          outputs: [from(['$result'], 'out')],
        },
      },
    ],
    ...hook('/script'),
  },
  'w/Delete.flux': {
    ...answers(
      set(
        '[{ name: "sid", value: "", maxAge: -1 }, { name: "far", value: "x", maxAge: 99999999999, path: null }, { name: "date", value: "y", expires: "2099-01-01T00:00:00Z" }]',
        '$response',
        'cookies',
      ),
    ),
    ...hook('/delete'),
  },
  'w/Raw.flux': { ...OUT, states: [{ name: 'act', action: code('raw') }], ...hook('/raw', 'POST') },
  // Answers
  'w/Shaped.flux': {
    ...answers(
      set('201', '$response', 'responseCode'),
      set('[{ name: "X-Order", value: 7 }, { name: "X-Many", value: ["a", "b"] }]', '$response', 'headers'),
      set(
        '[{ name: "sid", value: "a b", path: "/", maxAge: 60, httpOnly: true, secure: true, sameSite: "Lax" }, { name: "plain", value: "1" }]',
        '$response',
        'cookies',
      ),
      set('{ id: 7 }', '$response', 'content'),
    ),
    ...hook('/shaped', 'POST', 'GET'),
  },
  'w/Headers.flux': {
    ...answers(
      set('{ "Content-Type": "text/csv", "X-A": "1", "Content-Length": "999" }', '$response', 'headers'),
      text('a,b', '$response', 'content'),
    ),
    ...hook('/headers'),
  },
  'w/Text.flux': { ...answers(text('hello', '$response', 'content')), ...hook('/text') },
  'w/Empty.flux': {
    ...answers(set('204', '$response', 'responseCode'), text('ignored', '$response', 'content')),
    ...hook('/empty'),
  },
  'w/File.flux': {
    ...answers(text('AAEC/w==', '$response', 'content'), set('true', '$response', 'encoded')),
    ...hook('/file'),
  },
  'w/Lookalike.flux': { ...OUT, ...ending(set('{ responseCode: 201, content: "x" }', 'out')), ...hook('/lookalike') },
  'w/Two.flux': { output: [{ name: 'a' }, { name: 'b', type: 'integer' }], ...ending(text('x', 'a')), ...hook('/two') },
  'w/Nothing.flux': { output: [{ name: 'a', defaultValue: 'default' }], ...ending(), ...hook('/nothing') },
  'w/Null.flux': { ...OUT, ...ending(set('null', 'out')), ...hook('/null') },
  'w/Paused.flux': {
    ...OUT,
    states: [{ name: 'wait', waiting: true, transitions: [{ event: 'go', to: 'end' }] }, { name: 'end' }],
    ...hook('/paused', 'POST'),
  },
  'w/Early.flux': {
    ...OUT,
    states: [
      { name: 'first', action: { type: 'map', lines: [text('early', 'out')] }, transitions: [{ to: 'wait' }] },
      { name: 'wait', waiting: true, transitions: [{ event: 'go', to: 'end' }] },
      { name: 'end' },
    ],
    ...hook('/early', 'POST'),
  },
  'w/Delayed.flux': {
    ...OUT,
    states: [
      {
        name: 'first',
        action: { type: 'map', lines: [text('now', 'out')] },
        transitions: [{ wait: 'duration:600', to: 'end' }],
      },
      { name: 'end' },
    ],
    ...hook('/delayed'),
  },
  'w/Slow.flux': { ...OUT, states: [{ name: 'act', action: code('slow') }], ...hook('/slow') },
  'w/Never.flux': {
    ...OUT,
    states: [{ name: 'act', action: code('never') }],
    webhooks: [{ urlPath: '/never', httpMethods: ['GET'], timeout: 0.2 }],
  },
  'w/Endless.flux': { ...OUT, states: [{ name: 'act', action: code('never') }], ...hook('/endless') },
  'w/Fails.flux': { ...OUT, states: [{ name: 'act', action: code('fail') }], ...hook('/fails') },
  'w/BadCode.flux': { ...answers(set('199', '$response', 'responseCode')), ...hook('/bad/code') },
  'w/BadHeader.flux': { ...answers(set('{ "X-A": "a\\r\\nX-B: b" }', '$response', 'headers')), ...hook('/bad/header') },
  'w/BadName.flux': { ...answers(set('{ "X A": "a" }', '$response', 'headers')), ...hook('/bad/name') },
  'w/Hop.flux': { ...answers(set('{ "Transfer-Encoding": "chunked" }', '$response', 'headers')), ...hook('/bad/hop') },
  'w/BadCookie.flux': {
    ...answers(set('[{ name: "a", value: "b", path: "/; Domain=evil" }]', '$response', 'cookies')),
    ...hook('/bad/cookie'),
  },
}

describe.each(
  storesOf([
    ['embedded', 2000, () => ({})],
    ['Redis', 500, () => ({ ACTORFLUX_REDIS_URL: inject('redisUrl'), ACTORFLUX_NAMESPACE: `hooks-${process.pid}` })],
  ]),
)('on the store %s', (_store, callers, env) => {
  let live: Live
  beforeAll(async () => {
    live = await openLive(env(), SERVICES)
  })
  afterAll(() => live.close())

  const call = (path: string, method = 'GET', init: RequestInit = {}) =>
    fetch(`${live.url}/api${path}`, { method, ...init })
  const said = async (path: string, method = 'GET', init: RequestInit = {}) => {
    const response = await call(path, method, init)
    return [response.status, await response.text()]
  }

  const rawGet = (path: string, ...headers: string[]) =>
    raw(live.url, [`GET ${path} HTTP/1.1`, 'Host: x', 'Connection: close', ...headers, '', ''].join('\r\n'))

  describe('a webhook is found', () => {
    test.each([
      ['/orders/7', 'GET', 'order'],
      ['/orders/7', 'PUT', 'order'],
      ['/orders/7', 'POST', 'posted'],
      ['/orders/special', 'GET', 'special'],
      ['/orders/special', 'POST', 'posted'],
      ['/orders/special/lines/5', 'GET', 'special:5'],
      ['/orders/a%2Fb/lines/5', 'GET', 'a/b:5'],
      ['/orders/%2525/lines/1', 'GET', '%25:1'],
      ['/orders/x/special/x', 'GET', 'deep'],
      ['', 'GET', 'root'],
      ['/', 'GET', 'root'],
      ['/gr%C3%BC%C3%9Fe/a%20b', 'GET', 'umlaut'],
      ['/orders/7?x=1', 'GET', 'order'],
    ])('%s %s', async (path, method, who) => expect(await said(path, method)).toEqual([200, who]))

    test.each([
      ['/nowhere'],
      ['/orders'],
      ['/orders/'],
      ['/orders/7/'],
      ['/ORDERS/7'],
      ['/off'],
      ['/orders/7/lines'],
      ['//orders/7'],
    ])('not: %s', async (path) => {
      const response = await call(path)
      expect(response.status).toBe(404)
      expect(response.headers.get('content-type')).toBe('application/problem+json')
    })

    test.each([
      ['/orders/7', 'DELETE', 'GET, HEAD, POST, PUT'],
      ['/orders/special', 'DELETE', 'GET, HEAD, POST, PUT'],
      ['/raw', 'GET', 'POST'],
      ['/request/1', 'OPTIONS', 'DELETE, GET, HEAD, POST'],
    ])('by other methods: %s %s', async (path, method, allow) => {
      const response = await call(path, method)
      expect([response.status, response.headers.get('allow')]).toEqual([405, allow])
    })

    test.each([
      ['/orders/%37', 'GET', 200],
      ['/orders/%37', 'DELETE', 405],
      ['/orders/%73pecial/lines/%35', 'GET', 200],
      ['/%6Frders/7', 'GET', 200],
      ['/%6Frders/7', 'DELETE', 405],
      ['/orders/%73pecial', 'GET', 200],
      ['/orders/x/s%70ecial/x', 'GET', 200],
      ['/orders/x/special/%78', 'GET', 200],
      ['/gr%C3%BC%C3%9F%65/a%20b', 'GET', 200],
    ])('in spite of escapes that nobody needs: %s %s', async (path, method, status) => {
      const answer = await raw(live.url, `${method} /api${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    })

    test('and its answer is what it says it is', async () => {
      for (const path of ['/text', '/orders/7'])
        expect((await call(path)).headers.get('x-content-type-options')).toBe('nosniff')
    })

    test('HEAD is GET without the body', async () => {
      const response = await call('/text', 'HEAD')
      expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
        200,
        'text/plain; charset=UTF-8',
        '',
      ])
    })

    test('a malformed escape is 400', async () => {
      for (const path of ['/api/orders/%ff', '/api/orders/%', '/api/%zz'])
        expect(await rawGet(path)).toMatch(/^HTTP\/1\.1 400 /)
    })

    test('whatever Authorization says', async () =>
      expect(await said('/orders/7', 'GET', { headers: { authorization: 'Bearer nonsense' } })).toEqual([200, 'order']))
  })

  interface Shown {
    readonly input: { readonly gloopProperties: { readonly name: string; readonly value: unknown }[] }
  }
  /** The inputs of the newest context of a service. */
  async function inputsOf(fluxName: string): Promise<{ readonly [name: string]: unknown }> {
    const list = (await live.call('GET', `/flux-api/contexts?fluxName=${fluxName}&limit=1000&status=COMPLETED`))
      .json as Shown[]
    return Object.fromEntries((list.at(-1)?.input.gloopProperties ?? []).map(({ name, value }) => [name, value]))
  }

  describe('inputs', () => {
    test('come from path, query and header by their exact name, in this order', async () => {
      expect(
        await rawGet(
          '/api/inputs/p?id=q&n=5&list=1&list=2&flag=true&when=2026-01-01&other=x&n=6',
          'X-Client-Ref: upper',
          'id: h',
          'flag: false',
        ),
      ).toMatch(/^HTTP\/1\.1 200 /)
      expect(await inputsOf('Inputs')).toMatchObject({
        id: 'p',
        'X-Client-Ref': 'upper',
        'x-client-ref': null,
        n: 6,
        list: [1, 2],
        flag: true,
        when: Date.UTC(2026, 0, 1),
        kind: 'usual',
      })
      await rawGet('/api/inputs/p?kind=k&list=3&__proto__=own', 'x-client-ref: lower', 'X-CLIENT-REF: shouted')
      const inputs = await inputsOf('Inputs')
      expect(inputs).toMatchObject({ 'X-Client-Ref': null, 'x-client-ref': 'lower', list: [3], kind: 'k', n: null })
      expect(Object.hasOwn(inputs, '__proto__')).toBe(true)
    })

    test.each([['n=x'], ['n='], ['list=1&list=x'], ['flag=maybe'], ['when=never'], ['n=%ff'], ['n=1.5']])(
      "that can't be coerced are 400: %s",
      async (query) => {
        const response = await call(`/inputs/1?${query}`)
        expect(response.status).toBe(400)
      },
    )

    test('a required one that is missing is 400, and says which', async () => {
      const response = await call('/required')
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { type: 'urn:actorflux:problem:malformed-request', errors: [{ pointer: '/input/must' }] },
      ])
      expect(await said('/required?must=x')).toEqual([200, 'x'])
    })
  })

  const asked = async (path: string, method = 'GET', init: RequestInit = {}) =>
    (await (await call(path, method, init)).json()) as { [name: string]: unknown }

  describe('$request', () => {
    test('holds all of the request', async () => {
      const answer = await rawGet(
        '/api/request/5?a=1&a=2&b=%C3%BC&id=q',
        'X-Mixed-Case: Value',
        'Cookie: sid=abc; theme=dark',
        'Authorization: Bearer t',
      )
      expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({
        method: 'GET',
        uri: '/api/request/5?a=1&a=2&b=%C3%BC&id=q',
        parameters: { id: '5', a: ['1', '2'], b: 'ü' },
        cookies: [
          { name: 'sid', value: 'abc' },
          { name: 'theme', value: 'dark' },
        ],
        headers: expect.arrayContaining([
          { name: 'X-Mixed-Case', value: 'Value' },
          { name: 'Authorization', value: 'Bearer t' },
        ]),
        body: null,
        encoded: false,
        config: { timeout: 30 },
      })
    })

    test.each<[string, string, string | Uint8Array, unknown, boolean]>([
      ['JSON', 'application/json; charset=utf-8', '{"a":[1,null]}', { a: [1, null] }, false],
      ['XML', 'application/xml', '<x><a type="number">1</a><b>c</b></x>', { a: 1, b: 'c' }, false],
      [
        'a form',
        'application/x-www-form-urlencoded',
        'a=1&b=x+y&a=2&c=%C3%BC',
        { a: ['1', '2'], b: 'x y', c: 'ü' },
        false,
      ],
      ['text', 'text/plain', 'hello', 'hello', false],
      ['anything else', 'application/octet-stream', Uint8Array.from([0, 255]), 'AP8=', true],
    ])('has a body of %s', async (_, type, body, value, encoded) => {
      const request = await asked('/request/1', 'POST', { body, headers: { 'content-type': type } })
      expect(request['body']).toEqual(value)
      expect([request['encoded'], request['contentType']]).toEqual([encoded, type])
    })

    test('has fields and files of a multipart form', async () => {
      const form = new FormData()
      form.append('name', 'Ada')
      form.append('tag', 'a')
      form.append('tag', 'b')
      form.append('file', new Blob([Uint8Array.from([1, 2, 255])], { type: 'image/png' }), 'p.png')
      expect((await asked('/request/1', 'POST', { body: form }))['body']).toEqual({
        name: 'Ada',
        tag: ['a', 'b'],
        file: {
          filename: 'p.png',
          contentType: 'image/png',
          size: 3,
          content: Buffer.from([1, 2, 255]).toString('base64'),
        },
      })
    })

    test.each([
      ['application/json', '{'],
      ['application/xml', '<a>'],
      ['application/x-www-form-urlencoded', 'a=%ff'],
      ['multipart/form-data', 'x'],
      ['multipart/form-data; boundary=b', '--b\r\nbroken'],
    ])('a malformed body of %s is 400', async (type, body) =>
      expect((await call('/request/1', 'POST', { body, headers: { 'content-type': type } })).status).toBe(400),
    )

    test('is shown with the inputs, and without what lets others in', async () => {
      await call('/request/1', 'GET', {
        headers: {
          authorization: 'Basic c2VjcmV0',
          cookie: 'sid=geheimnis',
          'proxy-authorization': 'x',
          'x-plain': 'seen',
        },
      })
      const { $request } = await inputsOf('Request')
      const shown = JSON.stringify($request)
      expect(shown).toContain('seen')
      expect(shown).toContain('[redacted]')
      expect(shown).not.toMatch(/c2VjcmV0|geheim/)
    })

    test('hides that wherever lines have carried it to, and the workflow sees it', async () => {
      const response = await call('/carried', 'GET', {
        headers: { Authorization: 'Basic c2VjcmV0', cookie: 'sid=geheimnis; theme=dark; long=0123456789abcdef' },
      })
      const { token, theme } = (await response.json()) as { token: string; theme: string }
      expect([token, theme]).toEqual(['Basic c2VjcmV0', 'dark'])
      const [context] = (await live.call('GET', '/flux-api/contexts?fluxName=Carried&status=COMPLETED')).json as {
        id: number
      }[]
      for (const path of [
        `context?contextId=${context?.id}&snapshot=true`,
        `context/state?contextId=${context?.id}&stateName=first`,
        'contexts?fluxName=Carried&status=COMPLETED',
      ]) {
        const { text: shown } = await live.call('GET', `/flux-api/${path}`)
        expect(shown).toContain('[redacted]')
        expect(shown).not.toMatch(/c2VjcmV0|geheim|0123456789abcdef/)
      }
    })

    test('hides it from those who look at children, at errors and at the log', async () => {
      const headers = { Authorization: 'Basic c2VjcmV0IG9mIEFkYQ==', cookie: 'sid=geheimnis' }
      await call('/parent', 'GET', { headers })
      expect((await call('/telling', 'GET', { headers })).status).toBe(500)
      const seen = [
        ...(await Promise.all(
          ['Kid', 'Parent'].map((name) => live.call('GET', `/flux-api/contexts?fluxName=${name}&status=COMPLETED`)),
        )),
        await live.call('GET', '/flux-api/contexts?fluxName=Telling&status=FAILED'),
      ]
      for (const { text: shown, json } of seen) {
        expect(json).not.toEqual([])
        expect(shown).toContain('[redacted]')
        expect(shown).not.toMatch(/c2VjcmV0|geheim/)
      }
      const logged = JSON.stringify(live.lines.filter(({ level }) => level === 'warn'))
      expect(logged).toContain('[redacted]')
      expect(logged).not.toMatch(/c2VjcmV0|geheim/)
    })

    test('its bytes are there for functions', async () => {
      const body = Uint8Array.from([123, 32, 0, 255, 125])
      expect(
        await (await call('/raw', 'POST', { body, headers: { 'content-type': 'application/octet-stream' } })).json(),
      ).toEqual({ bytes: [...body] })
    })
  })

  describe('the answer', () => {
    test('has the code, headers, cookies and content of $response', async () => {
      const response = await call('/shaped', 'POST')
      expect(response.status).toBe(201)
      expect(response.headers.get('x-order')).toBe('7')
      expect(response.headers.get('x-many')).toBe('a, b')
      expect(response.headers.getSetCookie()).toEqual([
        expect.stringMatching(/^sid=a%20b; (?=.*Max-Age=60)(?=.*Path=\/)(?=.*HttpOnly)(?=.*Secure)(?=.*SameSite=Lax)/),
        'plain=1',
      ])
      expect([response.headers.get('content-type'), await response.json()]).toEqual(['application/json', { id: 7 }])
    })

    test('is XML if that is asked for', async () => {
      const response = await call('/shaped', 'GET', { headers: { accept: 'application/xml' } })
      expect([response.status, response.headers.get('content-type')]).toEqual([201, 'application/xml'])
      expect(await response.text()).toContain('<response><id type="number">7</id></response>')
    })
    test("has a header's type", async () => {
      const response = await call('/headers')
      expect([
        response.status,
        response.headers.get('content-type'),
        response.headers.get('x-a'),
        await response.text(),
      ]).toEqual([200, 'text/csv', '1', 'a,b'])
      expect(await rawGet('/api/headers')).toMatch(
        /^HTTP\/1\.1 200 OK\r\n[^]*\r\nContent-Type: text\/csv\r\nX-A: 1\r\n/,
      )
    })
    test('is plain text for text', async () => {
      const response = await call('/text')
      expect([response.headers.get('content-type'), await response.text()]).toEqual([
        'text/plain; charset=UTF-8',
        'hello',
      ])
    })
    test('can delete a cookie, and keep one for long', async () => {
      const cookies = (await call('/delete')).headers.getSetCookie()
      expect(cookies).toEqual([
        expect.stringContaining('; Max-Age=-1'),
        expect.stringContaining('; Max-Age=99999999999'),
        expect.stringContaining('; Expires=Thu, 01 Jan 2099 00:00:00 GMT'),
      ])
    })
    test('may come from a script, to which a name without value is null', async () => {
      expect(await said('/script')).toEqual([200, '["nobody",null,null,null,"object",null]'])
      expect(await said('/script?who=Ada&odd%20name=x')).toEqual([200, '["Ada",null,"x",null,"object",null]'])
    })
    test('has no content with 204', async () => expect(await said('/empty')).toEqual([204, '']))
    test('can be a file', async () => {
      const response = await call('/file')
      expect([response.headers.get('content-type'), [...new Uint8Array(await response.arrayBuffer())]]).toEqual([
        'application/octet-stream',
        [0, 1, 2, 255],
      ])
    })
    test("is a lone output's value", async () => {
      expect(await said('/orders/7')).toEqual([200, 'order'])
      expect(await said('/null')).toEqual([200, 'null'])
    })
    test('is an object of all outputs', async () => expect(await said('/two')).toEqual([200, '{"a":"x","b":null}']))
    test("isn't made by what only looks like $response", async () =>
      expect(await said('/lookalike')).toEqual([200, '{"responseCode":201,"content":"x"}']))
    test('is empty when nothing was mapped', async () => expect(await said('/nothing')).toEqual([204, '']))

    test('costs one commit, and a second one for a function', async () => {
      await call('/orders/7')
      await call('/slow')
      for (const [fluxName, version] of [
        ['Order', 1],
        ['Slow', 2],
      ] as const) {
        const list = (await live.call('GET', `/flux-api/contexts?fluxName=${fluxName}&status=COMPLETED&limit=1000`))
          .json as { version: number }[]
        expect(list.map((context) => context.version)).toEqual(list.map(() => version))
        expect(list.length).toBeGreaterThan(0)
      }
    })

    test('of a context that waits is 202, and tells where it is', async () => {
      const response = await call('/paused', 'POST')
      expect(response.status).toBe(202)
      const { contextId, status } = (await response.json()) as { contextId: number; status: string }
      expect(status).toBe('WAITING')
      expect(response.headers.get('location')).toBe(`/flux-api/context?contextId=${contextId}`)
      expect((await live.call('GET', response.headers.get('location') ?? '')).json).toMatchObject({
        id: contextId,
        currentState: 'wait',
      })
    })

    test('of one that waits and has filled an output is that', async () => {
      expect(await said('/early', 'POST')).toEqual([200, 'early'])
      expect(await said('/delayed')).toEqual([200, 'now'])
    })

    test('of one that fails is 500, and tells nothing of why', async () => {
      const response = await call('/fails')
      const problem = (await response.json()) as { contextId: number }
      expect(response.status).toBe(500)
      expect(problem).toMatchObject({ type: 'urn:actorflux:problem:webhook-failed', contextId: expect.any(Number) })
      expect(JSON.stringify(problem)).not.toContain('secret')
      expect((await live.call('GET', `/flux-api/context?contextId=${problem.contextId}`)).json).toMatchObject({
        status: 'FAILED',
        error: { message: 'secret inner reason' },
      })
    })

    test('of one that takes too long is 504, and it runs on', async () => {
      const response = await call('/never')
      expect(response.status).toBe(504)
      const { contextId } = (await response.json()) as { contextId: number }
      expect((await live.call('GET', `/flux-api/context?contextId=${contextId}`)).json).toMatchObject({
        status: 'RUNNING',
      })
      expect((await live.call('DELETE', `/flux-api/terminate?contextId=${contextId}`)).status).toBe(200)
    })

    test.each([['code'], ['header'], ['name'], ['hop'], ['cookie']])(
      'that HTTP forbids is 500, nothing of it sent, and in the log: %s',
      async (what) => {
        const response = await call(`/bad/${what}`)
        expect(response.status).toBe(500)
        expect(response.headers.get('x-b')).toBeNull()
        expect(response.headers.getSetCookie()).toEqual([])
        expect(await response.json()).toMatchObject({ type: 'urn:actorflux:problem:webhook-failed' })
        // What others were refused may be told of at any time, since such lines are held back for a while.
        expect(live.lines).toContainEqual(
          expect.objectContaining({
            level: 'error',
            fields: expect.objectContaining({ path: `/api/bad/${what}`, reason: expect.any(String) }),
          }),
        )
      },
    )

    test("that nobody waits for any more doesn't stop the context", async () => {
      const before = (
        (await live.call('GET', '/flux-api/contexts?fluxName=Slow&status=COMPLETED&limit=1000')).json as object[]
      ).length
      await expect(call('/slow', 'GET', { signal: AbortSignal.timeout(50) })).rejects.toThrow()
      await vi.waitFor(
        async () => {
          expect(
            (await live.call('GET', '/flux-api/contexts?fluxName=Slow&status=COMPLETED&limit=1000')).json,
          ).toHaveLength(before + 1)
        },
        { timeout: 5000 },
      )
    })
  })

  test('of a server that stops is 504 while there is time, and the context runs on', async () => {
    const other = await openLive(
      { ...env(), ...(Object.keys(env()).length > 0 ? { ACTORFLUX_NAMESPACE: `stop-${process.pid}` } : {}) },
      SERVICES,
    )
    const waiting = fetch(`${other.url}/api/slow`)
    const patient = fetch(`${other.url}/api/endless`)
    // Both are under way.
    await vi.waitFor(
      async () => expect((await other.call('GET', '/flux-api/contexts?status=RUNNING')).json).toHaveLength(2),
      { timeout: 10_000, interval: 10 },
    )
    // The last second is for those that are under way still.
    await other.close(2000)
    expect((await waiting).status).toBe(200)
    const late = await patient
    expect([late.status, await late.json()]).toMatchObject([504, { contextId: expect.any(Number) }])
  })

  const atOnce = Math.ceil(callers * Number(process.env['LOAD'] ?? 1))
  test(`${atOnce} callers at once are all answered rightly`, async () => {
    const found = await Promise.all(Array.from({ length: atOnce }, () => said('/slow')))
    expect(new Set(found.map(String))).toEqual(new Set(['200,slept']))
  }, 60_000)
})
