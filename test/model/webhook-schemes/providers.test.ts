// The schemes of GitHub, Stripe, Slack, Shopify and GitLab: published vectors where there are any, and what is refused.
import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { githubScheme, shopifyScheme, slackScheme, stripeScheme } from '../../../src/model/webhook-schemes/hmac.ts'
import type { ReceivedWebhook } from '../../../src/model/webhook-schemes/scheme.ts'
import { at, forgeries, GITLAB_SIGNED, otherBodies, received, signed, withSecrets, type Vector } from './requests.ts'

/** docs.github.com, "Validating webhook deliveries", "Testing the webhook payload validation". */
const GITHUB: Vector = {
  scheme: githubScheme,
  secret: "It's a Secret to Everybody",
  request: received({
    headers: { 'X-Hub-Signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17' },
    body: 'Hello, World!',
  }),
  env: at(0),
  names: ['X-Hub-Signature-256'],
}

/**
 * Stripe's documentation has no vector. This is one of its SDK for .NET (github.com/stripe/stripe-dotnet):
 * src/StripeTests/Resources/event_test_signature.json and src/StripeTests/Services/Events/EventUtilityTest.cs.
 * The header there has also v0=63f3a72374a733066c4be69ed7f8e5ac85c22c9f0a6a612ab9a025a9e4ee7eef.
 */
const STRIPE: Vector = {
  scheme: stripeScheme,
  secret: 'webhook_secret',
  request: received({
    headers: {
      'Stripe-Signature': 't=1533204620,v1=2220f87ef101a04665f11cdf770523143f875572008577fa0f20882ddb9cc3c7',
    },
    body: `{
  "id": "evt_123",
  "object": "event",
  "account": "acct_123",
  "api_version": "2017-05-25",
  "created": 1533204620,
  "data": {
    "object": {
      "id": "cus_123",
      "object": "customer",
      "created": 123456789,
      "email": "test@stripe.com",
      "livemode": false,
      "metadata": {}
    }
  },
  "livemode": false,
  "pending_webhooks": 1,
  "request": {
    "id": "req_123",
    "idempotency_key": "idempotency-key-123"
  },
  "type": "customer.created"
}
`,
  }),
  env: at(1533204620),
  names: ['Stripe-Signature'],
}

/** docs.slack.dev, "Verifying requests from Slack". */
const SLACK: Vector = {
  scheme: slackScheme,
  secret: '8f742231b10e8888abcd99yyyzzz85a5',
  request: received({
    headers: {
      'X-Slack-Signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
      'X-Slack-Request-Timestamp': '1531420618',
    },
    body:
      'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V' +
      '&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=' +
      '&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN' +
      '&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
  }),
  env: at(1531420618),
  names: ['X-Slack-Signature', 'X-Slack-Request-Timestamp'],
}

/**
 * Shopify publishes no vector. This one is from:
 * printf %s '{"id":820982911946154508,"email":"jon@doe.ca"}' | openssl dgst -sha256 -hmac hush -binary | base64
 */
const SHOPIFY: Vector = {
  scheme: shopifyScheme,
  secret: 'hush',
  request: received({
    headers: { 'X-Shopify-Hmac-Sha256': 'fp5HwmAHEVGQQwJU1KRpk57Ts2YHF6/TLOCczCtB5bs=' },
    body: '{"id":820982911946154508,"email":"jon@doe.ca"}',
  }),
  env: at(0),
  names: ['X-Shopify-Hmac-Sha256'],
}

const VECTORS = Object.entries({ GITHUB, STRIPE, SLACK, SHOPIFY, GITLAB_SIGNED })

describe.each(VECTORS)('%s', (_, { scheme, secret, request, env, names }) => {
  const verify = (given: ReceivedWebhook, ...secrets: string[]) => scheme.verify(withSecrets(...secrets), given, env)

  test('knows the signature, with any of several secrets', () => {
    expect(verify(request, secret)).toBeNull()
    expect(verify(request, 'whsec_b3RoZXI=', '', secret, 'other')).toBeNull()
  })

  test('gives the signature', () => {
    const bare = { ...request, headers: request.headers.filter(([name]) => name === 'webhook-id') }
    const { headers } = signed(scheme, withSecrets(secret, 'other'), bare, env)
    expect(headers.toSorted()).toEqual(request.headers.toSorted())
  })

  test('refuses another header or body', () => {
    for (const forged of [...forgeries(request, names), ...otherBodies(request)])
      expect(verify(forged, secret)).toEqual(expect.any(String))
  })

  test('refuses another secret, and none', () => {
    for (const other of [`${secret}A`, secret.slice(0, -2), secret.toUpperCase(), ''])
      expect(verify(request, other)).toEqual(expect.any(String))
    expect(verify(request)).toEqual(expect.any(String))
    const empty = { ...request, headers: request.headers.map(([name]) => [name, ''] as const) }
    expect(verify(empty, '')).toEqual(expect.any(String))
    expect(() => scheme.sign(withSecrets(''), request, env)).toThrow('can sign')
  })

  test('checks the time, if messages have one', () => {
    const later = (seconds: number) =>
      scheme.verify(withSecrets(secret), request, { ...env, nowMs: env.nowMs + seconds * 1000 })
    for (const seconds of [300, -300]) expect(later(seconds)).toBeNull()
    const hasTime = scheme.hasTime({})
    expect(later(301)).toBe(hasTime ? 'the message is too old' : null)
    expect(later(-301)).toBe(hasTime ? 'the message is from the future' : null)
  })
})

describe('GitHub', () => {
  test('the header with SHA-1 is no proof', () => {
    // printf 'Hello, World!' | openssl dgst -sha1 -hmac "It's a Secret to Everybody"
    const headers = { 'X-Hub-Signature': 'sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59' }
    const request = received({ headers, body: 'Hello, World!' })
    expect(githubScheme.verify(withSecrets(GITHUB.secret), request, at(0))).toMatch('is missing')
  })

  test('bytes of the body that are no text count', () => {
    const request = received({ body: Buffer.from([0xff, 0, 0x80, 0xfe]) })
    // printf '\377\0\200\376' | openssl dgst -sha256 -hmac key
    const signature = 'sha256=5c197147504bccfcc60f4ec9287ab204480a996bf3617a57369cf4f0541c8ec3'
    expect(githubScheme.sign(withSecrets('key'), request, at(0))).toEqual([['X-Hub-Signature-256', signature]])
  })

  test('an empty secret is none: anyone could sign with it', () => {
    const signature = createHmac('sha256', '').update('Hello, World!').digest('hex')
    const request = received({ headers: { 'X-Hub-Signature-256': `sha256=${signature}` }, body: 'Hello, World!' })
    expect(githubScheme.verify(withSecrets('', GITHUB.secret), request, at(0))).toBe('no signature fits')
  })

  test('digits may be capital', () => {
    const headers = GITHUB.request.headers.map(
      ([name, value]) => [name, `sha256=${value.slice(7).toUpperCase()}`] as const,
    )
    expect(githubScheme.verify(withSecrets(GITHUB.secret), { ...GITHUB.request, headers }, at(0))).toBeNull()
  })
})

describe('Stripe', () => {
  const [, V1 = ''] = STRIPE.request.headers[0] ?? []
  const verify = (header: string, secret = STRIPE.secret) =>
    stripeScheme.verify(withSecrets(secret), { ...STRIPE.request, headers: [['stripe-signature', header]] }, STRIPE.env)

  test('signatures of another version are ignored', () => {
    expect(verify(`${V1},v0=63f3a72374a733066c4be69ed7f8e5ac85c22c9f0a6a612ab9a025a9e4ee7eef`)).toBeNull()
    expect(verify(V1.replace('v1=', 'v0='))).toBe('no signature fits')
  })

  test('any of several signatures may fit, of ten', () => {
    const other = `v1=${'0'.repeat(64)}`
    expect(verify(V1.replace('v1=', `${other},v1=`))).toBeNull()
    expect(verify(`${V1},${other}`)).toBeNull()
    expect(verify(`${V1}${`,${other}`.repeat(9)}`)).toBeNull()
    expect(verify(`${V1}${`,${other}`.repeat(10)}`)).toBe('there are more than 10 signatures')
  })

  test('there must be one time, in decimal', () => {
    expect(verify(`${V1},t=1533204620`)).toBeNull()
    expect(verify(`${V1},t=1533204621`)).toMatch('one time')
    expect(verify(V1.slice('t=1533204620,'.length))).toMatch('one time')
    expect(verify(V1.replace('t=', 't=+'))).toMatch('malformed')
  })

  test('the key is the whole text, with whsec_', () => {
    // printf '1533204620.{}' | openssl dgst -sha256 -hmac whsec_dGVzdA==
    const v1 = '34b27e35591ada21399c7846fc423ce5a70e439fe71710f0a37aa886cc63b030'
    const request = received({ body: '{}' })
    expect(stripeScheme.sign(withSecrets('whsec_dGVzdA=='), request, STRIPE.env)).toEqual([
      ['Stripe-Signature', `t=1533204620,v1=${v1}`],
    ])
  })
})

describe('Slack', () => {
  test('answers url_verification with the challenge', () => {
    // docs.slack.dev, "url_verification event".
    const body = {
      token: 'Jhj5dZrVaK7ZwHHjRyZWjbDl',
      challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P',
      type: 'url_verification',
    }
    expect(slackScheme.handshake?.(body)).toEqual({
      status: 200,
      contentType: 'text/plain; charset=utf-8',
      text: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P',
    })
  })

  test('answers nothing else', () => {
    const others = [
      null,
      'url_verification',
      [],
      {},
      { type: 'url_verification' },
      { type: 'url_verification', challenge: 5 },
      { type: 'event_callback', challenge: 'x' },
      { event: { type: 'url_verification', challenge: 'x' } },
    ]
    for (const body of others) expect(slackScheme.handshake?.(body)).toBeNull()
  })
})

describe('Shopify', () => {
  const [, value = ''] = SHOPIFY.request.headers[0] ?? []
  const verify = (headers: Record<string, string>) =>
    shopifyScheme.verify(withSecrets('hush'), { ...SHOPIFY.request, headers: Object.entries(headers) }, at(0))

  test('has two names for one header', () => {
    expect(verify({ 'Shopify-Hmac-Sha256': value })).toBeNull()
    expect(verify({ 'shopify-hmac-sha256': value, 'x-shopify-hmac-sha256': value })).toBeNull()
    expect(verify({ 'shopify-hmac-sha256': value, 'x-shopify-hmac-sha256': `0${value.slice(1)}` })).toMatch('twice')
  })
})
