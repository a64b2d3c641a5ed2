// Twilio: the vectors of its documentation and libraries, the URL, the fields of forms, and other bodies.
import { describe, expect, test } from 'vitest'
import type { ReceivedWebhook, VerifyRule } from '../../../src/model/webhook-schemes/scheme.ts'
import { twilioScheme } from '../../../src/model/webhook-schemes/twilio.ts'
import { at, forgeries, otherBodies, received, signed, withSecrets } from './requests.ts'

const TOKEN = '12345'
const RULE = withSecrets(TOKEN)
const ENV = at(0, 'https://mycompany.com')
const TARGET = '/myapp.php?foo=1&bar=2'
const FORM = 'application/x-www-form-urlencoded'

const form = (fields: string, signature: string, target = TARGET) =>
  received({ headers: { 'X-Twilio-Signature': signature, 'Content-Type': FORM }, body: fields, target })
const json = (body: string, signature: string, target: string) =>
  received({ headers: { 'X-Twilio-Signature': signature, 'Content-Type': 'application/json' }, body, target })

const fieldsOf = (caller: string) =>
  new URLSearchParams({
    To: '+18005551212',
    Digits: '1234',
    CallSid: 'CA1234567890ABCDE',
    From: caller,
    Caller: caller,
  }).toString()
/** github.com/twilio/twilio-php, tests/Twilio/Unit/Security/RequestValidatorTest.php; also in the other libraries. */
const FIELDS = fieldsOf('+14158675309')
const SIGNED = form(FIELDS, 'RSOYDt4T1cUTdK1PDd93/VVr8B8=')

const verify = (request: ReceivedWebhook, env = ENV, rule: VerifyRule = RULE) => twilioScheme.verify(rule, request, env)

const many = (count: number) => form('a=1&'.repeat(count), 'AAAA')

describe('a form', () => {
  test('has the published signatures', () => {
    expect(verify(SIGNED)).toBeNull()
    // twilio.com/docs/usage/security, its sample in github.com/TwilioDevEd/api-snippets, signature_validation.3.x.js.
    expect(verify(form(fieldsOf('+14158675310'), 'GvWf1cFY/Q7PnoempGyD5oXAezc='))).toBeNull()
    // twilio-go, client/request_validator_test.go: "Reason" comes before "ReasonConferenceEnded".
    const reasons = `${FIELDS}&ReasonConferenceEnded=test&Reason=Participant`
    expect(verify(form(reasons, 'vOEb5UThFn24KEfnOFLQY2AE5FY='))).toBeNull()
    // The same, "returns true when validation succeeds with form body".
    expect(verify(form('property=value&boolean=true', 'NBdBDr/T/lgjI+tlgpXjKZQZs/k='))).toBeNull()
    // twilio-php, testValidateWithArrayAndDuplicates.
    const repeated = 'Sid=CA123&Digits=5678&Digits=1234&SidAccount=AC123&Digits=1234'
    expect(verify(form(repeated, 'IK+Dwps556ElfBT0I3Rgjkr1wJU='))).toBeNull()
  })

  test('has the published signature of a real call, with spaces in it', () => {
    // github.com/twilio/twilio-python, tests/test_validation.py, of its first versions.
    const fields =
      'FromZip=89449&From=%2B15306666666&FromCity=SOUTH+LAKE+TAHOE&ApiVersion=2010-04-01&To=%2B15306384866&' +
      'CallStatus=ringing&CalledState=CA&FromState=CA&Direction=inbound&ToCity=OAKLAND&ToZip=94612&' +
      'CallerCity=SOUTH%20LAKE%20TAHOE&FromCountry=US&CallerName=CA+Wireless+Call&CalledCity=OAKLAND&' +
      'CalledCountry=US&Caller=%2B15306666666&CallerZip=89449&AccountSid=AC9a9f9392lad99kla0sklakjs90j092j3&' +
      'Called=%2B15306384866&CallerCountry=US&CalledZip=94612&CallSid=CAd800bb12c0426a7ea4230e492fef2a4f&' +
      'CallerState=CA&ToCountry=US&ToState=CA'
    const request = form(fields, 'fF+xx6dTinOaCdZ0aIeNkHr/ZAA=', '/1ed898x')
    const rule = withSecrets('1c892n40nd03kdnc0112slzkl3091j20')
    expect(verify(request, at(0, 'http://www.postbin.org'), rule)).toBeNull()
  })

  test('is signed as decoded, with UTF-8', () => {
    // printf %s 'https://example.com/smsBodyChloéñFrom+15305451766' | openssl dgst -sha1 -hmac 12345 -binary | base64
    const signature = 'Pg59HVzTg5crYzdg0QykOs08mcY='
    for (const body of ['From=%2B15305451766&Body=Chlo%C3%A9%C3%B1', 'Body=Chloéñ&&From=%2b15305451766&'])
      expect(verify(form(body, signature, '/sms'), at(0, 'https://example.com'))).toBeNull()
  })

  test('its type may have parameters, and any case', () => {
    const headers = SIGNED.headers.map(([name, value]) =>
      value === FORM ? (['content-type', `${FORM.toUpperCase()} ; charset=UTF-8`] as const) : ([name, value] as const),
    )
    expect(verify({ ...SIGNED, headers })).toBeNull()
    expect(verify({ ...SIGNED, headers: [...headers, ['Content-Type', 'text/plain']] })).toMatch('twice')
  })

  test('a name without a value, an empty name, and an empty form', () => {
    for (const body of ['', 'a', '=b', 'a=b=c', 'constructor=1&__proto__=2', '&&']) {
      const request = signed(twilioScheme, RULE, form(body, ''), ENV)
      expect(verify(request)).toBeNull()
      expect(verify({ ...request, body: Buffer.from(`${body}&x=1`) })).toBe('no signature fits')
    }
  })

  test('is refused if it is malformed, or has more than 1,000 fields', () => {
    const { headers } = SIGNED
    for (const body of [
      Buffer.from('a=%'),
      Buffer.from('a=%4'),
      Buffer.from('a=%zz'),
      Buffer.from('a=%ff'),
      Buffer.from('a=%ED%A0%80'),
      Buffer.from([0x61, 0x3d, 0xff]),
    ])
      expect(verify({ ...SIGNED, headers, body })).toBe('the form is malformed')
    expect(verify(many(1000))).toBe('no signature fits')
    expect(verify(many(1001))).toMatch('more than 1000 fields')
    expect(verify(form('&'.repeat(2000), 'AAAA'))).toBe('no signature fits')
    expect(() => twilioScheme.sign(RULE, many(1001), ENV)).toThrow('more than 1000 fields')
  })

  test('is read without a text for each separator', () => {
    const before = process.cpuUsage()
    for (let round = 0; round < 10; round += 1)
      for (const separator of ['&', '=', 'a&']) verify(form(separator.repeat(1 << 20), 'AAAA'))
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1000).toBeLessThan(1000)
  })

  test('is refused with another header, body or secret', () => {
    for (const forged of [...forgeries(SIGNED, ['X-Twilio-Signature']), ...otherBodies(SIGNED)])
      expect(verify(forged)).toEqual(expect.any(String))
    for (const secret of ['', '1234', '123456']) expect(verify(SIGNED, ENV, withSecrets(secret))).not.toBeNull()
    expect(verify(SIGNED, ENV, withSecrets('x', TOKEN))).toBeNull()
  })

  test('is signed', () => {
    expect(twilioScheme.sign(RULE, SIGNED, ENV)).toEqual([['X-Twilio-Signature', 'RSOYDt4T1cUTdK1PDd93/VVr8B8=']])
  })
})

describe('another body', () => {
  /** twilio-php, testValidateWithBody; twilio-python, test_validation_of_body_succeeds. */
  const BODY = '{"property": "value", "boolean": true}'
  const HASH = '0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620'
  const SIGNED_BODY = json(BODY, 'a9nBmqA0ju/hNViExpshrM61xv4=', `${TARGET}&bodySHA256=${HASH}`)

  test('has the published signatures', () => {
    expect(verify(SIGNED_BODY)).toBeNull()
    // twilio-csharp, TestValidateWithOnlyHash.
    expect(verify(json(BODY, 'y77kIzt2vzLz71DgmJGsen2scGs=', `/myapp.php?bodySHA256=${HASH}`))).toBeNull()
  })

  test('is refused with another header, body, hash or URL', () => {
    for (const forged of [...forgeries(SIGNED_BODY, ['X-Twilio-Signature']), ...otherBodies(SIGNED_BODY)])
      expect(verify(forged)).toEqual(expect.any(String))
    for (const target of [TARGET, `${SIGNED_BODY.target}&x=1`, SIGNED_BODY.target.replace('=0a1', '=0a2')])
      expect(verify({ ...SIGNED_BODY, target })).toEqual(expect.any(String))
  })

  test('needs a hash in the query', () => {
    expect(verify(json(BODY, 'AAAA', TARGET))).toMatch('no "bodySHA256"')
    expect(verify(received({ headers: { 'X-Twilio-Signature': 'AAAA' }, body: BODY }))).toMatch('no "bodySHA256"')
    expect(() => twilioScheme.sign(RULE, json(BODY, '', TARGET), ENV)).toThrow('no "bodySHA256"')
  })

  test('cannot be replaced by none, or by a form', () => {
    for (const body of ['', 'a=1']) {
      expect(verify({ ...SIGNED_BODY, body: Buffer.from(body) })).toMatch('not that of "bodySHA256"')
      expect(verify(form(body, 'a9nBmqA0ju/hNViExpshrM61xv4=', SIGNED_BODY.target))).toMatch('not that of')
    }
    expect(verify({ ...SIGNED_BODY, target: `${SIGNED_BODY.target}&bodySHA256=` })).toMatch('not that of')
  })

  test('a request without a body is signed by its URL alone', () => {
    // printf %s 'https://mycompany.com/myapp.php?foo=1&bar=2' | openssl dgst -sha1 -hmac 12345 -binary | base64
    const request = received({ headers: { 'X-Twilio-Signature': 'zYQTYrRWXE7LtzbG4PfP7/bkkGo=' }, target: TARGET })
    expect(verify(request)).toBeNull()
    expect(verify({ ...request, target: `${TARGET}1` })).toBe('no signature fits')
  })
})

const verifyAt = (signature: string, publicUrl: string | null, { host = '', url = '', target = TARGET } = {}) =>
  twilioScheme.verify(
    { ...RULE, ...(url === '' ? {} : { url }) },
    { ...form(FIELDS, signature, target), host: host === '' ? null : host },
    at(0, publicUrl),
  )

describe('the URL', () => {
  test('is tried with and without the port, by the published signatures', () => {
    // twilio-php: testValidateRemovesPortHttps, …AddsPortHttps, …RemovesPortHttp, …AddsPortHttp.
    expect(verifyAt('RSOYDt4T1cUTdK1PDd93/VVr8B8=', 'https://mycompany.com:1234')).toBeNull()
    expect(verifyAt('kvajT1Ptam85bY51eRf/AJRuM3w=', 'https://mycompany.com')).toBeNull()
    expect(verifyAt('Zmvh+3yNM1Phv2jhDCwEM3q5ebU=', 'http://mycompany.com:1234')).toBeNull()
    expect(verifyAt('0ZXoZLH/DfblKGATFgpif+LLRf4=', 'http://mycompany.com')).toBeNull()
    // testBuildUrlCreds, testBuildUrlWithUser, testBuildUrlCredsAddsPort.
    expect(verifyAt('CukzLTc1tT5dXEDIHm/tKBanW10=', 'https://user:pass@mycompany.com')).toBeNull()
    expect(verifyAt('2YRLlVAflCqxaNicjMpJcSTgzSs=', 'https://user@mycompany.com')).toBeNull()
    expect(verifyAt('ZQFR1PTIZXF2MXB8ZnKCvnnA+rI=', 'https://user:pass@mycompany.com')).toBeNull()
  })

  test('is not that of another host, scheme, path or query', () => {
    const signature = 'RSOYDt4T1cUTdK1PDd93/VVr8B8='
    expect(verifyAt(signature, 'https://mycompany.org')).toBe('no signature fits')
    expect(verifyAt(signature, 'http://mycompany.com')).toBe('no signature fits')
    expect(verifyAt(signature, 'https://mycompany.com/x')).toBe('no signature fits')
    expect(verifyAt(signature, 'https://mycompany.com', { target: '/myapp.php?bar=2&foo=1' })).toBe('no signature fits')
  })

  test('is that of the endpoint, else that of the server, else by the Host header', () => {
    const signature = 'RSOYDt4T1cUTdK1PDd93/VVr8B8='
    const url = 'https://mycompany.com/myapp.php'
    expect(verifyAt(signature, 'https://other.com', { url, host: 'x', target: '/inside?foo=1&bar=2' })).toBeNull()
    expect(verifyAt(signature, 'https://other.com', { url, target: '/inside?foo=1&bar=3' })).toBe('no signature fits')
    // A query of the setting itself stands before the one received.
    expect(verifyAt(signature, null, { url: `${url}?foo=1`, target: '/inside?bar=2' })).toBeNull()
    expect(verifyAt(signature, null, { url: `${url}?foo=1&bar=2`, target: '/inside' })).toBeNull()
    expect(verifyAt(signature, 'https://mycompany.com/', { host: 'other.com' })).toBeNull()
    expect(verifyAt(signature, 'https://mycompany.com', { host: 'other.com' })).toBeNull()
    const overHttp = '0ZXoZLH/DfblKGATFgpif+LLRf4='
    for (const host of ['mycompany.com', 'mycompany.com:80']) expect(verifyAt(overHttp, null, { host })).toBeNull()
    expect(verifyAt(overHttp, null)).toMatch('URL is not known')
    expect(() => twilioScheme.sign(RULE, { ...SIGNED, host: null }, at(0))).toThrow('URL is not known')
  })

  test('X-Forwarded headers are not used', () => {
    const headers = [...SIGNED.headers, ['X-Forwarded-Host', 'mycompany.com'], ['X-Forwarded-Proto', 'https']] as const
    expect(verify({ ...SIGNED, headers, host: 'other.com' }, at(0))).toBe('no signature fits')
  })

  test('may have an IPv6 address', () => {
    for (const [from, to] of [
      ['http://[::1]:8080', 'http://[::1]'],
      ['http://[::1]', 'http://[::1]:80'],
      ['https://[::1]', 'https://[::1]:443'],
    ] as const) {
      const request = signed(twilioScheme, RULE, SIGNED, at(0, to))
      expect(verify(request, at(0, from))).toBeNull()
    }
  })
})

test('has no time', () => {
  expect(twilioScheme.hasTime({})).toBe(false)
  expect(twilioScheme.secretFault('anything')).toBeNull()
})
