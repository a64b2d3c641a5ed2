// The door of webhooks over real sockets: who may call, in which order a request is judged, and what is stored of it.
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { HeaderPair, VerifyRule, WebhookSchemeName } from '../../src/model/webhook-schemes/scheme.ts'
import { openLive, type Live } from './live.ts'
import { sendTo, signatureOf, type Sent } from './webhook-client.ts'
import { storesOf } from '../support/effort.ts'

const from = (path: string[], ...to: string[]) => ({ from: path, to })
const OUT = { output: [{ name: 'out', type: 'any' }] }
const echo = (path: string, verify: object, more: object = {}) => ({
  ...OUT,
  webhooks: [{ urlPath: path, httpMethods: ['POST'], verify }],
  states: [{ name: 'end', action: { type: 'map', lines: [from(['$request'], 'out')] } }],
  ...more,
})

const STANDARD = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_dGVzdHRlc3R0ZXN0dGVzdHRlc3R0ZXN0dGVzdHRlc3Q=']
const TEXTS = ['the-first-secret', 'the-second-secret']
const USERS = ['ann:the-first-secret', 'ben:the-second-secret']

interface Case {
  readonly scheme: WebhookSchemeName
  readonly values: readonly string[]
  /** Of `verify`, beside scheme and secrets. */
  readonly verify?: object
  readonly rule?: Partial<VerifyRule>
  /** The header of which a changed character is a forgery. */
  readonly header: string
  /** Whether the body is part of what is proved. */
  readonly signsBody: boolean
  readonly hasTime: boolean
  readonly headers?: readonly HeaderPair[]
  readonly body?: string
}

const signed = { signsBody: true, hasTime: false }
const timed = { signsBody: true, hasTime: true }
const shown = { signsBody: false, hasTime: false }

const CASES: { readonly [name: string]: Case } = {
  standard: { scheme: 'standard', values: STANDARD, header: 'webhook-signature', ...timed },
  github: { scheme: 'github', values: TEXTS, header: 'X-Hub-Signature-256', ...signed },
  stripe: { scheme: 'stripe', values: TEXTS, header: 'Stripe-Signature', ...timed },
  slack: { scheme: 'slack', values: TEXTS, header: 'X-Slack-Signature', ...timed },
  shopify: { scheme: 'shopify', values: TEXTS, header: 'X-Shopify-Hmac-Sha256', ...signed },
  gitlab: { scheme: 'gitlab', values: TEXTS, header: 'X-Gitlab-Token', ...shown },
  gitlabSigned: { scheme: 'gitlab', values: STANDARD, header: 'webhook-signature', ...timed },
  twilio: {
    scheme: 'twilio',
    values: TEXTS,
    header: 'X-Twilio-Signature',
    ...signed,
    headers: [['Content-Type', 'application/x-www-form-urlencoded']],
    body: 'Body=hello&From=%2B123',
  },
  hmac: {
    scheme: 'hmac',
    values: TEXTS,
    verify: { header: 'X-Sig', timestampHeader: 'X-Time', payload: '${timestamp}.${body}', encoding: 'base64' },
    rule: {
      header: 'X-Sig',
      timestampHeader: 'X-Time',
      payload: [{ kind: 'timestamp' }, { kind: 'text', text: '.' }, { kind: 'body' }],
      encoding: 'base64',
    },
    header: 'X-Sig',
    ...timed,
  },
  basic: { scheme: 'basic', values: USERS, header: 'Authorization', ...shown },
  token: { scheme: 'token', values: TEXTS, header: 'Authorization', ...shown },
  ownToken: {
    scheme: 'token',
    values: TEXTS,
    verify: { header: 'X-Own' },
    rule: { header: 'X-Own' },
    header: 'X-Own',
    ...shown,
  },
}
const names = Object.keys(CASES)
const caseOf = (name: string): Case => CASES[name] ?? expect.fail()

const secretsOf = (name: string) => [1, 2].map((index) => `${name.toUpperCase()}${index}`)
const SECRETS = Object.fromEntries(
  Object.entries(CASES).flatMap(([name, { values }]) =>
    secretsOf(name).map((secret, index) => [`ACTORFLUX_SECRET_${secret}`, values[index] ?? '']),
  ),
)
const verifyOf = (name: string) => {
  const { scheme, verify } = caseOf(name)
  return { scheme, secrets: secretsOf(name).map((secret) => `$secrets.${secret}`), ...verify }
}

const SERVICES = {
  ...Object.fromEntries(names.map((name) => [`p/${name}.flux`, echo(`/${name}`, verifyOf(name))])),
  'p/Inputs.flux': {
    output: [{ name: 'given', type: 'any' }],
    input: [{ name: 'X-Own' }, { name: 'x-own' }, { name: 'Cookie' }],
    webhooks: [
      { urlPath: '/inputs', httpMethods: ['POST'], verify: verifyOf('ownToken') },
      { urlPath: '/cookie', httpMethods: ['POST'], verify: { ...verifyOf('ownToken'), header: 'Cookie' } },
    ],
    states: [
      {
        name: 'end',
        action: {
          type: 'map',
          lines: [{ type: 'set', expression: '{ request: $request }', evaluate: true, to: ['given'] }],
        },
      },
    ],
  },
}

const plain = (name: string): Sent => {
  const { headers = [['Content-Type', 'application/json']], body = '{"type":"sale","n":7}' } = caseOf(name)
  return { path: `/api/${name}?a=b`, headers, body }
}

const withHeader = (sent: Sent, name: string, change: (value: string) => string): Sent => ({
  ...sent,
  headers: (sent.headers ?? []).map((pair): HeaderPair => (pair[0] === name ? [name, change(pair[1])] : pair)),
})

const expectNoSecret = (text: string) => {
  for (const value of [...STANDARD, ...TEXTS, ...USERS]) expect(text).not.toContain(value)
}

describe.each(
  storesOf([
    ['embedded', () => ({})],
    ['Redis', () => ({ ACTORFLUX_REDIS_URL: inject('redisUrl'), ACTORFLUX_NAMESPACE: `door-${process.pid}` })],
  ]),
)('on the store %s', (_store, env) => {
  let live: Live
  beforeAll(async () => {
    live = await openLive({ ...env(), ...SECRETS }, SERVICES)
  })
  afterAll(() => live.close())

  const contexts = async (fluxName: string) => {
    const { json } = await live.call('GET', `/flux-api/contexts?fluxName=${fluxName}&status=COMPLETED&limit=1000`)
    return Array.isArray(json) ? json.length : expect.fail()
  }
  /** Signed with that secret of the endpoint, or with another one. */
  const signedBy = (name: string, secret = 0, sent = plain(name), nowMs = Date.now()): Sent => {
    const { scheme, values, rule } = caseOf(name)
    const key = values[secret] ?? expect.fail()
    const proof = signatureOf(scheme, { ...rule, secrets: [key] }, { url: live.url, sent, nowMs })
    return { ...sent, headers: [...(sent.headers ?? []), ...proof] }
  }
  const post = (sent: Sent) => sendTo(live.url, sent)
  test('a proof is looked for among all headers, however many there are', async () => {
    const fill = Array.from({ length: 2100 }, (): HeaderPair => ['a', ''])
    const send = (...proofs: string[]) => {
      const [first, ...others] = proofs.map((value): HeaderPair => ['X-Own', value])
      return post({ path: '/api/ownToken', headers: [...(first ? [first] : []), ...fill, ...others] })
    }
    expect((await send('the-first-secret', 'another')).status).toBe(401)
    expect((await send('the-first-secret', 'the-first-secret')).status).toBe(200)
  })

  describe.each(names)('%s', (name) => {
    test('lets in whoever knows one of the secrets', async () => {
      for (const secret of [0, 1]) {
        const { status, text } = await post(signedBy(name, secret))
        expect([status, text]).toEqual([200, expect.stringContaining('"uri":')])
        expectNoSecret(text)
      }
    })

    test('refuses anybody else: nothing is stored, and nothing is told', async () => {
      const { header, signsBody, hasTime, scheme, values, rule } = caseOf(name)
      expect((await post(signedBy(name))).status).toBe(200)
      const before = await contexts(name)
      expect(before).toBeGreaterThan(0)
      const good = signedBy(name)
      const others = values.map((value) => (value.startsWith('whsec_') ? `whsec_${'A'.repeat(32)}` : `${value}x`))
      const foreign = signatureOf(scheme, { ...rule, secrets: others }, { url: live.url, sent: plain(name) })
      const bad: Sent[] = [
        plain(name),
        { ...plain(name), headers: [...(plain(name).headers ?? []), ...foreign] },
        withHeader(good, header, (value) => value.slice(0, -3)),
        withHeader(
          good,
          header,
          (value) => `${value.slice(0, -2)}${value.at(-2)?.toUpperCase() === 'A' ? 'B' : 'A'}${value.slice(-1)}`,
        ),
        withHeader(good, header, () => ''),
        { ...good, headers: [...(good.headers ?? []), [header.toUpperCase(), 'other']] },
      ]
      if (signsBody) bad.push({ ...good, body: `${String(good.body)} ` }, { ...good, body: '' })
      if (hasTime) for (const s of [-310, 310]) bad.push(signedBy(name, 0, plain(name), Date.now() + s * 1000))
      for (const [index, sent] of bad.entries()) {
        const { status, headers, text } = await post(sent)
        expect([index, status, JSON.parse(text)]).toEqual([
          index,
          401,
          {
            type: 'urn:actorflux:problem:signature-invalid',
            title: expect.any(String),
            status: 401,
            detail: 'the request does not prove who sent it',
            instance: `/api/${name}`,
          },
        ])
        expect(headers['www-authenticate']).toBe(
          name === 'basic' ? 'Basic realm="webhook", charset="UTF-8"' : undefined,
        )
      }
      expect(await contexts(name)).toBe(before)
      expectNoSecret(JSON.stringify(live.lines))
    })

    test('takes a header that comes twice, if it says the same', async () => {
      const { header } = caseOf(name)
      const sent = signedBy(name)
      const again = (sent.headers ?? []).filter(([given]) => given.toLowerCase() === header.toLowerCase())
      const { status } = await post({
        ...sent,
        headers: [...(sent.headers ?? []), ...again.map(([given, value]): HeaderPair => [given.toUpperCase(), value])],
      })
      expect(status).toBe(200)
    })
  })

  describe('the order', () => {
    const malformed: readonly [string, Sent][] = [
      ['JSON that does not end', { path: '/api/github', headers: [['Content-Type', 'application/json']], body: '{' }],
      [
        'an unknown charset',
        { path: '/api/github', headers: [['Content-Type', 'text/plain; charset=klingon']], body: 'x' },
      ],
      [
        'a compressed body',
        {
          path: '/api/github',
          headers: [
            ['Content-Type', 'application/json'],
            ['Content-Encoding', 'gzip'],
          ],
          body: gzipSync('{}'),
        },
      ],
      ['a query with too many parameters', { path: `/api/github?${'a&'.repeat(1100)}`, body: '' }],
      ['an unusable key', { path: '/api/github', headers: [['Idempotency-Key', 'a b']], body: '' }],
    ]
    test.each(malformed)('the sender is judged before %s', async (what, sent) => {
      const before = await contexts('github')
      expect((await post(sent)).status).toBe(401)
      const proof = signatureOf('github', { secrets: TEXTS }, { url: live.url, sent })
      const { status } = await post({ ...sent, headers: [...(sent.headers ?? []), ...proof] })
      const other = what.includes('charset') || what.includes('compressed') ? 415 : 400
      expect(status).toBe(other)
      expect(await contexts('github')).toBe(before)
    })

    test('path, method and size are judged before the sender', async () => {
      expect((await post({ path: '/api/nowhere' })).status).toBe(404)
      expect((await post({ path: '/api/github', method: 'PUT' })).status).toBe(405)
      expect((await post({ path: '/api/github', body: 'x'.repeat(1_100_000) })).status).toBe(413)
    })

    test('problems are XML if Accept asks for that, and HEAD has no body', async () => {
      const { status, headers, text } = await post({ path: '/api/github', headers: [['Accept', 'application/xml']] })
      expect([status, headers['content-type']]).toEqual([401, 'application/problem+xml'])
      expect(text).toContain('<type>urn:actorflux:problem:signature-invalid</type>')
    })
  })

  test('a proof that is a secret itself is seen by nobody', async () => {
    const secret = TEXTS[1] ?? ''
    const { status, text } = await post({
      path: '/api/inputs',
      headers: [
        ['x-OWN', secret],
        ['X-Own', secret],
        ['x-own', secret],
        ['X-Other', 'kept'],
      ],
    })
    expect(status).toBe(200)
    expect(text).not.toContain(secret)
    const { request } = Object(JSON.parse(text)) as { request: { headers: { name: string; value: string }[] } }
    expect(request.headers.filter(({ name }) => /own|other/i.test(name))).toEqual([
      { name: 'x-OWN', value: '[redacted]' },
      { name: 'X-Own', value: '[redacted]' },
      { name: 'x-own', value: '[redacted]' },
      { name: 'X-Other', value: 'kept' },
    ])
    const cookie = await post({ path: '/api/cookie', headers: [['Cookie', secret]] })
    expect(cookie.status).toBe(200)
    const list = await live.call('GET', '/flux-api/contexts?fluxName=Inputs&status=COMPLETED')
    for (const shownText of [cookie.text, list.text, JSON.stringify(live.lines)]) expectNoSecret(shownText)
  })

  describe("Slack's test of a URL", () => {
    const body = JSON.stringify({ type: 'url_verification', challenge: 'hätte<b>', token: 'x' })
    const sent: Sent = { path: '/api/slack', headers: [['Content-Type', 'application/json']], body }

    test('is answered, and starts nothing', async () => {
      const before = await contexts('slack')
      const { status, headers, text } = await post(signedBy('slack', 0, sent))
      expect([status, headers['content-type'], text]).toEqual([200, 'text/plain; charset=utf-8', 'hätte<b>'])
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(await contexts('slack')).toBe(before)
    })

    test('proves its sender as any other request', async () => expect((await post(sent)).status).toBe(401))

    test('is an ordinary request for another scheme', async () => {
      const { status, text } = await post(signedBy('github', 0, { ...sent, path: '/api/github' }))
      expect([status, text]).toEqual([200, expect.stringContaining('"url_verification"')])
    })
  })
})

describe('twilio behind a proxy', () => {
  test('signs the public URL', async () => {
    const publicUrl = 'https://flux.example/'
    const live = await openLive({ ...SECRETS, ACTORFLUX_PUBLIC_URL: publicUrl }, SERVICES)
    const { body = '', headers = [] } = caseOf('twilio')
    const sent: Sent = { path: '/api/twilio?x=%20y', headers, body }
    const proof = (given: string | null) =>
      signatureOf('twilio', { secrets: TEXTS }, { url: live.url, sent, publicUrl: given })
    expect((await sendTo(live.url, { ...sent, headers: [...headers, ...proof(publicUrl)] })).status).toBe(200)
    expect((await sendTo(live.url, { ...sent, headers: [...headers, ...proof(null)] })).status).toBe(401)
  })
})
