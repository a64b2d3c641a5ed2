import { describe, expect, test } from 'vitest'
import { createLog } from '../../src/observe/log.ts'
import { redact } from '../../src/observe/redact.ts'
import type { LogLevel } from '../../src/ports/log.ts'

function capture(level: LogLevel) {
  const lines: unknown[] = []
  return { lines, log: createLog({ level, destination: { write: (line: string) => { lines.push(JSON.parse(line)) } } }) }
}

describe('the log', () => {
  test('is a JSON object a line, with the fields and the message', () => {
    const { log, lines } = capture('info')
    log.info('started', { contextId: 5 })
    log.warn('alone')
    expect(lines).toEqual([expect.objectContaining({ level: 30, msg: 'started', contextId: 5 }), expect.objectContaining({ level: 40, msg: 'alone' })])
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
    expect(lines).toEqual([expect.objectContaining({
      error: expect.objectContaining({ name: 'TypeError', message: 'outer', stack: expect.stringContaining('log.test'), cause: expect.objectContaining({ message: 'inner' }) }),
    })])
  })
})

describe('secrets', () => {
  test.each([
    [{ authorization: 'Bearer abc' }, { authorization: '[redacted]' }],
    [{ headers: { Cookie: 'a=b', 'Proxy-Authorization': 'x', accept: '*/*' } }, { headers: { Cookie: '[redacted]', 'Proxy-Authorization': '[redacted]', accept: '*/*' } }],
    [{ headers: [{ name: 'Authorization', value: 'x' }, { name: 'Host', value: 'h' }] }, { headers: [{ name: 'Authorization', value: '[redacted]' }, { name: 'Host', value: 'h' }] }],
    [{ cookies: [{ name: 'sid', value: 'x' }] }, { cookies: '[redacted]' }],
    [{ password: 'x', apiKey: 'y', accessToken: 'z' }, { password: '[redacted]', apiKey: '[redacted]', accessToken: '[redacted]' }],
    [{ url: 'redis://user:pass@host:6379/0' }, { url: 'redis://[redacted]@host:6379/0' }],
    [{ text: 'sent Bearer abc.def-1' }, { text: 'sent Bearer [redacted]' }],
    [{ text: 'Authorization: Basic dXNlcjpwYXNz\r\nbearer my-own-token' }, { text: 'Authorization: Basic [redacted]\r\nbearer [redacted]' }],
    [{ text: 'BEARER aaaaaaaaaaaaaaaaaaaaaaaa, basic aaaaaaa=' }, { text: 'BEARER [redacted], basic [redacted]' }],
    [{ text: 'the basic plan and a bearer bond; a Basic understanding, basic English.' }, { text: 'the basic plan and a bearer bond; a Basic understanding, basic English.' }],
    [{ big: 5n, none: null, list: [1, 'a', true] }, { big: '5', none: null, list: [1, 'a', true] }],
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
})
