// What requests hold at once is bounded by their bytes, and by what those bytes would be parsed to.
import { EventEmitter, once } from 'node:events'
import { request } from 'node:http'
import { describe, expect, test, vi } from 'vitest'
import { ByteBudget } from '../../src/model/byte-budget.ts'
import { openLive, type Live } from './live.ts'
import { testApp } from './support.ts'

const KIB = 1024
const budget = (bytes: number) => new ByteBudget({ bytes, what: 'requests' })
const execute = (input: object) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ fluxName: 'F', input }),
})

describe('a call', () => {
  test('is refused with 503 and Retry-After while others take all the room, and taken when they are done', async () => {
    const inFlight = budget(600 * KIB)
    const gate = new EventEmitter()
    const { app, calls } = testApp(
      { execute: () => once(gate, 'open').then(() => ({ message: 'started', contextId: 1, started: true })) },
      { inFlight },
    )
    const large = execute({ text: 'x'.repeat(50 * KIB) })
    const first = app.request('/flux-api/p/execute', large)
    await vi.waitFor(() => expect(inFlight.held).toBeGreaterThan(300 * KIB))
    const refused = await app.request('/flux-api/p/execute', large)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await refused.json()).toMatchObject({ type: 'urn:actorflux:problem:overloaded', status: 503 })
    expect(
      await app.request('/flux-api/event', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"event":"e"}',
      }),
    ).toMatchObject({ status: 200 })
    expect(await app.request('/flux-api/contexts')).toMatchObject({ status: 200 })
    gate.emit('open')
    expect((await first).status).toBe(200)
    expect(inFlight.held).toBe(0)
    const again = app.request('/flux-api/p/execute', large)
    await vi.waitFor(() => expect(gate.emit('open')).toBe(true))
    expect((await again).status).toBe(200)
    expect(calls.map(({ name }) => name)).toEqual(['sendEvent', 'listPage'])
  })

  test('of many small values is charged what they are parsed to; what fails gives its room back', async () => {
    const inFlight = budget(1000 * KIB)
    const most: number[] = []
    const { app } = testApp(
      {
        execute: async () => {
          most.push(inFlight.held)
          throw new Error('no')
        },
      },
      { inFlight },
    )
    await app.request('/flux-api/p/execute', execute({ list: Array.from({ length: 5000 }, () => ({})) }))
    await app.request('/flux-api/p/execute', execute({ text: 'x'.repeat(15_000) }))
    expect(most[0]).toBeGreaterThan(10 * (most[1] ?? Infinity))
    await app.request('/flux-api/p/execute', { ...execute({}), body: '{'.repeat(1000) })
    expect(inFlight.held).toBe(0)
  })
})

describe('over a socket', () => {
  let live: Live
  const MIB = { ACTORFLUX_MAX_IN_FLIGHT: '1mb' } // of which 384 KiB are for requests and 128 KiB for webhooks that wait
  const post = (more: object, path = '/flux-api/event') => {
    const sent = request(`${live.url}${path}`, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', ...more },
    })
    const answer = new Promise<{ status: number | undefined; retryAfter: string | undefined }>((resolve, reject) => {
      sent
        .on('response', (response) => {
          response.resume()
          resolve({ status: response.statusCode, retryAfter: response.headers['retry-after'] })
        })
        .on('error', reject)
    })
    return { sent, answer }
  }

  test("a body that was announced counts before it comes, and one that wasn't as it grows", async () => {
    live = await openLive(MIB)
    const slow = post({ 'content-length': 300 * KIB })
    slow.sent.write('{')
    await vi.waitFor(async () => {
      const other = post({ 'content-length': 200 * KIB })
      other.sent.write('{')
      expect(await other.answer).toEqual({ status: 503, retryAfter: '1' })
      other.sent.destroy()
    })
    const growing = post({ 'transfer-encoding': 'chunked' })
    for (let piece = 0; piece < 5; piece += 1) growing.sent.write('x'.repeat(40 * KIB))
    expect(await growing.answer).toEqual({ status: 503, retryAfter: '1' })
    growing.sent.destroy()
    const small = post({})
    small.sent.end('{"event":"never"}')
    expect(await small.answer).toMatchObject({ status: 200 })
    slow.answer.catch(() => undefined)
    slow.sent.destroy()
    await vi.waitFor(async () => {
      const again = post({})
      again.sent.end(JSON.stringify({ event: 'never', input: { text: 'x'.repeat(40 * KIB) } }))
      expect(await again.answer).toMatchObject({ status: 200 })
    })
  })

  test('who announces much to a webhook and sends nothing takes no room; who sends it slowly takes half of it', async () => {
    live = await openLive(MIB, {
      'p/Hook.flux': { webhooks: [{ urlPath: '/hook', httpMethods: ['POST'] }], states: [{ name: 'end' }] },
    })
    const held: ReturnType<typeof post>[] = []
    const slow = (body: string) => {
      const one = post({ 'content-length': 300 * KIB }, '/api/hook')
      one.answer.catch(() => undefined)
      one.sent.write(body)
      held.push(one)
      return one
    }
    const hook = async () => (await live.call('POST', '/api/hook', { body: 'x', type: 'text/plain' })).status
    const call = async () => {
      const one = post({})
      one.sent.end(JSON.stringify({ event: 'never', input: { text: 'x'.repeat(10 * KIB) } }))
      return (await one.answer).status
    }
    // More than may wait for an answer, too.
    for (let sent = 0; sent < 20; sent += 1) slow('x')
    // The server has seen them when it has answered one that came after them.
    for (let sent = 0; sent < 3; sent += 1) expect([await hook(), await call()]).toEqual([204, 200])
    for (let sent = 0; sent < 2; sent += 1) slow('x'.repeat(90 * KIB))
    await vi.waitFor(async () => expect((await slow('x'.repeat(60 * KIB)).answer).status).toBe(503))
    expect(await call()).toBe(200)
    for (const { sent } of held) sent.destroy()
    await vi.waitFor(async () => expect(await hook()).toBe(204))
  })

  test('a webhook that waits for its answer holds little; so many at once are refused', async () => {
    live = await openLive(MIB, {
      'p/Hook.flux': {
        webhooks: [{ urlPath: '/hook', httpMethods: ['POST'] }],
        states: [{ name: 'ask', action: { type: 'invokeFlux', name: 'Child' } }],
      },
      'p/Child.flux': {
        states: [{ name: 'w', waiting: true, transitions: [{ to: 'end', event: 'go' }] }, { name: 'end' }],
      },
    })
    const hook = () => live.call('POST', '/api/hook', { body: 'x'.repeat(40 * KIB), type: 'text/plain' })
    const answers: Promise<{ status: number }>[] = []
    const running = async () =>
      live
        .call('GET', '/flux-api/contexts?fluxName=Hook&limit=100')
        .then(({ json }) => (Array.isArray(json) ? json.length : 0))
    for (let sent = 1; sent <= 3; sent += 1) {
      answers.push(hook())
      await vi.waitFor(async () => expect(await running()).toBe(sent))
    }
    // Together they would be more than there is room for. Of those that wait there is room for eight, and events come
    // through.
    for (let sent = 4; sent <= 40; sent += 1) answers.push(live.call('POST', '/api/hook', { body: '' }))
    const refused = await Promise.race(
      [...answers]
        .slice(3)
        .map((answer) => answer.then(({ status }) => (status === 503 ? status : new Promise<never>(() => {})))),
    )
    expect(refused).toBe(503)
    const all = Promise.all(answers)
    // Some may only come now.
    for (let settled = false; !settled;) {
      await live.call('POST', '/flux-api/event', { body: { event: 'go' } })
      settled = await Promise.race([
        all.then(() => true),
        new Promise<false>((resolve) => {
          setTimeout(resolve, 20, false)
        }),
      ])
    }
    expect(await running()).toBe(0)
    const statuses = (await all).map(({ status }) => status)
    expect(statuses.slice(0, 3)).toEqual([204, 204, 204])
    expect(new Set(statuses)).toEqual(new Set([204, 503]))
  })
})
