// What becomes of a request to a webhook: over real sockets where the bytes of it count, else table by table.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import * as fc from 'fast-check'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readBytes, type Env } from '../../src/http/request/incoming.ts'
import { problemResponse } from '../../src/http/formats/problem.ts'
import { decodeWebhookBody, type WebhookLimits } from '../../src/http/webhooks/body.ts'
import { readWebhookRequest } from '../../src/http/webhooks/request.ts'
import { FluxError } from '../../src/model/failure.ts'
import { getOwn, isObject, type Json, type JsonObject } from '../../src/model/json/value.ts'
import { webhookInputOf } from '../../src/engine/webhooks/send.ts'
import { character } from '../support/character.ts'

const LIMITS: WebhookLimits = { maxBody: 100_000, maxDepth: 5, maxValues: 1000, maxParts: 50 }

let path: ReadonlyMap<string, string> = new Map()

interface Read {
  readonly request: JsonObject
  readonly rawBody: Buffer
  /** The values of a name, as the inputs of a service get them. */
  readonly textsOf: (name: string) => Json
}
const reads: Read[] = []
const readOf = (request: JsonObject, rawBody: Buffer): Read => ({
  request,
  rawBody,
  textsOf: (name) =>
    getOwn(webhookInputOf({ input: { properties: new Map([[name, { array: true }]]) } } as never, request), name) ?? [],
})
const app = new Hono<Env>()
app.all('*', async (c) => {
  const rawBody = await readBytes(c, { limit: LIMITS.maxBody, charge() {} }, (bytes) => bytes)
  reads.push(readOf(readWebhookRequest(c, rawBody, { path, timeout: 1500, proofHeader: null }, LIMITS), rawBody))
  return c.body(null, 204)
})
app.onError((error) => {
  if (error instanceof FluxError) return problemResponse(error.failure)
  throw error
})

let server: Server
beforeAll(async () => {
  server = createServer(getRequestListener(app.fetch)).listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => {
  server.close()
})

const port = () => (server.address() as AddressInfo).port
const NOTHING = readOf({}, Buffer.alloc(0))

/** Sends bytes, in chunks already if a header says so; gives the status, and what was read. */
async function send(
  lines: readonly string[],
  body: string | Uint8Array = '',
  parameters: Iterable<readonly [string, string]> = [],
) {
  reads.length = 0
  path = new Map(parameters)
  const bytes = Buffer.from(body)
  const socket = connect(port(), '127.0.0.1')
  let answer = ''
  socket.setEncoding('utf8').on('data', (piece: string) => {
    answer += piece
  })
  const length = bytes.length === 0 || lines.includes(CHUNKED) ? [] : [`Content-Length: ${bytes.length}`]
  socket.write([...lines, 'Host: x', 'Connection: close', ...length, '', ''].join('\r\n'))
  socket.write(bytes)
  await once(socket, 'close')
  return { status: Number(answer.split(' ')[1]), answer, ...(reads[0] ?? NOTHING) }
}

const CHUNKED = 'Transfer-Encoding: chunked'

async function failureOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'none',
    (error: unknown) => (error instanceof FluxError ? error.failure.kind : String(error)),
  )
}

const decode = async (body: string | Uint8Array, contentType?: string, limits: Partial<WebhookLimits> = {}) =>
  decodeWebhookBody(Buffer.from(body), contentType, { ...LIMITS, ...limits })
const latin1 = (text: string) => Buffer.from(text, 'latin1')

describe('the request', () => {
  test('tells what came', async () => {
    const { status, request, rawBody } = await send(
      ['POST /api/orders/7?x=1&y=a%20b HTTP/1.1', 'Content-Type: application/json; v=1', 'Cookie: sid=abc'],
      '{"a": 1}',
      [['id', '7']],
    )
    expect(status).toBe(204)
    expect(request).toEqual({
      method: 'POST',
      uri: '/api/orders/7?x=1&y=a%20b',
      contentType: 'application/json; v=1',
      headers: [
        { name: 'Content-Type', value: 'application/json; v=1' },
        { name: 'Cookie', value: 'sid=abc' },
        { name: 'Host', value: 'x' },
        { name: 'Connection', value: 'close' },
        { name: 'Content-Length', value: '8' },
      ],
      cookies: [{ name: 'sid', value: 'abc' }],
      parameters: { x: '1', y: 'a b', id: '7' },
      body: { a: 1 },
      config: { timeout: 1.5 },
      encoded: false,
    })
    expect(rawBody.toString()).toBe('{"a": 1}')
  })

  test('keeps headers as they were written, each as often as it came', async () => {
    const { request, textsOf } = await send([
      'GET / HTTP/1.1',
      'X-One: a',
      'x-one: b',
      'X-One: c',
      '__proto__: d',
      'X-Empty:',
    ])
    expect(request['headers']).toEqual([
      { name: 'X-One', value: 'a' },
      { name: 'x-one', value: 'b' },
      { name: 'X-One', value: 'c' },
      { name: '__proto__', value: 'd' },
      { name: 'X-Empty', value: '' },
      { name: 'Host', value: 'x' },
      { name: 'Connection', value: 'close' },
    ])
    expect(['X-One', 'x-one', 'X-ONE', '__proto__', 'X-Empty', 'constructor', ''].map(textsOf)).toEqual([
      ['a', 'c'],
      ['b'],
      [],
      ['d'],
      [''],
      [],
      [],
    ])
  })

  test('has a content type of null when none was told, and no cookies', async () => {
    expect((await send(['GET /a HTTP/1.1'])).request).toMatchObject({
      contentType: null,
      cookies: [],
      parameters: {},
      body: null,
      encoded: false,
    })
  })

  test('may have no headers at all', async () => {
    const bare = await app.request('/a?b=c')
    expect(bare.status).toBe(204)
    expect(reads.at(-1)?.request).toMatchObject({ uri: '/a?b=c', headers: [], parameters: { b: 'c' } })
  })

  test.each([
    ['/a/../b?x', '/a/../b?x'],
    ['//a//b?', '//a//b?'],
    ['/a?x=http://y/#frag', '/a?x=http://y/'],
    ['http://elsewhere:80/a?b', '/a?b'],
    ['/%7e/%C3%BC?%61=+', '/%7e/%C3%BC?%61=+'],
  ])('a target of %s has the uri %s', async (target, uri) => {
    expect((await send([`GET ${target} HTTP/1.1`])).request['uri']).toBe(uri)
  })

  test.each(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'PATCH', 'PUT'])('%s may have a body', async (method) => {
    expect((await send([`${method} / HTTP/1.1`, 'Content-Type: text/plain'], 'hello')).request).toMatchObject({
      method,
      body: 'hello',
    })
  })

  test.each<[string, object[]]>([
    [
      'a=1; b=2',
      [
        { name: 'a', value: '1' },
        { name: 'b', value: '2' },
      ],
    ],
    [
      'a=1;b=2; a=3',
      [
        { name: 'a', value: '1' },
        { name: 'b', value: '2' },
        { name: 'a', value: '3' },
      ],
    ],
    [
      'a="1 2"; b="',
      [
        { name: 'a', value: '1 2' },
        { name: 'b', value: '"' },
      ],
    ],
    ['a=b=c==', [{ name: 'a', value: 'b=c==' }]],
    [
      'a=x%20y; b=100%; c=%ff',
      [
        { name: 'a', value: 'x y' },
        { name: 'b', value: '100%' },
        { name: 'c', value: '%ff' },
      ],
    ],
    [
      ' a = 1 ;; b ; =c; __proto__=d',
      [
        { name: 'a', value: '1' },
        { name: '', value: 'c' },
        { name: '__proto__', value: 'd' },
      ],
    ],
  ])('cookies of %s', async (header, cookies) => {
    expect((await send(['GET / HTTP/1.1', `Cookie: ${header}`])).request['cookies']).toEqual(cookies)
  })

  test('takes cookies from every Cookie header', async () => {
    expect((await send(['GET / HTTP/1.1', 'cookie: a=1', 'COOKIE: b=2'])).request['cookies']).toEqual([
      { name: 'a', value: '1' },
      { name: 'b', value: '2' },
    ])
  })
})

const query = (count: number) => Array.from({ length: count }, (_, index) => `n${index}=`).join('&')

describe('names', () => {
  test('of the path go before those of the query, and these before headers', async () => {
    const { request, textsOf } = await send(['GET /?id=q&id=r&ref=q HTTP/1.1', 'id: h', 'ref: h', 'other: h'], '', [
      ['id', 'p'],
    ])
    expect(['id', 'ref', 'other'].map(textsOf)).toEqual([['p'], ['q'], ['h']])
    expect(request['parameters']).toEqual({ id: 'p', ref: 'q' })
  })

  test('that mean something to JavaScript are names like others', async () => {
    const { request, textsOf } = await send(
      ['GET /?__proto__=1&constructor=2&__proto__=3 HTTP/1.1', 'toString: h'],
      '',
      [['hasOwnProperty', 'p']],
    )
    expect(JSON.stringify(request['parameters'])).toBe('{"__proto__":["1","3"],"constructor":"2","hasOwnProperty":"p"}')
    expect(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'].map(textsOf)).toEqual([
      ['1', '3'],
      ['2'],
      ['h'],
      ['p'],
      [],
    ])
    expect((await send(['GET / HTTP/1.1'], '', [['__proto__', 'p']])).textsOf('__proto__')).toEqual(['p'])
  })

  test.each<[string, object]>([
    ['a=1&b=2&a=3', { a: ['1', '3'], b: '2' }],
    ['a&b=', { a: '', b: '' }],
    ['&&a=1&', { a: '1' }],
    ['', {}],
    ['=x&=', { '': ['x', ''] }],
    ['a=b=c', { a: 'b=c' }],
    ['a+b=c+d%2B', { 'a b': 'c d+' }],
    ['%C3%BC=%f0%9f%98%80', { ü: '😀' }],
    ['%E2%80%AE=%00', { '\u202E': '\0' }],
    ['a%26=%3D%23%25', { 'a&': '=#%' }],
    ['a=%EF%BB%BFx', { a: '\uFEFFx' }],
    ['a=1,2', { a: '1,2' }],
    ['a?b=/?', { 'a?b': '/?' }],
  ])('of a query: %s', async (query, parameters) =>
    expect((await send([`GET /?${query} HTTP/1.1`])).request['parameters']).toEqual(parameters),
  )

  test.each(['a=%', 'a=%f', 'a=%zz', '%=1', 'a=%ff', 'a=%C3', 'a=%ED%A0%80', 'a=%C0%80', 'ok=1&a=%u0041'])(
    'a query of %s is malformed',
    async (query) => {
      expect((await send([`GET /?${query} HTTP/1.1`])).status).toBe(400)
    },
  )

  test('of a query may be so many and no more', async () => {
    expect((await send([`GET /?${query(50)} HTTP/1.1`])).status).toBe(204)
    expect((await send([`GET /?${query(51)} HTTP/1.1`])).status).toBe(400)
    expect((await send([`GET /?${'a&'.repeat(5000)} HTTP/1.1`])).status).toBe(400)
  })
})

describe('a body', () => {
  test.each<[string, string | undefined, string | Uint8Array, Json, boolean]>([
    ['nothing', undefined, '', null, false],
    ['nothing that has a type', 'application/json', '', null, false],
    ['nothing that would be XML', 'text/xml', '', null, false],
    ['an empty text', 'text/plain', '', '', false],
    ['an empty form', 'application/x-www-form-urlencoded', '', {}, false],
    ['nothing of an unknown type', 'application/pdf', '', null, false],
    ['JSON', 'application/json', '{"a":[1,null,"ü"]}', { a: [1, null, 'ü'] }, false],
    ['JSON in other words', 'Application/JSON ; charset="UTF-8"', ' 7 ', 7, false],
    ['JSON that says it is ASCII', 'application/json;charset=us-ascii', '"a"', 'a', false],
    ['a number beyond all numbers', 'application/json', '1e999', null, false],
    ['such numbers in data', 'application/json', '{"a":[-1e999,1],"b":1e999}', { a: [null, 1], b: null }, false],
    ['what is built on JSON', 'application/cloudevents+json', '{}', {}, false],
    ['JSON after a byte order mark', 'application/json', '\uFEFF{}', {}, false],
    ['XML', 'application/xml', '<a><b type="number">1</b><c><item>x</item></c></a>', { b: 1, c: ['x'] }, false],
    ['XML under its older name', 'text/xml; charset=utf-8', '<a>ü</a>', 'ü', false],
    ['what is built on XML', 'application/soap+xml', '<?xml version="1.0"?><a><b/></a>', { b: '' }, false],
    ['text', 'text/plain', 'a\r\nü', 'a\r\nü', false],
    ['text after a byte order mark', 'text/csv', '\uFEFFa,b', 'a,b', false],
    ['bytes', 'application/octet-stream', Uint8Array.of(0, 255), 'AP8=', true],
    ['bytes of no type', undefined, 'a', 'YQ==', true],
    ['bytes of an empty type', ' ', 'a', 'YQ==', true],
    ['bytes of a type that is none', ';;=', 'a', 'YQ==', true],
    ['other multiparts', 'multipart/mixed; boundary=b', 'a', 'YQ==', true],
    [
      'a form',
      'application/x-www-form-urlencoded; charset=UTF-8',
      'a=1&b=%C3%BC+x&a=2&c',
      { a: ['1', '2'], b: 'ü x', c: '' },
      false,
    ],
    ['a form that leaves bytes as they are', 'application/x-www-form-urlencoded', 'ü=ä+%2b', { ü: 'ä +' }, false],
    [
      'a form of as many fields as may be',
      'application/x-www-form-urlencoded',
      'a&'.repeat(50),
      { a: Array(50).fill('') },
      false,
    ],
  ])('%s', async (_, contentType, bytes, body, encoded) =>
    expect(await decode(bytes, contentType)).toEqual({ body, encoded }),
  )

  test.each<[string, string, string | Uint8Array, string]>([
    ['JSON that breaks off', 'application/json', '{"a":', 'malformed'],
    ['JSON of blanks', 'application/json', ' ', 'malformed'],
    ["JSON that isn't UTF-8", 'application/json', latin1('"ü"'), 'malformed'],
    ["JSON that says it isn't", 'application/json; charset=utf-16', '{}', 'unsupportedType'],
    ['JSON that says so elsewhere', 'application/json; v="a;b" ; CHARSET=latin1', '{}', 'unsupportedType'],
    ['JSON that nests too deep', 'application/json', '[[[[[[]]]]]]', 'malformed'],
    ['XML that nests too deep', 'text/xml', '<a><b><c><d><e><f><g/></f></e></d></c></b></a>', 'malformed'],
    ['XML with a document type', 'text/xml', '<!DOCTYPE a><a/>', 'malformed'],
    ['XML that breaks off', 'application/atom+xml', '<a>', 'malformed'],
    ['XML in a charset nobody knows', 'text/xml; charset=klingon', '<a/>', 'unsupportedType'],
    ['XML that is in another charset than it says', 'text/xml; charset=utf-8', latin1('<a>ü</a>'), 'malformed'],
    ["text that isn't UTF-8", 'text/plain', Uint8Array.of(0xff), 'malformed'],
    ['text in Latin-1', 'text/plain; charset=ISO-8859-1', latin1('ü'), 'unsupportedType'],
    ['a form in Latin-1', 'application/x-www-form-urlencoded; charset=ISO-8859-1', 'a=%FC', 'unsupportedType'],
    [
      'XML in another charset',
      'text/xml; charset=iso-8859-1',
      latin1('<?xml version="1.0"?><a>ü</a>'),
      'unsupportedType',
    ],
    ['XML that says so itself', 'text/xml', '<?xml version="1.0" encoding="ISO-8859-1"?><a/>', 'unsupportedType'],
    ['XML in UTF-16', 'application/xml', Buffer.from('\uFEFF<a>ü</a>', 'utf16le'), 'malformed'],
    ['text in a charset that nobody knows', 'text/plain; charset=klingon', 'a', 'unsupportedType'],
    ['a form with a broken escape', 'application/x-www-form-urlencoded', 'a=%f', 'malformed'],
    ["a form that isn't UTF-8", 'application/x-www-form-urlencoded', 'a=%ff', 'malformed'],
    ["a form whose bytes aren't", 'application/x-www-form-urlencoded', latin1('a=ü'), 'malformed'],
    ['a form of too many fields', 'application/x-www-form-urlencoded', 'a&'.repeat(51), 'tooLarge'],
  ])('%s is refused', async (_, contentType, bytes, kind) =>
    expect(await failureOf(decode(bytes, contentType))).toBe(kind),
  )

  test.each(['application/json', 'application/xml', 'application/x-www-form-urlencoded'])(
    'keeps hostile keys of %s as data',
    async (type) => {
      const hostile = {
        'application/json': '{"__proto__":"1","constructor":"2"}',
        'application/xml': '<a><__proto__>1</__proto__><constructor>2</constructor></a>',
      }[type]
      const { body } = await decode(hostile ?? '__proto__=1&constructor=2', type)
      expect(JSON.stringify(body)).toBe('{"__proto__":"1","constructor":"2"}')
      expect(Object.getPrototypeOf(body)).toBe(Object.prototype)
    },
  )

  test('as large as the limit is taken, a larger one is 413', async () => {
    expect((await send(['POST / HTTP/1.1', 'Content-Type: text/plain'], 'x'.repeat(100_000))).status).toBe(204)
    expect((await send(['POST / HTTP/1.1', 'Content-Type: text/plain'], 'x'.repeat(100_001))).status).toBe(413)
    const many = Array.from({ length: 101 }, () => `3e8\r\n${'x'.repeat(1000)}\r\n`).join('')
    expect((await send(['POST / HTTP/1.1', CHUNKED], `${many}0\r\n\r\n`)).status).toBe(413)
  })

  test('in chunks comes together', async () => {
    const { request, rawBody } = await send(
      ['POST / HTTP/1.1', 'Content-Type: text/plain', CHUNKED],
      '1\r\na\r\n2\r\nbc\r\n0\r\n\r\n',
    )
    expect([request['body'], rawBody.toString()]).toEqual(['abc', 'abc'])
  })

  test.each([
    ['identity', 204],
    ['IDENTITY', 204],
    ['', 204],
    ['gzip', 415],
    ['identity, br', 415],
  ])('in a coding of "%s" is %i', async (coding, status) => {
    expect(
      (await send(['POST / HTTP/1.1', 'Content-Type: text/plain', `Content-Encoding: ${coding}`], 'a')).status,
    ).toBe(status)
  })

  test('that can not be read is 400, and says nothing of its content', async () => {
    const { status, answer } = await send(['POST / HTTP/1.1', 'Content-Type: application/json'], '{"secret":')
    expect(status).toBe(400)
    expect(answer).toContain('"status":400')
    expect(answer).not.toContain('secret')
  })
})

const FORM = 'multipart/form-data; boundary=b'
const file = (filename: string | null, contentType: string, content: string | Uint8Array) => ({
  filename,
  contentType,
  size: Buffer.from(content).length,
  content: Buffer.from(content).toString('base64'),
})
/** Each part: its headers and what follows. */
const form = (...parts: string[]) => `${parts.map((part) => `--b\r\n${part}\r\n`).join('')}--b--\r\n`
const field = (parameters: string, content = 'x') => `Content-Disposition: form-data; ${parameters}\r\n\r\n${content}`

/** As browsers write it, save that they leave a backslash alone. */
const quoted = (text: string) =>
  `"${text
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('"', '%22')
    .replaceAll('\r', '%0D')
    .replaceAll('\n', '%0A')}"`

describe('a multipart form', () => {
  test('as clients make them', async () => {
    const data = new FormData()
    data.append('text', 'ü\r\n--b')
    data.append('empty', '')
    data.append('many', '1')
    data.append('many', '2')
    data.append('many', new File(['3'], 'drei.txt', { type: 'text/plain' }))
    data.append('file', new File([Uint8Array.of(0, 13, 10, 255)], 'ä "quoted".bin'))
    data.append('empty file', new File([], ''))
    data.append('a "b"\r\nc', 'named')
    data.append('__proto__', 'own')
    reads.length = 0
    expect((await fetch(`http://127.0.0.1:${port()}/`, { method: 'POST', body: data })).status).toBe(204)
    const { body, encoded } = (reads[0] ?? NOTHING).request
    expect(encoded).toBe(false)
    const octets = 'application/octet-stream'
    expect(isObject(body) && Object.entries(body)).toEqual([
      ['text', 'ü\r\n--b'],
      ['empty', ''],
      ['many', ['1', '2', file('drei.txt', 'text/plain', '3')]],
      ['file', file('ä "quoted".bin', octets, Uint8Array.of(0, 13, 10, 255))],
      ['empty file', file(null, octets, '')],
      ['a "b"\r\nc', 'named'],
      ['__proto__', 'own'],
    ])
  })

  test.each<[string, string, string, object]>([
    ['without parts', FORM, form(), {}],
    ['with an empty name', FORM, form(field('name=""')), { '': 'x' }],
    [
      'with names that are no quoted text',
      FORM,
      form(field('name=a; filename=b')),
      { a: file('b', 'text/plain', 'x') },
    ],
    [
      'with names in other order and case',
      FORM,
      form('CONTENT-DISPOSITION: Form-Data; FILENAME="b"; Name="a"\r\n\r\nx'),
      { a: file('b', 'text/plain', 'x') },
    ],
    ['with a semicolon in quotes', FORM, form(field('name="a; filename=b"')), { 'a; filename=b': 'x' }],
    [
      'with quotes in quotes',
      FORM,
      form(field(String.raw`name="a\"b"; filename="c\\d\"e"`)),
      { 'a"b': file('d"e', 'text/plain', 'x') },
    ],
    ['with escapes in names', FORM, form(field('name="a%22%0D%0A%41"')), { 'a"\r\n%41': 'x' }],
    ['with names in Unicode', FORM, form(field('name="ü😀"')), { 'ü😀': 'x' }],
    [
      'with directories',
      FORM,
      form(
        field('name="a"; filename="../b/../c.txt"'),
        field(String.raw`name="a"; filename="C:\x\y.txt"`),
        field('name="a"; filename="x/.."'),
      ),
      { a: [file('c.txt', 'text/plain', 'x'), file('y.txt', 'text/plain', 'x'), file('', 'text/plain', 'x')] },
    ],
    [
      'with typed fields',
      FORM,
      form(`Content-Type: application/json\r\n${field('name="a"', '{"b":1}')}`),
      { a: '{"b":1}' },
    ],
    [
      'with a file that has no name',
      FORM,
      form(`Content-Type: image/png\r\n${field('name="a"')}`),
      { a: file(null, 'image/png', 'x') },
    ],
    [
      'with a type that has parameters',
      FORM,
      form(`Content-Type: text/csv; charset=x\r\n${field('name="a"; filename="b"')}`),
      { a: file('b', 'text/csv; charset=x', 'x') },
    ],
    [
      'with content that looks like a delimiter',
      FORM,
      form(field('name="a"', '\r\n-b\r\n--\r\n--c')),
      { a: '\r\n-b\r\n--\r\n--c' },
    ],
    ['with text before and after', FORM, `preamble\r\n${form(field('name="a"'))}epilogue\r\n--b\r\n`, { a: 'x' }],
    ['without a last line end', FORM, form(field('name="a"')).trimEnd(), { a: 'x' }],
    [
      'with a boundary in quotes',
      'multipart/form-data; boundary="b :?"; v=1',
      form(field('name="a"')).replaceAll('--b', '--b :?'),
      { a: 'x' },
    ],
    ['under a type in capitals', 'Multipart/Form-Data; BOUNDARY=b', form(field('name="a"')), { a: 'x' }],
    ['with folded headers', FORM, form('Content-Disposition: form-data;\r\n name="a"\r\n\r\nx'), { a: 'x' }],
  ])('%s', async (_, contentType, body, fields) =>
    expect(await decode(body, contentType)).toEqual({ body: fields, encoded: false }),
  )

  test.each<[string, string, string | Uint8Array, string]>([
    ['nothing at all', FORM, '', 'malformed'],
    ['no boundary', 'multipart/form-data', form(field('name="a"')), 'malformed'],
    ['an empty boundary', 'multipart/form-data; boundary=""', form(field('name="a"')), 'malformed'],
    ['a boundary that is too long', `multipart/form-data; boundary=${'b'.repeat(300)}`, 'x', 'malformed'],
    ['a boundary that is not ASCII', 'multipart/form-data; boundary=ü', 'x', 'malformed'],
    ['another boundary', 'multipart/form-data; boundary=c', form(field('name="a"')), 'malformed'],
    ['no end', FORM, form(field('name="a"')).replace('--b--', ''), 'malformed'],
    ['half an end', FORM, form(field('name="a"')).replace('--b--\r\n', '--b-'), 'malformed'],
    ['no end of a file', FORM, '--b\r\nContent-Disposition: form-data; name="a"; filename="f"\r\n\r\nabc', 'malformed'],
    ['no end of headers', FORM, '--b\r\nContent-Disposition: form-data; name="a"\r\n', 'malformed'],
    ['headers without content', FORM, form('Content-Disposition: form-data; name="a"'), 'malformed'],
    ['a part of nothing', FORM, '--b\r\n--b--\r\n', 'malformed'],
    ['a part without headers', FORM, form('\r\nx'), 'malformed'],
    ['a good part and a bad one', FORM, form(field('name="a"'), 'x'), 'malformed'],
    ['a part without a name', FORM, form(field('filename="a"')), 'malformed'],
    ['a part that is no field', FORM, form('Content-Disposition: attachment; name="a"\r\n\r\nx'), 'malformed'],
    ['two dispositions', FORM, form(`Content-Disposition: form-data; name="b"\r\n${field('name="a"')}`), 'malformed'],
    ['a name that does not end', FORM, form(field('name="a')), 'malformed'],
    ['a broken escape in the extended notation', FORM, form(field("name*=UTF-8''%zz")), 'malformed'],
    ['a name that is not UTF-8', FORM, latin1(form(field('name="ü"'))), 'malformed'],
    ['a text that is not UTF-8', FORM, latin1(form(field('name="a"', 'ü'))), 'malformed'],
    [
      'a text in an unknown charset',
      FORM,
      form(`Content-Type: text/plain; charset=klingon\r\n${field('name="a"')}`),
      'unsupportedType',
    ],
    ['a header line that is none', FORM, form(`what\r\n${field('name="a"')}`), 'malformed'],
    ['headers beyond measure', FORM, form(field(`name="${'a'.repeat(90_000)}"`)), 'malformed'],
    ['lines that end otherwise', FORM, form(field('name="a"')).replaceAll('\r', ''), 'malformed'],
    ['a part more than the limit', FORM, form(...Array.from({ length: 51 }, () => field('name="a"'))), 'tooLarge'],
    ['empty parts beyond measure', FORM, '--b\r\n'.repeat(20_000), 'tooLarge'],
  ])('with %s is refused', async (_, contentType, body, kind) =>
    expect(await failureOf(decode(body, contentType))).toBe(kind),
  )

  test('may have as many parts as the limit says', async () => {
    const { body } = await decode(
      form(...Array.from({ length: 50 }, (_, index) => field('name="a"', String(index)))),
      FORM,
    )
    expect(body).toEqual({ a: Array.from({ length: 50 }, (_, index) => String(index)) })
  })

  test('has files as large as the body may be', async () => {
    const large = 'x\r\n'.repeat(100_000)
    const { body } = await decode(
      form(field('name="a"; filename="f"', large), field('name="b"', ''), field('name="c"; filename="g"', large)),
      FORM,
    )
    expect(body).toEqual({ a: file('f', 'text/plain', large), b: '', c: file('g', 'text/plain', large) })
  })

  test('comes back as it was', async () => {
    const text = fc.string({ unit: character })
    const name = text.filter((name) => !/%(?:22|0[ad])/i.test(name))
    const filename = name.filter((name) => !/[/\\]|^\.\.?$/.test(name))
    const part = fc.oneof(
      fc.record({ name, value: text }),
      fc.record({
        name,
        filename,
        contentType: fc.constantFrom('text/plain', 'image/png', 'application/json'),
        bytes: fc.uint8Array({ maxLength: 300 }),
      }),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { maxLength: 20 }),
        fc.string({ unit: fc.constantFrom(...'aB0-'), minLength: 12, maxLength: 60 }),
        async (parts, boundary) => {
          const pieces: Uint8Array[] = []
          const expected = new Map<string, Json[]>()
          for (const each of parts) {
            const isFile = 'bytes' in each
            const more = isFile ? `; filename=${quoted(each.filename)}\r\nContent-Type: ${each.contentType}` : ''
            const content = isFile ? Buffer.from(each.bytes) : Buffer.from(each.value)
            fc.pre(!content.includes(`--${boundary}`))
            pieces.push(
              Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name=${quoted(each.name)}${more}\r\n\r\n`),
              content,
              Buffer.from('\r\n'),
            )
            expected.set(each.name, [
              ...(expected.get(each.name) ?? []),
              isFile ? file(each.filename, each.contentType, each.bytes) : each.value,
            ])
          }
          const { body } = await decode(
            Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]),
            `multipart/form-data; boundary=${boundary}`,
          )
          expect(isObject(body) && new Map(Object.entries(body))).toEqual(
            new Map([...expected].map(([name, values]) => [name, values.length === 1 ? values[0] : values])),
          )
        },
      ),
    )
  })

  test('of any bytes is read or refused, and never hangs', async () => {
    const scrap = fc.constantFrom(
      '--b',
      '--b--',
      '\r\n',
      '\r\n\r\n',
      '-',
      '\n',
      'Content-Disposition: form-data; name="a"',
      'Content-Type: text/plain',
      ': ',
      ' ',
      '"',
      'x',
      '\0',
    )
    await fc.assert(
      fc.asyncProperty(fc.array(scrap, { maxLength: 40 }), async (scraps) => {
        expect(['none', 'malformed']).toContain(await failureOf(decode(scraps.join(''), FORM)))
      }),
      { numRuns: 2000 },
    )
  })
})
