// Against browsers as a way in: pages of other origins that send, and names that were made to lead here.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLoopbackAddress } from '../../src/http/request/origin-guard.ts'
import { openLive, raw, type Live } from './live.ts'
import { post, testApp } from './support.ts'

const EVENT = '/flux-api/event'
const HERE = { isLoopback: () => true }
const json = { 'content-type': 'application/json' }

/** Every call that may change something, right but for where it comes from. */
const CHANGES: [method: string, path: string, body?: object][] = [
  ['POST', '/flux-api/shop/execute', { fluxName: 'F' }],
  ['POST', EVENT, { event: 'e' }],
  ['DELETE', '/flux-api/terminate?contextId=1'],
  ['POST', '/flux-api/context/tag?contextId=1&tag=x'],
  ['PUT', '/flux-api/context/tag?contextId=1&tag=x'],
  ['DELETE', '/flux-api/context/tag?contextId=1&tag=x'],
]

const FOREIGN: { readonly [header: string]: string }[] = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'unheard-of' },
  { 'sec-fetch-site': 'cross-site', origin: 'http://localhost' },
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { origin: 'http://localhost:3000' },
  { origin: 'http://localhost.evil.example' },
  { origin: 'ftp://localhost' },
  { origin: 'http://localhost, https://evil.example' },
  { origin: '' },
  { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
  { origin: 'https://evil.example', authorization: 'Bearer x' },
]

describe('a page of another origin', () => {
  test.each(FOREIGN)('changes nothing: %j', async (headers) => {
    for (const [method, path, body] of CHANGES) {
      const { app, calls } = testApp({}, { authenticate: () => ({ roles: ['admin'] }) })
      const response = await app.request(path, {
        ...(body ? { body: JSON.stringify(body) } : {}),
        method,
        headers: { ...json, ...headers },
      })
      expect(response.status, `${method} ${path}`).toBe(403)
      expect(await response.json()).toMatchObject({ type: 'urn:actorflux:problem:cross-origin', status: 403 })
      expect(response.headers.get('www-authenticate')).toBeNull()
      expect(calls).toEqual([])
    }
  })

  test('may do so where its origin is named, or any is', async () => {
    for (const [origins, headers, status] of [
      [['https://shop.example'], { origin: 'https://shop.example', 'sec-fetch-site': 'cross-site' }, 200],
      [['https://shop.example'], { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }, 403],
      [['https://shop.example'], { 'sec-fetch-site': 'cross-site' }, 403],
      [['*'], { origin: 'null', 'sec-fetch-site': 'cross-site' }, 200],
      [['*'], { 'sec-fetch-site': 'same-site' }, 200],
    ] as const) {
      const response = await testApp({}, { origins }).app.request(EVENT, post({ event: 'e' }, { ...json, ...headers }))
      expect([response.status, origins, headers]).toEqual([status, origins, headers])
      const preflight = await testApp({}, { origins }).app.request(EVENT, {
        method: 'OPTIONS',
        headers: { ...headers, 'access-control-request-method': 'POST' },
      })
      const allowed = preflight.headers.get('access-control-allow-origin')
      if ('origin' in headers) expect(allowed === '*' || allowed === headers.origin).toBe(status === 200)
    }
  })

  test('reads only what its browser lets it: no answer says that it may', async () => {
    const response = await testApp().app.request('/flux-api/contexts', {
      headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    })
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  test('sends to webhooks as anybody', async () => {
    const response = await testApp().app.request('/api/x', {
      method: 'POST',
      body: 'x',
      headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    })
    expect(await response.json()).toMatchObject({ status: 404, detail: 'no webhook is at this path' })
  })
})

describe('who is no page of another origin goes on as ever', () => {
  test.each([
    [{}],
    [{ 'sec-fetch-site': 'none' }],
    [{ 'sec-fetch-site': 'same-origin' }],
    [{ origin: 'http://localhost' }],
    [{ origin: 'https://localhost' }],
    [{ origin: 'http://localhost:8080', host: 'localhost:8080' }],
    [{ origin: 'https://flux.example', host: 'flux.example', 'sec-fetch-site': 'same-origin' }],
    [{ origin: 'https://flux.example', host: 'flux.example:443' }],
    [{ origin: 'http://flux.example', host: 'Flux.Example:80' }],
    [{ origin: 'http://[::1]:8080', host: '[::1]:8080' }],
  ])('%j', async (headers: { [name: string]: string }) => {
    for (const [method, path, body] of CHANGES) {
      const response = await testApp().app.request(path, {
        ...(body ? { body: JSON.stringify(body) } : {}),
        method,
        headers: { ...json, ...headers },
      })
      expect(response.status, `${method} ${path}`).toBe(200)
    }
  })

  test.each([
    [{ 'sec-fetch-site': 'same-origin' }],
    [{ origin: 'http://localhost' }],
    [{ 'sec-fetch-site': 'none', 'content-type': '' }],
    [{ origin: 'http://localhost', 'content-type': ' ; charset=utf-8' }],
  ])('but a body without a type is 415 from a page: %j', async (headers: { [name: string]: string }) => {
    const { app, calls } = testApp()
    const body = new TextEncoder().encode('{"event":"e"}')
    const response = await app.request(EVENT, { method: 'POST', body, headers })
    expect(response.status).toBe(415)
    expect(calls).toEqual([])
    expect((await app.request(EVENT, { method: 'POST', body })).status).toBe(200)
  })
})

const SHOWN = [
  '/flux-api/contexts',
  '/flux-api/context?contextId=1',
  '/flux-api/schema.xsd',
  '/flux-api/nowhere',
  '/docs',
  '/docs/start.js',
  '/openapi.json',
  '/flux-schema.json',
  '/nowhere',
]
const to = (host: string) => ({ headers: { host } })

describe('a server on a loopback address', () => {
  test.each([
    'localhost',
    'LOCALHOST:8080',
    'localhost.',
    'flux.localhost:1',
    '127.0.0.1',
    '127.9.8.7:65535',
    '[::1]',
    '[::1]:8080',
  ])('answers to %s', async (host) => {
    const { app } = testApp({}, HERE)
    expect((await app.request('/flux-api/contexts', to(host))).status).toBe(200)
    expect((await app.request('/docs', to(host))).status).toBe(200)
    expect((await app.request(EVENT, post({ event: 'e' }, { ...json, host }))).status).toBe(200)
  })

  test.each([
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evillocalhost',
    '128.0.0.1',
    '10.0.0.1',
    '0.0.0.0:8080',
    '[::]:8080',
    '[2001:db8::1]',
    'a@localhost',
    'localhost/x',
    '',
    ' ',
  ])('answers nothing to "%s"', async (host) => {
    const { app, calls } = testApp({}, HERE)
    for (const path of SHOWN) {
      const response = await app.request(path, to(host))
      expect([path, response.status]).toEqual([path, 421])
      expect(await response.json()).toMatchObject({ type: 'urn:actorflux:problem:misdirected-request', status: 421 })
    }
    for (const [method, path, body] of CHANGES) {
      expect(
        (
          await app.request(path, {
            ...(body ? { body: JSON.stringify(body) } : {}),
            method,
            headers: { ...json, host },
          })
        ).status,
      ).toBe(421)
    }
    expect(calls).toEqual([])
  })

  test('says how it is to webhooks and to whoever looks after it, under any name', async () => {
    const { app } = testApp({}, HERE)
    expect((await app.request('/healthz', to('10.1.2.3:8080'))).status).toBe(200)
    expect((await app.request('/readyz', to('10.1.2.3:8080'))).status).toBe(200)
    expect((await app.request('/api/x', to('tunnel.example'))).status).toBe(404)
  })

  test('answers to more names if told to, whatever their port', async () => {
    const { app } = testApp({}, { ...HERE, allowedHosts: ['flux.example', '[2001:db8::1]'] })
    for (const [host, status] of [
      ['flux.example', 200],
      ['FLUX.example:8443', 200],
      ['[2001:DB8:0::1]:80', 200],
      ['localhost', 200],
      ['x.flux.example', 421],
      ['evil.example', 421],
    ] as const) {
      expect([host, (await app.request('/flux-api/contexts', to(host))).status]).toEqual([host, status])
    }
    expect(
      (await testApp({}, { ...HERE, allowedHosts: ['*'] }).app.request('/flux-api/contexts', to('any.example'))).status,
    ).toBe(200)
  })

  test("promises a page nothing under a name that it doesn't answer to", async () => {
    const { app } = testApp({}, { ...HERE, origins: ['*'] })
    const preflight = (host: string) =>
      app.request(EVENT, {
        method: 'OPTIONS',
        headers: { host, origin: 'http://evil.example', 'access-control-request-method': 'POST' },
      })
    expect([(await preflight('evil.example')).status, (await preflight('localhost')).status]).toEqual([421, 204])
  })
})

test('a server on another address answers to any name, or to those that are named', async () => {
  expect((await testApp().app.request('/flux-api/contexts', to('any.example'))).status).toBe(200)
  const { app } = testApp({}, { allowedHosts: ['flux.example'] })
  expect((await app.request('/flux-api/contexts', to('any.example'))).status).toBe(421)
  expect((await app.request('/flux-api/contexts', to('flux.example'))).status).toBe(200)
  expect((await app.request('/healthz', to('10.1.2.3'))).status).toBe(200)
})

test('loopback addresses are known', () => {
  expect(
    ['127.0.0.1', '127.255.0.3', '::1', '::ffff:127.0.0.1'].filter((address) => !isLoopbackAddress(address)),
  ).toEqual([])
  expect(
    ['0.0.0.0', '::', '10.0.0.1', '128.0.0.1', '::2', '::ffff:10.0.0.1', 'localhost.example', ''].filter(
      isLoopbackAddress,
    ),
  ).toEqual([])
})

describe('over a socket', () => {
  let live: Live
  beforeAll(async () => {
    live = await openLive()
  })
  afterAll(() => live.close())
  const statusOf = async (...lines: string[]) =>
    Number(/^HTTP\/1\.1 (\d+)/.exec(await raw(live.url, [...lines, 'Connection: close', '', ''].join('\r\n')))?.[1])
  const port = () => new URL(live.url).port

  test('the address that the server listens on decides', async () => {
    expect(await statusOf('GET /flux-api/contexts HTTP/1.1', 'Host: evil.example')).toBe(421)
    expect(await statusOf('GET /docs HTTP/1.1', 'Host: evil.example')).toBe(421)
    expect(await statusOf('GET /api/nothing HTTP/1.1', 'Host: evil.example')).toBe(404)
    expect(await statusOf('GET /flux-api/contexts HTTP/1.1', `Host: localhost:${port()}`)).toBe(200)
    expect(await statusOf('GET /flux-api/contexts HTTP/1.0')).toBe(200)
    const open = await openLive({ ACTORFLUX_HOST: '0.0.0.0' })
    const answer = await raw(
      open.url,
      'GET /flux-api/contexts HTTP/1.1\r\nHost: any.example\r\nConnection: close\r\n\r\n',
    )
    await open.close()
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('a target that is a whole URL counts as well', async () => {
    expect(await statusOf('GET http://evil.example/flux-api/contexts HTTP/1.1', 'Host: localhost')).toBe(421)
    expect(await statusOf('GET http://localhost/flux-api/contexts HTTP/1.1', 'Host: evil.example')).toBe(421)
    expect(await statusOf('GET http://localhost/flux-api/contexts HTTP/1.1', 'Host: localhost')).toBe(200)
  })

  test('a page of another origin starts nothing', async () => {
    const send = (...headers: string[]) =>
      statusOf('POST /flux-api/p/execute HTTP/1.1', `Host: localhost:${port()}`, 'Content-Length: 0', ...headers)
    expect(await send('Origin: http://evil.example')).toBe(403)
    expect(await send('Sec-Fetch-Site: cross-site')).toBe(403)
    expect(await send(`Origin: http://localhost:${port()}`, 'Origin: http://evil.example')).toBe(403)
    expect((await live.call('GET', '/flux-api/contexts')).json).toEqual([])
  })
})
