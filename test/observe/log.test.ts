import { describe, expect, test } from 'vitest'
import { createLog, type LogFormat } from '../../src/observe/log.ts'
import { isSecretName } from '../../src/model/secret-names.ts'
import { redact } from '../../src/observe/redact.ts'
import type { LogLevel } from '../../src/ports/log.ts'
import { effortOf } from '../support/effort.ts'

/** Lines as they are written. */
function written(format: LogFormat) {
  const lines: string[] = []
  return {
    lines,
    log: createLog({
      level: 'info',
      format,
      destination: {
        write: (line: string) => {
          lines.push(line)
        },
      },
    }),
  }
}

function capture(level: LogLevel) {
  const lines: unknown[] = []
  return {
    lines,
    log: createLog({
      level,
      destination: {
        write: (line: string) => {
          lines.push(JSON.parse(line))
        },
      },
    }),
  }
}

describe('the log', () => {
  test('is a JSON object a line, with the fields and the message', () => {
    const { log, lines } = capture('info')
    log.info('started', { contextId: 5 })
    log.warn('alone')
    expect(lines).toEqual([
      expect.objectContaining({ level: 30, msg: 'started', contextId: 5 }),
      expect.objectContaining({ level: 40, msg: 'alone' }),
    ])
  })

  test('leaves out what is below its level', () => {
    const { log, lines } = capture('warn')
    log.info('no')
    log.debug('no')
    log.error('yes')
    expect(lines).toHaveLength(1)
  })

  test('tells an error with its stack and cause', () => {
    const { log, lines } = capture('info')
    log.error('failed', { error: new TypeError('outer', { cause: new Error('inner') }) })
    expect(lines).toEqual([
      expect.objectContaining({
        error: expect.objectContaining({
          name: 'TypeError',
          message: 'outer',
          stack: expect.stringContaining('log.test'),
          cause: expect.objectContaining({ message: 'inner' }),
        }),
      }),
    ])
  })
})

describe('secrets', () => {
  test.each([
    [{ authorization: 'Bearer abc' }, { authorization: '[redacted]' }],
    [
      { headers: { Cookie: 'a=b', 'Proxy-Authorization': 'x', accept: '*/*' } },
      { headers: { Cookie: '[redacted]', 'Proxy-Authorization': '[redacted]', accept: '*/*' } },
    ],
    [
      {
        headers: [
          { name: 'Authorization', value: 'x' },
          { name: 'Host', value: 'h' },
        ],
      },
      {
        headers: [
          { name: 'Authorization', value: '[redacted]' },
          { name: 'Host', value: 'h' },
        ],
      },
    ],
    [{ cookies: [{ name: 'sid', value: 'x' }] }, { cookies: '[redacted]' }],
    [
      { password: 'x', apiKey: 'y', accessToken: 'z' },
      { password: '[redacted]', apiKey: '[redacted]', accessToken: '[redacted]' },
    ],
    [{ url: 'redis://user:pass@host:6379/0' }, { url: 'redis://[redacted]@host:6379/0' }],
    [{ text: 'sent Bearer abc.def-1' }, { text: 'sent Bearer [redacted]' }],
    [
      { text: 'Authorization: Basic dXNlcjpwYXNz\r\nbearer my-own-token' },
      { text: 'Authorization: Basic [redacted]\r\nbearer [redacted]' },
    ],
    [{ text: 'BEARER aaaaaaaaaaaaaaaaaaaaaaaa, basic aaaaaaa=' }, { text: 'BEARER [redacted], basic [redacted]' }],
    [
      { text: 'the basic plan and a bearer bond; a Basic understanding, basic English.' },
      { text: 'the basic plan and a bearer bond; a Basic understanding, basic English.' },
    ],
    [{ text: 'Bearer abc12, basic 2024 plans' }, { text: 'Bearer [redacted], basic 2024 plans' }],
    [
      { url: '/hook?access_token=abc&page=2', text: 'GET https://h/x?Signature=s1/2#f (a=b)' },
      { url: '/hook?access_token=[redacted]&page=2', text: 'GET https://h/x?Signature=[redacted]#f (a=b)' },
    ],
    [
      { headers: { 'x-api-key': 'abc', 'Stripe-Signature': 't=1', 'x-request-id': 'r' }, client_secret: 5 },
      {
        headers: { 'x-api-key': '[redacted]', 'Stripe-Signature': '[redacted]', 'x-request-id': 'r' },
        client_secret: '[redacted]',
      },
    ],
    [
      { big: 5n, none: null, list: [1, 'a', true] },
      { big: '5', none: null, list: [1, 'a', true] },
    ],
  ])('are hidden, the rest is not: %o', (fields, told) => {
    const { log, lines } = capture('info')
    log.info('m', fields)
    expect(lines).toEqual([expect.objectContaining(told)])
  })

  test('in an error and in the message are hidden too', () => {
    const { log, lines } = capture('info')
    log.error('no way to redis://u:hush@h', { error: new Error('redis://u:hush@h refused') })
    expect(JSON.stringify(lines)).not.toContain('hush')
  })

  test('cycles and hostile keys do no harm', () => {
    const ring: { [key: string]: unknown } = {}
    ring['ring'] = ring
    expect(JSON.stringify(redact(ring))).toContain('[…]')
    const copy = redact(JSON.parse('{"__proto__":{"a":1}}'))
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"a":1}}')
  })

  test.each([
    ['letters', 'a'.repeat(150_000)],
    ['URLs', 'a://'.repeat(100_000)],
    ['schemes', 'Bearer '.repeat(100_000)],
    ['spaces', `Bearer ${' '.repeat(500_000)}`],
    ['parameters', '?a=b&'.repeat(100_000)],
    ['question marks', '?'.repeat(500_000)],
    ['a user without an end', `x://${'a'.repeat(500_000)}`],
  ])('are looked for in time that grows with the text: %s', (_, text) => {
    const effort = effortOf(() => JSON.stringify(redact({ text, again: { text }, error: new Error(text) })))
    // A few milliseconds; twenty seconds for each of the first, before.
    expect(effort).toBeLessThan(500)
  })

  test('what is too large is cut, and says so', () => {
    const { log, lines } = capture('info')
    log.info('x'.repeat(20_000), {
      text: 'y'.repeat(20_000),
      list: Array.from({ length: 5000 }, () => 'z'.repeat(100)),
      fields: Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`k${index}`, index])),
    })
    const [line] = lines as { msg: string; text: string; list: string[]; fields: object }[]
    expect(line?.msg).toMatch(/^x{8192}\[… 11808 characters more\]$/)
    expect(line?.text).toMatch(/^y{8192}\[… 11808 characters more\]$/)
    expect(line?.list.at(-1)).toBe('[… 4900 more]')
    expect(line?.fields).toMatchObject({ k99: 99, '…': '4900 more' })
    expect(
      JSON.stringify(redact(Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => 'z'.repeat(1000)))))
        .length,
    ).toBeLessThan(200_000)
  })

  test('that a text is cut in are hidden all the same', () => {
    expect(redact(`${'x'.repeat(8180)} redis://user:hush@host`)).not.toMatch(/hu|user/)
  })
})

describe('a name', () => {
  test.each([
    'Authorization',
    'proxy-authorization',
    'Cookie',
    'Set-Cookie',
    'x-api-key',
    'X-API-KEY',
    'apikey',
    'api_key',
    'apiKey',
    'access_token',
    'accessToken',
    'id_token',
    'token',
    'X-Gitlab-Token',
    'client_secret',
    'clientSecret',
    'password',
    'userPassword',
    'passwd',
    'pwd',
    'stripe-signature',
    'X-Hub-Signature-256',
    'webhook-signature',
    'X-Amz-Signature',
    'X-Amz-Security-Token',
    'X-Amz-Credential',
    'sig',
    'X-Shopify-Hmac-Sha256',
    'jwt',
    'x-auth',
    'x-auth-token',
    'x-functions-key',
    'Ocp-Apim-Subscription-Key',
    'x-goog-api-key',
    'x-csrf-token',
    'sessionId',
    'JSESSIONID',
    'PHPSESSID',
    'privateKey',
    'credentials',
    'x-telegram-bot-api-secret-token',
    'X-Vault-Token',
    'code.auth_code',
    'DPoP',
    'dpop',
    'SAMLResponse',
    'sid',
    'connect.sid',
    'session',
    'x-session',
    'pass',
    'db_pass',
    'X-Pin',
    'sas',
    'X-Forwarded-Client-Cert',
  ])('%s says that it holds a secret', (name) => expect(isSecretName(name)).toBe(true))

  test.each([
    'accept',
    'x-request-id',
    'idempotency-key',
    'key',
    'keyboard',
    'author',
    'authority',
    'WWW-Authenticate',
    'x-auth-request-email',
    'token_type',
    'expires_in',
    'max_tokens',
    'secretary',
    'design',
    'assignee',
    'state',
    'code',
    'method',
    'gloopProperties',
    'name',
    'value',
    'signed',
    'session_name',
    'MessageSid',
    'passenger',
    'pinned',
    'cert',
    'cache-key',
    'sort_key',
    'x-signature-timestamp',
    'password_required',
    'sec-websocket-key',
    'contextId',
    'stepKey',
    '',
    '$',
    'toString',
    'constructor',
  ])('%s does not', (name) => expect(isSecretName(name)).toBe(false))
})

describe('lines', () => {
  test('for people have level, message and fields, and no secrets', () => {
    const { log, lines } = written('pretty')
    log.warn('failed', { contextId: 5, password: 'x', stack: 'Error: no\nat inner (lib/work.mjs:3:9)' })
    expect(lines.join('')).toMatch(
      /^\[\d\d:\d\d:\d\d\.\d{3}\] WARN: failed\n {4}contextId: 5\n {4}password: "\[redacted\]"\n {4}stack: Error: no\n {8}at inner \(lib\/work\.mjs:3:9\)\n$/,
    )
  })

  test('are JSON where there is no terminal', () => {
    for (const format of ['json', 'auto'] as const) {
      const { log, lines } = written(format)
      log.info('started', { contextId: 5 })
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ msg: 'started', contextId: 5, level: 30 }])
    }
  })
})
