// What holds for every scheme and any request: it never throws, what is signed passes, what is forged never does, and
// large requests take time in proportion to their size.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compilePayload } from '../../../src/model/webhook-schemes/hmac.ts'
import {
  WEBHOOK_SCHEME_NAMES,
  type HeaderPair,
  type ReceivedWebhook,
  type VerifyRule,
  type WebhookSchemeName,
} from '../../../src/model/webhook-schemes/scheme.ts'
import { WEBHOOK_SCHEMES } from '../../../src/model/webhook-schemes/schemes.ts'
import { character } from '../../support/character.ts'
import { at, received, signed } from './requests.ts'

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 300)
const SECONDS = 1_700_000_000
const NOW = at(SECONDS)

const payload = compilePayload('${header.x-id}:${timestamp}:${body}')
const PARTS = payload.fault === null ? payload.parts : []
const keyOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`

/** A rule of each scheme, and one with other secrets. */
const RULES: { readonly [name in WebhookSchemeName]: Omit<VerifyRule, 'toleranceS'> } = {
  standard: { secrets: [keyOf(1), keyOf(2), 'whpk_ZlN4eg7dSSqi0moX9hQUk3orrOouK3QVQSlJa248c/g='] },
  github: { secrets: ['a secret of GitHub', 'another'] },
  stripe: { secrets: [keyOf(3)] },
  slack: { secrets: ['a secret of Slack'] },
  shopify: { secrets: ['a secret of Shopify'] },
  gitlab: { secrets: ['a token of GitLab', keyOf(4)] },
  twilio: { secrets: ['a token of Twilio'] },
  hmac: { secrets: ['a secret'], header: 'x-sig', timestampHeader: 'x-time', prefix: 'p=', payload: PARTS },
  basic: { secrets: ['user:a password'] },
  token: { secrets: ['a token that is long'] },
}
const SIGNING = { ...RULES, standard: { secrets: [keyOf(1)] }, gitlab: { secrets: [keyOf(4)] } }
const OTHERS: typeof RULES = { ...RULES, standard: { secrets: [keyOf(5)] }, gitlab: { secrets: [keyOf(6)] } }

const ruleOf = (name: WebhookSchemeName, rules = RULES): VerifyRule => ({ toleranceS: 300, ...rules[name] })

const names = fc.constantFrom(
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'X-Hub-Signature-256',
  'Stripe-Signature',
  'X-Slack-Signature',
  'X-Slack-Request-Timestamp',
  'X-Shopify-Hmac-Sha256',
  'Shopify-Hmac-Sha256',
  'X-Gitlab-Token',
  'X-Twilio-Signature',
  'content-type',
  'x-sig',
  'x-time',
  'x-id',
  'authorization',
)
const anyText = fc.array(character, { maxLength: 40 }).map((characters) => characters.join(''))
const base64 = fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes).toString('base64'))
const hex = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'))
const values = fc.oneof(
  anyText,
  base64,
  fc.integer({ min: SECONDS - 400, max: SECONDS + 400 }).map(String),
  fc
    .array(fc.tuple(fc.constantFrom('v1', 'v1a', 'v2'), base64).map((pair) => pair.join(',')))
    .map((all) => all.join(' ')),
  fc.tuple(fc.constantFrom('sha256=', 'v0=', 'p=', ''), hex).map((pair) => pair.join('')),
  fc.tuple(fc.nat(), hex).map(([time, digest]) => `t=${SECONDS + (time % 300)},v1=${digest}`),
  fc.tuple(fc.constantFrom('Basic', 'bearer'), base64).map((pair) => pair.join(' ')),
  fc.constantFrom('application/x-www-form-urlencoded', 'application/json'),
)
const bodies = fc.oneof(
  fc.uint8Array({ maxLength: 100 }),
  fc.webQueryParameters().map((text) => new TextEncoder().encode(text)),
  fc.json().map((text) => new TextEncoder().encode(text)),
)
const requests: fc.Arbitrary<ReceivedWebhook> = fc.record({
  method: fc.constantFrom('GET', 'POST', 'PUT'),
  target: fc.tuple(fc.constantFrom('/', '/hook?', '/hook?bodySHA256=', '?'), anyText).map((pair) => pair.join('')),
  host: fc.option(fc.oneof(fc.domain(), anyText)),
  headers: fc.array(fc.tuple(fc.oneof({ weight: 9, arbitrary: names }, anyText), values), { maxLength: 12 }),
  body: bodies,
})
const urls = fc.option(fc.oneof(fc.webUrl(), anyText))

describe.each(WEBHOOK_SCHEME_NAMES)('%s', (name) => {
  const scheme = WEBHOOK_SCHEMES[name]

  test('any request is refused, and none throws', () => {
    fc.assert(
      fc.property(requests, urls, urls, (request, publicUrl, url) => {
        const rule = url === null ? ruleOf(name) : { ...ruleOf(name), url }
        expect(scheme.verify(rule, request, at(SECONDS, publicUrl))).toEqual(expect.any(String))
      }),
      { numRuns: RUNS },
    )
  })

  test('any text may be looked at as a secret', () => {
    fc.assert(
      fc.property(anyText, requests, (secret, request) => {
        if (secret.length > 3) expect(scheme.secretFault(secret) ?? '').not.toContain(secret)
        const fault = scheme.verify({ ...ruleOf(name), secrets: [secret] }, { ...request, headers: [] }, NOW)
        expect(fault).toEqual(expect.any(String))
      }),
      { numRuns: RUNS },
    )
  })

  test('what is signed passes; with one bit changed, or another secret, it does not', () => {
    fc.assert(
      fc.property(bodies, fc.nat(), fc.nat(), fc.integer({ min: 0, max: 7 }), (body, at1, at2, bit) => {
        const isForm = name === 'twilio'
        const content = isForm
          ? Buffer.from(new URLSearchParams({ a: Buffer.from(body).toString('hex') }).toString())
          : body
        const bare = received({
          headers: { 'x-id': 'an id', ...(isForm ? { 'content-type': 'application/x-www-form-urlencoded' } : {}) },
          body: content,
        })
        const request = signed(scheme, ruleOf(name, SIGNING), bare, NOW)
        expect(scheme.verify(ruleOf(name), request, NOW)).toBeNull()
        expect(scheme.verify({ ...ruleOf(name, OTHERS), secrets: othersOf(name) }, request, NOW)).not.toBeNull()
        for (const forged of [withOtherHeader(request, at1, bit), withOtherBody(request, at2, bit)]) {
          if (forged !== null && !isSame(name, forged, request))
            expect(scheme.verify(ruleOf(name), forged, NOW)).toEqual(expect.any(String))
        }
      }),
      { numRuns: RUNS },
    )
  })

  test('large headers and bodies take time in proportion to their size', () => {
    const size = 1_000_000
    const headers = [' ', ',', 'v1,', 'v1,AA== ', 't=', '=', 'Basic ', '0', '%', '/', ':'].map((part) =>
      part.repeat(size / 10 / part.length),
    )
    const request = received({ body: '&=%41+'.repeat(size / 6), target: `/?${'bodySHA256=&'.repeat(size / 120)}` })
    const { headers: right } = signed(scheme, ruleOf(name, SIGNING), received({ headers: { 'x-id': 'i' } }), NOW)
    for (const value of headers) {
      for (const hostile of right.map(([header]) => header).filter((header) => header !== 'x-id')) {
        const all: HeaderPair[] = right.map((pair) => (pair[0] === hostile ? [hostile, value] : pair))
        const type: HeaderPair = ['content-type', 'application/x-www-form-urlencoded']
        for (const target of [request.target, '/'])
          expect(scheme.verify(ruleOf(name), { ...request, target, headers: [...all, type] }, NOW)).not.toBeNull()
      }
    }
    const many = Array.from({ length: 50_000 }, (_, index): HeaderPair => [`x-${index}`, ''])
    expect(scheme.verify(ruleOf(name), { ...request, headers: many }, NOW)).not.toBeNull()
  })
})

const othersOf = (name: WebhookSchemeName): string[] =>
  name === 'standard' || name === 'gitlab' ? [...OTHERS[name].secrets] : ['user:another']

/** With one bit of one header changed, but for those that are not signed. */
function withOtherHeader(request: ReceivedWebhook, at: number, bit: number): ReceivedWebhook {
  const index = at % request.headers.length
  const [name, value] = request.headers[index] ?? ['', '']
  const bytes = Buffer.from(value, 'latin1')
  const place = at % bytes.length
  bytes[place] = (bytes[place] ?? 0) ^ (1 << bit)
  return { ...request, headers: request.headers.with(index, [name, bytes.toString('latin1')]) }
}

function withOtherBody(request: ReceivedWebhook, at: number, bit: number): ReceivedWebhook | null {
  if (request.body.length === 0) return null
  const body = Buffer.from(request.body)
  const place = at % body.length
  body[place] = (body[place] ?? 0) ^ (1 << bit)
  return { ...request, body }
}

/** Whether the scheme does not sign what was changed: by its recipe, both requests mean the same. */
function isSame(name: WebhookSchemeName, one: ReceivedWebhook, other: ReceivedWebhook): boolean {
  const proof = ({ headers }: ReceivedWebhook) =>
    headers
      .filter(([header]) => !(header === 'x-id' && name !== 'hmac') && header !== 'content-type')
      // Digits of hexadecimal numbers and names of authentication schemes have no case.
      .map(([header, value]) => [header, name === 'basic' ? value.replace(/^basic/i, 'Basic') : value])
      .map(([header, value]) => [header, name === 'token' ? value?.replace(/^bearer/i, 'Bearer') : value])
      .map(([header, value]) => [header, /=[\da-f]{64}$/i.test(value ?? '') ? lowerDigits(value ?? '') : value])
  const isBodySigned = name !== 'basic' && name !== 'token'
  return (
    JSON.stringify(proof(one)) === JSON.stringify(proof(other)) &&
    (!isBodySigned || Buffer.from(one.body).equals(other.body))
  )
}

const lowerDigits = (value: string): string => value.slice(0, -64) + value.slice(-64).toLowerCase()
