// Large answers over real sockets: who takes them slowly, or not at all, and how much there may be of them.
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import type { AppOptions } from '../../src/http/app.ts'
import { listen, type HttpServer, type ListenOptions } from '../../src/http/server.ts'
import type { FluxApi } from '../../src/api/calls.ts'
import type { EventAnswer } from '../../src/api/events.ts'
import { held } from '../support/held.ts'
import { contextView, memoryLog, testApp, type Logged } from './support.ts'

const DEADLINES = { headers: 60_000, request: 60_000, answer: 60_000 }
const MB = 1024 * 1024

const open: { servers: HttpServer[]; sockets: Socket[] } = { servers: [], sockets: [] }
afterEach(async () => {
  for (const socket of open.sockets.splice(0)) socket.destroy()
  for (const server of open.servers.splice(0)) await server.close(0)
})

interface Started {
  readonly url: string
  readonly port: number
  readonly lines: readonly Logged[]
}

type Options = Partial<ListenOptions> & Partial<Pick<AppOptions, 'maxAnswers' | 'origins' | 'webhooks'>>

async function start(
  overrides: Partial<FluxApi>,
  { maxAnswers = 1024 * MB, origins = [], webhooks, ...options }: Options = {},
): Promise<Started> {
  const { app, lines } = testApp(overrides, { maxAnswers, origins, ...(webhooks && { webhooks }) })
  const server = await listen(app, {
    host: '127.0.0.1',
    port: 0,
    log: memoryLog().log,
    deadlines: DEADLINES,
    maxConnections: 1000,
    ...options,
  })
  open.servers.push(server)
  return { url: server.url, port: Number(new URL(server.url).port), lines }
}

/** Asks, and reads nothing but the beginning. */
async function asks(port: number, path: string, accept = 'application/json'): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  open.sockets.push(socket)
  await once(socket, 'connect')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAccept: ${accept}\r\n\r\n`)
  await once(socket, 'readable')
  return socket
}

function get(
  url: string,
  options: { readonly method?: string; readonly accept?: string } = {},
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(
      url,
      { agent: false, method: options.method ?? 'GET', headers: { accept: options.accept ?? 'application/json' } },
      resolve,
    )
      .on('error', reject)
      .end()
  })
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of response.setEncoding('utf8')) text += piece
  return text
}

/** A context of 40 MB. `fail`: throws when one of its 2,000 items is looked at for the time of that number. */
function large({ fail = Infinity, count = 2000 } = {}) {
  let looks = 0
  const text = 'x'.repeat(20_000)
  const items = Array.from({ length: count }, () => ({
    get text() {
      looks += 1
      if (looks === fail) throw new Error('secret')
      return text
    },
  }))
  const view = { ...contextView(1), output: { ...contextView(1).output, gloopProperties: [{ name: 'x', items }] } }
  return {
    api: { getContext: async () => view } satisfies Partial<FluxApi>,
    json: () => JSON.stringify(view),
  }
}
const PATH = '/flux-api/context?contextId=1'

describe('a large answer', () => {
  test.each(['application/json', 'application/xml'])(
    'of %s comes whole, and others are served meanwhile',
    async (accept) => {
      const { api, json } = large({ count: 400 })
      const { url } = await start(api)
      const answer = get(url + PATH, { accept }).then(textOf)
      let [served, text]: [number, string | null] = [0, null]
      for (; text === null; served++) {
        expect((await get(`${url}/healthz`)).resume().statusCode).toBe(200)
        text = await Promise.race([answer, null])
      }
      expect(served).toBeGreaterThan(5)
      if (accept === 'application/json') expect(text === json()).toBe(true)
      else expect(text.match(/<text>x{20000}<\/text>/g)).toHaveLength(400)
    },
  )

  test('that fails before anything is sent is a problem, and holds nothing', async () => {
    const { api } = large({ fail: 1500 })
    const { url } = await start(api, { maxAnswers: 50 * MB })
    const response = await get(url + PATH)
    expect(response.statusCode).toBe(500)
    expect(await textOf(response)).toMatch(/urn:actorflux:problem:internal-error(?!.*secret)/)
    expect((await get(url + PATH)).resume().statusCode).toBe(200)
  })

  test('goes to pages of other origins, too, and holds nothing afterwards', async () => {
    const { url } = await start(large().api, { maxAnswers: 50 * MB, origins: ['*'] })
    for (let count = 0; count < 2; count++) {
      const response = await get(url + PATH)
      expect([response.statusCode, response.headers['access-control-allow-origin']]).toEqual([200, '*'])
      expect((await textOf(response)).length).toBeGreaterThan(40_000_000)
    }
  })

  test('has a HEAD, which holds nothing', async () => {
    const { url } = await start(large().api, { maxAnswers: 50 * MB })
    for (let count = 0; count < 5; count++) {
      const response = await get(url + PATH, { method: 'HEAD' })
      expect([response.statusCode, response.headers['content-type'], await textOf(response)]).toEqual([
        200,
        'application/json',
        '',
      ])
    }
    expect((await textOf(await get(url + PATH))).length).toBeGreaterThan(40_000_000)
  })
})

describe('a large answer of a webhook', () => {
  const text = 'é'.repeat(10_000_000)
  test.each([
    ['data', { kind: 'outputs', contextId: 1, value: { text } }, JSON.stringify({ text })],
    ['text', { kind: 'response', contextId: 1, response: { content: text } }, text],
    [
      'bytes',
      { kind: 'response', contextId: 1, response: { content: Buffer.from(text).toString('base64'), encoded: true } },
      text,
    ],
  ] as const)('of %s comes whole, and counts as any other', async (_, answer, expected) => {
    const endpoint = { package: 'p', fluxName: 'F', urlPath: '/x', timeout: null, verify: null }
    const webhooks = {
      find: () => ({ endpoint, parameters: new Map<string, string>() }),
      receive: async () => ({ answer, replayed: false, remark: null }),
      all: () => [],
      arrival: () => ({ deliveryId: 'd', time: 0 }),
      now: () => 0,
      settled() {},
      unmatched() {},
      giveUp() {},
    }
    const { url, port } = await start({}, { webhooks, maxAnswers: 30 * MB })
    expect((await textOf(await get(`${url}/api/x`))) === expected).toBe(true)
    for (let count = 0; count < 4; count++) await asks(port, '/api/x')
    expect((await get(`${url}/api/x`)).statusCode).toBe(503)
  })
})

/** Of so many answers at once, each read to its end. */
const statuses = (url: string, count: number) =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const response = await get(url + PATH)
      await textOf(response)
      return response.statusCode
    }),
  )

test('the files of /docs are in memory for all, so they count for none', async () => {
  const path = '/docs/swagger-ui-bundle.js'
  const { url, port } = await start({}, { maxAnswers: 1000 })
  await asks(port, path)
  const response = await get(url + path)
  expect(response.statusCode).toBe(200)
  expect((await textOf(response)).length).toBeGreaterThan(MB)
})

describe('large answers together', () => {
  test('hold no more than their bound: beyond it they are refused for a while, and small ones are not', async () => {
    const { url, port } = await start(large().api, { maxAnswers: 100 * MB, deadlines: { ...DEADLINES, answer: 1500 } })
    const readers = [await asks(port, PATH), await asks(port, PATH)]
    const refused = await get(url + PATH)
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '1'])
    expect(await textOf(refused)).toContain('urn:actorflux:problem:overloaded')
    expect((await get(`${url}/flux-api/contexts`)).statusCode).toBe(200)
    // One of them goes; the other is cut off, since it takes nothing.
    readers[0]?.destroy()
    await expect.poll(() => statuses(url, 1), { timeout: 30_000 }).toEqual([200])
    await expect.poll(() => statuses(url, 2), { timeout: 30_000 }).toEqual([200, 200])
  }, 90_000)
})

describe('a reader who takes nothing', () => {
  test('is cut off after a time', async () => {
    const { port } = await start(large().api, { deadlines: { ...DEADLINES, answer: 400 } })
    const socket = await asks(port, PATH)
    await sleep(1500)
    let bytes = 0
    socket.on('data', (piece) => {
      bytes += piece.length
    })
    await once(socket, 'close')
    expect(bytes).toBeLessThan(35 * MB)
  })

  test.each([
    ['a request that never becomes whole', 'GET /x HTTP/1.1\r\nA: '],
    ['no request', 'NONSENSE\r\n\r\n'],
  ])('is cut off also if it sends %s, little by little', async (_, next) => {
    const { port } = await start(large().api, { deadlines: { headers: 200, request: 200, answer: 600 } })
    const socket = await asks(port, PATH)
    socket.write(next)
    const drip = setInterval(() => socket.write('x'), 100)
    await expect.poll(() => socket.closed, { timeout: 5000 }).toBe(true)
    clearInterval(drip)
  })

  test("isn't who takes little at a time", async () => {
    const { url } = await start(large().api, { deadlines: { ...DEADLINES, answer: 1200 } })
    const response = await get(url + PATH)
    let [bytes, since] = [0, 0]
    for await (const piece of response) {
      bytes += piece.length
      since += piece.length
      if (since < 3 * MB) continue
      since = 0
      await sleep(150)
    }
    expect(bytes).toBeGreaterThan(40_000_000)
  })

  test("isn't who takes little at a time of what was written at once", async () => {
    const app = { fetch: () => new Response(new Uint8Array(60 * MB)) }
    const deadlines = { ...DEADLINES, answer: 1200 }
    const server = await listen(app, {
      host: '127.0.0.1',
      port: 0,
      log: memoryLog().log,
      deadlines,
      maxConnections: 10,
    })
    open.servers.push(server)
    let [bytes, since] = [0, 0]
    for await (const piece of await get(server.url)) {
      bytes += piece.length
      since += piece.length
      if (since < 3 * MB) continue
      since = 0
      await sleep(150)
    }
    expect(bytes).toBe(60 * MB)
  })

  test("isn't who waits for an answer", async () => {
    const { url } = await start(
      { getContext: () => sleep(1000).then(() => contextView(1)) },
      { deadlines: { ...DEADLINES, answer: 200 } },
    )
    expect((await get(url + PATH)).statusCode).toBe(200)
  })
})

describe('connections', () => {
  test('beyond the bound are told so at once, and find a place when another goes', async () => {
    const { url, port } = await start({}, { maxConnections: 3 })
    const held = await Promise.all(Array.from({ length: 3 }, () => asks(port, '/healthz')))
    const extra = connect(port, '127.0.0.1').on('error', () => {})
    open.sockets.push(extra)
    let text = ''
    await once(
      extra.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      }),
      'end',
    )
    expect(text).toMatch(
      /^HTTP\/1\.1 503 (?=[^]*connection: close\r\n)(?=[^]*retry-after: 1\r\n)[^]*\r\n\r\n[^]*urn:actorflux:problem:overloaded/i,
    )
    for (const more of ['Expect: something', 'Connection: close', 'Content-Length: x', 'Transfer-Encoding: chunked']) {
      const socket = connect(port, '127.0.0.1')
        .on('error', () => {})
        .resume()
      open.sockets.push(socket)
      socket.write(`POST /flux-api/event HTTP/1.1\r\nHost: x\r\n${more}\r\n\r\nGET / HTTP/1.1\r\n\r\n`)
    }
    const refused = await get(`${url}/healthz`)
    expect(refused.statusCode).toBe(503)
    held[0]?.destroy()
    await expect.poll(async () => (await get(`${url}/healthz`)).statusCode).toBe(200)
  })
})

test('that a client leaves, which sends lines and reads answers, is nothing to log', async () => {
  const answer = held<EventAnswer>()
  const { port, lines } = await start({ sendEvent: () => answer.promise })
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  open.sockets.push(socket)
  await once(socket, 'connect')
  const head = 'POST /flux-api/events HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n'
  const line = '{"event":"go","contextId":1}\n'
  socket.write(`${head}Content-Length: 999\r\n\r\n${line}`)
  await once(socket, 'readable')
  socket.destroy()
  await sleep(100)
  answer.release({ message: '', transitions: [], executions: [], ignored: [], eventId: 'e', pending: [] })
  await sleep(100)
  expect(lines).toEqual([])
})
