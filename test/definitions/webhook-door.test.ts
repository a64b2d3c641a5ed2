// The keys of an entry of `webhooks`, `onEnd` and `$secrets`: what they compile to, and each fault and warning.
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { recompile } from '../../src/definitions/service.ts'
import type { CompiledFlux } from '../../src/definitions/flux.ts'
import { pinnedText } from '../../src/definitions/pinned/text.ts'
import { END, folderOf, open } from './catalog-files.ts'

type Found = readonly [pointer: string, reason: unknown]

async function check(
  service: unknown,
): Promise<{ faults: Found[]; warnings: Found[]; flux: CompiledFlux | undefined }> {
  const folder = await folderOf({ 'p/S.flux': service })
  const { report, catalog } = await open(folder)
  const of = (wanted: string) =>
    report
      .filter(({ file, severity }) => file === join(folder, 'p/S.flux') && severity === wanted)
      .map(({ pointer, reason }): Found => [pointer, reason])
  return { faults: of('fault'), warnings: of('warning'), flux: catalog.find('p', 'S') }
}

const hook = (keys: object) => ({ ...END, webhooks: [{ urlPath: '/h', httpMethods: ['POST'], ...keys }] })
const SECRETS = ['$secrets.KEY']
const verify = (keys: object) => hook({ verify: { scheme: 'github', secrets: SECRETS, ...keys } })
const hmac = (keys: object) => verify({ scheme: 'hmac', header: 'X-Sig', ...keys })
const send = (keys: object) => hook({ send: { event: "'paid'", ...keys } })
const call = (...inputs: unknown[]) => ({
  input: [{ name: 'user' }],
  states: [{ name: 'end', action: { type: 'invokeCode', className: 'Logger', methodName: 'info', inputs } }],
})
const set = (expression: string, ...to: string[]) => ({ type: 'set', expression, evaluate: true, to })

describe('an entry', () => {
  test('without new keys is open, and answers with what the workflow answers', async () => {
    const { flux } = await check(hook({}))
    expect(flux?.webhooks).toEqual([
      expect.objectContaining({ verify: null, dedupe: null, when: null, send: null, answer: 'workflow' }),
    ])
  })

  test('with all of them', async () => {
    const { flux, faults, warnings } = await check(
      hook({
        verify: { scheme: 'stripe', secrets: ['$secrets.STRIPE_SIGNING', '$secrets.OLD'], tolerance: 60 },
        dedupe: { key: '$request.body.id', keep: '36h' },
        when: "$request.body.type == 'checkout.session.completed'",
        send: { event: "'paid'", key: '$request.body.ref', input: '{ amount: $request.body.amount }', orStart: true },
      }),
    )
    expect([faults, warnings]).toEqual([[], []])
    const [webhook] = flux?.webhooks ?? []
    expect(webhook).toMatchObject({
      verify: { scheme: 'stripe', secrets: ['STRIPE_SIGNING', 'OLD'], rule: { toleranceS: 60 } },
      dedupe: { key: { source: '$request.body.id' }, keepMs: 36 * 3_600_000 },
      when: { source: "$request.body.type == 'checkout.session.completed'" },
      send: { event: { source: "'paid'" }, key: { source: '$request.body.ref' }, tags: null, orStart: 'self' },
      answer: 'workflow',
    })
    expect(flux?.source).toHaveProperty('webhooks.0.verify.secrets', ['$secrets.STRIPE_SIGNING', '$secrets.OLD'])
  })

  test('of the scheme hmac', async () => {
    const { flux, warnings } = await check(
      hmac({
        algorithm: 'sha512',
        encoding: 'base64',
        prefix: 'v0=',
        payload: '${timestamp}.${header.X-Id}\n${body}',
        timestampHeader: 'X-Time',
        tolerance: 5,
      }),
    )
    expect(warnings).toEqual([])
    expect(flux?.webhooks[0]?.verify?.rule).toEqual({
      toleranceS: 5,
      header: 'X-Sig',
      algorithm: 'sha512',
      encoding: 'base64',
      prefix: 'v0=',
      timestampHeader: 'X-Time',
      payload: [
        { kind: 'timestamp' },
        { kind: 'text', text: '.' },
        { kind: 'header', name: 'X-Id' },
        { kind: 'text', text: '\n' },
        { kind: 'body' },
      ],
    })
  })

  test.each([
    [undefined, 7 * 86_400],
    [90, 90],
    ['90s', 90],
    ['15m', 900],
    ['1h', 3600],
    ['7d', 7 * 86_400],
  ])('keeps what it took for %s', async (keep, seconds) => {
    const { flux } = await check(hook({ dedupe: { key: '$request.body', keep } }))
    expect(flux?.webhooks[0]?.dedupe?.keepMs).toBe(seconds * 1000)
  })

  test('a key of another scheme that is null is not given', async () => {
    const verify = { scheme: 'github', secrets: ['$secrets.A'], header: null, url: null, tolerance: null }
    expect((await check(hook({ verify }))).faults).toEqual([])
  })

  test.each([false, null])('orStart: %s starts nothing', async (orStart) => {
    const { flux, faults } = await check(send({ key: '$request.body.id', orStart }))
    expect(faults).toEqual([])
    expect(flux?.webhooks[0]?.send?.orStart).toBeNull()
  })

  test('starts another service under the key that is missing', async () => {
    const orStart = { fluxName: 'T', package: 'q', input: '{ id: $request.body.id }', tags: '[$request.body.id]' }
    const { flux, faults } = await check(send({ key: '$request.body.id', orStart }))
    expect(faults).toEqual([])
    expect(flux?.webhooks[0]?.send?.orStart).toMatchObject({
      package: 'q',
      fluxName: 'T',
      input: { source: orStart.input },
      tags: { source: orStart.tags },
    })
  })
})

const near = (key: string, known: string) =>
  expect.stringContaining(`unknown key "${key}"; did you mean "${known}"? There are `)
const parsed = expect.stringContaining("can't be parsed")

describe('a fault', () => {
  const at = '/webhooks/0'
  const keep = [`${at}/dedupe/keep`, expect.stringContaining('must be 1 second to 365 days')] as const
  test.each<[string, unknown, ...Found[]]>([
    ['a misspelt key', hook({ verfy: {} }), [`${at}/verfy`, near('verfy', 'verify')]],
    ['a misspelt key of verify', verify({ tolerence: 1 }), [`${at}/verify/tolerence`, near('tolerence', 'tolerance')]],
    ['an unknown key of verify', verify({ x: 1 }), [`${at}/verify/x`, expect.stringContaining('unknown key "x"')]],
    [
      'a misspelt key of dedupe',
      hook({ dedupe: { key: '1', keeep: 1 } }),
      [`${at}/dedupe/keeep`, near('keeep', 'keep')],
    ],
    ['an unknown key of send', send({ contextid: '1' }), [`${at}/send/contextid`, near('contextid', 'contextId')]],
    [
      'an unknown key of orStart',
      send({ key: '1', orStart: { name: 'x' } }),
      [`${at}/send/orStart/name`, expect.stringContaining('unknown key "name"')],
    ],
    [
      'an unknown key of onEnd',
      { ...END, onEnd: { url: 'https://x.example', secrt: 1, secret: SECRETS[0] } },
      ['/onEnd/secrt', near('secrt', 'secret')],
    ],
    ['verify that is null', hook({ verify: null }), [`${at}/verify`, 'must be an object']],
    ['verify that is text', hook({ verify: 'github' }), [`${at}/verify`, 'must be an object']],
    ['no scheme', hook({ verify: { secrets: SECRETS } }), [`${at}/verify/scheme`, 'there is no scheme']],
    [
      'an unknown scheme',
      verify({ scheme: 'strip' }),
      [
        `${at}/verify/scheme`,
        expect.stringMatching(/^unknown scheme "strip"; did you mean "stripe"\? There are standard, .*token$/),
      ],
    ],
    ['no secrets', verify({ secrets: undefined }), [`${at}/verify/secrets`, 'there are no secrets']],
    ['an empty list of secrets', verify({ secrets: [] }), [`${at}/verify/secrets`, 'there are no secrets']],
    ['a lone secret', verify({ secrets: SECRETS[0] }), [`${at}/verify/secrets`, 'must be a list of "$secrets.NAME"']],
    [
      'a name of a secret that is none',
      verify({ secrets: ['$secrets.key'] }),
      [`${at}/verify/secrets/0`, '"key" is no name of a secret: it is made of capital letters, digits and _'],
    ],
    [
      'a name of a secret that ends in _FILE',
      verify({ secrets: ['$secrets.KEY_FILE'] }),
      [`${at}/verify/secrets/0`, '"KEY_FILE" is no name of a secret: none ends in _FILE'],
    ],
    [
      'hmac without header',
      hmac({ header: undefined }),
      [`${at}/verify/header`, expect.stringMatching(/^there is no header/)],
    ],
    ['a header that is none', hmac({ header: 'X Sig' }), [`${at}/verify/header`, '"X Sig" is no name of a header']],
    [
      'an unknown algorithm',
      hmac({ algorithm: 'md5' }),
      [`${at}/verify/algorithm`, 'unknown algorithm "md5"; there are sha1, sha256, sha384, sha512'],
    ],
    [
      'an unknown encoding',
      hmac({ encoding: 'base46' }),
      [`${at}/verify/encoding`, 'unknown encoding "base46"; did you mean "base64"? There are hex, base64, base64url'],
    ],
    [
      '${timestamp} without its header',
      hmac({ payload: '${timestamp}${body}' }),
      [`${at}/verify/payload`, expect.stringMatching(/^there is no timestampHeader/)],
    ],
    [
      'a payload that is none',
      hmac({ payload: '${bdy}' }),
      [`${at}/verify/payload`, expect.stringContaining('${bdy}')],
    ],
    [
      'tolerance without a time',
      verify({ tolerance: 5 }),
      [`${at}/verify/tolerance`, 'the scheme "github" has no time that could be checked'],
    ],
    [
      'tolerance of hmac without a time',
      hmac({ tolerance: 5 }),
      [`${at}/verify/tolerance`, 'needs timestampHeader: without it no time is checked'],
    ],
    [
      'no tolerance at all',
      verify({ scheme: 'stripe', tolerance: 0 }),
      [`${at}/verify/tolerance`, 'must be at least 1'],
    ],
    [
      'a tolerance that is no whole number',
      verify({ scheme: 'stripe', tolerance: 1.5 }),
      [`${at}/verify/tolerance`, 'must be a whole number'],
    ],
    ['a key of another scheme', verify({ prefix: 'x' }), [`${at}/verify/prefix`, 'the scheme "github" has no prefix']],
    [
      'a URL that is none',
      verify({ scheme: 'twilio', url: 'https://x.example/?a' }),
      [`${at}/verify/url`, expect.stringMatching(/^must be the URL/)],
    ],
    ['dedupe without key', hook({ dedupe: {} }), [`${at}/dedupe/key`, 'there is no key']],
    ['keep of nothing', hook({ dedupe: { key: '$request.body', keep: 0 } }), keep],
    ['keep of an unknown unit', hook({ dedupe: { key: '$request.body', keep: '1w' } }), keep],
    ['keep that is no duration', hook({ dedupe: { key: '$request.body', keep: {} } }), keep],
    ['keep for ever', hook({ dedupe: { key: '$request.body', keep: '9999d' } }), keep],
    ['a bad expression', hook({ when: '1 +' }), [`${at}/when`, parsed]],
    [
      'an expression that is no text',
      hook({ when: true }),
      [`${at}/when`, 'must be text: an expression over $request'],
    ],
    [
      'an input in an expression',
      { ...hook({ when: 'user == 1' }), input: [{ name: 'user' }] },
      [`${at}/when`, 'only $request is visible here, and not user'],
    ],
    [
      'a misspelt $request',
      hook({ dedupe: { key: '$requst.body.id' } }),
      [`${at}/dedupe/key`, "only $request is visible here, and not $requst; did you mean '$request'?"],
    ],
    ['$fluxContextId', hook({ when: '$fluxContextId' }), [`${at}/when`, expect.stringMatching(/^only \$request/)]],
    [
      'a secret in an expression',
      hook({ when: '$secrets.KEY' }),
      [`${at}/when`, expect.stringMatching(/^\$secrets is visible only/)],
    ],
    ['send without event', hook({ send: { key: '1' } }), [`${at}/send/event`, 'there is no event']],
    [
      'send to two',
      send({ contextId: '1', tags: "['a']" }),
      [`${at}/send/tags`, "contextId and tags can't stand together: the event is for one of them"],
    ],
    ['orStart without key', send({ orStart: true }), [`${at}/send/orStart`, expect.stringMatching(/^needs a key/)]],
    ['orStart that is text', send({ key: '1', orStart: 'S' }), [`${at}/send/orStart`, 'must be true, or an object']],
    [
      'a key of another service than orStart starts',
      send({ key: '1', fluxName: 'A', orStart: { fluxName: 'B' } }),
      [`${at}/send/fluxName`, 'must be "B", or be left out: orStart starts what has the key'],
    ],
    [
      'a key of another service, and orStart of this one',
      send({ key: '1', fluxName: 'A', package: 'q', orStart: true }),
      [`${at}/send/fluxName`, 'must be "S", or be left out: orStart starts what has the key'],
      [`${at}/send/package`, 'must be "p", or be left out: orStart starts what has the key'],
    ],
    [
      'a bad expression of orStart',
      send({ key: '1', orStart: { input: 'x' } }),
      [`${at}/send/orStart/input`, expect.stringMatching(/^only/)],
    ],
    [
      'an unknown answer',
      hook({ answer: 'acepted' }),
      [`${at}/answer`, 'unknown answer "acepted"; did you mean "accepted"? There are workflow, accepted'],
    ],
    ['an answer that is no text', hook({ answer: true }), [`${at}/answer`, 'must be text']],
    ['onEnd without secret', { ...END, onEnd: { url: 'https://x.example' } }, ['/onEnd/secret', 'there is no secret']],
    ['onEnd without url', { ...END, onEnd: { secret: SECRETS[0] } }, ['/onEnd/url', 'there is no url']],
    [
      'onEnd to no URL',
      { ...END, onEnd: { url: 'x', secret: SECRETS[0] } },
      ['/onEnd/url', expect.stringMatching(/^must be a URL/)],
    ],
    [
      'onEnd over what is no input',
      { ...END, onEnd: { url: 'https://${host}/', secret: SECRETS[0] } },
      ['/onEnd/url', 'not visible anywhere: host'],
    ],
    [
      'a secret in the URL of onEnd',
      { ...END, onEnd: { url: 'https://x.example/${$secrets.KEY}', secret: SECRETS[0] } },
      ['/onEnd/url', expect.stringMatching(/^\$secrets is visible only/)],
    ],
  ])('%s', async (_, service, ...expected) => {
    const { faults, flux } = await check(service)
    expect(faults).toEqual(expected)
    expect(flux).toBeUndefined()
  })

  test.each<[string, unknown, string]>([
    ['in secrets', verify({ secrets: ['whsec_c2VjcmV0'] }), '/webhooks/0/verify/secrets/0'],
    ['around a reference', verify({ secrets: ['Bearer $secrets.KEY'] }), '/webhooks/0/verify/secrets/0'],
    ['in onEnd', { ...END, onEnd: { url: 'https://x.example', secret: 'whsec_c2VjcmV0' } }, '/onEnd/secret'],
  ])('a literal %s, which the message does not repeat', async (_, service, pointer) => {
    expect((await check(service)).faults).toEqual([
      [pointer, 'must be "$secrets.NAME": a secret itself would be shown with the definition'],
    ])
  })
})

describe('a warning', () => {
  test.each<[string, unknown, ...Found[]]>([
    [
      'an unknown key of an entry',
      hook({ hint: 1 }),
      ['/webhooks/0/hint', expect.stringContaining('unknown key "hint"')],
    ],
    [
      'answer beside send',
      hook({ send: { event: "'e'" }, answer: 'accepted' }),
      ['/webhooks/0/answer', expect.stringMatching(/^has no effect beside send/)],
    ],
    [
      'fluxName without key',
      send({ fluxName: 'T' }),
      ['/webhooks/0/send', 'fluxName and package have no effect without a key'],
    ],
    [
      'a signature without the body',
      hmac({ payload: '${header.X-Id}' }),
      ['/webhooks/0/verify/payload', expect.stringContaining('does not protect the body')],
    ],
    [
      '$secrets as plain text',
      call({ type: 'set', expression: '$secrets.KEY', to: ['message'] }),
      ['/states/0/action/inputs/0/expression', expect.stringContaining('plain text')],
    ],
  ])('%s', async (_, service, ...expected) => {
    const { faults, warnings } = await check(service)
    expect(faults).toEqual([])
    expect(warnings).toEqual(expected)
  })
})

describe('$secrets in the inputs of a function', () => {
  test.each([
    [call(set('$secrets.KEY', 'a'))],
    [call({ from: ['$secrets', 'KEY'], to: ['a'] })],
    [call(set('`Bearer ${$secrets.KEY}`', 'headers', 'Authorization'))],
    [call(set("'Bearer ' + $secrets.KEY", 'a'))],
    [call(set("{ headers: { 'X-Key': $secrets['KEY'] }, list: [user, $secrets.KEY] }", 'a'))],
    [call(set("user == 'x' ? $secrets.KEY : user", 'a'))],
    [call(set('$secrets.KEY', 'a'), { from: ['a'], to: ['b'] }, set('{ b, a }', 'c'))],
  ])('is passed on: %j', async (service) => {
    const { faults, flux } = await check(service)
    expect(faults).toEqual([])
    expect(flux?.states[0]?.action.secrets).toEqual(['KEY'])
  })

  const computes = expect.stringMatching(/^a secret can only be passed on/)
  const whole = expect.stringMatching(/^write \$secrets\.NAME/)
  test.each<[string, unknown]>([
    ['base64($secrets.KEY)', computes],
    ['base64(`user:${$secrets.KEY}`)', computes],
    ['$secrets.KEY.length', whole],
    ['$secrets.KEY.slice(2)', computes],
    ["$secrets.KEY == 'x'", computes],
    ['$secrets.KEY ? 1 : 2', computes],
    ['$secrets.KEY ?? 1', computes],
    ['!$secrets.KEY', computes],
    ['[...$secrets.KEY]', computes],
    ['`${[$secrets.KEY]}`', computes],
    ['[1].map(x => $secrets.KEY)', computes],
    ['{ a: 1 }[$secrets.KEY]', computes],
    ['$secrets', whole],
    ['keys($secrets)', computes],
    ['$secrets[user]', computes],
    ['$secrets.key', expect.stringMatching(/^"key" is no name of a secret/)],
  ])('is not computed with: %s', async (expression, reason) => {
    expect((await check(call(set(expression, 'a')))).faults).toEqual([['/states/0/action/inputs/0/expression', reason]])
  })

  test.each([
    [['$secrets'], 'must be ["$secrets", "NAME"]'],
    [['$secrets', 'KEY', 'x'], 'must be ["$secrets", "NAME"]'],
    [['$secrets', 'x'], '"x" is no name of a secret: it is made of capital letters, digits and _'],
  ])('is named as a whole: %j', async (from, reason) => {
    expect((await check(call({ from, to: ['a'] }))).faults).toEqual([['/states/0/action/inputs/0/from', reason]])
  })
})

describe('$secrets elsewhere', () => {
  const only = expect.stringMatching(/^\$secrets is visible only/)
  const out = { output: [{ name: 'out' }] }
  const both = [{ ...END, allowExtraProperties: true }, END]
  test.each<[string, object, string]>([
    ['tags', { ...END, tags: ['${$secrets.KEY}'] }, '/tags/0'],
    ['the key', { ...END, key: '${$secrets.KEY}' }, '/key'],
    [
      'a map',
      { ...out, states: [{ name: 'end', action: { lines: [set('$secrets.KEY', 'out')] } }] },
      '/states/0/action/lines/0/expression',
    ],
    [
      'a line with a path',
      { ...out, states: [{ name: 'end', action: { lines: [{ from: ['$secrets', 'KEY'], to: ['out'] }] } }] },
      '/states/0/action/lines/0/from',
    ],
    [
      'the inputs of a service',
      { states: [{ name: 'end', action: { type: 'invokeFlux', name: 'S', inputs: [set('$secrets.KEY', 'a')] } }] },
      '/states/0/action/inputs/0/expression',
    ],
    [
      'outputs',
      {
        ...out,
        states: [
          {
            name: 'end',
            action: {
              type: 'invokeCode',
              className: 'Logger',
              methodName: 'info',
              outputs: [set('$secrets.KEY', 'out')],
            },
          },
        ],
      },
      '/states/0/action/outputs/0/expression',
    ],
    [
      'a script',
      { states: [{ name: 'end', action: { type: 'script', script: 'return $secrets.KEY' } }] },
      '/states/0/action/script',
    ],
    [
      'a wait',
      { states: [{ name: 'a', transitions: [{ to: 'end', wait: 'duration:${$secrets.KEY}' }] }, { name: 'end' }] },
      '/states/0/transitions/0/wait',
    ],
  ])('is a fault: %s', async (_, service, pointer) => {
    for (const extra of both) expect((await check({ ...extra, ...service })).faults).toEqual([[pointer, only]])
  })

  test.each<[object, string]>([
    [{ ...END, input: [{ name: '$secrets' }] }, '/input/0/name'],
    [call(set('1', '$secrets')), '/states/0/action/inputs/0/to'],
  ])('nothing else has the name: %j', async (service, pointer) => {
    expect((await check(service)).faults).toEqual([[pointer, '$secrets stands for the secrets, and for nothing else']])
  })
})

const unit = (source: object) => {
  const parsed = JSON.parse(JSON.stringify(source))
  return { package: 'p', fluxName: 'S', source: parsed, models: new Map() }
}

describe('a pinned definition', () => {
  test('keeps onEnd and its secrets', () => {
    const source = {
      ...call(set('$secrets.KEY', 'a')),
      onEnd: { url: 'https://x.example/${user}', secret: '$secrets.END' },
    }
    const flux = recompile(pinnedText(unit(source)))
    expect(flux.faults).toEqual([])
    expect(flux.onEnd).toMatchObject({ secret: 'END', url: { source: 'https://x.example/${user}' } })
    expect(flux.states[0]?.action.secrets).toEqual(['KEY'])
  })
})
