// Secrets that are sent themselves: user and password, and tokens.
import { describe, expect, test } from 'vitest'
import { basicScheme, tokenScheme } from '../../../src/model/webhook-schemes/credentials.ts'
import type { VerifyRule } from '../../../src/model/webhook-schemes/scheme.ts'
import { at, forgeries, received, withSecrets } from './requests.ts'

const NOW = at(0)
const authorized = (value: string) => received({ headers: { authorization: value } })

const verifyBasic = (value: string, ...secrets: string[]) =>
  basicScheme.verify(withSecrets(...secrets), authorized(value), NOW)

describe('basic', () => {
  /** RFC 7617, 2. */
  const [SECRET, VALUE] = ['Aladdin:open sesame', 'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==']

  test('knows the vectors of RFC 7617', () => {
    expect(verifyBasic(VALUE, SECRET)).toBeNull()
    // 2.1, with UTF-8.
    expect(verifyBasic('Basic dGVzdDoxMjPCow==', 'test:123£')).toBeNull()
    expect(basicScheme.sign(withSecrets('test:123£'), received({}), NOW)).toEqual([
      ['Authorization', 'Basic dGVzdDoxMjPCow=='],
    ])
  })

  test('takes any of several secrets, and the name of the scheme in any case', () => {
    expect(verifyBasic(VALUE.replace('Basic ', 'bAsIC   '), 'a:b', SECRET)).toBeNull()
  })

  test('refuses everything else', () => {
    for (const forged of forgeries(authorized(VALUE), ['Authorization']))
      expect(basicScheme.verify(withSecrets(SECRET), forged, NOW)).toEqual(expect.any(String))
    for (const secret of ['', 'Aladdin:', 'Aladdin:open sesam', 'aladdin:open sesame', `${SECRET} `])
      expect(verifyBasic(VALUE, secret)).toBe('user or password is wrong')
    for (const value of [
      'Basic',
      'Basic ',
      'Basic !',
      'Bearer QWxhZGRpbjpvcGVuIHNlc2FtZQ==',
      'QWxhZGRpbjpvcGVuIHNlc2FtZQ==',
    ])
      expect(verifyBasic(value, SECRET, '')).toMatch(/malformed|wrong/)
  })

  test('asks for a password, and names the header to redact', () => {
    expect(basicScheme.challenge).toBe('Basic realm="webhook", charset="UTF-8"')
    expect(basicScheme.proofHeader?.({})).toBe('authorization')
    expect(basicScheme.hasTime({})).toBe(false)
  })

  test('a secret without a colon is malformed', () => {
    expect(basicScheme.secretFault('user:')).toBeNull()
    for (const secret of ['', 'user']) expect(basicScheme.secretFault(secret)).toMatch('user:password')
  })
})

describe('token', () => {
  /** RFC 6750, 2.1. */
  const TOKEN = 'mF_9.B5f-4.1JqM'

  test('is the bearer token', () => {
    const verify = (value: string, ...secrets: string[]) =>
      tokenScheme.verify(withSecrets(...secrets), authorized(value), NOW)
    expect(verify(`Bearer ${TOKEN}`, TOKEN)).toBeNull()
    expect(verify(`bearer  ${TOKEN}`, 'other', TOKEN)).toBeNull()
    expect(tokenScheme.sign(withSecrets(TOKEN), received({}), NOW)).toEqual([['Authorization', `Bearer ${TOKEN}`]])
    for (const forged of forgeries(authorized(`Bearer ${TOKEN}`), ['Authorization']))
      expect(tokenScheme.verify(withSecrets(TOKEN), forged, NOW)).toEqual(expect.any(String))
    for (const value of [TOKEN, `Basic ${TOKEN}`, 'Bearer', 'Bearer ']) expect(verify(value, TOKEN, '')).not.toBeNull()
    for (const secret of ['', TOKEN.slice(1), `${TOKEN}x`, TOKEN.toLowerCase()])
      expect(verify(`Bearer ${TOKEN}`, secret)).toBe('the token is wrong')
  })

  test('is the whole value of a header of its own', () => {
    const rule: VerifyRule = { ...withSecrets('clé à'), header: 'X-Token' }
    const request = received({ headers: tokenScheme.sign(rule, received({}), NOW) })
    expect(request.headers).toEqual([['X-Token', Buffer.from('clé à').toString('latin1')]])
    expect(tokenScheme.verify(rule, request, NOW)).toBeNull()
    for (const forged of forgeries(request, ['X-Token']))
      expect(tokenScheme.verify(rule, forged, NOW)).toEqual(expect.any(String))
    const bearer = received({ headers: { 'X-Token': `Bearer ${TOKEN}`, Authorization: `Bearer ${TOKEN}` } })
    expect(tokenScheme.verify({ ...withSecrets(TOKEN), header: 'X-Token' }, bearer, NOW)).toBe('the token is wrong')
  })

  test('may end in any byte', () => {
    const request = received({ headers: tokenScheme.sign(withSecrets('à'), received({}), NOW) })
    expect(tokenScheme.verify(withSecrets('à'), request, NOW)).toBeNull()
  })

  test('is not made of characters that are no bytes', () => {
    const value = [...TOKEN].map((c) => String.fromCharCode(c.charCodeAt(0) + 0x100)).join('')
    const rule: VerifyRule = { ...withSecrets(TOKEN), header: 'X-Token' }
    expect(tokenScheme.verify(rule, received({ headers: { 'X-Token': value } }), NOW)).toMatch('malformed')
  })

  test('is never in the query', () => {
    expect(tokenScheme.verify(withSecrets(TOKEN), received({ target: `/hook?access_token=${TOKEN}` }), NOW)).toMatch(
      'missing',
    )
  })

  test('names the header to redact', () => {
    expect(tokenScheme.proofHeader?.({})).toBe('authorization')
    expect(tokenScheme.proofHeader?.({ header: 'X-Token' })).toBe('x-token')
    expect(tokenScheme.challenge).toBeUndefined()
  })
})
