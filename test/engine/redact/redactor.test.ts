// Redaction by where a value came from: contexts of earlier versions, and work that grows with what is shown, whatever
// a stranger sends.
import { describe, expect, test } from 'vitest'
import { compileFlux } from '../../../src/definitions/compile/service.ts'
import type { CompiledFlux } from '../../../src/definitions/flux.ts'
import { Report } from '../../../src/definitions/report.ts'
import type { JsonObject } from '../../../src/model/json/value.ts'
import { inheritedOf, redactorOf } from '../../../src/engine/redact/redactor.ts'

const set = (expression: string, ...to: string[]) => ({ type: 'set', expression, evaluate: true, to })
const outs = (...names: string[]) => names.map((name) => ({ name, type: 'any' }))

function compiled(source: JsonObject): CompiledFlux {
  const report = new Report('Test.flux')
  const flux = compileFlux({ package: 'p', fluxName: 'Test', source, models: new Map() }, report)
  if (!flux) throw new Error(JSON.stringify(report.faults))
  return flux
}

const KID = compiled({
  input: outs('auth', 'word'),
  output: outs('kept', 'word'),
  states: [
    { name: 'end', action: { type: 'map', lines: [set('`got ${auth}`', 'kept'), { from: ['word'], to: ['word'] }] } },
  ],
})

describe('a child', () => {
  const headers = [{ name: 'Authorization', value: 'Bearer qzv12' }]
  const input = { auth: 'Bearer qzv12', word: 'Bearer qzv12' }

  test('that version 0.1 started is hidden from in all its inputs', () => {
    const redactor = redactorOf({ request: null, inherited: { headers, cookies: [] }, input }, KID)
    expect(redactor.value({ of: 'input', name: 'auth' }, 'Bearer qzv12')).toBe('[redacted]')
    expect(redactor.value({ of: 'input', name: 'word' }, 'qzv12')).toBe('[redacted]')
    expect(redactor.value({ of: 'output', name: 'kept' }, 'got Bearer qzv12')).toBe('got [redacted]')
  })

  test('is told which of its inputs carry something', () => {
    const lines = [set('$request.headers.authorization', 'auth'), set('"word"', 'word')]
    const parent = compiled({
      states: [{ name: 'act', action: { type: 'invokeFlux', name: 'Kid', inputs: lines, outputs: [] } }],
    })
    const request = { method: 'GET', uri: '/api/x', headers, cookies: [], parameters: {}, body: null }
    const inherited = inheritedOf({ request, inherited: null, input: {}, state: 0 }, parent)
    const redactor = redactorOf({ request: null, inherited, input }, KID)
    expect(redactor.value({ of: 'output', name: 'kept' }, 'got Bearer qzv12')).toBe('got [redacted]')
    expect(redactor.value({ of: 'output', name: 'word' }, 'Bearer qzv12')).toBe('Bearer qzv12')
    expect(inheritedOf({ request: null, inherited, input, state: 0 }, KID)).toBeNull()
  })
})

describe('what a stranger sends', () => {
  const lines = [
    set('{ all: [$request.body, $request.cookies["c0"]] }', 'mixed'),
    set('json($request)', 'text'),
    set('`${$request.body.text} ${$request.cookies["c1"]}`', 'template'),
    set('[...$request.body.list, ...$request.cookies.map(c => c.value)]', 'list'),
    { from: ['$request'], to: ['request'] },
    { from: ['$request', 'body'], to: ['body'] },
  ]
  const flux = compiled({
    output: outs('mixed', 'text', 'template', 'list', 'request', 'body'),
    states: [{ name: 'end', action: { type: 'map', lines } }],
  })

  /**
   * Cookies whose parts are parts of one another, and data that is nearly all of them: what a search for each in all
   * would take longest with.
   */
  const cookies = Array.from({ length: 400 }, (_, index) => ({
    name: `c${index}`,
    value: 'a'.repeat(20 + (index % 20)) + String(index),
  }))
  const header = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  const text = `${'a'.repeat(19)}b`.repeat(50_000)
  const list = Array.from({ length: 100_000 }, (_, index) => `a${index % 7}`)

  test('is shown however deep it is nested within a text', () => {
    const body = { deep: `${'['.repeat(300_000)}${']'.repeat(300_000)}`, broken: '{"a":' }
    const request = {
      method: 'POST',
      uri: '/api/x',
      headers: [{ name: 'x-api-key', value: 'qzv' }],
      cookies: [],
      parameters: {},
      body,
    }
    const redactor = redactorOf({ request, inherited: null, input: {} }, flux)
    const text = redactor.value(
      { of: 'output', name: 'text' },
      JSON.stringify({ ...request, again: JSON.stringify(request), ...body }),
    )
    expect(text).not.toContain('qzv')
    expect(JSON.parse(String(text))).toMatchObject({
      body,
      ...body,
      headers: [{ name: 'x-api-key', value: '[redacted]' }],
    })
  })

  test('of 1 MiB with 13 KB of cookies is shown in time that grows with both, not with their product', () => {
    expect(header.length).toBeGreaterThan(13_000)
    const body = { text, list }
    const request = {
      method: 'POST',
      uri: '/api/x',
      headers: [{ name: 'Cookie', value: header }],
      cookies,
      parameters: {},
      body,
    }
    const redactor = redactorOf({ request, inherited: null, input: {} }, flux)
    const began = performance.now()
    const shown = (name: string, value: Parameters<typeof redactor.value>[1]) =>
      redactor.value({ of: 'output', name }, value)
    expect(shown('body', body)).toBe(body)
    expect(shown('request', request)).toMatchObject({ body, headers: [{ value: '[redacted]' }] })
    expect(shown('mixed', { all: [body, cookies[0]?.value ?? null] })).toEqual({ all: [body, '[redacted]'] })
    expect(shown('text', JSON.stringify(request))).not.toContain(cookies[7]?.value)
    expect(shown('template', `${text} ${cookies[1]?.value}`)).toMatch(/\[redacted\]$/)
    expect(shown('list', [...list, ...cookies.map(({ value }) => value)])).toHaveLength(list.length + cookies.length)
    // About half a second. A search for each secret took 31 seconds for less than one of these.
    expect(performance.now() - began).toBeLessThan(8000)
  })

  test('as one long cookie without repetition is hidden from what a function returned in some hundredths of a second', () => {
    const steps = compiled({
      output: outs('all', 'text'),
      states: [
        {
          name: 'act',
          action: {
            type: 'invokeCode',
            className: 'fns',
            methodName: 'echo',
            inputs: [{ from: ['$request'], to: ['request'] }],
            outputs: [{ from: ['$result'], to: ['all'] }, set('json($request)', 'text')],
          },
        },
      ],
    })
    // Each character is six in a URL, and a quote four in JSON in JSON: the most that 14 KB of header can come to.
    let seed = 1
    const next = (bound: number) => (seed = Math.imul(seed, 48_271) >>> 0 || 1) % bound
    const spent: number[] = []
    for (let round = 0; round < 3; round += 1) {
      const value = Array.from({ length: 14_000 }, () =>
        next(3) === 0 ? '"' : String.fromCharCode(0xa1 + next(94)),
      ).join('')
      const cookie = { name: 'c', value }
      const request = {
        method: 'POST',
        uri: '/api/x',
        headers: [{ name: 'Cookie', value: `c=${value}` }],
        cookies: [cookie],
        parameters: {},
        body: null,
      }
      const before = process.cpuUsage()
      const redactor = redactorOf({ request, inherited: null, input: {} }, steps)
      const shown = JSON.stringify(
        redactor.value({ of: 'output', name: 'all' }, [
          `<${value.slice(50, 70)}>`,
          JSON.stringify(value),
          encodeURIComponent(value),
          'ab',
        ]),
      )
      expect(shown).toMatch(/^\["<\[redacted\]>",.*,"\[redacted\]","ab"\]$/)
      expect(shown.length).toBeLessThan(100)
      const { user, system } = process.cpuUsage(before)
      spent.push((user + system) / 1000)
    }
    // Some 60 ms. A node for each piece of it took 800, and 100 MB.
    expect(Math.min(...spent)).toBeLessThan(300)
  })
})
