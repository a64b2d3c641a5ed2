// Requests as large as they may be, made of what is dear to read: none keeps the server from others. `npm run fuzz`
// sends more of them, and of chance kinds.
import { resolve } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { cleanUp, placeFor, startServer, type Server } from '../support/server.ts'

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 300)
const MIB = 1024 * 1024
/** Processor time in milliseconds for which the server may be deaf to all others. */
const BOUND_MS = 100

const SERVICES = {
  'p/F.flux': {
    input: [{ name: 'thing', type: 'any' }],
    states: [
      {
        name: 'wait',
        waiting: true,
        input: [{ name: 'thing', type: 'any' }],
        transitions: [{ event: 'e', to: 'wait' }],
      },
    ],
  },
  'p/Hook.flux': {
    webhooks: [{ urlPath: '/hook', httpMethods: ['POST'] }],
    allowExtraProperties: true,
    input: [{ name: 'a' }, { name: 'list', array: true }],
    output: [{ name: 'out', type: 'any' }],
    states: [{ name: 'end', action: { type: 'map', lines: [{ from: ['$request', 'body'], to: ['out'] }] } }],
  },
}

let server: Server
beforeAll(async () => {
  server = await startServer({
    program: inject('program'),
    ...(await placeFor(SERVICES)),
    node: ['--import', resolve(import.meta.dirname, '../support/stall-probe.mjs')],
    env: { ACTORFLUX_RETENTION: '1s', STALL_BOUND_MS: String(BOUND_MS) },
  })
  // What is read for the first time is compiled meanwhile.
  for (const warm of ['{"fluxName":"F","input":{"thing":[{"a":1}]}}', '<r><fluxName>F</fluxName></r>']) {
    for (let round = 0; round < 30; round += 1)
      await send(
        '/flux-api/p/execute',
        { 'content-type': warm.startsWith('<') ? 'application/xml' : 'application/json' },
        warm,
      )
  }
  stallsSoFar = stalls().length
})
afterAll(cleanUp)

const stalls = () => server.output().match(/^stall of .*$/gm) ?? []
let stallsSoFar = 0

async function send(
  path: string,
  headers: { readonly [name: string]: string },
  body: string | Uint8Array,
): Promise<Response> {
  const response = await fetch(server.url + path, { method: 'POST', headers, body })
  await response.arrayBuffer()
  return response
}

/** Sends it; the server must neither fail nor stall, then or when it shows what it kept. */
async function survive(
  path: string,
  headers: { readonly [name: string]: string },
  body: string | Uint8Array,
): Promise<void> {
  // A connection that the server ends while a body is on its way is an answer, too.
  const response = await send(path, headers, body).catch(() => null)
  expect(response?.status ?? 400).toBeLessThan(501)
  expect(response?.status ?? 400).not.toBe(500)
  for (const accept of ['application/json', 'application/xml'])
    await (await fetch(`${server.url}/flux-api/contexts?limit=2`, { headers: { accept } })).arrayBuffer()
  const seen = stalls().slice(stallsSoFar)
  stallsSoFar += seen.length
  expect(seen).toEqual([])
}

const fill = (unit: string, size = MIB - 300) => unit.repeat(Math.ceil(size / unit.length)).slice(0, size)
const list = (count: number, item: (index: number) => string, separator = ',') =>
  Array.from({ length: count }, (_, index) => item(index)).join(separator)
const JSON_TYPE = { 'content-type': 'application/json' }
const XML_TYPE = { 'content-type': 'application/xml' }
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' }
const MULTIPART_TYPE = { 'content-type': 'multipart/form-data; boundary=b' }
const part = (headers: string, content = 'x') => `--b\r\n${headers}\r\n\r\n${content}\r\n`

const KNOWN: readonly (readonly [string, string, { readonly [name: string]: string }, string])[] = [
  [
    '90,000 undeclared keys',
    '/flux-api/p/execute',
    JSON_TYPE,
    `{"fluxName":"F","input":{${list(90_000, (index) => `"k${index}":1`)}}}`,
  ],
  [
    '80,000 keys like integers',
    '/flux-api/p/execute',
    JSON_TYPE,
    `{"fluxName":"F","input":{"thing":{${list(80_000, (index) => `"${index * 7919}":1`)}}}}`,
  ],
  [
    '340,000 objects',
    '/flux-api/p/execute',
    JSON_TYPE,
    `{"fluxName":"F","input":{"thing":[${list(340_000, () => '{}')}]}}`,
  ],
  ['340,000 objects to a webhook', '/api/hook', JSON_TYPE, `[${list(340_000, () => '{}')}]`],
  ['99,000 objects to a webhook', '/api/hook', JSON_TYPE, `[${list(99_000, () => '{}')}]`],
  [
    'unknown fields of a body',
    '/flux-api/event',
    JSON_TYPE,
    `{"event":"e",${list(60_000, (index) => `"eventt${index}":1`)}}`,
  ],
  [
    'XML of 8,000 elements',
    '/flux-api/p/execute',
    XML_TYPE,
    `<r><fluxName>F</fluxName><input><thing>${list(8_000, () => '<a/>', '')}</thing></input></r>`,
  ],
  ['XML of many elements', '/api/hook', XML_TYPE, `<r>${list(90_000, (index) => `<a${index}/>`, '')}</r>`],
  ['XML of references', '/api/hook', XML_TYPE, `<r>${fill('&amp;', MIB - 5000)}</r>`],
  ['XML of attributes', '/api/hook', XML_TYPE, `<r ${list(60_000, (index) => `a${index}="1"`, ' ')}/>`],
  [
    '1,000 parts',
    '/api/hook',
    MULTIPART_TYPE,
    `${list(1_000, (index) => part(`Content-Disposition: form-data; name="n${index}"`), '')}--b--\r\n`,
  ],
  [
    'a part with long headers',
    '/api/hook',
    MULTIPART_TYPE,
    `${part(`Content-Disposition: form-data; name="n";${fill(' ', 312_000)}`)}--b--\r\n`,
  ],
  [
    'a part with many headers',
    '/api/hook',
    MULTIPART_TYPE,
    `${part(`${list(30_000, (index) => `X-${index}: 1`, '\r\n')}\r\nContent-Disposition: form-data; name="n"`)}--b--\r\n`,
  ],
  ['a form of pluses', '/api/hook', FORM_TYPE, fill('+')],
  ['a form of escapes', '/api/hook', FORM_TYPE, `a=${fill('%20')}`],
  ['a form of separators', '/api/hook', FORM_TYPE, fill('&')],
  ['a form of names', '/api/hook', FORM_TYPE, list(140_000, (index) => `${index}=`, '&').slice(0, MIB - 100)],
  ['a form of one name', '/api/hook', FORM_TYPE, fill('list=1&')],
  ['spaces in Content-Type', '/api/hook', { 'content-type': `text/plain;${fill(' ', 7_000)}x` }, 'x'],
  ['quotes in Content-Type', '/api/hook', { 'content-type': `text/plain; charset="${fill('\\"', 7_000)}` }, 'x'],
  ['1,500 codings', '/api/hook', { ...JSON_TYPE, 'content-encoding': list(1_500, () => 'gzip', ', ') }, '{}'],
  [
    'cookies',
    '/api/hook',
    { ...JSON_TYPE, cookie: list(1_300, (index) => `c${index}=v${index}`, '; ') },
    `{"a":"${fill('v1 v2 ', MIB - 100)}"}`,
  ],
  ['formats in Accept', '/api/hook', { ...JSON_TYPE, accept: list(1_000, () => '*/*;q=0.1', ', ') }, '{}'],
  ['combining marks', '/api/hook', JSON_TYPE, JSON.stringify({ a: fill('\u0301\u0323', 170_000) })],
]

test.each(KNOWN)('%s', async (_, path, headers, body) => {
  // Twice: the first may have met code that was not compiled yet.
  await survive(path, headers, body).catch(() => survive(path, headers, body))
})

const FRAGMENTS = [
  ' ',
  '\t',
  '\n',
  '"',
  '\\"',
  '\\',
  ',',
  ':',
  ';',
  '=',
  '&',
  '+',
  '%',
  '%20',
  '%ff',
  '[',
  ']',
  '{',
  '}',
  '{}',
  '[]',
  '"a":1,',
  '"1":1,',
  '0',
  '1e9',
  '-',
  'a',
  '\\u0301',
  '\u0301',
  '\\ud800',
  '<a>',
  '</a>',
  '<a/>',
  '<',
  '>',
  '<!--',
  '-->',
  '<![CDATA[',
  ']]>',
  '<?',
  '?>',
  '&#65;',
  '&lt;',
  '<a b="',
  '--b',
  '--b\r\n',
  '\r\n',
  '\r\n\r\n',
  'Content-Disposition: form-data; name="a"\r\n',
  'a=1&',
  '*/*',
  'q=',
  'Bearer ',
  '://',
  '@',
  '.',
]
const PREFIXES = [
  '',
  '{"fluxName":"F","input":{"thing":',
  '{"event":"e","input":{',
  '[',
  '<r>',
  '<r><fluxName>F</fluxName><input><thing>',
  '--b\r\nContent-Disposition: form-data; name="',
  'a=',
]
const SUFFIXES = ['', '}}', ']', '</r>', '</thing></input></r>', '"\r\n\r\nx\r\n--b--\r\n']
const TYPES = [
  JSON_TYPE,
  XML_TYPE,
  FORM_TYPE,
  MULTIPART_TYPE,
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/octet-stream' },
]
const HEADERS = [
  'accept',
  'cookie',
  'authorization',
  'content-encoding',
  'x-forwarded-for',
  'x-signature',
  'accept-language',
  'prefer',
  'origin',
]

const unit = fc.array(fc.constantFrom(...FRAGMENTS), { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join(''))
const body = fc
  .tuple(
    fc.constantFrom(...PREFIXES),
    unit,
    fc.constantFrom(100, 10_000, 200_000, MIB - 500),
    fc.constantFrom(...SUFFIXES),
  )
  .map(([prefix, piece, size, suffix]) => Buffer.from(prefix + fill(piece, size) + suffix).subarray(0, MIB))
const header = fc.option(
  fc
    .tuple(
      fc.constantFrom(...HEADERS),
      unit.map((piece) => piece.replaceAll(/[^\x20-\x7e]/g, '') || ' '),
      fc.constantFrom(100, 5_000, 14_000),
    )
    .map(([name, piece, size]): { readonly [name: string]: string } => ({ [name]: fill(piece, size) })),
  { nil: {} },
)

test(
  `${RUNS} of chance kinds`,
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('/flux-api/p/execute', '/flux-api/event', '/api/hook'),
        fc.constantFrom(...TYPES),
        header,
        body,
        async (path, type, more, content) => {
          await survive(path, { ...type, ...more }, content)
        },
      ),
      { numRuns: RUNS, endOnFailure: true },
    )
  },
  RUNS * 200 + 30_000,
)
