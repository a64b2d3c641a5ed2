// Requests that nobody would send in good faith, to a real server: none makes it fail, none holds it up, and it doesn't
// grow. `npm run fuzz` sends more of them.
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { resolve as pathOf } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { decodeXml } from '../../src/http/formats/xml/decode.ts'
import { encodeXml } from '../../src/http/formats/xml/encode.ts'
import { cleanUp, placeFor, startServer, type Server } from '../support/server.ts'
import { character } from '../support/character.ts'

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 600)

const SERVICES = {
  'p/F.flux': {
    triggers: ['started'],
    tags: ['${tag}'],
    input: [
      { name: 'tag' },
      { name: 'n', type: 'integer' },
      { name: 'list', type: 'date', array: true },
      { name: 'thing', type: 'object' },
    ],
    states: [
      {
        name: 'wait',
        waiting: true,
        input: [
          { name: 'n', type: 'integer', required: true },
          { name: 'thing', type: 'any' },
        ],
        transitions: [
          { event: 'e', to: 'wait' },
          { wait: 'duration:60', to: 'end' },
        ],
      },
      { name: 'end' },
    ],
  },
  /** Ends at once, and is purged soon: what it was sent is not to be taken for memory that was lost. */
  'p/Hook.flux': {
    webhooks: [{ urlPath: '/hook/{n}', httpMethods: ['GET', 'POST'] }],
    input: [
      { name: 'n', type: 'integer' },
      { name: 'list', type: 'date', array: true },
      { name: 'thing', type: 'object' },
    ],
    output: [{ name: 'out', type: 'any' }],
    states: [{ name: 'end', action: { type: 'map', lines: [{ from: ['$request'], to: ['out'] }] } }],
  },
  'p/S.flux': { secured: true, states: [{ name: 'only', waiting: true, transitions: [{ event: 'e', to: 'only' }] }] },
}

/** Milliseconds for which its thread may work on one thing. */
const STALL_MS = 50
/** Of one of many requests, a collection of garbage included. */
const LONGEST_STALL_MS = 1000

let server: Server
/** Milliseconds of processor time of each longer piece of work. */
const stalls = () =>
  Array.from(server.output().matchAll(/^stall of (\d+) ms$/gm), ([, milliseconds]) => Number(milliseconds))

beforeAll(async () => {
  server = await startServer({
    program: inject('program'),
    ...(await placeFor(SERVICES)),
    env: { ACTORFLUX_RETENTION: '1s', ACTORFLUX_MAX_VALUES: '1000000', STALL_BOUND_MS: String(STALL_MS) },
    node: ['--import', pathOf(import.meta.dirname, '../support/stall-probe.mjs')],
  })
  // Something to find.
  for (const input of ['{"n":1}', '{"tag":"t"}'])
    expect(
      (await ask(requestOf('POST', '/flux-api/p/execute', {}, Buffer.from(`{"fluxName":"F","input":${input}}`))))
        .status,
    ).toBe(200)
})
afterAll(cleanUp)

interface Answer {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** In latin1, as the bytes are. */
const requestOf = (
  method: string,
  path: string,
  headers: { readonly [name: string]: string },
  body: Uint8Array | null,
): Buffer =>
  Buffer.concat([
    Buffer.from(
      [
        `${method} ${path} HTTP/1.1`,
        'host: localhost',
        ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
        ...(body === null ? [] : [`content-length: ${body.length}`]),
        '',
        '',
      ].join('\r\n'),
      'latin1',
    ),
    body ?? Buffer.alloc(0),
  ])

/**
 * The connection is kept alive: one that the sender wants closed may be reset while a body is on its way that nobody
 * reads.
 */
function ask(request: Buffer): Promise<Answer> {
  const method = request.toString('latin1', 0, request.indexOf(' '))
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0)
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () => {
      socket.write(request)
    })
    socket.setTimeout(5000, () => socket.destroy(new Error('no answer')))
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('closed without a whole answer')))
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      const text = received.toString('latin1').replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '')
      const [head = '', ...rest] = text.split('\r\n\r\n')
      const body = rest.join('\r\n\r\n')
      if (
        rest.length === 0 ||
        (method !== 'HEAD' && body.length < Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0))
      )
        return
      resolve({
        status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]),
        head: head.toLowerCase(),
        body,
      })
      socket.destroy()
    })
  })
}

const NAMES = [
  'contextId',
  'tag',
  'limit',
  'page',
  'after',
  'status',
  'snapshot',
  'fluxName',
  'stateName',
  'currentState',
  '__proto__',
  'constructor',
  'toString',
  '',
]
/** Without 1: that context is to live on. */
const VALUES = [
  '2',
  '3',
  '0',
  '-1',
  'true',
  'WAITING',
  'WAITING_UNTIL',
  'F',
  'S',
  'wait',
  't',
  '%',
  '%ff',
  '%00',
  '%0d%0a',
  '+',
  '9'.repeat(30),
  '9007199254740991',
  '__proto__',
  '../..',
  '%2e%2e',
]
const PATHS = [
  '/flux-api/event',
  '/flux-api/p/execute',
  '/flux-api/terminate',
  '/flux-api/contexts',
  '/flux-api/context',
  '/flux-api/context/state',
  '/flux-api/context/tag',
  '/flux-api/definition',
  '/flux-api/machine',
  '/flux-api/schema.xsd',
  '/openapi.json',
  '/flux-schema.json',
  '/docs',
  '/docs/start.js',
  '/healthz',
  '/readyz',
  '/',
  '/api/x',
  '/api/hook/1',
  '/api/hook/%ff',
  '/api',
  '//',
  '/flux-api/../healthz',
  '/flux-api//execute',
  '*',
]

const printable = fc.string({
  unit: fc
    .integer({ min: 0x21, max: 0xff })
    .filter((code) => code !== 0x7f)
    .map((code) => String.fromCharCode(code)),
})
const word = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...VALUES) },
  fc.string({ unit: 'grapheme' }).map(encodeURIComponent),
  printable.map((text) => text.replaceAll(/[#?\s]/g, '')),
)
const path = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...PATHS) },
  fc.tuple(fc.constantFrom(...PATHS), word).map(([base, more]) => `${base}/${more}`),
  word.map((text) => `/${text}`),
)
const query = fc
  .array(
    fc.tuple(fc.constantFrom(...NAMES), word).map(([name, value]) => `${name}=${value}`),
    { maxLength: 4 },
  )
  .map((pairs) => (pairs.length > 0 ? `?${pairs.join('&')}` : ''))

/** Names that mean something to every object, or to a promise. */
const odd = fc.dictionary(
  fc.constantFrom(
    'toString',
    'valueOf',
    'hasOwnProperty',
    'then',
    'length',
    'toJSON',
    '__proto__',
    'constructor',
    'prototype',
    'name',
    'item',
    'type',
  ),
  fc.oneof(fc.string(), fc.boolean(), fc.constant({ toString: '' }), fc.constant(['x']), fc.constant(null)),
  { maxKeys: 4 },
)
const field = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  odd,
  odd.map((thing) => ({ n: 1, thing })),
  fc.constantFrom<unknown>(
    'F',
    'S',
    'e',
    'started',
    'wait',
    't',
    '$else',
    '',
    ['t'],
    ['t', ''],
    { n: 1 },
    { n: '1' },
    { list: ['2026-01-01', 5] },
    { thing: { a: {} } },
  ),
)
const right = fc.oneof(
  fc.record({ fluxName: field, startState: field, input: field, tags: field }, { requiredKeys: [] }),
  fc.record({ event: field, contextId: field, input: field, tags: field }, { requiredKeys: [] }),
  fc.record({ fluxName: field, event: field, contextid: field }, { requiredKeys: [] }),
)
const usual = fc.constantFrom(
  { fluxName: 'F', input: { n: 1 } },
  { event: 'e', input: { n: 2 }, tags: ['t'] },
  { event: 'e', input: { n: 3 } },
  { event: 'started' },
  { fluxName: 'S' },
  { fluxName: 'F', input: { n: '1' } },
  { fluxName: 'F', startState: 'x' },
  { event: 'other' },
)
const value = fc.oneof(
  right,
  { weight: 3, arbitrary: usual },
  odd.map((thing) => ({ fluxName: 'F', input: { thing } })),
  odd.map((input) => ({ fluxName: 'F', input })),
  fc.jsonValue(),
)
const text = fc.oneof(
  { weight: 4, arbitrary: value.map((data) => JSON.stringify(data)) },
  value.map((data) => encodeXml(Array.isArray(data) ? { data } : data, 'response')),
  fc.string({ unit: character }),
  fc.constantFrom(
    '[',
    '{"a":'.repeat(5000),
    '['.repeat(100_000),
    '<a>'.repeat(100_000),
    '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
    '<a/>'.repeat(1000),
    '1e999',
    '"\\ud800"',
    '',
    'a=1&a=%ff&=&%',
    '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n',
    '--b\r\ncontent-disposition: form-data; name="f"; filename="x"\r\n\r\n',
  ),
)
/** A piece cut out, or another put in. */
const mutated = fc
  .tuple(text, fc.nat(), fc.nat({ max: 20 }), fc.string({ unit: character, maxLength: 3 }))
  .map(([whole, at, length, piece]) => {
    const cut = at % (whole.length + 1)
    return whole.slice(0, cut) + piece + whole.slice(cut + length)
  })
const body = fc.option(
  fc.oneof(
    { weight: 4, arbitrary: text.map((whole) => Buffer.from(whole)) },
    mutated.map((whole) => Buffer.from(whole)),
    fc.uint8Array({ maxLength: 200 }),
  ),
  { freq: 6, nil: null },
)

const type = fc.constantFrom(
  'application/json',
  'application/json',
  'application/json',
  'application/xml',
  'text/xml',
  'application/x+json',
  'application/x+xml',
  'text/plain',
  '',
  ';;;',
  'application/json; charset="',
  'application/xml; charset=utf-16',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=b',
  'text/plain; charset=latin1',
  'text/plain; charset=nonsense',
)
const accept = fc.constantFrom(
  'application/json',
  'application/xml',
  'text/xml',
  '*/*',
  'text/html',
  '',
  'application/xml;q=0.1, */*;q=0',
  '"',
  'a/b;q=',
)
const entry = (name: string, values: fc.Arbitrary<string>) => values.map((given): [string, string] => [name, given])
const header = fc.oneof(
  { weight: 8, arbitrary: entry('accept', accept) },
  entry('accept', printable),
  entry('content-type', printable),
  entry('authorization', printable),
  entry('x-odd', printable),
  entry('content-encoding', fc.constantFrom('gzip', 'identity', '')),
  entry('expect', fc.constantFrom('100-continue', 'x')),
  entry('origin', printable),
)
const headers = fc
  .tuple(fc.option(entry('content-type', type), { freq: 20 }), fc.option(header))
  .map((pairs) => Object.fromEntries(pairs.filter((pair) => pair !== null)))

/** Half of them get as far as the runtime. */
const target = fc.oneof(
  fc.tuple(fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'QUERY'), path, query),
  {
    weight: 2,
    arbitrary: fc.constantFrom<[string, string, string]>(
      ['POST', '/flux-api/event', '?contextId=1'],
      ['POST', '/flux-api/event', '?contextId=1'],
      ['POST', '/flux-api/p/execute', ''],
      ['POST', '/flux-api/event', ''],
      ['POST', '/flux-api/p/execute', ''],
      ['PUT', '/flux-api/context/tag', '?contextId=1&tag=x'],
      ['DELETE', '/flux-api/context/tag', '?contextId=1&tag=x'],
      ['GET', '/flux-api/context', '?contextId=1&snapshot=true'],
      ['GET', '/flux-api/contexts', '?limit=3'],
      ['GET', '/flux-api/context/state', '?contextId=1&stateName=wait'],
      ['GET', '/flux-api/definition', '?fluxName=F'],
      ['POST', '/api/hook/1', ''],
      ['POST', '/api/hook/1', '?list=1&thing={}'],
    ),
  },
)

/** Megabytes; without what is mapped from the store's file, where the system tells. */
async function memory(): Promise<number> {
  const status = await readFile(`/proc/${server.pid}/status`, 'utf8').catch(() => '')
  const kilobytes =
    /^RssAnon:\s+(\d+)/m.exec(status)?.[1] ??
    execFileSync('ps', ['-o', 'rss=', '-p', String(server.pid)], { encoding: 'utf8' })
  return Number(kilobytes) / 1024
}

/** What was started is shown, in both formats. */
async function readBack(id: string): Promise<void> {
  for (const view of [
    `context?contextId=${id}&snapshot=true`,
    `context/state?contextId=${id}&stateName=wait`,
    `contexts?after=${Number(id) - 1}&limit=3`,
  ]) {
    const [json, xml] = await Promise.all(
      ['application/json', 'application/xml'].map((accept) =>
        ask(requestOf('GET', `/flux-api/${view}`, { accept }, null)),
      ),
    )
    expect([json?.status, xml?.status], view).toEqual([200, 200])
    const text = Buffer.from(xml?.body ?? '', 'latin1').toString()
    expect(JSON.stringify(decodeXml(text, { maxDepth: 150, maxValues: 100_000 })), view).toBe(
      JSON.stringify(JSON.parse(Buffer.from(json?.body ?? '', 'latin1').toString())),
    )
  }
}

test(
  `${RUNS} requests make the server neither fail, nor stall, nor grow`,
  async () => {
    const statuses = new Map<number, number>()
    let [count, warm] = [0, 0]
    await fc.assert(
      fc.asyncProperty(target, headers, body, async ([method, where, search], given, content) => {
        const { status, head, body: answered } = await ask(requestOf(method, where + search, given, content))
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        count += 1
        if (count === Math.floor(RUNS / 3)) warm = await memory()
        expect(status).toBeGreaterThanOrEqual(200)
        expect(status).toBeLessThan(500)
        if (status < 400 || method === 'HEAD') return
        expect(head).toMatch(/\ncontent-type: (?:application\/problem\+(?:json|xml)|text\/html; charset=utf-8)\r?$/m)
        const page = new RegExp(`^<!doctype html>[^]*<h1>${status} [^]*urn:actorflux:problem:[a-z-]+`)
        const data = head.includes('problem+json')
          ? new RegExp(`^\\{"type":"urn:actorflux:problem:[a-z-]+",.*"status":${status},`)
          : new RegExp(`<status>${status}</status>`)
        expect(answered).toMatch(head.includes('text/html') ? page : data)
      }),
      { numRuns: RUNS, endOnFailure: true },
    )
    const grown = (await memory()) - warm
    const longest = Math.max(0, ...stalls())
    expect(longest).toBeLessThan(LONGEST_STALL_MS)
    if (RUNS > 5000)
      console.log(
        `${count} requests, held up for ${longest} ms at most, grown by ${grown.toFixed(1)} MB after the first third; ${JSON.stringify(Object.fromEntries([...statuses].sort()))}`,
      )
    expect(grown).toBeLessThan(RUNS > 5000 ? 48 : 128)
    // All kinds were among them; some come too seldom for a short run.
    const often = RUNS < 600 ? [200, 400, 404] : [200, 400, 401, 404, 405, 406, 415]
    for (const status of [...often, ...(RUNS > 5000 ? [409, 417, 422] : [])])
      expect(statuses.get(status) ?? 0, String(status)).toBeGreaterThan(0)
    expect(server.output()).not.toContain('failed')
  },
  RUNS * 30 + 30_000,
)

const started = (answer: Answer) => /contextId(?:":| type="number">)(\d+)/.exec(answer.body)?.[1] ?? ''

test(
  'what was started and sent is shown, whatever its names are, in both formats',
  async () => {
    const thing = fc.oneof(
      odd,
      odd.map((inner) => ({ inner: [inner] })),
      fc.dictionary(fc.string(), fc.jsonValue()),
    )
    await fc.assert(
      fc.asyncProperty(thing, thing, fc.boolean(), async (given, sent, isXml) => {
        const send = (path: string, data: object) =>
          ask(
            requestOf(
              'POST',
              `/flux-api/${path}`,
              { 'content-type': isXml ? 'application/xml' : 'application/json' },
              Buffer.from(isXml ? encodeXml(data, 'request') : JSON.stringify(data)),
            ),
          )
        const start = await send('p/execute', { fluxName: 'F', input: { thing: given } })
        expect(start.status, start.body).toBe(200)
        const event = await send(`event?contextId=${started(start)}`, { event: 'e', input: { n: 1, thing: sent } })
        expect(event.status, event.body).toBe(200)
        await readBack(started(start))
        expect(
          (await ask(requestOf('DELETE', `/flux-api/terminate?contextId=${started(start)}`, {}, null))).status,
        ).toBe(200)
      }),
      { numRuns: Math.ceil(RUNS / 6) },
    )
  },
  RUNS * 30 + 30_000,
)

const bomb = `<!DOCTYPE a [<!ENTITY a "ha">${Array.from({ length: 40 }, (_, i) => `<!ENTITY a${i + 1} "&a${i || ''};&a${i || ''};">`).join('')}]><a>&a40;</a>`
test.each<[string, string, string]>([
  ['JSON lists 100,000 deep', 'application/json', '['.repeat(100_000)],
  ['JSON objects 100,000 deep', 'application/json', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
  ['XML 30,000 deep', 'application/xml', `${'<a>'.repeat(30_000)}${'</a>'.repeat(30_000)}`],
  ['XML that opens 80,000 elements', 'application/xml', '<a>'.repeat(80_000)],
  ['a bomb of entities', 'application/xml', bomb],
  ['an external entity', 'text/xml', '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'],
  ['an external document type', 'text/xml', '<!DOCTYPE a SYSTEM "http://127.0.0.1:1/a.dtd"><a/>'],
])('%s: refused, and holds up nothing else', async (_, type, content) => {
  const request = requestOf('POST', '/flux-api/event', { 'content-type': type }, Buffer.from(content))
  const other = requestOf('GET', '/flux-api/contexts?limit=1', {}, null)
  let longer = Infinity
  // Into a round a collection of garbage may fall, but not into all.
  for (let round = 0; round < 8 && longer > 0; round++) {
    const before = stalls().length
    const [refusal, ...others] = await Promise.all([ask(request), ask(other), ask(other), ask(other)])
    expect(refusal.status).toBe(400)
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200])
    // It is told within a few turns of its event loop.
    await sleep(20)
    longer = stalls().length - before
  }
  expect(longer).toBe(0)
})
