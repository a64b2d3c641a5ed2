// `actorflux webhook test` plays each provider against a receiver that is not actorflux, which checks what it gets with
// the scheme's own `verify`.
import { execFile } from 'node:child_process'
import { generateKeyPairSync, hash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/model/json/value.ts'
import {
  WEBHOOK_SCHEME_NAMES,
  type HeaderPair,
  type ReceivedWebhook,
  type WebhookSchemeName,
} from '../../src/model/webhook-schemes/scheme.ts'
import { WEBHOOK_SCHEMES } from '../../src/model/webhook-schemes/schemes.ts'
import { compilePayload } from '../../src/model/webhook-schemes/hmac.ts'
import { END, folderOf } from '../definitions/catalog-files.ts'
import { commandLines } from './world.ts'
import { listening } from '../support/listening.ts'

interface Received extends ReceivedWebhook {
  readonly text: string
}

interface Receiver {
  readonly url: string
  readonly received: readonly Received[]
}

/** Keeps what it gets, and answers with that status and body. */
async function receiver(status = 202, answer = '{"contextId":7}'): Promise<Receiver> {
  const received: Received[] = []
  const listener: RequestListener = (request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { method = '', url: target = '', rawHeaders } = request
      const headers = rawHeaders.flatMap((name, index): HeaderPair[] =>
        index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? '']] : [],
      )
      const body = Buffer.concat(parts)
      received.push({ method, target, host: request.headers.host ?? null, headers, body, text: body.toString() })
      response.writeHead(status, { 'content-type': 'application/json' }).end(answer)
    })
  }
  return { url: `http://127.0.0.1:${await listening(createServer(listener))}`, received }
}

async function webhookTest(args: readonly string[], env: Record<string, string>) {
  const all = { ACTORFLUX_LOG_LEVEL: 'error', ...env }
  const { err, ...told } = await commandLines(['webhook', 'test', ...args], all)
  return { ...told, err: err.join('\n') }
}

const service = (...entries: readonly JsonObject[]) => ({
  ...END,
  webhooks: entries.map((entry) => ({ httpMethods: ['POST'], ...entry })),
})

/** A folder with one service that has these webhooks. */
const servicesOf = (...entries: readonly JsonObject[]) => folderOf({ 'p/Hook.flux': service(...entries) })

const SECRET = 'whsec_c2VjcmV0LW9mLXRoZS10ZXN0LXRoYXQtaXMtbG9uZw=='
const SECRETS: { readonly [name in WebhookSchemeName]?: string } = { basic: 'ada:pass:word', gitlab: 'a-token' }
const HMAC = { header: 'X-Signature', timestampHeader: 'X-Time', payload: '${timestamp}.${header.X-Request}.${body}' }

const verifyOf = (scheme: string, more: JsonObject = {}): JsonObject => ({
  scheme,
  secrets: ['$secrets.KEY'],
  ...(scheme === 'hmac' ? HMAC : {}),
  ...more,
})

/** Why the receiver would refuse the request; null: it would not. */
function refusal(scheme: WebhookSchemeName, secret: string, request: ReceivedWebhook, publicUrl: string | null = null) {
  const compiled = compilePayload(HMAC.payload)
  if (compiled.fault !== null) throw new Error(compiled.fault)
  const own = scheme === 'hmac' ? { ...HMAC, payload: compiled.parts } : {}
  const rule = { secrets: [secret], toleranceS: 300, ...own }
  return WEBHOOK_SCHEMES[scheme].verify(rule, request, { nowMs: Date.now(), publicUrl })
}

const headerOf = ({ headers }: ReceivedWebhook, wanted: string) =>
  headers.filter(([name]) => name.toLowerCase() === wanted.toLowerCase()).map(([, value]) => value)

const base64Of = (base64url = '') => Buffer.from(base64url, 'base64url').toString('base64')

test('what the server answers never controls the terminal', async () => {
  const { url } = await receiver(200, 'one\u001b]0;title\u0007\r\n\ttwo\u001b[2J\u009b\u202e')
  const env = { ACTORFLUX_ACTORS: await servicesOf({ urlPath: '/in' }) }
  const { out } = await webhookTest(['/in', '--url', url], env)
  expect(out).toEqual(['200 OK', 'one\\u001b]0;title\\u0007\n\ttwo\\u001b[2J\\u009b\\u202e'])
})

describe('each scheme', () => {
  test.each(WEBHOOK_SCHEME_NAMES)('%s: the receiver accepts the sample, and another one each time', async (scheme) => {
    const secret = SECRETS[scheme] ?? SECRET
    const { url, received } = await receiver()
    const ACTORFLUX_ACTORS = await servicesOf({ urlPath: '/in', verify: verifyOf(scheme) })
    const env = { ACTORFLUX_ACTORS, ACTORFLUX_SECRET_KEY: secret }
    for (const options of [[], ['--scheme', scheme]]) {
      const { code, out, err } = await webhookTest(['/in', '--url', url, ...options], env)
      expect({ code, out }, err).toEqual({ code: 0, out: ['202 Accepted', '{"contextId":7}'] })
      expect(err).toMatch(new RegExp(`^POST ${url}/api/in, \\d+ bytes, signed by ${scheme} with KEY$`))
      expect(out.join() + err).not.toContain(secret)
    }
    expect(received.map((request) => refusal(scheme, secret, request))).toEqual([null, null])
    expect(received.map((request) => refusal(scheme, `${secret.slice(0, -6)}AAAA==`, request))).not.toContain(null)
    expect(received[0]?.target).toBe('/api/in')
    const [one, other] = received.map(({ text, headers }) => text + headers.join())
    expect(one).not.toBe(other)
  })

  test.each([
    ['github', { 'X-GitHub-Event': 'push' }, { ref: 'refs/heads/main' }],
    ['stripe', {}, { type: 'checkout.session.completed', object: 'event' }],
    ['slack', {}, { type: 'event_callback' }],
    ['shopify', { 'X-Shopify-Topic': 'orders/create' }, { order_number: 4711 }],
    ['gitlab', { 'X-Gitlab-Event': 'Push Hook' }, { object_kind: 'push' }],
    ['standard', {}, { type: 'sample' }],
  ])('%s: the sample is what the provider sends', async (scheme, headers, body) => {
    const { url, received } = await receiver()
    const ACTORFLUX_ACTORS = await servicesOf({ urlPath: '/in', verify: verifyOf(scheme) })
    await webhookTest(['/in'], { ACTORFLUX_ACTORS, ACTORFLUX_URL: url, ACTORFLUX_SECRET_KEY: SECRET })
    const [request] = received
    if (!request) throw new Error('nothing was sent')
    for (const [name, value] of Object.entries(headers)) expect(headerOf(request, name)).toEqual([value])
    expect(headerOf(request, 'content-type')).toEqual(['application/json'])
    expect(JSON.parse(request.text)).toMatchObject(body)
  })

  test('twilio signs the public URL, in which the hash of a body that is no form may be given', async () => {
    const { url, received } = await receiver()
    const folder = await folderOf({
      'p/Hook.flux': service({ urlPath: '/in', verify: verifyOf('twilio') }),
      'body.json': { a: 1 },
    })
    const file = join(folder, 'body.json')
    const ACTORFLUX_PUBLIC_URL = 'https://flux.example/base'
    const env = { ACTORFLUX_ACTORS: folder, ACTORFLUX_SECRET_KEY: 'auth', ACTORFLUX_PUBLIC_URL }
    const path = `/in?a=b&bodySHA256=${hash('sha256', await readFile(file))}`
    const { code } = await webhookTest([path, '--url', url, '--body', file], env)
    const [request] = received
    if (!request) throw new Error('nothing was sent')
    expect([code, refusal('twilio', 'auth', request, ACTORFLUX_PUBLIC_URL)]).toEqual([0, null])
    expect(request.target).toBe(`/api${path}`)
  })

  test('standard and gitlab sign as their secret says', async () => {
    const { url, received } = await receiver()
    const ACTORFLUX_ACTORS = await servicesOf({ urlPath: '/in', verify: verifyOf('gitlab') })
    await webhookTest(['/in', '--url', url], { ACTORFLUX_ACTORS, ACTORFLUX_SECRET_KEY: SECRET })
    expect(received.map((request) => headerOf(request, 'x-gitlab-token'))).toEqual([[]])
    expect(received.map((request) => refusal('gitlab', SECRET, request))).toEqual([null])
  })

  test('a public key needs the private one to sign', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const known = `whpk_${base64Of(publicKey.export({ format: 'jwk' }).x)}`
    const { url, received } = await receiver()
    const ACTORFLUX_ACTORS = await servicesOf({ urlPath: '/in', verify: verifyOf('standard') })
    const env = {
      ACTORFLUX_ACTORS,
      ACTORFLUX_SECRET_KEY: known,
      ACTORFLUX_SECRET_OTHER: `whsk_${base64Of(privateKey.export({ format: 'jwk' }).d)}`,
    }
    const refused = await webhookTest(['/in', '--url', url], env)
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("KEY: can't sign by standard: ")])
    expect((await webhookTest(['/in', '--url', url, '--secret', 'OTHER'], env)).code).toBe(0)
    expect(received.map((request) => refusal('standard', known, request))).toEqual([null])
  })
})

describe('what is sent', () => {
  test('is the file of --body, byte for byte', async () => {
    const { url, received } = await receiver()
    const folder = await servicesOf({ urlPath: '/in', verify: verifyOf('github') })
    const bytes = Buffer.from([0xef, 0xbb, 0xbf, 0x3c, 0x61, 0x2f, 0x3e, 0x0d, 0x0a, 0xff])
    const file = join(folder, 'push.XML')
    await writeFile(file, bytes)
    const env = { ACTORFLUX_ACTORS: folder, ACTORFLUX_SECRET_KEY: 'k' }
    const { code } = await webhookTest(['/in', '--url', url, '--body', file], env)
    const [request] = received
    if (!request) throw new Error('nothing was sent')
    expect([code, refusal('github', 'k', request)]).toEqual([0, null])
    expect(Buffer.compare(Buffer.from(request.body), bytes)).toBe(0)
    expect(headerOf(request, 'content-type')).toEqual(['application/xml'])
  })

  test.each(WEBHOOK_SCHEME_NAMES)('%s: --print sends nothing; what it prints is accepted', async (scheme) => {
    const secret = SECRETS[scheme] ?? SECRET
    const { url, received } = await receiver()
    const ACTORFLUX_ACTORS = await servicesOf({ urlPath: '/in', verify: verifyOf(scheme) })
    const args = ["/in?it's=[1]", '--header', "X-Note: it's ü", '--url', url, '--print']
    const { code, out, err } = await webhookTest(args, { ACTORFLUX_ACTORS, ACTORFLUX_SECRET_KEY: secret })
    expect({ code, err, received }).toEqual({ code: 0, err: '', received: [] })
    const { stdout } = await promisify(execFile)('sh', ['-c', out.join('\n')])
    expect(stdout).toMatch(/^HTTP\/1.1 202 /)
    const [request] = received
    if (!request) throw new Error('nothing was sent')
    expect(refusal(scheme, secret, request)).toBeNull()
    expect(headerOf(request, 'X-Note')).toEqual([Buffer.from("it's ü").toString('latin1')])
    expect([request.method, request.target]).toEqual(['POST', "/api/in?it's=%5B1%5D"])
  })

  test('--print names the file of --body', async () => {
    const { url, received } = await receiver()
    const ACTORFLUX_ACTORS = await servicesOf({ urlPath: '/in', verify: verifyOf('github') })
    const file = join(ACTORFLUX_ACTORS, 'body.xml')
    await writeFile(file, Buffer.from([60, 97, 47, 62, 0xff, 10]))
    const env = { ACTORFLUX_ACTORS, ACTORFLUX_SECRET_KEY: 'k' }
    const { out } = await webhookTest(['/in', '--body', file, '--url', url, '--print'], env)
    await promisify(execFile)('sh', ['-c', out.join('\n')])
    expect(received.map((request) => refusal('github', 'k', request))).toEqual([null])
  })

  test('has the values of --set, and is signed with them', async () => {
    const { url, received } = await receiver()
    const entries = ['stripe', 'twilio', 'shopify'].map((name) => ({ urlPath: `/${name}`, verify: verifyOf(name) }))
    const env = { ACTORFLUX_ACTORS: await servicesOf(...entries), ACTORFLUX_SECRET_KEY: 'k', ACTORFLUX_URL: url }
    const set = (path: string, ...settings: string[]) =>
      webhookTest([path, ...settings.flatMap((setting) => ['--set', setting])], env)
    await set(
      '/stripe',
      'data.object.amount_total=500',
      'data.object.metadata.order=A=1',
      'livemode=null',
      '__proto__=1',
    )
    await set('/twilio', 'Body=500', 'New=a b')
    await set('/shopify', 'line_items.0.sku="7"', 'line_items.1={"sku":"\u202e"}')
    const [stripe, twilio, shopify] = received
    if (!stripe || !twilio || !shopify) throw new Error('not all were sent')
    expect(refusal('stripe', 'k', stripe)).toBeNull()
    const { data, ...event } = JSON.parse(stripe.text)
    expect(data.object).toMatchObject({ amount_total: 500, amount_subtotal: 1000, metadata: { order: 'A=1' } })
    expect([event.livemode, Object.hasOwn(event, '__proto__')]).toEqual([null, true])
    expect(refusal('twilio', 'k', twilio)).toBeNull()
    expect(Object.fromEntries(new URLSearchParams(twilio.text))).toMatchObject({ Body: '500', New: 'a b' })
    expect(JSON.parse(shopify.text).line_items).toMatchObject([{ sku: '7' }, { sku: '\u202e' }])
  })

  test('has the headers of --header, instead of those of the sample, before it is signed', async () => {
    const { url, received } = await receiver()
    const ACTORFLUX_ACTORS = await servicesOf({ urlPath: '/in', verify: verifyOf('hmac') })
    const env = { ACTORFLUX_ACTORS, ACTORFLUX_SECRET_KEY: 'k' }
    const headers = ['content-type: text/plain', 'X-Request: ü 1', 'X-Many: a', 'X-Many: b', 'Host: hook.example']
    const args = ['/in', '--url', url, ...headers.flatMap((header) => ['--header', header])]
    expect((await webhookTest(args, env)).code).toBe(0)
    const [request] = received
    if (!request) throw new Error('nothing was sent')
    expect(refusal('hmac', 'k', request)).toBeNull()
    expect(headerOf(request, 'Content-Type')).toEqual(['text/plain'])
    expect(headerOf(request, 'X-Request')).toEqual([Buffer.from('ü 1').toString('latin1')])
    expect([headerOf(request, 'X-Many'), request.host]).toEqual([['a', 'b'], 'hook.example'])
  })

  test('has a forged signature if --header gives it', async () => {
    const { url, received } = await receiver(401, '{"status":401}')
    const ACTORFLUX_ACTORS = await servicesOf({ urlPath: '/in', verify: verifyOf('github') })
    const forged = ['/in', '--url', url, '--header', `x-hub-signature-256: sha256=${'0'.repeat(64)}`]
    const { code, out, err } = await webhookTest(forged, { ACTORFLUX_ACTORS, ACTORFLUX_SECRET_KEY: 'k' })
    expect([code, out]).toEqual([1, ['401 Unauthorized', '{"status":401}']])
    expect(err).toContain("the server's log says why")
    expect(received.map((request) => headerOf(request, 'X-Hub-Signature-256').length)).toEqual([1])
    expect(received.map((request) => refusal('github', 'k', request))).toEqual(['no signature fits'])
  })

  test.each([
    ['/orders/{id}', '/api/orders/1'],
    ['/orders/42', '/api/orders/42'],
    ['orders/ü%20b?x=ä b&y={z}', '/api/orders/%C3%BC%20b?x=%C3%A4%20b&y=%7Bz%7D'],
    ['/orders/open', '/api/orders/open'],
  ])('goes to the path %s', async (path, target) => {
    const { url, received } = await receiver()
    const ACTORFLUX_ACTORS = await servicesOf({ urlPath: '/orders/{id}' }, { urlPath: '/orders/open' })
    const { code, err } = await webhookTest([path, '--url', `${url}/`], { ACTORFLUX_ACTORS })
    expect([code, received.map((request) => request.target)]).toEqual([0, [target]])
    expect(err).toContain(', not signed')
  })

  test.each([
    [['PUT', 'GET'], [], 'PUT', true],
    [['PUT', 'GET'], ['--method', 'get'], 'GET', false],
    [['GET'], ['--method', 'HEAD'], 'HEAD', false],
    [['GET', 'POST'], [], 'POST', true],
  ] as const)(
    'has a method that the webhook takes: of %j with %j it is %s',
    async (httpMethods, args, method, hasBody) => {
      const { url, received } = await receiver()
      const verify = verifyOf('github')
      const ACTORFLUX_ACTORS = await servicesOf({ urlPath: '/in', httpMethods: [...httpMethods], verify })
      const env = { ACTORFLUX_ACTORS, ACTORFLUX_SECRET_KEY: 'k' }
      expect((await webhookTest(['/in', '--url', url, ...args], env)).code).toBe(0)
      expect(received).toMatchObject([{ method }])
      expect(received.map((request) => refusal('github', 'k', request))).toEqual([null])
      expect(received.map(({ body }) => body.length > 0)).toEqual([hasBody])
    },
  )

  test('goes to ACTORFLUX_URL, with its path, or to host and port', async () => {
    const { url, received } = await receiver()
    const ACTORFLUX_ACTORS = await servicesOf({ urlPath: '/in' })
    await webhookTest(['/in'], { ACTORFLUX_ACTORS, ACTORFLUX_URL: `${url}/base/`, ACTORFLUX_PORT: '1' })
    await webhookTest(['/in'], { ACTORFLUX_ACTORS, ACTORFLUX_HOST: '0.0.0.0', ACTORFLUX_PORT: new URL(url).port })
    expect(received.map(({ target }) => target)).toEqual(['/base/api/in', '/api/in'])
  })
})

describe('the exit code', () => {
  test.each([
    [200, 0],
    [204, 0],
    [302, 1],
    [404, 1],
    [500, 1],
  ])('after the status %i is %i', async (status, code) => {
    const { url } = await receiver(status, '')
    const ACTORFLUX_ACTORS = await servicesOf({ urlPath: '/in' })
    const result = await webhookTest(['/in', '--url', url], { ACTORFLUX_ACTORS })
    expect([result.code, result.out]).toEqual([code, [expect.stringMatching(`^${status} `)]])
  })

  test('is 1 for an unsigned delivery that is refused, whose secret can be no other', async () => {
    const { url } = await receiver(401, '')
    const ACTORFLUX_ACTORS = await servicesOf({ urlPath: '/in' })
    const { code, err } = await webhookTest(['/in', '--url', url], { ACTORFLUX_ACTORS })
    expect([code, err]).toEqual([1, expect.not.stringContaining('same secret')])
  })

  test('is that of the status, however long the answer is, of which a megabyte is shown', async () => {
    const { url } = await receiver(200, 'x'.repeat(3 * 1024 * 1024))
    const ACTORFLUX_ACTORS = await servicesOf({ urlPath: '/in' })
    const { code, out } = await webhookTest(['/in', '--url', url], { ACTORFLUX_ACTORS })
    expect([code, out.map(({ length }) => length)]).toEqual([0, ['200 OK'.length, 1024 * 1024]])
  })

  test('is 1 if nothing answers, which is told in a line', async () => {
    const ACTORFLUX_ACTORS = await servicesOf({ urlPath: '/in' })
    const { code, err } = await webhookTest(['/in', '--url', 'http://127.0.0.1:1'], { ACTORFLUX_ACTORS })
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/\nactorflux: no answer from http:\/\/127\.0\.0\.1:1: .+; is it running\? .+$/),
    ])
  })

  const entries = [
    { urlPath: '/stripe', verify: verifyOf('stripe') },
    { urlPath: '/open' },
    { urlPath: '/rotated', verify: verifyOf('github', { secrets: ['$secrets.NEW', '$secrets.OLD'] }) },
  ]
  test.each([
    [[], '<path> is missing'],
    [['/stripe', 'now'], 'takes no further words'],
    [['/stripe', '--fast'], 'there is no option --fast'],
    [['/open', '--set', 'x'], '--set must be path=value'],
    [['/open', '--set', 'type.x=1'], '--set: the body has no place for x'],
    [['/open', '--set', 'a=1', '--body', '/dev/null'], '--set needs a body that is JSON or a form'],
    [['/strpe'], 'no webhook has the path "/strpe"; did you mean "/stripe"? There are /stripe, /open, /rotated'],
    [['/api/stripe'], 'no webhook has the path "/api/stripe", and /api is left out'],
    [['/stripe', '--method', 'GET'], '/stripe takes POST, not GET'],
    [['/stripe'], 'there is no secret KEY: set ACTORFLUX_SECRET_KEY, or ACTORFLUX_SECRET_KEY_FILE to the file'],
    [['/rotated'], 'there is no secret OLD'],
    [['/stripe', '--secret', 'OTHER'], 'there is no secret OTHER'],
    [['/stripe', '--scheme', 'github'], '/stripe verifies by stripe, not by github'],
    [['/stripe', '--scheme', 'strpe'], '/stripe verifies by stripe, not by strpe'],
    [['/open', '--scheme', 'stripe'], '/open has no verify: it needs --secret, and a --scheme of standard, github, '],
    [['/open', '--scheme', 'hmac', '--secret', 'KEY'], 'but not hmac'],
    [['/open', '--secret', 'KEY'], '/open has no verify: it needs --secret, and a --scheme'],
    [['/open', '--header', 'nothing'], "--header must be 'Name: value', not 'nothing'"],
    [['/open', '--header', 'a b: c'], '--header: '],
    [['/open', '--body', '/nowhere/at/all'], "the file of --body can't be read"],
    [['/open', '--url', 'ftp://x'], '--url must be a URL such as https://flux.example, without user'],
  ])('is 2 for %j', async (args, told) => {
    const { code, out, err } = await webhookTest(args, { ACTORFLUX_ACTORS: await servicesOf(...entries) })
    expect({ code, out, err }).toEqual({ code: 2, out: [], err: expect.stringContaining(told) })
    expect(err).toMatch(/^[^\n]* \(see actorflux webhook --help\)$/)
  })

  test('is 2 for a secret that is set twice, and for a port that is not known', async () => {
    const ACTORFLUX_ACTORS = await servicesOf(...entries)
    const twice = { ACTORFLUX_SECRET_KEY: 'a-value', ACTORFLUX_SECRET_KEY_FILE: '/a/file' }
    expect(await webhookTest(['/stripe'], { ACTORFLUX_ACTORS, ...twice })).toMatchObject({
      code: 2,
      err: expect.stringContaining('the secret KEY is set twice'),
    })
    expect(await webhookTest(['/open'], { ACTORFLUX_ACTORS, ACTORFLUX_PORT: '0' })).toMatchObject({
      code: 2,
      err: expect.stringContaining('name the server by --url'),
    })
  })

  test('is 2 for a webhook of a service with a fault, which is mentioned', async () => {
    const broken = { ...service({ urlPath: '/in' }), startState: 'none' }
    const folder = await folderOf({ 'p/A.flux': broken, 'p/B.flux': service({ urlPath: '/other' }) })
    const { code, err } = await webhookTest(['/in'], { ACTORFLUX_ACTORS: folder })
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/A\.flux:1:\d+ #\/startState: .*\nactorflux: no webhook has the path "\/in"/),
    ])
  })
})

test('one of two secrets is enough, and a webhook without verify is signed with what is named', async () => {
  const { url, received } = await receiver()
  const secrets = ['$secrets.NEW', '$secrets.OLD']
  const ACTORFLUX_ACTORS = await servicesOf(
    { urlPath: '/rotated', verify: verifyOf('github', { secrets }) },
    { urlPath: '/open' },
  )
  const env = { ACTORFLUX_ACTORS, ACTORFLUX_SECRET_OLD: 'old' }
  expect((await webhookTest(['/rotated', '--url', url], env)).code).toBe(0)
  expect((await webhookTest(['/open', '--url', url, '--scheme', 'slack', '--secret', 'OLD'], env)).code).toBe(0)
  const [first, second] = received
  if (!first || !second) throw new Error('nothing was sent')
  expect([refusal('github', 'old', first), refusal('slack', 'old', second)]).toEqual([null, null])
})

test.each([
  [['webhook', '--help'], 0, 'Usage: actorflux webhook <command>'],
  [['webhook', 'test', '--help'], 0, 'Usage: actorflux webhook test <path>'],
  [['webhook', 'test', '/x', '-h'], 0, 'Usage: actorflux webhook test <path>'],
  [['webhook'], 2, 'webhook needs a command: list, deliveries, replay, test'],
  [['webhook', 'tst'], 2, 'there is no command webhook tst'],
])('%j', async (args, code, told) => {
  const { out, err, ...ended } = await commandLines(args)
  expect(ended).toEqual({ code })
  expect([...out, ...err].join('\n')).toContain(told)
})
