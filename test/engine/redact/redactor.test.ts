// What counts as a secret of a request, in which order, and that a view of the worst request takes little time.
import { describe, expect, test } from 'vitest'
import { compileFlux } from '../../../src/definitions/service.ts'
import type { CompiledFlux } from '../../../src/definitions/flux.ts'
import { Report } from '../../../src/definitions/report.ts'
import { redactorOf, redactRequest, secretTextsOf } from '../../../src/engine/redact/redactor.ts'
import type { JsonObject } from '../../../src/model/json/value.ts'

function compiled(source: JsonObject): CompiledFlux {
  const report = new Report('Test.flux')
  const flux = compileFlux({ package: 'p', fluxName: 'Test', source, models: new Map() }, report)
  if (!flux) throw new Error(JSON.stringify(report.faults))
  return flux
}

const flux = compiled({ output: [{ name: 'body', type: 'any' }], states: [{ name: 'end', action: { type: 'map' } }] })
const header = (name: string, value: string) => ({ name, value })
const requestOf = (parts: JsonObject): JsonObject => ({
  method: 'POST',
  uri: '/api/x',
  headers: [],
  cookies: [],
  parameters: {},
  body: null,
  ...parts,
})
const started = { inheritedSecrets: null, input: {}, output: {}, states: {} }

describe('secrets of a request', () => {
  const request = requestOf({
    headers: [
      header('Accept', 'text/html'),
      header('Cookie', 'a=sent%20first; b="sent second"'),
      header('X-Api-Key', 'the key'),
      header('AUTHORIZATION', 'Bearer the token'),
    ],
    cookies: [header('a', 'sent first'), header('b', 'sent second')],
    parameters: { access_token: ['one', 'two'], page: '2', Signature: 'sig' },
  })

  test('are told in the order in which they count', () => {
    expect(redactRequest(request).secrets).toEqual([
      'Bearer the token',
      'the token',
      'a=sent%20first; b="sent second"',
      'the key',
      'sent%20first',
      'sent second',
      'sent first',
      'one',
      'two',
      'sig',
    ])
  })

  test('are those of its children, and theirs', () => {
    const inheritedSecrets = secretTextsOf({ ...started, request })
    expect(inheritedSecrets).toEqual(redactRequest(request).secrets)
    expect(secretTextsOf({ ...started, request: null, inheritedSecrets })).toEqual(inheritedSecrets)
    const redactor = redactorOf({ ...started, request: null, inheritedSecrets }, flux)
    expect(redactor.values(flux.output, { body: ['got the token', 'the key'] })).toEqual({
      body: ['got [redacted]', 'the key'],
    })
  })
})

test('values of a state that the definition no longer has are hidden, if it has sensitive ones', () => {
  const values = { word: 'plain' }
  const sensitive = compiled({ input: [{ name: 'pin', sensitive: true }], states: [{ name: 'end' }] })
  expect(redactorOf({ ...started, request: null }, flux).values(undefined, values)).toEqual(values)
  expect(redactorOf({ ...started, request: null }, sensitive).values(undefined, values)).toEqual({ word: '[redacted]' })
  expect(redactorOf({ ...started, request: null }, sensitive).values(sensitive.input, values)).toEqual(values)
})

test('errors and the log hide the texts at all depths of a sensitive value', () => {
  const sensitive = compiled({ input: [{ name: 'card', type: 'any', sensitive: true }], states: [{ name: 'end' }] })
  const input = { card: { holder: 'Grace Hopper', numbers: [['4111 1111 1111'], 7] } }
  const { logged } = redactorOf({ ...started, input, request: null }, sensitive)
  expect(logged.text('no account of Grace Hopper with 4111 1111 1111')).toBe('no account of [redacted] with [redacted]')
})

test('1 MiB with 13 KB of cookies, which are parts of one another, is shown in time that grows with both', () => {
  const cookies = Array.from({ length: 400 }, (_, nr) => header(`c${nr}`, 'a'.repeat(20 + (nr % 20)) + String(nr)))
  const sent = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  expect(sent.length).toBeGreaterThan(13_000)
  const text = `${'a'.repeat(19)}b`.repeat(50_000)
  const body = { text, list: Array.from({ length: 100_000 }, (_, nr) => `a${nr % 7}`) }
  const request = requestOf({ headers: [header('Cookie', sent)], cookies, body })
  const spent = Array.from({ length: 3 }, () => {
    const before = process.cpuUsage()
    const redactor = redactorOf({ ...started, request }, flux)
    expect(redactor.request(request)).toMatchObject({ headers: [header('Cookie', '[redacted]')] })
    const shown = redactor.values(flux.output, { body: [body, `<${cookies[7]?.value}>`, cookies[399]?.value ?? ''] })
    expect(shown).toMatchObject({ body: [{ list: body.list }, expect.not.stringContaining('aaa'), '[redacted]'] })
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  })
  // Some 100 ms. A search for each secret takes half a minute.
  expect(Math.min(...spent)).toBeLessThan(1000)
})
