// What browsers see: `/` leads to the inspector, problems as pages, and data as JSON.
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { conflict } from '../../src/model/failure.ts'
import { openLive, raw, type Live } from './live.ts'
import { testApp } from './support.ts'

const CHROME =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7'
const FIREFOX = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const by = (accept: string) => ({ headers: { accept } })
const HTML = 'text/html; charset=utf-8'

/** Runs no script, loads nothing, can't be framed, and is nothing else than a page. */
function expectSafe({ headers }: Response, text: string): void {
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  const policy = headers.get('content-security-policy') ?? ''
  for (const part of ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"])
    expect(policy).toContain(part)
  expect(policy).not.toMatch(/script-src|unsafe/)
  const [, style = ''] = /<style>([^]*?)<\/style>/.exec(text) ?? []
  expect(policy).toContain(`'sha256-${createHash('sha256').update(style).digest('base64')}'`)
  expect(style).toContain('color-scheme: light dark')
  expect(text).not.toMatch(/<script|\son\w+=/i)
  expect(text).toMatch(/^<!doctype html>/)
}

describe('/', () => {
  test.each([CHROME, FIREFOX, 'text/html', 'text/html, application/json;q=0.9'])(
    'leads to the inspector for %s',
    async (accept) => {
      const { status, headers } = await testApp().app.request('http://localhost:8080/', by(accept))
      expect([status, headers.get('location'), headers.get('vary')]).toEqual([302, '/inspector', 'Accept'])
    },
  )

  test.each(['*/*', 'application/json', 'application/xml', 'text/html;q=0.5, */*', 'text/html;q=0, */*', 'text/*'])(
    'is JSON for %s',
    async (accept) => {
      const response = await testApp().app.request('/', by(accept))
      expect([response.status, response.headers.get('content-type'), response.headers.get('vary')]).toEqual([
        200,
        'application/json',
        'Accept',
      ])
      expect(await response.json()).toMatchObject({
        name: 'actorflux',
        version: '9.8.7',
        links: { inspector: '/inspector', docs: '/docs', openapi: '/openapi.json' },
      })
    },
  )

  test('is JSON without Accept, and has no other method', async () => {
    const { app } = testApp()
    expect(await (await app.request('/')).json()).toMatchObject({ name: 'actorflux' })
    expect((await app.request('/', { method: 'POST' })).status).toBe(405)
  })
})

describe('a problem', () => {
  test.each([CHROME, FIREFOX])('is a page for %s, and what was sent is text in it', async (accept) => {
    const { app } = testApp({
      terminate: () => Promise.reject(conflict('<script>alert(1)</script> & "more" \'of it\'')),
    })
    const response = await app.request('/flux-api/terminate?contextId=1', { method: 'DELETE', ...by(accept) })
    const text = await response.text()
    expect([response.status, response.headers.get('content-type')]).toEqual([409, HTML])
    expectSafe(response, text)
    expect(text).toContain('<p>&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;more&quot; &#39;of it&#39;</p>')
    expect(text).toContain('urn:actorflux:problem:conflict')
  })

  test('is one for who takes nothing else, too', async () => {
    const response = await testApp().app.request('/flux-api/contexts', by('text/html'))
    expect([response.status, response.headers.get('content-type')]).toEqual([406, HTML])
  })

  test('names each error, and leads back to the root', async () => {
    const text = await (await testApp().app.request('/flux-api/contexts?%3Cb%3E=1', by(CHROME))).text()
    expect(text).toContain('<dt><code>/&lt;b&gt;</code></dt><dd>is not known</dd>')
    expect([...text.matchAll(/<a href="([^"]+)"/g)].map(([, link]) => link)).toEqual(['../', '../docs'])
    expect(await (await testApp().app.request('/nowhere', by(CHROME))).text()).toContain('<a href="./docs">')
  })

  test('is data for all others', async () => {
    for (const [accept, type] of [
      ['*/*', 'json'],
      ['application/xml', 'xml'],
      ['text/plain', 'json'],
      ['application/xhtml+xml', 'xml'],
    ] as const) {
      expect((await testApp().app.request('/nowhere', by(accept))).headers.get('content-type')).toBe(
        `application/problem+${type}`,
      )
    }
  })
})

describe('data', () => {
  test.each([
    [CHROME, 'application/json'],
    [FIREFOX, 'application/json'],
    ['text/html,application/xml;q=0.9', 'application/xml'],
    ['application/xml', 'application/xml'],
    ['application/xhtml+xml', 'application/xml'],
  ])('for %s is %s', async (accept, type) => {
    expect((await testApp().app.request('/flux-api/contexts', by(accept))).headers.get('content-type')).toBe(type)
  })
})

describe('over a socket', () => {
  let live: Live
  beforeAll(async () => {
    live = await openLive(
      {},
      {
        'p/Hello.flux': {
          webhooks: [{ urlPath: '/hello', httpMethods: ['GET'] }],
          output: [{ name: 'out', type: 'object' }],
          states: [
            {
              name: 'end',
              action: { lines: [{ type: 'set', expression: '({ a: 1 })', evaluate: true, to: ['out'] }] },
            },
          ],
        },
      },
    )
  })
  afterAll(() => live.close())

  test('the root tells name and version', async () => {
    expect((await live.call('GET', '/')).json).toMatchObject({
      name: 'actorflux',
      version: expect.stringMatching(/^\d/),
    })
  })

  test("a webhook's data is JSON for a browser", async () => {
    const { headers, json } = await live.call('GET', '/api/hello', { accept: CHROME })
    expect([headers.get('content-type'), json]).toEqual(['application/json', { a: 1 }])
  })

  test('what does not get as far as the application is told in a page as well', async () => {
    const answer = await raw(
      live.url,
      `GET /x HTTP/1.1\r\nHost: localhost\r\nHost: other\r\nAccept: ${CHROME}\r\nConnection: close\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*content-type: text\/html; charset=utf-8[^]*<!doctype html>/i)
    expect(answer).toMatch(/content-security-policy: default-src 'none'/i)
  })
})
