import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { verify } from '../../src/steps/builtin/webhooks.ts'
import type { Json } from '../../src/model/json/value.ts'

const SECRET = `whsec_${Buffer.from('a secret of 24 bytes....').toString('base64')}`
const OLD = Buffer.from('an older one').toString('base64')
const body = Buffer.from('{"type":"paid"}')
const seconds = () => Math.floor(Date.now() / 1000)

const sign = (secret: string, id: string, timestamp: number | string, payload: Uint8Array = body) =>
  `v1,${createHmac('sha256', Buffer.from(secret.replace('whsec_', ''), 'base64'))
    .update(`${id}.${timestamp}.`)
    .update(payload)
    .digest('base64')}`

const headers = (id: string, timestamp: number | string, signature: string): Json => [
  { name: 'Webhook-Id', value: id },
  { name: 'webhook-timestamp', value: String(timestamp) },
  { name: 'WEBHOOK-SIGNATURE', value: signature },
]
const check = (
  given: Json,
  {
    secrets = SECRET as Json,
    tolerance,
    rawBody = body,
  }: { secrets?: Json; tolerance?: Json; rawBody?: Uint8Array | null } = {},
) => verify({ headers: given, secrets, ...(tolerance === undefined ? {} : { tolerance }) }, { rawBody })

/** Signed rightly at some time. */
const at = (timestamp: number | string, tolerance?: number) =>
  check(headers('m', timestamp, sign(SECRET, 'm', timestamp)), tolerance === undefined ? {} : { tolerance })

describe('Webhooks.verify', () => {
  test('knows the example of the specification', () => {
    // github.com/standard-webhooks/standard-webhooks, spec, "Verifying signatures": the reference libraries' test
    // vector.
    const [id, timestamp, payload] = ['msg_p5jXN8AQM9LWM0D4loKWxJek', '1614265330', Buffer.from('{"test": 2432232314}')]
    const given = headers(id, timestamp, 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
    expect(check(given, { secrets: 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', tolerance: 1e12, rawBody: payload })).toEqual({
      valid: true,
      id,
      timestamp: 1614265330000,
    })
  })

  test('takes any of several secrets and of several signatures', () => {
    const now = seconds()
    const valid = { valid: true, id: 'm', timestamp: now * 1000 }
    expect(check(headers('m', now, sign(SECRET, 'm', now)))).toEqual(valid)
    expect(check(headers('m', now, sign(OLD, 'm', now)), { secrets: [SECRET, OLD] })).toEqual(valid)
    expect(check(headers('m', now, `v2,x v1,AAAA v1a,y ${sign(SECRET, 'm', now)}`))).toEqual(valid)
    expect(
      check({ 'webhook-id': 'm', 'webhook-timestamp': String(now), 'webhook-signature': sign(SECRET, 'm', now) }),
    ).toEqual(valid)
  })

  test('takes a signature from any line, and a secret beside an empty one', () => {
    const now = seconds()
    const [id, time] = [
      { name: 'webhook-id', value: 'm' },
      { name: 'webhook-timestamp', value: String(now) },
    ]
    const lines = ['v1,AAAA', `v2,x ${sign(SECRET, 'm', now)}`]
    expect(check([id, time, ...lines.map((value) => ({ name: 'Webhook-Signature', value }))])).toMatchObject({
      valid: true,
    })
    expect(check({ 'webhook-id': 'm', 'webhook-timestamp': String(now), 'webhook-signature': lines })).toMatchObject({
      valid: true,
    })
    expect(
      check([id, time, { name: 'webhook-signature', value: lines[1] ?? '' }], { secrets: [null, SECRET, ''] }),
    ).toMatchObject({ valid: true })
    expect(check([id, time, { name: 'webhook-signature', value: lines[1] ?? '' }], { tolerance: 30 })).toMatchObject({
      valid: true,
    })
  })

  test('refuses what was signed otherwise', () => {
    const now = seconds()
    const refused = { valid: false, reason: 'no signature fits' }
    expect(check(headers('m', now, sign(OLD, 'm', now)))).toEqual(refused)
    expect(check(headers('n', now, sign(SECRET, 'm', now)))).toEqual(refused)
    expect(check(headers('m', now + 1, sign(SECRET, 'm', now)))).toEqual(refused)
    expect(check(headers('m', now, sign(SECRET, 'm', now)), { rawBody: Buffer.from('{"type":"paid" }') })).toEqual(
      refused,
    )
    for (const signature of ['v1', 'v1,', 'v1,x', 'nonsense', sign(SECRET, 'm', now).replace('v1', 'v2')])
      expect(check(headers('m', now, signature))).toEqual(refused)
  })

  test('refuses what is too old, from the future, or without a time', () => {
    expect(at(seconds() - 290)).toMatchObject({ valid: true })
    expect(at(seconds() - 310)).toEqual({ valid: false, reason: 'the message is too old' })
    expect(at(seconds() + 310)).toEqual({ valid: false, reason: 'the message is from the future' })
    expect(at(seconds() - 30, 20)).toEqual({ valid: false, reason: 'the message is too old' })
    for (const time of ['soon', '-5', '1e9', '']) expect(at(time)).toMatchObject({ valid: false })
  })

  test('refuses without the headers', () => {
    for (const given of [[], {}, [{ name: 'webhook-id', value: 'm' }]] satisfies Json[])
      expect(check(given)).toEqual({ valid: false, reason: 'a header of the signature is missing' })
  })

  test('fails where the service is at fault', () => {
    const now = seconds()
    const given = headers('m', now, sign(SECRET, 'm', now))
    expect(() => check(given, { rawBody: null })).toThrow('that a webhook started')
    for (const secrets of [null, '', [], ['', null]] satisfies Json[])
      expect(() => check(given, { secrets })).toThrow('needs secrets')
    for (const secrets of [
      '!!!',
      'whsec_',
      'my secret',
      'whsk_abc',
      'abcde',
      'a===',
      5,
      {},
      [SECRET, 'no!'],
      [SECRET, 5],
    ] satisfies Json[]) {
      expect(() => check(given, { secrets })).toThrow(
        /^a secret of Webhooks\.verify can't be used: (must be base64|a private key)/,
      )
    }
    for (const wrong of [null, 'x', 5] satisfies Json[])
      expect(() => check(wrong)).toThrow('"headers" of Webhooks.verify')
    for (const tolerance of ['abc', '-1', 'Infinity', '', {}, [], true, -1, Number.NaN, Infinity] satisfies Json[]) {
      expect(() => check(given, { tolerance })).toThrow('"tolerance" of Webhooks.verify must be a number')
    }
  })
})
