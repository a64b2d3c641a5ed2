// The header `Idempotency-Key`: what it may be, what it leads to, and how repeats are told.
import { beforeEach, describe, expect, test } from 'vitest'
import type { Hono } from 'hono'
import type { Env } from '../../src/http/request/incoming.ts'
import { SYSTEM } from '../../src/model/caller.ts'
import { openBench, type Bench, type Files } from '../support/engine.ts'
import { testApp } from './support.ts'

const FILES: Files = {
  'p/Wait.flux': {
    input: [{ name: 'a', type: 'string' }],
    states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'tick' }] }],
  },
}

let bench: Bench
let app: Hono<Env>
beforeEach(async () => {
  bench = await openBench(FILES)
  app = testApp({}, { api: () => bench.engine.calls(SYSTEM) }).app
})

interface Sent {
  readonly method?: string
  readonly key?: string
  readonly body?: unknown
  readonly type?: string
}

async function send(path: string, { method = 'POST', key, body, type = 'application/json' }: Sent = {}) {
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
  if (body !== undefined) headers['content-type'] = type
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await app.request(path, { method, headers, ...(body !== undefined && { body: text }) })
  return {
    status: response.status,
    replayed: response.headers.get('idempotency-replayed'),
    retryAfter: response.headers.get('retry-after'),
    body: JSON.parse(await response.text()),
  }
}

const execute = (key: string | undefined, more: object = {}) =>
  send('/flux-api/p/execute', { ...(key !== undefined && { key }), body: { fluxName: 'Wait', ...more } })

describe('Idempotency-Key', () => {
  test('gives the first answer again, and says so', async () => {
    const first = await execute('abc')
    expect(first).toMatchObject({ status: 200, replayed: null, body: { contextId: 1 } })
    expect(await execute('abc')).toEqual({ ...first, replayed: 'true' })
    expect(await execute('"abc"')).toEqual({ ...first, replayed: 'true' })
    expect(await bench.listContexts({ limit: 9 })).toHaveLength(1)
  })

  test('is the same for the same content in JSON and in XML', async () => {
    await execute('abc', { input: { a: 'x' } })
    const body = '<request><fluxName>Wait</fluxName><input><a>x</a></input></request>'
    expect(await send('/flux-api/p/execute', { key: 'abc', body, type: 'application/xml' })).toMatchObject({
      status: 200,
      replayed: 'true',
    })
  })

  test('with another body is 422, and while the first is under way 409', async () => {
    const [first, second] = await Promise.all([execute('abc'), execute('abc')])
    expect(first.status).toBe(200)
    expect(second).toMatchObject({ status: 409, retryAfter: '1' })
    expect(second.body).toMatchObject({ type: 'urn:actorflux:problem:idempotency-in-progress' })
    const other = await execute('abc', { tags: ['x'] })
    expect(other).toMatchObject({ status: 422, body: { type: 'urn:actorflux:problem:idempotency-mismatch' } })
  })

  test.each(['', '""', 'a b', 'x'.repeat(256), 'caf\u00e9'])('must be visible characters, not %j', async (key) => {
    expect(await execute(key)).toMatchObject({ status: 400, body: { type: 'urn:actorflux:problem:malformed-request' } })
    expect(await bench.listContexts({ limit: 1 })).toEqual([])
  })

  test('is the eventId of an event, and must not be another one', async () => {
    await execute(undefined)
    const body = { event: 'tick', contextId: 1 }
    const first = await send('/flux-api/event', { key: 'e', body })
    expect(first).toMatchObject({ status: 200, body: { eventId: 'e' } })
    expect(await send('/flux-api/event', { body: { ...body, eventId: 'e' } })).toEqual({ ...first, replayed: 'true' })
    expect(await send('/flux-api/event?contextId=1', { key: 'e', body: { event: 'tick' } })).toMatchObject({
      replayed: 'true',
    })
    expect(await send('/flux-api/event', { key: 'f', body: { ...body, eventId: 'e' } })).toMatchObject({ status: 400 })
  })

  test('holds for tags, by POST and PUT alike, and for terminate', async () => {
    await execute(undefined)
    const tags = '/flux-api/context/tag?contextId=1&tag=x'
    expect(await send(tags, { key: 't' })).toMatchObject({ status: 200, replayed: null })
    expect(await send(tags, { key: 't', method: 'PUT' })).toMatchObject({ status: 200, replayed: 'true' })
    expect(await send(tags, { key: 't', method: 'DELETE' })).toMatchObject({ status: 200, replayed: null })
    const end = () => send('/flux-api/terminate?contextId=1', { key: 'end', method: 'DELETE' })
    expect(await end()).toMatchObject({ status: 200, replayed: null })
    expect(await end()).toMatchObject({ status: 200, replayed: 'true' })
  })
})

const lines = async (path: string, body: string) => {
  const headers = { 'content-type': 'application/x-ndjson' }
  const text = await (await app.request(path, { method: 'POST', headers, body })).text()
  return text
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line))
}
test('lines that repeat an earlier request say so', async () => {
  const start = '{"fluxName":"Wait","idempotencyKey":"k"}\n'
  expect(await lines('/flux-api/p/executes', start)).toMatchObject([{ contextId: 1 }, { done: true, ok: 1 }])
  expect(await lines('/flux-api/p/executes', start)).toMatchObject([{ contextId: 1, replayed: true }, { ok: 1 }])
  const event = '{"event":"tick","contextId":1,"eventId":"e"}\n'
  expect((await lines('/flux-api/events', event))[0]).not.toHaveProperty('replayed')
  expect((await lines('/flux-api/events', event))[0]).toMatchObject({ status: 200, replayed: true })
  // Twice in one request: the second is told that the first is under way, or gets its answer.
  const twins = await lines('/flux-api/events', event.replaceAll('"e"', '"twin"').repeat(2))
  expect(twins.at(-1)).toMatchObject({ done: true, lines: 2 })
})
