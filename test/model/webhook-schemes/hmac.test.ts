// The scheme whose content, algorithm and encoding are settings.
import { describe, expect, test } from 'vitest'
import { compilePayload, hmacScheme } from '../../../src/model/webhook-schemes/hmac.ts'
import type { PayloadPart, VerifyRule } from '../../../src/model/webhook-schemes/scheme.ts'
import { at, forgeries, otherBodies, received, signed, withSecrets } from './requests.ts'

const partsOf = (template: string): readonly PayloadPart[] => {
  const compiled = compilePayload(template)
  if (compiled.fault !== null) throw new Error(compiled.fault)
  return compiled.parts
}

describe('published vectors', () => {
  /** RFC 4231, 4.3, and for SHA-1 RFC 2202, 3: test case 2 of both. */
  const DIGESTS = {
    sha1: 'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79',
    sha256: '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    sha384: 'af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649',
    sha512:
      '164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b' +
      '636e070a38bce737',
  } as const

  test.each(Object.entries(DIGESTS))('%s', (name, digest) => {
    const algorithm = name as keyof typeof DIGESTS
    for (const encoding of ['hex', 'base64', 'base64url'] as const) {
      const rule: VerifyRule = { ...withSecrets('Jefe'), header: 'X-Signature', algorithm, encoding, prefix: 'x=' }
      const value = `x=${Buffer.from(digest, 'hex').toString(encoding)}`
      const request = received({ headers: { 'x-signature': value }, body: 'what do ya want for nothing?' })
      expect(hmacScheme.verify(rule, request, at(0))).toBeNull()
      expect(hmacScheme.sign(rule, request, at(0))).toEqual([['X-Signature', value]])
      for (const forged of [...forgeries(request, ['X-Signature']), ...otherBodies(request)])
        expect(hmacScheme.verify(rule, forged, at(0))).toEqual(expect.any(String))
      for (const secret of ['', 'jefe', 'Jef'])
        expect(hmacScheme.verify({ ...rule, secrets: [secret] }, request, at(0))).toBe('no signature fits')
    }
  })

  test('of GitHub, by the defaults', () => {
    const rule = { ...withSecrets("It's a Secret to Everybody"), header: 'X-Hub-Signature-256', prefix: 'sha256=' }
    const headers = {
      'X-Hub-Signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    }
    expect(hmacScheme.verify(rule, received({ headers, body: 'Hello, World!' }), at(0))).toBeNull()
  })

  test('of the SDK of Stripe, whose time and signature are put into headers of their own', () => {
    // printf '1533204620.{}' | openssl dgst -sha256 -hmac whsec_dGVzdA==
    const rule: VerifyRule = {
      ...withSecrets('whsec_dGVzdA=='),
      header: 'signature',
      timestampHeader: 'time',
      payload: partsOf('${timestamp}.${body}'),
    }
    const signature = '34b27e35591ada21399c7846fc423ce5a70e439fe71710f0a37aa886cc63b030'
    expect(hmacScheme.sign(rule, received({ body: '{}' }), at(1533204620))).toEqual([
      ['time', '1533204620'],
      ['signature', signature],
    ])
  })
})

describe('a template', () => {
  /**
   * printf 'evt_1.1700000000.\377\376é' | openssl dgst -sha512 -hmac 'clé' -binary | base64 -w0 | tr '+/' '-_'
   */
  const RULE: VerifyRule = {
    ...withSecrets('clé'),
    header: 'X-Sig',
    algorithm: 'sha512',
    encoding: 'base64url',
    payload: partsOf('${header.X-Event-Id}.${timestamp}.${body}é'),
    timestampHeader: 'X-Time',
  }
  const SIGNATURE = '9p3pmWCpG8yUcLUxqQZbJsIAIX71hrfBDPnO_oUB5qgwDOrJSnYRlB3BYg4AkBgqvIZLVOgRw2r9IAPNDVGYSg=='
  const REQUEST = received({
    headers: { 'x-event-id': 'evt_1', 'x-time': '1700000000', 'x-sig': SIGNATURE },
    body: Buffer.from([0xff, 0xfe]),
  })
  const NOW = at(1700000000)

  test('is filled with bytes', () => {
    expect(hmacScheme.verify(RULE, REQUEST, NOW)).toBeNull()
    const bare = { ...REQUEST, headers: REQUEST.headers.filter(([name]) => name === 'x-event-id') }
    expect(hmacScheme.sign(RULE, bare, NOW)).toEqual([
      ['X-Time', '1700000000'],
      ['X-Sig', SIGNATURE.slice(0, -2)],
    ])
    for (const forged of [...forgeries(REQUEST, ['x-event-id', 'x-time', 'x-sig']), ...otherBodies(REQUEST)])
      expect(hmacScheme.verify(RULE, forged, NOW)).toEqual(expect.any(String))
  })

  test('may name the header of the time, and parts that come twice', () => {
    const rule = { ...RULE, payload: partsOf('${header.x-time}${body}${body}${timestamp}') }
    const later = at(1700000010)
    expect(hmacScheme.verify(rule, signed(hmacScheme, rule, REQUEST, later), later)).toBeNull()
    const request = signed(hmacScheme, rule, REQUEST, NOW)
    expect(hmacScheme.verify(rule, request, NOW)).toBeNull()
    for (const forged of otherBodies(request)) expect(hmacScheme.verify(rule, forged, NOW)).not.toBeNull()
  })

  test('turns the tolerance on, with a header for the time', () => {
    expect(hmacScheme.hasTime(RULE)).toBe(true)
    expect(hmacScheme.hasTime({})).toBe(false)
    expect(hmacScheme.verify(RULE, REQUEST, at(1700000301))).toBe('the message is too old')
    expect(hmacScheme.verify(RULE, REQUEST, at(1699999699))).toBe('the message is from the future')
    expect(hmacScheme.verify({ ...RULE, toleranceS: 400 }, REQUEST, at(1700000301))).toBeNull()
  })

  test('that lacks its header is never proved, and cannot be signed', () => {
    const { header: _, ...noHeader } = RULE
    const { timestampHeader: __, ...noTime } = RULE
    for (const rule of [noHeader, noTime]) {
      expect(hmacScheme.verify(rule, REQUEST, NOW)).toMatch('names no header')
      expect(() => hmacScheme.sign(rule, REQUEST, NOW)).toThrow('names no header')
    }
    expect(() => hmacScheme.sign(RULE, received({}), NOW)).toThrow('"X-Event-Id" is missing')
  })

  test('is compiled', () => {
    expect(partsOf('v0:${timestamp}:${body}')).toEqual([
      { kind: 'text', text: 'v0:' },
      { kind: 'timestamp' },
      { kind: 'text', text: ':' },
      { kind: 'body' },
    ])
    expect(partsOf('${ header.X-Id }$}{')).toEqual([
      { kind: 'header', name: 'X-Id' },
      { kind: 'text', text: '$}{' },
    ])
  })

  test('is refused if something in it is unknown', () => {
    for (const template of ['${}', '${Body}', '${header}', '${header.}', '${header.a b}', '${a${body}}', '${body.x}'])
      expect(compilePayload(template).fault).toMatch('is none of')
    expect(compilePayload('${body').fault).toMatch('no "}"')
    expect(compilePayload('').fault).toMatch('empty')
  })
})
