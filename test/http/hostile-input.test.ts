// Requests that cost more than their size: each is refused cheaply, or done in pieces, with others served in between.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { formFieldsOf } from '../../src/http/request/form.ts'
import { readMultipart } from '../../src/http/request/multipart.ts'
import { negotiate } from '../../src/http/formats/negotiate.ts'
import { readQuery } from '../../src/http/request/query.ts'
import { readHeaderValue } from '../../src/http/request/text.ts'
import type { FluxApi } from '../../src/api/calls.ts'
import type { WebhookApi } from '../../src/model/webhook.ts'
import { post, testApp } from './support.ts'
import { effortOf } from '../support/effort.ts'

/** Far more than any of these takes, and a small part of what it took where work grew with the square of the length. */
const MILLISECONDS = 1000

const hook: WebhookApi = {
  find: () => ({
    endpoint: { package: 'p', fluxName: 'F', urlPath: '/hook', timeout: null, verify: null },
    parameters: new Map(),
  }),
  receive: () => Promise.resolve({ answer: { kind: 'nothing', contextId: 1 }, replayed: false, remark: null }),
  all: () => [],
  arrival: () => ({ deliveryId: 'd', time: 0 }),
  now: () => 0,
  settled() {},
  unmatched() {},
  giveUp() {},
}
const send = (
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
  overrides: Partial<FluxApi> = {},
) => testApp(overrides, { webhooks: hook, maxParts: 1000 }).app.request(path, { method: 'POST', body, headers })

describe('parameters of a header', () => {
  test.each([
    ['white space after nothing', `;a=${' '.repeat(300_000)}"`],
    ['white space before a name', `;${' '.repeat(300_000)}=`],
    ['names without values', `;${'a'.repeat(300_000)}`],
    ["quotes that don't end", '; a="'.repeat(60_000)],
    ["escapes that don't end", `;a="${'\\'.repeat(300_000)}`],
    ['empty ones', ';'.repeat(300_000)],
    ['ones that go on', ';a="b"c'.repeat(40_000)],
  ])('are read in time that grows with their length: %s', (_, text) => {
    expect(effortOf(() => readHeaderValue(`form-data${text}`))).toBeLessThan(MILLISECONDS)
  })

  test.each([
    [
      'a/b; c=d ; E = "f;\\"g\\\\" ;h=',
      [
        ['c', 'd'],
        ['e', 'f;"g\\'],
        ['h', ''],
      ],
    ],
    ['a/b;c=d e;f=g', [['f', 'g']]],
    ['a/b;c="d"e;f=g', [['f', 'g']]],
    ['a/b;c="d;e=f', [['e', 'f']]],
    [
      'a/b;c=1;C=2;=3;d;;e=4',
      [
        ['c', '1'],
        ['e', '4'],
      ],
    ],
  ])('mean what they say: %s', (text, parameters) => {
    expect([...readHeaderValue(text).parameters]).toEqual(parameters)
  })

  test('of an Accept are read in such a time, too', () => {
    for (const text of [
      `a/b;q${' '.repeat(300_000)}x`,
      'a/b;x="'.repeat(50_000),
      '; q = '.repeat(60_000),
      '*/*,'.repeat(80_000),
    ]) {
      expect(effortOf(() => negotiate(text, [{ type: 'application/json', suffix: '+json' }]))).toBeLessThan(
        MILLISECONDS,
      )
    }
  })
})

const keys = (count: number, nameOf: (index: number) => string) =>
  `{${Array.from({ length: count }, (_, index) => `"${nameOf(index)}":1`).join()}}`

/** XML of so many bytes. */
const sized = (bytes: number) => `<r><event>${'e'.repeat(bytes - 22)}</event></r>`

describe('a body', () => {
  const JSON_TYPE = { 'content-type': 'application/json' }
  const XML_TYPE = { 'content-type': 'application/xml' }

  test.each([
    ['340,000 objects', `[${Array(340_000).fill('{}').join()}]`, JSON_TYPE],
    ['90,000 names', keys(90_000, (index) => `k${index}`), JSON_TYPE],
    ['80,000 names that look like numbers', keys(80_000, (index) => String(index)), JSON_TYPE],
  ])('of %s is too large', async (_, body, headers) => {
    for (const path of ['/flux-api/event', '/api/hook']) {
      const answer = await send(path, body, headers)
      expect(answer.status).toBe(413)
      expect(await answer.json()).toMatchObject({
        type: 'urn:actorflux:problem:body-too-large',
        detail: 'the body holds more than 100000 values and names',
      })
    }
  })

  test.each([
    ['99,990 values', `{"event":"e","input":{"list":[${Array(99_990).fill('{}').join()}]}}`, JSON_TYPE],
    [
      'texts that look like many',
      JSON.stringify({ event: 'e', input: { text: '[{},{},":,'.repeat(80_000) } }),
      JSON_TYPE,
    ],
    ['30,000 elements', `<r><event>e</event><input><list>${'<item/>'.repeat(30_000)}</list></input></r>`, XML_TYPE],
  ])('of %s is taken', async (_, body, headers) => {
    for (const path of ['/flux-api/event', '/api/hook'])
      expect((await send(path, body, headers)).status).toBeLessThan(300)
  })

  test('has as many values as the setting says', async () => {
    const { app } = testApp({}, { maxValues: 5 })
    const event = (list: string) => app.request('/flux-api/event', post(`{"event":${list}}`))
    expect((await event('"e"')).status).toBe(200)
    expect((await event('[1,2]')).status).toBe(400)
    expect((await event('[1,2,3]')).status).toBe(413)
    expect((await app.request('/flux-api/event', post('<r><a/><b/><c/></r>', XML_TYPE))).status).toBe(413)
  })

  test('of XML has at most 256 KiB', async () => {
    expect(sized(100)).toHaveLength(100)
    for (const path of ['/flux-api/event', '/api/hook']) {
      expect((await send(path, sized(256 * 1024), XML_TYPE)).status).not.toBe(413)
      expect((await send(path, sized(256 * 1024 + 1), XML_TYPE)).status).toBe(413)
    }
  })

  test('that is large is read in a turn of its own', async () => {
    const { app } = testApp()
    const body = JSON.stringify({ event: 'e', input: { text: 'x'.repeat(200_000) } })
    expect(await turnsDuring(() => app.request('/flux-api/event', post(body)))).toBeGreaterThan(
      await turnsDuring(() => app.request('/flux-api/event', post({ event: 'e' }))),
    )
  })
})

/** Turns of the event loop that others have until it is done. */
async function turnsDuring(work: () => unknown): Promise<number> {
  let [turns, isDone] = [0, false]
  const count = () => {
    turns += 1
    if (!isDone) setImmediate(count)
  }
  // What was done before leaves a turn behind.
  for (let turn = 0; turn < 3; turn += 1) await nextTurn()
  setImmediate(count)
  await work()
  isDone = true
  return turns
}

const part = (headers: string) => Buffer.from(`--b\r\n${headers}\r\n\r\nv\r\n--b--\r\n`)
const read = async (bytes: Buffer) => readMultipart(bytes, 'b', { maxParts: 1000 })

describe('a form', () => {
  test('of 1,000 parts is read', async () => {
    const parts = Array.from(
      { length: 1000 },
      (_, index) => `--b\r\nContent-Disposition: form-data; name="f${index}"\r\n\r\n${index}\r\n`,
    )
    const bytes = Buffer.from(`${parts.join('')}--b--\r\n`)
    expect(Object.keys(await read(bytes))).toHaveLength(1000)
  })

  test.each([
    ['one header', `Content-Disposition: form-data; name="a"; b="${'c'.repeat(8200)}"`],
    ['white space', `Content-Disposition: form-data; name=a; b=${' '.repeat(312_000)}"`],
    [
      'many headers',
      `Content-Disposition: form-data; name="a"\r\n${Array.from({ length: 2000 }, (_, index) => `x${index}: y`).join('\r\n')}`,
    ],
    ['headers without end', `Content-Disposition: form-data; name="a"\r\n${'x: y\r\n'.repeat(100_000)}z: z`],
  ])('with a part whose headers are too long is malformed: %s', async (_, headers) => {
    await expect(read(part(headers))).rejects.toMatchObject({
      failure: { kind: 'malformed', detail: 'the headers of a part of the form are longer than 8192 bytes' },
    })
  })

  test('may have long headers of parts', async () => {
    expect(await read(part(`Content-Disposition: form-data; name="${'a'.repeat(8000)}"`))).toEqual({
      ['a'.repeat(8000)]: 'v',
    })
  })

  test.each([
    ['+', ' '],
    ['%41b', 'Ab'],
    ['+%20', '  '],
    ['%C3%BC', 'ü'],
  ])('of a megabyte of %s costs a few times what one costs that has nothing to decode', (unit, text) => {
    const count = Math.floor(1_000_000 / unit.length)
    expect(formFieldsOf(`a=${unit.repeat(count)}`, 1).get('a')).toEqual([text.repeat(count)])
    // The least that decoding could be: each byte looked at once.
    const bytes = Buffer.alloc(1_000_000, unit)
    const looked = effortOf(() => {
      let sum = 0
      for (let at = 0; at < bytes.length; at++) sum += bytes[at] ?? 0
      return sum
    })
    expect(effortOf(() => formFieldsOf(`a=${unit.repeat(count)}`, 1))).toBeLessThan(40 * looked + 5)
  })
})

test('a query that repeats a name is read in time that grows with its length', () => {
  const url = `/flux-api/contexts?${'tag=a&'.repeat(30_000)}limit=1`
  const known = new Map([
    ['tag', { type: 'array', canBeNull: false, isSeparated: true, isExact: false }],
    ['limit', { type: 'integer', canBeNull: false, isSeparated: true, isExact: false }],
  ])
  let query = {}
  expect(
    effortOf(() => {
      query = readQuery(url, known)
    }),
  ).toBeLessThan(MILLISECONDS)
  expect(query).toMatchObject({ tag: ['a'], limit: 1 })
  expect(
    effortOf(() => expect(() => readQuery(url + '&limit=1'.repeat(30_000), known)).toThrow('limit must be given once')),
  ).toBeLessThan(MILLISECONDS)
})
