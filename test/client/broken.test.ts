// Connections that break: nothing is done twice, and nothing is missed.
import { createServer, type ServerResponse } from 'node:http'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { createClient, type Client, type StreamItem } from '../../src/client/client.ts'
import { streamMoves } from '../../src/client/moves.ts'
import { startProxy, type Proxy } from '../support/proxy.ts'
import { cleanUp, placeFor, startServer } from '../support/server.ts'
import { SERVICES } from './services.ts'
import { listening } from '../support/listening.ts'

let direct: Client
let client: Client
let proxy: Proxy
beforeAll(async () => {
  const place = await placeFor(SERVICES)
  const { url } = await startServer({ program: inject('program'), ...place })
  proxy = await startProxy(Number(new URL(url).port))
  direct = createClient({ url })
  client = createClient({ url: `http://127.0.0.1:${proxy.port}` })
})
afterAll(async () => {
  await proxy?.close()
  await cleanUp()
})

const started = async (caller: Client, tag: string): Promise<number> => {
  const request = { package: 'shop', fluxName: 'Order', input: { item: 'tea' }, tags: [tag] }
  return (await caller.execute(request)).contextId
}

const countOf = async (tag: string): Promise<number> => (await direct.countContexts({ tag: [tag] })).total

test('a start whose answer is lost is made once', async () => {
  proxy.cut(/POST .*execute/, 2)
  const contextId = await started(client, 'lost')
  expect(proxy.sent(/POST .*execute/)).toBe(3)
  expect(await countOf('lost')).toBe(1)
  proxy.cut(/POST .*event/)
  const sent = await client.sendEvent({ contextId, event: 'paid', input: { amount: 1 } })
  expect(sent.transitions).toEqual([{ contextId, state: 'Paid' }])
})

test('a stream goes on where it stopped', async () => {
  const contextId = await started(direct, 'watched')
  const items: StreamItem[] = []
  const controller = new AbortController()
  const streams = proxy.sent(/GET .*stream/)
  const reading = (async () => {
    for await (const item of client.stream({ contextId }, { signal: controller.signal })) items.push(item)
  })()
  await expect.poll(() => proxy.sent(/GET .*stream/)).toBe(streams + 1)
  const move = (n: number) => direct.addTags({ contextId, tag: [`n${n}`] })
  // The first bytes have the place from which to go on.
  await expect.poll(async () => (await move(0)) && items.length, { interval: 50 }).toBeGreaterThan(0)
  const before = items.length
  for (let n = 1; n <= 20; n += 1) {
    if (n === 5) {
      proxy.refuses = true
      proxy.hangUp()
    }
    if (n === 15) proxy.refuses = false
    await move(n)
  }
  await expect.poll(() => items.length, { timeout: 10_000 }).toBe(before + 20)
  controller.abort()
  await reading
  const versions = items.map((item) => ('version' in item ? item.version : 0))
  expect(versions).toEqual(versions.map((_, index) => (versions[0] ?? 0) + index))
})

test('lines without an answer are sent again, and none is carried out twice', async () => {
  const count = 3000
  const starts = Array.from({ length: count }, () => ({ fluxName: 'Order', input: { item: 'tea' }, tags: ['lines'] }))
  const ids = new Set<number>()
  let [lines, breaks] = [0, 0]
  for await (const line of client.executeMany('shop', starts)) {
    if ('contextId' in line) ids.add(line.contextId)
    lines += 1
    if (lines % 900 === 0) {
      breaks += 1
      proxy.hangUp()
    }
  }
  expect(breaks).toBe(3)
  expect(lines).toBe(count + 1)
  expect(ids.size).toBe(count)
  expect(await countOf('lines')).toBe(count)
})

/** A server that does with each connection what it is told. */
async function told(...answers: ((response: ServerResponse) => void)[]) {
  const urls: string[] = []
  const server = createServer((request, response) => {
    urls.push(request.url ?? '')
    request.resume()
    answers[Math.min(urls.length, answers.length) - 1]?.(response)
  })
  return { urls, url: `http://127.0.0.1:${await listening(server)}` }
}

const at = (id: string) => `/flux-api/stream?fluxName=F&lastEventId=${id}`

test('a stream on which nothing comes any more, or that says goodbye, is opened again', async () => {
  const server = await told(
    (response) => response.writeHead(200).write(': moves\nid: a\n\n'),
    (response) =>
      response.writeHead(200).end('id: b\nevent: move\ndata: {"version":\ndata: 1}\n\nevent: bye\ndata: {}\n\n'),
    (response) => response.writeHead(503, { 'retry-after': '0' }).end(),
    (response) => response.writeHead(200).end('event: dropped\ndata: {"count":3}\n\nid: c\nevent: move\ndata: {"vers'),
    (response) => response.writeHead(401).end('{"detail":"the token is not valid any more"}'),
  )
  const transport = { base: server.url, token: undefined, fetch, retries: 0, timeout: undefined }
  const items: StreamItem[] = []
  const reading = (async () => {
    for await (const item of streamMoves(transport, { fluxName: 'F' }, { silence: 50 })) items.push(item)
  })()
  await expect(reading).rejects.toMatchObject({ status: 401 })
  expect(items).toEqual([{ version: 1 }, { dropped: { count: 3 } }])
  expect(server.urls).toEqual(['/flux-api/stream?fluxName=F', at('a'), at('b'), at('b'), at('b')])
})

const answer = (response: ServerResponse, ...lines: object[]) =>
  response.writeHead(200).end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
/** By which the server ends a client that was asleep. */
const TOO_LATE = { type: 'urn:actorflux:problem:request-timeout', title: 'T', status: 408, detail: 'no line came' }
const problem = (status: number) => ({ type: 'about:blank', title: 'T', status, detail: `a ${status}` })

test('lines that the server breaks off go on where it may serve again; else the last line says why', async () => {
  const server = await told(
    (response) => response.writeHead(503, { 'retry-after': '0' }).end(),
    (response) =>
      answer(response, { n: 0, status: 200 }, { done: false, lines: 1, ok: 1, failed: 0, problem: problem(503) }),
    (response) =>
      answer(response, { n: 0, status: 200 }, { done: false, lines: 1, ok: 1, failed: 0, problem: TOO_LATE }),
    (response) =>
      answer(response, { n: 0, status: 200 }, { done: false, lines: 1, ok: 1, failed: 0, problem: problem(413) }),
  )
  const seen: object[] = []
  const reading = (async () => {
    const events = ['a', 'b', 'c', 'd'].map((event) => ({ event }))
    for await (const line of createClient({ url: server.url }).sendEvents(events)) seen.push(line)
  })()
  await expect(reading).rejects.toMatchObject({ status: 413, detail: 'a 413' })
  expect(seen).toEqual([
    { n: 0, status: 200 },
    { n: 1, status: 200 },
    { n: 2, status: 200 },
    { done: false, lines: 3, ok: 3, failed: 0, problem: problem(413) },
  ])
})
