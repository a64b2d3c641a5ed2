// Over real sockets, in real time: what app.request() can't show.
import { EventEmitter, once } from 'node:events'
import { Agent, request, type IncomingMessage, type RequestOptions } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { listen, type HttpServer, type ListenOptions } from '../../src/http/server.ts'
import type { EventAnswer } from '../../src/api/events.ts'
import type { FluxApi } from '../../src/api/calls.ts'
import { memoryLog, testApp } from './support.ts'

/** Longer than the tests. */
const DEADLINES = { headers: 60_000, request: 60_000, answer: 60_000 }

const open: { server: HttpServer; sockets: Socket[] } = {
  server: { url: '', address: '', close: () => Promise.resolve() },
  sockets: [],
}

afterEach(async () => {
  for (const socket of open.sockets.splice(0)) socket.destroy()
  await open.server.close(0)
})

async function start(overrides: Partial<FluxApi> = {}, options: Partial<ListenOptions> = {}) {
  const { app, calls, lines } = testApp(overrides, { maxBody: 10_000 })
  open.server = await listen(app, {
    host: '127.0.0.1',
    port: 0,
    log: memoryLog().log,
    deadlines: DEADLINES,
    maxConnections: 1000,
    ...options,
  })
  return { server: open.server, url: open.server.url, port: Number(new URL(open.server.url).port), calls, lines }
}

async function socketTo(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  open.sockets.push(socket)
  await once(socket, 'connect')
  return socket
}

/** Everything that comes until the other side hangs up. */
async function rest(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  await once(socket, 'close')
  return text
}

const EVENT = 'POST /flux-api/event HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
const agent = () => new Agent({ keepAlive: true, maxSockets: 1 })
const ask = (url: string, options: RequestOptions, body?: string) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    request(url, options, (response) => {
      response.resume().on('end', () => resolve(response))
    })
      .on('error', reject)
      .end(body)
  })
const sent: EventAnswer = { message: 'sent', transitions: [], executions: [], ignored: [], pending: [], eventId: 'e' }

describe('a request is turned away with a problem', () => {
  test.each([
    [
      'without Host',
      'GET /flux-api/contexts HTTP/1.1\r\n\r\n',
      /^HTTP\/1\.1 400 [^]*application\/problem\+json[^]*Host/,
    ],
    [
      'without Host, in XML if asked for',
      'GET /flux-api/contexts HTTP/1.1\r\nAccept: application/xml\r\n\r\n',
      /^HTTP\/1\.1 400 [^]*application\/problem\+xml[^]*Host/,
    ],
    ['with two hosts', 'GET /healthz HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n', /^HTTP\/1\.1 400 [^]*several Host/],
    [
      'in a coding of its own',
      'POST /flux-api/event HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
      /^HTTP\/1\.1 415 [^]*chunked/,
    ],
    ['for a proxy', 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n', /^HTTP\/1\.1 400 [^]*proxy/],
  ])('%s', async (_, request, answer) => {
    const socket = await socketTo((await start()).port)
    socket.write(request)
    expect(await rest(socket)).toMatch(answer)
  })

  test("a proxy's client that breaks off does no harm", async () => {
    const { port, url } = await start()
    for (let count = 0; count < 200; count += 1) {
      const socket = await socketTo(port)
      socket.write('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n')
      socket.resetAndDestroy()
    }
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })

  test.each([['/flux-api/contexts?fluxName=..'], ['/flux-api/contexts?fluxName=a/../b'], ['/healthz?...']])(
    'but not %s',
    async (path) => {
      const socket = await socketTo((await start()).port)
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
      expect(await rest(socket)).toMatch(/^HTTP\/1\.1 200 /)
    },
  )
})

describe('a body', () => {
  test('comes in one piece or in many', async () => {
    const { port, calls } = await start()
    const body = Buffer.from(JSON.stringify({ event: 'é€' }))
    const socket = await socketTo(port)
    socket.write(`${EVENT}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n`)
    for (const byte of body) {
      socket.write(Uint8Array.of(byte))
      await sleep(1)
    }
    expect(await rest(socket)).toContain('HTTP/1.1 200')
    expect(calls).toEqual([{ name: 'sendEvent', request: { event: 'é€', untyped: false } }])
  })

  test('keeps hostile keys as data', async () => {
    const { url, calls } = await start()
    const body = '{"event":"e","input":{"__proto__":{"a":1},"constructor":2}}'
    expect(
      (await fetch(`${url}/flux-api/event`, { method: 'POST', body, headers: { 'content-type': 'application/json' } }))
        .status,
    ).toBe(200)
    expect(JSON.stringify(calls)).toContain('"input":{"__proto__":{"a":1},"constructor":2}')
  })

  test('that is announced as too large is refused before it comes', async () => {
    const { port, calls } = await start()
    const socket = await socketTo(port)
    socket.write(`${EVENT}Content-Length: 10001\r\n\r\n`)
    expect(await rest(socket)).toMatch(/^HTTP\/1.1 413 [^]*"status":413/)
    expect(calls).toEqual([])
  })

  test('that grows too large in chunks is refused, and the connection ends', async () => {
    const { port, calls } = await start()
    const socket = await socketTo(port)
    socket.write(`${EVENT}Transfer-Encoding: chunked\r\n\r\n`)
    const flood = setInterval(() => socket.write(`1000\r\n${' '.repeat(4096)}\r\n`), 2)
    const answer = await rest(socket).finally(() => clearInterval(flood))
    expect(answer).toMatch(/^HTTP\/1.1 413 [^]*"status":413/)
    expect(calls).toEqual([])
  })

  test('of just the limit is taken', async () => {
    const { url } = await start()
    const body = `{"event":"e"${' '.repeat(10_000 - 13)}}`
    expect(body).toHaveLength(10_000)
    expect(
      (await fetch(`${url}/flux-api/event`, { method: 'POST', body, headers: { 'content-type': 'application/json' } }))
        .status,
    ).toBe(200)
  })

  test('that is empty is 400', async () => {
    const { url } = await start()
    expect((await fetch(`${url}/flux-api/event`, { method: 'POST' })).status).toBe(400)
  })

  test('that is not UTF-8 is 400', async () => {
    const { url } = await start()
    const body = Uint8Array.from([...Buffer.from('{"event":"'), 0xff, ...Buffer.from('"}')])
    expect(
      (await fetch(`${url}/flux-api/event`, { method: 'POST', body, headers: { 'content-type': 'application/json' } }))
        .status,
    ).toBe(400)
  })

  test("that breaks off is nobody's failure", async () => {
    const { port, calls, lines, url } = await start()
    const socket = await socketTo(port)
    socket.write(`${EVENT}Content-Length: 100\r\n\r\n{"event":`)
    await sleep(50)
    socket.destroy()
    await sleep(50)
    expect(lines).toEqual([])
    expect(calls).toEqual([])
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })

  test('may be too much for a call that takes none', async () => {
    const { url } = await start()
    const response = await fetch(`${url}/flux-api/context/tag?contextId=1&tag=x`, {
      method: 'POST',
      body: 'x'.repeat(20_000),
    })
    expect(response.status).toBe(200)
  })
})

test('a client that leaves is told to all of its answers, also to those that wait for others', async () => {
  const [asked, left]: [string[], string[]] = [[], []]
  open.server = await listen(
    {
      fetch(request, env) {
        const { pathname } = new URL(request.url)
        asked.push(pathname)
        if (env && 'outgoing' in env) env.outgoing.on('close', () => left.push(pathname))
        return new Promise(() => {})
      },
    },
    { host: '127.0.0.1', port: 0, log: memoryLog().log, deadlines: DEADLINES, maxConnections: 10 },
  )
  const socket = await socketTo(Number(new URL(open.server.url).port))
  socket.write(['/a', '/b', '/c'].map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''))
  await expect.poll(() => asked).toEqual(['/a', '/b', '/c'])
  socket.destroy()
  await expect.poll(() => left.toSorted()).toEqual(['/a', '/b', '/c'])
})

describe('deadlines', () => {
  test('headers that do not come in time are 408', async () => {
    const { port } = await start({}, { deadlines: { ...DEADLINES, headers: 100, request: 300 } })
    const socket = await socketTo(port)
    socket.write('POST /flux-api/event HTTP/1.1\r\nHost:')
    expect(await rest(socket)).toMatch(/^HTTP\/1.1 408 [^]*urn:actorflux:problem:request-timeout/)
  })

  test('a body that does not come in time is 408', async () => {
    const { port, calls } = await start({}, { deadlines: { ...DEADLINES, headers: 100, request: 300 } })
    const socket = await socketTo(port)
    socket.write(`${EVENT}Content-Length: 100\r\n\r\n{`)
    const drip = setInterval(() => socket.write(' '), 50)
    expect(await rest(socket).finally(() => clearInterval(drip))).toMatch(/^HTTP\/1.1 408 /)
    expect(calls).toEqual([])
  })

  test('an answer may take longer than the request', async () => {
    const { url } = await start(
      { sendEvent: () => sleep(600).then(() => sent) },
      { deadlines: { ...DEADLINES, headers: 100, request: 300 } },
    )
    expect(
      (
        await fetch(`${url}/flux-api/event`, {
          method: 'POST',
          body: '{"event":"e"}',
          headers: { 'content-type': 'application/json' },
        })
      ).status,
    ).toBe(200)
  })
})

describe('deadlines that do not fit together', () => {
  test("the whole request's holds for its headers too", async () => {
    const { port } = await start({}, { deadlines: { ...DEADLINES, request: 200 } })
    const socket = await socketTo(port)
    socket.write('POST /flux-api/event HTTP/1.1\r\nHost:')
    expect(await rest(socket)).toMatch(/^HTTP\/1.1 408 /)
  })
})

describe('what is not HTTP', () => {
  test.each([
    ['GARBAGE\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n', 400],
    ['GET \\ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
    [`GET / HTTP/1.1\r\nHost: x\r\nA: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    [`${EVENT}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
  ])('%.40j is %i', async (text, status) => {
    const { port } = await start()
    const socket = await socketTo(port)
    socket.write(text)
    expect(await rest(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  })
})

describe('an address that can not be had', () => {
  test('is told in one line', async () => {
    const { port } = await start()
    const { app } = testApp()
    await expect(
      listen(app, { host: '127.0.0.1', port, log: memoryLog().log, deadlines: DEADLINES, maxConnections: 1000 }),
    ).rejects.toThrow(`port ${port} of 127.0.0.1 is already in use`)
    await expect(
      listen(app, { host: '192.0.2.1', port: 0, log: memoryLog().log, deadlines: DEADLINES, maxConnections: 1000 }),
    ).rejects.toThrow('192.0.2.1 is not an address of this machine')
  })
})

describe('closing', () => {
  test('does not wait for idle and for silent connections', async () => {
    const { server, url, port } = await start()
    await ask(`${url}/healthz`, { agent: agent() })
    await socketTo(port)
    await sleep(20)
    // Longer than this test may take.
    await server.close(120_000)
  })

  test('answers what is under way, says goodbye, and takes nothing new', async () => {
    const answering = new EventEmitter()
    const sendEvent = vi.fn(() => once(answering, 'now').then(() => sent))
    const { server, url } = await start({ sendEvent })
    const options = { agent: agent(), method: 'POST', headers: { 'content-type': 'application/json' } }
    const waiting = ask(`${url}/flux-api/event`, options, '{"event":"e"}')
    await vi.waitFor(() => expect(sendEvent).toHaveBeenCalled(), 5000)
    // Longer than this test may take.
    const closed = server.close(120_000)
    await sleep(20)
    await expect(ask(`${url}/healthz`, {})).rejects.toThrow('ECONNREFUSED')
    answering.emit('now')
    const response = await waiting
    expect(response.statusCode).toBe(200)
    expect(response.headers.connection).toBe('close')
    await closed
  })

  test('breaks off what is not done within the grace', async () => {
    const sendEvent = vi.fn(() => new Promise<never>(() => {}))
    const { server, url } = await start({ sendEvent })
    const waiting = ask(
      `${url}/flux-api/event`,
      { method: 'POST', headers: { 'content-type': 'application/json' } },
      '{"event":"e"}',
    )
    await vi.waitFor(() => expect(sendEvent).toHaveBeenCalled(), 5000)
    const began = performance.now()
    const [outcome] = await Promise.allSettled([waiting, server.close(200)])
    expect(outcome.status).toBe('rejected')
    expect(performance.now() - began).toBeGreaterThan(150)
  })
})

describe('each request has one answer', () => {
  const POST = 'POST /flux-api/event HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
  const WHOLE = `${POST}Content-Length: 13\r\n\r\n{"event":"e"}`

  test.each([
    ["in a coding that isn't known", `${POST}Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n`, [415]],
    ['in none', `${POST}Transfer-Encoding: identity\r\n\r\n{}`, [415]],
    [
      'in two of them, and with a body that is none',
      `${POST}Transfer-Encoding: gzip, chunked\r\n\r\nzz\r\n\r\n`,
      [415],
    ],
    ['with a length besides', `${POST}Transfer-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello`, [400]],
    ['that is to have no body', 'GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n', [415]],
    ['with a broken chunk', `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, [400]],
    [
      'turned away, with a broken chunk',
      'POST /x HTTP/1.1\r\nHost: x\r\nHost: y\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      [400],
    ],
    [
      "that expects what there isn't, with a broken chunk",
      `${POST}Expect: more\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      [417],
    ],
    ['whole, and then something else', `${WHOLE}GARBAGE\r\n\r\n`, [200]],
    [
      "whole, and then one in a coding that isn't known",
      `${WHOLE}${POST}Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n`,
      [200, 415],
    ],
    ['whole, twice, and then something else', `${WHOLE}${WHOLE}GARBAGE\r\n\r\n`, [200, 200]],
  ])('%s', async (_, request, statuses) => {
    const socket = await socketTo((await start()).port)
    socket.write(request)
    const text = await rest(socket)
    expect([...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))).toEqual(statuses)
    expect(text.match(/^x-content-type-options: nosniff\r$/gim)).toHaveLength(statuses.length)
  })

  test('and what follows it, without being a request, only ends the connection, however long the answer takes', async () => {
    const asked = new EventEmitter()
    const { port } = await start({ sendEvent: () => once(asked, 'answer').then(() => sent) })
    const socket = await socketTo(port)
    socket.write(`${WHOLE}GARBAGE\r\n\r\n`)
    await sleep(50)
    socket.write('MORE\r\n\r\n')
    await sleep(50)
    expect(socket.bytesRead).toBe(0)
    asked.emit('answer')
    expect(await rest(socket)).toMatch(/^HTTP\/1\.1 200 (?=[^]*connection: close\r\n)[^]*"sent"(?![^]*HTTP)/i)
  })
})

test.each([
  ['an answer', 'GET /flux-api/contexts HTTP/1.1\r\nHost: x\r\n'],
  ['a problem', 'GET /flux-api/nothing HTTP/1.1\r\nHost: x\r\n'],
  ['a probe', 'GET /healthz HTTP/1.1\r\nHost: x\r\n'],
  ['a page', 'GET /docs HTTP/1.1\r\nHost: x\r\n'],
  ['the description', 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n'],
  ['the schema of files', 'GET /flux-schema.json HTTP/1.1\r\nHost: x\r\n'],
  ['the schema', 'GET /flux-api/schema.xsd HTTP/1.1\r\nHost: x\r\n'],
  ['what is turned away', 'GET /x HTTP/1.1\r\nHost: x\r\nHost: y\r\n'],
  ['a redirection', 'GET /docs/ HTTP/1.1\r\nHost: x\r\n'],
  ["what isn't HTTP", 'NONSENSE\r\n'],
  ['a call for a proxy', 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n'],
])('%s says that it is what it says it is', async (_, request) => {
  const socket = await socketTo((await start()).port)
  socket.write(`${request}Connection: close\r\n\r\n`)
  expect((await rest(socket)).split('\r\n\r\n')[0]?.match(/^x-content-type-options: nosniff$/gim)).toHaveLength(1)
})
