// Standard Webhooks: the vectors of its libraries, rotation, and what is refused.
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { standardScheme } from '../../../src/model/webhook-schemes/standard.ts'
import { at, forgeries, otherBodies, received, signed, withSecrets } from './requests.ts'

const NOW = 1614265330
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
/** github.com/standard-webhooks/standard-webhooks, libraries/javascript/src/webhook.test.ts, "sign function works". */
const SHARED = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
/** The same, libraries/go/webhook_asymmetric_test.go, TestAsymmetricWebhookSign. */
const PUBLIC = 'v1a,tQ9V2XOqn7jL/DQenEFpqIugdBVtiMmER5mhSkXBNwM0mkATuDe6KYYUuxqtaiHeYGb7KaaBRdM5WqyeFiL8Ag=='
const PRIVATE_KEY = 'whsk_VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk='
/**
 * Its public key: (printf 302e020100300506032b657004220420 | xxd -r -p; printf VEVTVFNJR05J… | base64 -d) |
 * openssl pkey -inform DER -pubout -outform DER | tail -c 32 | base64
 */
const PUBLIC_KEY = 'whpk_ZlN4eg7dSSqi0moX9hQUk3orrOouK3QVQSlJa248c/g='
const OTHER_SECRET = `whsec_${Buffer.from('another secret of 32 bytes......').toString('base64')}`

const request = (signature: string, timestamp = String(NOW)) =>
  received({
    headers: {
      'Webhook-Id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': timestamp,
      'WEBHOOK-SIGNATURE': signature,
    },
    body: '{"test": 2432232314}',
  })
const verify = (signature: string, ...secrets: string[]) =>
  standardScheme.verify(withSecrets(...secrets), request(signature), at(NOW))
const HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature']

describe('v1', () => {
  test('knows the published signature', () => {
    expect(verify(SHARED, SECRET)).toBeNull()
    expect(verify(SHARED, SECRET.slice('whsec_'.length))).toBeNull()
  })

  test('gives the published signature', () => {
    expect(standardScheme.sign(withSecrets(SECRET), request(''), at(NOW))).toEqual([
      ['webhook-id', 'msg_p5jXN8AQM9LWM0D4loKWxJek'],
      ['webhook-timestamp', '1614265330'],
      ['webhook-signature', SHARED],
    ])
  })

  test('takes any of several signatures with any of several secrets', () => {
    expect(verify(`v1,AAAA v2,x ${SHARED} v1a,y`, OTHER_SECRET, SECRET)).toBeNull()
    expect(verify(`${SHARED} ${SHARED}`, SECRET, OTHER_SECRET)).toBeNull()
    expect(verify(SHARED.replace('=', ''), SECRET)).toBeNull()
  })

  test('has a key that was made up, whose last digit has bits that belong to no byte', () => {
    const digits = 'made+up+secret+0007890'
    const secret = `whsec_${digits}`
    const signature = createHmac('sha256', Buffer.from(digits, 'base64')).update(`a.${NOW}.x`).digest('base64')
    const headers = { 'webhook-id': 'a', 'webhook-timestamp': `${NOW}`, 'webhook-signature': `v1,${signature}` }
    const request = received({ headers, body: Buffer.from('x') })
    expect(standardScheme.verify(withSecrets(secret), request, at(NOW))).toBeNull()
    expect(standardScheme.sign(withSecrets(secret), request, at(NOW))).toContainEqual([
      'webhook-signature',
      `v1,${signature}`,
    ])
  })

  test('is over the bytes of the id', () => {
    const signature = createHmac('sha256', Buffer.from(SECRET.slice(6), 'base64'))
      .update(Buffer.from([0xe9, 0xff, 0x2e]))
      .update(`${NOW}.`)
      .digest('base64')
    const headers = { 'webhook-id': 'éÿ', 'webhook-timestamp': `${NOW}`, 'webhook-signature': `v1,${signature}` }
    expect(standardScheme.verify(withSecrets(SECRET), received({ headers }), at(NOW))).toBeNull()
  })

  test('refuses an id with a period: a part of it could be moved into the body', () => {
    const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64')
    const body = '{"a":1}'
    const sent = (id: string, text: string) => {
      const signature = createHmac('sha256', key).update(`a.${NOW}.${NOW}.${body}`).digest('base64')
      const headers = { 'webhook-id': id, 'webhook-timestamp': `${NOW}`, 'webhook-signature': `v1,${signature}` }
      return received({ headers, body: Buffer.from(text) })
    }
    const verified = (id: string, text: string) => standardScheme.verify(withSecrets(SECRET), sent(id, text), at(NOW))
    expect(verified('a', `${NOW}.${body}`)).toBeNull()
    expect(verified(`a.${NOW}`, body)).toBe('the header "webhook-id" has a period')
    expect(() => standardScheme.sign(withSecrets(SECRET), sent('a.b', body), at(NOW))).toThrow('has a period')
  })

  test('refuses another header, body or secret', () => {
    for (const forged of [...forgeries(request(SHARED), HEADERS), ...otherBodies(request(SHARED))])
      expect(standardScheme.verify(withSecrets(SECRET), forged, at(NOW))).toEqual(expect.any(String))
    expect(verify(SHARED, OTHER_SECRET)).toBe('no signature fits')
    expect(verify(SHARED)).toBe('no signature fits')
    expect(verify(SHARED.replace('v1', 'v1a'), SECRET)).toBe('no signature fits')
    expect(verify(SHARED.replace('v1', 'v2'), SECRET)).toBe('no signature fits')
  })

  test('is never signed with an empty or malformed secret, nor with the text of a public key', () => {
    for (const secret of ['', 'whsec_', '!!!', PUBLIC_KEY]) {
      const empty = signed(standardScheme, withSecrets('AAAA'), request(''), at(NOW))
      expect(standardScheme.verify(withSecrets(secret), empty, at(NOW))).toBe('no signature fits')
      if (secret !== PUBLIC_KEY)
        expect(() => standardScheme.sign(withSecrets(secret), request(''), at(NOW))).toThrow('can sign')
    }
  })
})

describe('v1a', () => {
  test('knows the published signature', () => {
    expect(verify(PUBLIC, PUBLIC_KEY)).toBeNull()
    expect(verify(`${SHARED.replace('g0', 'g1')} ${PUBLIC}`, SECRET, PUBLIC_KEY)).toBeNull()
    expect(verify(SHARED, SECRET, PUBLIC_KEY)).toBeNull()
  })

  test('gives the published signature, with a private key', () => {
    const seedAndPublic = `whsk_${Buffer.concat([
      Buffer.from(PRIVATE_KEY.slice(5), 'base64'),
      Buffer.from(PUBLIC_KEY.slice(5), 'base64'),
    ]).toString('base64')}`
    for (const key of [PRIVATE_KEY, seedAndPublic])
      expect(standardScheme.sign(withSecrets(key), request(''), at(NOW))[2]).toEqual(['webhook-signature', PUBLIC])
    expect(() => standardScheme.sign(withSecrets(PUBLIC_KEY), request(''), at(NOW))).toThrow('can sign')
  })

  test('refuses another header, body or key', () => {
    for (const forged of [...forgeries(request(PUBLIC), HEADERS), ...otherBodies(request(PUBLIC))])
      expect(standardScheme.verify(withSecrets(PUBLIC_KEY), forged, at(NOW))).toEqual(expect.any(String))
    const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
    const other = `whpk_${Buffer.from(x, 'base64url').toString('base64')}`
    for (const secret of [other, SECRET, PRIVATE_KEY, 'whpk_', 'whpk_AAAA', PUBLIC_KEY.slice(5)])
      expect(verify(PUBLIC, secret)).toBe('no signature fits')
  })

  test('a public key never verifies an HMAC', () => {
    for (const key of [PUBLIC_KEY, PUBLIC_KEY.slice(5)]) {
      const [, , [, forged]] = standardScheme.sign(withSecrets(PUBLIC_KEY.slice(5)), request(''), at(NOW)) as [
        never,
        never,
        [string, string],
      ]
      expect(verify(forged, key)).toBe(key === PUBLIC_KEY ? 'no signature fits' : null)
    }
  })
})

const atTime = (timestamp: string, now = NOW, toleranceS = 300) => {
  const rule = { secrets: [SECRET], toleranceS }
  const [, , signature] = standardScheme.sign(rule, request(''), at(Number(timestamp)))
  return standardScheme.verify(rule, request(signature?.[1] ?? '', timestamp), at(now))
}

describe('time', () => {
  test('is accepted within the tolerance, to the past and to the future', () => {
    for (const age of [0, 300, 300.9, -300]) expect(atTime(String(NOW), NOW + age)).toBeNull()
    expect(atTime(String(NOW), NOW + 301)).toBe('the message is too old')
    expect(atTime(String(NOW), NOW - 301)).toBe('the message is from the future')
    expect(atTime(String(NOW), NOW + 20, 20)).toBeNull()
    expect(atTime(String(NOW), NOW + 21, 20)).toBe('the message is too old')
  })

  test('must be decimal unix seconds', () => {
    for (const text of [
      'soon',
      '-1614265330',
      '+1614265330',
      '1614265330.0',
      '1.614e9',
      '0x6037b3f2',
      '1614265330 ',
      '٣',
    ])
      expect(standardScheme.verify(withSecrets(SECRET), request(SHARED, text), at(NOW))).toMatch('malformed')
    for (const text of ['1614265330000', '9'.repeat(15)])
      expect(standardScheme.verify(withSecrets(SECRET), request(SHARED, text), at(NOW))).toMatch('future')
    expect(standardScheme.verify(withSecrets(SECRET), request(SHARED, '9'.repeat(16)), at(NOW))).toMatch('malformed')
  })
})

test('a header that comes twice must have one value', () => {
  const { headers, ...rest } = request(SHARED)
  for (const [name, value] of headers) {
    const twice = (other: string) => ({ ...rest, headers: [...headers, [name.toLowerCase(), other] as const] })
    expect(standardScheme.verify(withSecrets(SECRET), twice(value), at(NOW))).toBeNull()
    expect(standardScheme.verify(withSecrets(SECRET), twice(`${value} `), at(NOW))).toMatch('twice')
  }
})

const others = (count: number) => Array.from({ length: count }, () => 'v1,AAAA').join(' ')

test('ten signatures are compared, eleven are refused', () => {
  expect(verify(`${others(9)} ${SHARED}`, SECRET)).toBeNull()
  expect(verify(`${SHARED} ${others(9)}`, SECRET)).toBeNull()
  expect(verify(`${SHARED} ${others(10)}`, SECRET)).toBe('there are more than 10 signatures')
  expect(verify(`${PUBLIC} `.repeat(10).trim(), PUBLIC_KEY)).toBeNull()
  expect(verify(`${PUBLIC} `.repeat(11).trim(), PUBLIC_KEY)).toBe('there are more than 10 signatures')
  // What is not compared does not count.
  expect(verify(`${'v2,AAAA '.repeat(1000)}${SHARED}`, SECRET)).toBeNull()
})

const keys = (count: number) =>
  Array.from({ length: count }, () => {
    const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
    return `whpk_${Buffer.from(x, 'base64url').toString('base64')}`
  })
const forged = (count: number) => Array.from({ length: count }, () => `v1a,${'A'.repeat(86)}==`).join(' ')

test('each signature is checked with each public key, and both together are bounded', () => {
  expect(verify(`${forged(9)} ${PUBLIC}`, PUBLIC_KEY)).toBeNull()
  expect(verify(`${forged(3)} ${PUBLIC}`, ...keys(3), PUBLIC_KEY)).toBeNull()
  expect(verify(`${forged(4)} ${PUBLIC}`, ...keys(3), PUBLIC_KEY)).toBe(
    'there are too many signatures for 4 public keys',
  )
  // Two are always checked: a sender replaces its key.
  expect(verify(`${forged(1)} ${PUBLIC}`, ...keys(19), PUBLIC_KEY)).toBeNull()
  expect(verify(`${forged(2)} ${PUBLIC}`, ...keys(9), PUBLIC_KEY)).toMatch('too many')
})

test('tells malformed secrets', () => {
  // The last digit of `YR` has bits that belong to no byte.
  for (const secret of [SECRET, SECRET.slice(6), PUBLIC_KEY, 'whsec_YQ', 'YQ==', 'whsec_YR', 'made+up+secret/7890']) {
    expect(standardScheme.secretFault(secret)).toBeNull()
  }
  for (const secret of ['', 'whsec_', 'whsec_!', 'abcde', 'a===', 'my secret', 'whsec_whsec_AAAA'])
    expect(standardScheme.secretFault(secret)).toMatch('must be base64')
  for (const secret of ['whpk_', 'whpk_AAAA', `${PUBLIC_KEY}AAAA`, 'whpk_!'])
    expect(standardScheme.secretFault(secret)).toMatch('32 bytes')
  expect(standardScheme.secretFault(PRIVATE_KEY)).toMatch('for the sender')
})

test('makes ids of messages', () => {
  const ids = [1, 2].map(() => standardScheme.sign(withSecrets(SECRET), received({}), at(NOW))[0]?.[1])
  expect(ids[0]).toMatch(/^msg_[\da-f]{32}$/)
  expect(ids[0]).not.toBe(ids[1])
})
