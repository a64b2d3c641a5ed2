import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSocketServer } from 'node:net'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { httpRequest } from '../../src/steps/builtin/http/request.ts'
import { stepRunner } from '../../src/steps/runner.ts'
import type { JsonObject } from '../../src/model/json/value.ts'
import { flux } from './flux.ts'
import { freePort, listening } from '../support/listening.ts'
import { silent } from '../support/silent.ts'

interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  readonly bytes: Buffer
}
type Handler = (seen: Seen, response: ServerResponse) => void

/** A server on this machine; its origin, and what it was asked. */
async function serve(
  handler: Handler,
): Promise<{ readonly origin: string; readonly port: number; readonly seen: Seen[] }> {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        const bytes = Buffer.concat(chunks)
        const one = {
          method: request.method ?? '',
          url: request.url ?? '',
          headers: request.headers,
          body: bytes.toString(),
          bytes,
        }
        seen.push(one)
        handler(one, response)
      })
  })
  const port = await listening(server)
  return { origin: `http://127.0.0.1:${port}`, port, seen }
}

const signal = new AbortController().signal
const request = (args: JsonObject, flux = { signal }) => httpRequest({ allowPrivate: true })(args, flux)
const guarded = (args: JsonObject) => httpRequest({ allowPrivate: false })(args, { signal })
const failure = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    (value) => `got ${JSON.stringify(value)}`,
    (error: unknown) => (error instanceof Error ? `${error.name}: ${error.message}` : 'no error'),
  )

/** Answers with this type and body. */
const answering = (type: string | null, body: string | Buffer, headers: { readonly [name: string]: string } = {}) =>
  serve((_, response) => {
    response.writeHead(200, { ...(type !== null && { 'Content-Type': type }), ...headers }).end(body)
  })

describe('a request', () => {
  test('asks with GET, and gives status, headers and data', async () => {
    const { origin, seen } = await serve((_, response) => {
      response
        .writeHead(418, { 'Content-Type': 'application/json', 'X-A': ['1', '2'], 'Set-Cookie': ['a=1', 'b=2'] })
        .end('{"a":1,"__proto__":2}')
    })
    const answer = await request({ url: `${origin}/a?b=c` })
    expect(answer).toMatchObject({
      status: 418,
      contentType: 'application/json',
      encoded: false,
      url: `${origin}/a?b=c`,
      headers: { 'x-a': '1, 2', 'set-cookie': ['a=1', 'b=2'] },
    })
    expect(JSON.stringify(answer.body)).toBe('{"a":1,"__proto__":2}')
    expect(seen[0]).toMatchObject({ method: 'GET', url: '/a?b=c', body: '' })
  })

  test('sends query, headers and data', async () => {
    const { origin, seen } = await serve((_, response) => {
      response.end()
    })
    await request({
      method: 'post',
      url: `${origin}/?x=1`,
      query: { y: ['a b', 2], z: null, 'ü&': true },
      headers: { 'X-Ref': 7, Accept: ['a/b', 'c/d'] },
      body: { a: 'ü' },
    })
    expect(seen[0]).toMatchObject({ method: 'POST', url: '/?x=1&y=a+b&y=2&%C3%BC%26=true', body: '{"a":"ü"}' })
    expect(seen[0]?.headers).toMatchObject({
      'x-ref': '7',
      accept: 'a/b, c/d',
      'content-type': 'application/json',
      'content-length': '10',
    })
  })

  test.each([
    ['text', {}, 'text/plain;charset=UTF-8', 'text'],
    ['<a/>', { 'content-TYPE': 'application/xml' }, 'application/xml', '<a/>'],
    [[1], { 'Content-Type': 'application/problem+json' }, 'application/problem+json', '[1]'],
    [false, {}, 'application/json', 'false'],
    [
      { a: 'b c', d: [1, 2] },
      { 'Content-Type': 'application/x-www-form-urlencoded' },
      'application/x-www-form-urlencoded',
      'a=b+c&d=1&d=2',
    ],
  ])('sends %j with %j', async (body, headers, type, text) => {
    const { origin, seen } = await serve((_, response) => {
      response.end()
    })
    await request({ method: 'PUT', url: origin, headers, body })
    expect(seen[0]).toMatchObject({ body: text, headers: { 'content-type': type } })
  })

  test('sends bytes that are given as base64', async () => {
    const { origin, seen } = await serve((_, response) => {
      response.end()
    })
    await request({ method: 'POST', url: origin, body: 'AAH//g==', encoded: true })
    await request({
      method: 'POST',
      url: origin,
      body: 'AAH//g==',
      encoded: true,
      headers: { 'Content-Type': 'image/png' },
    })
    await request({ method: 'POST', url: origin, body: 'AAH//g==' })
    expect(seen.map(({ bytes }) => bytes.toString('hex'))).toEqual([
      '0001fffe',
      '0001fffe',
      Buffer.from('AAH//g==').toString('hex'),
    ])
    expect(seen.map(({ headers }) => headers['content-type'])).toEqual([
      'application/octet-stream',
      'image/png',
      'text/plain;charset=UTF-8',
    ])
    expect(seen[0]?.headers).toMatchObject({ 'content-length': '4' })
  })

  test('says who asks, unless the workflow says so', async () => {
    const { origin, seen } = await serve((_, response) => {
      response.end()
    })
    await request({ url: origin })
    await request({ url: origin, headers: { 'User-Agent': 'mine/1' } })
    expect(seen.map(({ headers }) => headers['user-agent'])).toEqual(['actorflux', 'mine/1'])
  })

  test('takes headers as a list, and leaves those of the connection to itself', async () => {
    const { origin, port, seen } = await serve((_, response) => {
      response.end()
    })
    const list = [
      ['X-A', '1'],
      ['x-a', '2'],
      ['Cookie', 'a=1'],
      ['cookie', 'b=2'],
      ['Host', 'other'],
      ['Content-Length', '99'],
      ['Transfer-Encoding', 'chunked'],
      ['Connection', 'upgrade'],
      ['X-B', null],
    ]
    await request({ url: origin, headers: list.map(([name = '', value = null]) => ({ name, value })) })
    expect(seen[0]?.headers).toMatchObject({
      'x-a': '1, 2',
      cookie: 'a=1; b=2',
      host: `127.0.0.1:${port}`,
      connection: 'close',
    })
    expect(seen[0]?.headers).not.toHaveProperty('content-length')
    expect(seen[0]?.headers).not.toHaveProperty('x-b')
  })

  test.each([
    [{}, '"url" must be an absolute URL'],
    [{ url: '/path' }, '"url" must be an absolute URL'],
    [{ url: 5 }, '"url" must be an absolute URL'],
    [{ url: 'file:///etc/passwd' }, 'only URLs of http and https can be requested'],
    [{ url: 'data:,x' }, 'only URLs of http and https can be requested'],
    [
      { url: 'http://me:secret@example.com' },
      'a URL with a user or a password is not taken: send an Authorization header',
    ],
    [{ url: 'http://example.com', method: 'GET / HTTP/1.1\r\nX: ' }, '"method" must be the name of an HTTP method'],
    [{ url: 'http://example.com', method: 'CONNECT' }, 'the method CONNECT is not allowed'],
    [{ url: 'http://example.com', headers: { 'a b': '1' } }, 'HTTP forbids the header "a b", or its value'],
    [{ url: 'http://example.com', headers: { a: 'secret\r\nX: y' } }, 'HTTP forbids the header "a", or its value'],
    [{ url: 'http://example.com', headers: 'a: b' }, '"headers" must be an object, or a list of { name, value }'],
    [{ url: 'http://example.com', headers: [1] }, 'each of "headers" must be { name, value }'],
    [{ url: 'http://example.com', query: 'a=b' }, '"query" must be an object'],
    [{ url: 'http://example.com', timeout: 0 }, '"timeout" must be a number above 0, and at most 2147483'],
    [{ url: 'http://example.com', maxSize: 1e9 }, '"maxSize" must be a number above 0, and at most 16777216'],
    [{ url: 'http://example.com', body: 'no base64', encoded: true }, '"body" must be base64 where "encoded" is true'],
    [{ url: 'http://example.com', body: [1], encoded: true }, '"body" must be base64 where "encoded" is true'],
    [{ url: 'http://example.com', encoded: 'yes' }, '"encoded" must be true or false'],
    [{ url: 'http://example.com', followRedirects: 'no' }, '"followRedirects" must be true or false'],
  ])('is refused: %j', async (args, reason) => {
    expect(await failure(request(args))).toBe(`HttpError: ${reason}`)
  })
})

describe('an answer', () => {
  test.each([
    ['application/problem+json; charset=utf-8', '{"a":1}', { a: 1 }, false],
    ['APPLICATION/JSON', '\ufeff[1]', [1], false],
    ['application/json', '{broken', '{broken', false],
    ['application/json', '', null, false],
    ['text/plain; charset=iso-8859-1', Buffer.from([0xfc]), 'ü', false],
    ['text/html; charset=nonsense', 'ü', 'ü', false],
    ['application/atom+xml', '<a/>', '<a/>', false],
    ['application/x-www-form-urlencoded', 'a=b', 'a=b', false],
    ['image/png', Buffer.from([1, 2, 3]), 'AQID', true],
    [null, 'x', 'eA==', true],
  ])('of type %s with %j', async (type, sent, body, encoded) => {
    const { origin } = await answering(type, sent)
    expect(await request({ url: origin })).toMatchObject({ contentType: type, body, encoded })
  })

  test.each([
    ['gzip', gzipSync('[1]')],
    ['br', brotliCompressSync('[1]')],
    ['deflate', deflateSync('[1]')],
    ['deflate', deflateRawSync('[1]')],
  ])('is unpacked: %s', async (encoding, packed) => {
    const { origin } = await answering('application/json', packed, { 'Content-Encoding': encoding })
    expect(await request({ url: origin, headers: { 'Accept-Encoding': 'gzip, br' } })).toMatchObject({ body: [1] })
  })

  test('is unpacked of several codings, and stays bytes where one is not known', async () => {
    const twice = await answering('application/json', gzipSync(deflateSync('[1]')), {
      'Content-Encoding': 'deflate, GZIP',
    })
    expect(await request({ url: twice.origin })).toMatchObject({ body: [1], encoded: false })
    const unknown = await answering('text/plain', 'packed', { 'Content-Encoding': 'zstd' })
    expect(await request({ url: unknown.origin })).toMatchObject({
      body: Buffer.from('packed').toString('base64'),
      encoded: true,
    })
  })

  test('is unpacked of four codings at most', async () => {
    const four = await answering('application/json', gzipSync(gzipSync(gzipSync(gzipSync('[1]')))), {
      'Content-Encoding': 'gzip, identity, gzip, gzip, identity, gzip',
    })
    expect(await request({ url: four.origin })).toMatchObject({ body: [1] })
    const many = await answering('application/json', '[1]', { 'Content-Encoding': Array(1500).fill('gzip').join() })
    expect(await failure(request({ url: many.origin }))).toBe(
      'HttpError: the Content-Encoding of the answer lists more than 4 codings',
    )
  })

  test.each([
    ['text/plain; charset=windows-1252', Buffer.of(0x80, 0x93, 0xe9), '€“é'],
    [
      'application/xml',
      Buffer.from('<?xml version="1.0" encoding="iso-8859-1"?><a>é</a>', 'latin1'),
      '<?xml version="1.0" encoding="iso-8859-1"?><a>é</a>',
    ],
    ['text/plain', Buffer.from('\uFEFFé'), 'é'],
  ])('is text in its charset: %s', async (type, bytes, text) => {
    const { origin } = await answering(type, bytes)
    expect(await request({ url: origin })).toMatchObject({ body: text, encoded: false })
  })

  test.each(['gzip', 'deflate', 'br'])('without any bytes is not unpacked: %s', async (encoding) => {
    const { origin } = await serve(({ url }, response) => {
      response.writeHead(Number(url.slice(1)), { 'Content-Encoding': encoding }).end()
    })
    expect(await request({ url: `${origin}/200`, method: 'HEAD' })).toMatchObject({
      status: 200,
      body: null,
      headers: { 'content-encoding': encoding },
    })
    for (const status of [200, 204, 304])
      expect(await request({ url: `${origin}/${status}` })).toMatchObject({ status, body: null })
  })

  test('in JSON that no context can hold is a failure', async () => {
    const deep = await answering('application/json', '['.repeat(5000) + ']'.repeat(5000))
    expect(await failure(request({ url: deep.origin }))).toBe('HttpError: the answer is nested too deep')
    const shallow = await answering('application/json', '['.repeat(199) + ']'.repeat(199))
    expect(await request({ url: shallow.origin })).toMatchObject({ status: 200 })
  })

  test('has a bound, also when it is packed', async () => {
    const plain = await answering('text/plain', 'x'.repeat(1001))
    expect(await failure(request({ url: plain.origin, maxSize: 1000 }))).toBe(
      'HttpError: the answer is larger than 1000 bytes',
    )
    expect(await request({ url: plain.origin, maxSize: 1001 })).toMatchObject({ body: 'x'.repeat(1001) })
    const bomb = await answering('text/plain', gzipSync('x'.repeat(10_000_000)), { 'Content-Encoding': 'gzip' })
    expect(await failure(request({ url: bomb.origin }))).toBe('HttpError: the answer is larger than 1048576 bytes')
    const endless = await serve((_, response) => {
      const timer = setInterval(() => response.write('x'.repeat(100_000)), 1)
      response.on('close', () => clearInterval(timer))
    })
    expect(await failure(request({ url: endless.origin }))).toBe('HttpError: the answer is larger than 1048576 bytes')
  })

  test.each([
    [
      'broken packing',
      (response: ServerResponse) => {
        response.writeHead(200, { 'Content-Encoding': 'gzip' }).end('no gzip')
      },
    ],
    [
      'broken off in the middle',
      (response: ServerResponse) => {
        response.writeHead(200, { 'Content-Length': 100 }).write('x')
        setTimeout(() => response.destroy(), 20)
      },
    ],
    [
      'broken off before',
      (response: ServerResponse) => {
        response.destroy()
      },
    ],
    [
      'broken off in the middle of packing',
      (response: ServerResponse) => {
        response.writeHead(200, { 'Content-Encoding': 'gzip' }).write(gzipSync('x'.repeat(1000)).subarray(0, 15))
        setTimeout(() => response.destroy(), 20)
      },
    ],
  ])('fails when it is %s', async (_, handler) => {
    const { origin } = await serve((_seen, response) => handler(response))
    expect(await failure(request({ url: origin }))).toMatch(
      /^HttpError: (?:can't get an answer from "127\.0\.0\.1:\d+": \S|the answer is not what its Content-Encoding says$)/,
    )
  })

  test('that is no HTTP is a failure', async () => {
    const server = createSocketServer((socket) => socket.on('error', () => {}).end('SSH-2.0-secret\r\n'))
    const port = await listening(server)
    expect(await failure(request({ url: `http://127.0.0.1:${port}` }))).toMatch(
      /^HttpError: can't get an answer from "127\.0\.0\.1:\d+": HPE_\w+$/,
    )
    expect(await failure(request({ url: `https://127.0.0.1:${port}` }))).toMatch(
      /^HttpError: can't get an answer from "127\.0\.0\.1:\d+": \w+$/,
    )
    server.close()
  })

  test('that nobody gives is one, too', async () => {
    const port = await freePort()
    expect(await failure(request({ url: `http://127.0.0.1:${port}/?secret` }))).toBe(
      `HttpError: can't get an answer from "127.0.0.1:${port}": it refuses the connection`,
    )
    expect(await failure(request({ url: 'http://nowhere.invalid/' }))).toMatch(
      /^HttpError: can't get an answer from "nowhere\.invalid": its name /,
    )
  })
})

describe('time', () => {
  test('is bounded until the last byte', async () => {
    const silent = await serve(() => {})
    expect(await failure(request({ url: silent.origin, timeout: 0.05 }))).toBe('TimeoutError: no answer within 0.05 s')
    const slow = await serve((_, response) => {
      response.writeHead(200).write('x')
    })
    expect(await failure(request({ url: slow.origin, timeout: 0.1 }))).toBe('TimeoutError: no answer within 0.1 s')
  })

  test('ends with the step', async () => {
    const { origin } = await serve(() => {})
    const controller = new AbortController()
    const reason = new Error('terminated')
    const asked = request({ url: origin }, controller)
    setTimeout(() => controller.abort(reason), 20)
    await expect(asked).rejects.toBe(reason)
    await expect(request({ url: origin }, controller)).rejects.toBe(reason)
  })
})

/** `/<status>/<rest>` redirects to `/<rest>`. */
const redirecting = () =>
  serve(({ url }, response) => {
    const [, status, rest] = /^\/(\d+)(\/.*)$/.exec(url) ?? []
    if (status === undefined || rest === undefined) response.end()
    else response.writeHead(Number(status), { Location: rest }).end('moved')
  })

describe('redirects', () => {
  test.each([
    [301, 'POST', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [303, 'POST', 'GET', ''],
    [303, 'PUT', 'GET', ''],
    [303, 'HEAD', 'HEAD', 'x'],
    [301, 'PUT', 'PUT', 'x'],
    [302, 'GET', 'GET', 'x'],
    [307, 'POST', 'POST', 'x'],
    [308, 'POST', 'POST', 'x'],
  ])('%s after %s goes on with %s', async (status, method, then, body) => {
    const { origin, seen } = await redirecting()
    expect(
      await request({ url: `${origin}/${status}/end`, method, body: 'x', headers: { 'X-A': '1', Authorization: 'a' } }),
    ).toMatchObject({ status: 200, url: `${origin}/end` })
    expect(seen[1]).toMatchObject({ method: then, url: '/end', headers: { 'x-a': '1', authorization: 'a' } })
    expect([seen[1]?.body, 'content-type' in (seen[1]?.headers ?? {})]).toEqual([body, body !== ''])
  })

  test('are followed five times', async () => {
    const { origin, seen } = await redirecting()
    expect(await request({ url: `${origin}${'/302'.repeat(5)}/end` })).toMatchObject({ status: 200 })
    expect(await failure(request({ url: `${origin}${'/302'.repeat(6)}/end` }))).toBe('HttpError: more than 5 redirects')
    expect(seen).toHaveLength(12)
  })

  test('are an answer like others where they are not wanted, or lead nowhere', async () => {
    const { origin } = await redirecting()
    expect(await request({ url: `${origin}/302/end`, followRedirects: false })).toMatchObject({
      status: 302,
      headers: { location: '/end' },
      url: `${origin}/302/end`,
    })
    const bare = await serve((_, response) => {
      response.writeHead(304).end()
    })
    expect(await request({ url: bare.origin })).toMatchObject({ status: 304, body: null })
  })

  test('carry nothing to another origin that may be secret', async () => {
    const target = await serve((_, response) => {
      response.end()
    })
    const { origin } = await serve((_, response) => {
      response.writeHead(307, { Location: `${target.origin}/x` }).end()
    })
    const secret = { Authorization: 'a', Cookie: 'b', 'Proxy-Authorization': 'c', 'X-Api-Key': 'd', 'X-Signature': 'e' }
    await request({
      url: origin,
      method: 'POST',
      body: 'x',
      headers: { ...secret, Accept: 'a/b', 'Accept-Language': 'de', 'Content-Type': 'text/x' },
    })
    expect(target.seen[0]).toMatchObject({
      body: 'x',
      headers: { accept: 'a/b', 'accept-language': 'de', 'content-type': 'text/x', 'user-agent': 'actorflux' },
    })
    for (const name of Object.keys(secret).map((given) => given.toLowerCase()))
      expect(target.seen[0]?.headers).not.toHaveProperty(name)
  })

  test.each(['file:///etc/passwd', 'http://a:b@127.0.0.1/', 'http://', 'javascript:1'])(
    'to %s are refused',
    async (location) => {
      const { origin } = await serve((_, response) => {
        response.writeHead(302, { Location: location }).end()
      })
      expect(await failure(request({ url: origin }))).toMatch(/^HttpError: /)
    },
  )
})

describe('an address that is not public', () => {
  test.each([
    '127.0.0.1',
    '127.1',
    '0x7f.1',
    '2130706433',
    '017700000001',
    '127.0.0.1.',
    '０x7f.1',
    'localhost',
    '0.0.0.0',
    '0',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::127.0.0.1]',
  ])('is refused as %s', async (host) => {
    const { port, seen } = await serve((_, response) => {
      response.end()
    })
    expect(await failure(guarded({ url: `http://${host}:${port}/` }))).toMatch(
      /^ForbiddenAddress: ".+" has no public address, and others are not allowed$/,
    )
    expect(seen).toEqual([])
  })

  test.each(['169.254.169.254', '10.0.0.1', '[fd00:ec2::254]', '[fe80::1]', '192.168.1.1', '100.64.0.1'])(
    'is refused as %s without any attempt',
    async (host) => {
      // An attempt would take longer than this test may.
      for (const scheme of ['http', 'https'])
        expect(await failure(guarded({ url: `${scheme}://${host}/`, timeout: 120 }))).toMatch(/^ForbiddenAddress: /)
    },
  )

  test('is allowed by a setting only', async () => {
    const { origin } = await answering('application/json', '[1]')
    const call = { package: 'p', className: 'Http', methodName: 'request', args: { url: origin }, flux }
    expect(await stepRunner({ log: silent }).missing(call)).toBeNull()
    expect(await failure(stepRunner({ log: silent }).run(call))).toMatch(/^ForbiddenAddress: /)
    expect(await stepRunner({ log: silent, allowPrivate: true }).run(call)).toMatchObject({ status: 200, body: [1] })
  })
})
