// Retry, pause and resume over HTTP: bodies, formats, roles, the stream, and what stock XState makes of such contexts.
import { createActor, type Snapshot } from 'xstate'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { machineOf } from '../../src/machine.ts'
import { openLive, tokenOf, type Live } from './live.ts'
import { storesOf } from '../support/effort.ts'

const SERVICES = {
  'p/fns.mjs': 'export function throws(args) { if (args.ok !== true) throw new Error("no"); return {} }\n',
  'p/Fails.flux': {
    states: [
      {
        name: 'fail',
        input: [{ name: 'ok', type: 'boolean' }],
        action: { type: 'invokeCode', className: 'fns', methodName: 'throws', inputs: [{ from: ['ok'], to: ['ok'] }] },
        transitions: [{ to: 'hold' }],
      },
      {
        name: 'hold',
        waiting: true,
        input: [{ name: 'count', type: 'integer', defaultValue: 1 }],
        transitions: [
          { to: 'hold', event: 'again' },
          { to: 'end', wait: 'duration:3600' },
        ],
      },
      { name: 'end' },
    ],
  },
  'p/Hook.flux': {
    webhooks: [{ urlPath: '/hook', httpMethods: ['POST'] }],
    output: [{ name: 'text', defaultValue: 'hello' }],
    states: [
      {
        name: 'fail',
        input: [{ name: 'ok', type: 'boolean' }],
        action: { type: 'invokeCode', className: 'fns', methodName: 'throws', inputs: [{ from: ['ok'], to: ['ok'] }] },
      },
    ],
  },
}

const kinds = ({ text }: { text: string }) => [...text.matchAll(/"kind":"(\w+)"/g)].map(([, kind]) => kind)

describe.each(
  storesOf([
    ['the embedded store', () => ({})],
    ['Redis', () => ({ ACTORFLUX_REDIS_URL: inject('redisUrl'), ACTORFLUX_NAMESPACE: `steering-${process.pid}` })],
  ]),
)('over %s', (_, env) => {
  let live: Live
  beforeAll(async () => {
    live = await openLive(env(), SERVICES)
  })
  afterAll(() => live.close())

  const call = async (path: string, request: object = {}) => live.call('POST', `/flux-api/context/${path}`, request)
  const failed = async (): Promise<number> => {
    const { json } = await live.call('POST', '/flux-api/p/execute', { body: { fluxName: 'Fails' } })
    const { contextId } = json as { contextId: number }
    await live.call('GET', `/flux-api/context/wait?contextId=${contextId}&status=FAILED`)
    return contextId
  }
  const shown = async (contextId: number) =>
    (await live.call('GET', `/flux-api/context?contextId=${contextId}&snapshot=true`)).json as {
      readonly status: string
      readonly snapshot: Snapshot<unknown>
    }

  test('a retry takes a body in each format, and none', async () => {
    const contextId = await failed()
    const query = `retry?contextId=${contextId}`
    for (const [body, status] of [
      [{ state: 'gone' }, 422],
      [{ state: 'hold', input: { count: 'x' } }, 422],
      [{ input: { ok: true } }, 422],
      [{ definition: 'newest' }, 400],
      [{ newKey: 'yes' }, 400],
      [{ other: 1 }, 400],
      [[], 400],
    ] as const)
      expect((await call(query, { body })).status, JSON.stringify(body)).toBe(status)
    expect(await shown(contextId)).toMatchObject({ status: 'FAILED' })
    expect((await call(query, { body: 'x', type: 'text/plain' })).status).toBe(415)
    const none = await call(query)
    expect([none.status, none.json]).toEqual([200, { message: `retried context ${contextId}`, contextId }])
    await live.call('GET', `/flux-api/context/wait?contextId=${contextId}&status=FAILED`)
    const xml = '<request><state>hold</state><input><count>7</count></input><newKey>true</newKey></request>'
    const told = await call(query, { body: xml, type: 'application/xml', accept: 'application/xml' })
    expect([told.status, told.text]).toEqual([200, expect.stringContaining(`>${contextId}</contextId>`)])
    const view = await live.call('GET', `/flux-api/context/state?contextId=${contextId}&stateName=hold`)
    expect(view.text).toContain('"value":7')
    expect((await call(query)).status).toBe(409)
    expect((await call('retry')).status).toBe(400)
    expect((await call('retry?contextId=999999')).status).toBe(404)
    for (const one of ['pause', 'resume']) {
      expect((await call(one)).status).toBe(400)
      expect((await call(`${one}?contextId=999999`)).status).toBe(404)
      expect((await call(`${one}?contextId=${contextId}&other=1`)).status).toBe(400)
    }
  })

  test('stock XState restores a context that was retried, and one that is paused', async () => {
    const contextId = await failed()
    await call(`retry?contextId=${contextId}`, { body: { state: 'hold' } })
    const definition = (await live.call('GET', `/flux-api/definition?contextId=${contextId}&resolved=true`)).json
    const retried = await shown(contextId)
    await call(`pause?contextId=${contextId}`)
    const { snapshot } = await shown(contextId)
    expect(snapshot).toEqual(retried.snapshot)
    const actor = createActor(machineOf(definition as object), { snapshot }).start()
    await call(`resume?contextId=${contextId}`)
    const sent = await live.call('POST', `/flux-api/event?contextId=${contextId}`, { body: { event: 'again' } })
    expect(sent.status).toBe(200)
    const after = (await shown(contextId)).snapshot as unknown as { context: { due: number }; value: unknown }
    actor.send({ type: 'EVENT', name: 'again', input: {}, now: after.context.due - 3_600_000 })
    const { value, context } = actor.getSnapshot()
    expect(JSON.parse(JSON.stringify({ value, context }))).toEqual({ value: after.value, context: after.context })
  })

  test('the stream tells of them, and filters by paused', async () => {
    const contextId = await failed()
    const stop = new AbortController()
    const read = async (query: string) => {
      const { body } = await fetch(`${live.url}/flux-api/stream?contextId=${contextId}${query}`, {
        signal: stop.signal,
      })
      const got = { text: '' }
      void (async () => {
        const decoder = new TextDecoder()
        for await (const bytes of body ?? []) got.text += decoder.decode(bytes, { stream: true })
      })().catch(() => {})
      await expect.poll(() => got.text).toContain(': moves')
      return got
    }
    const [all, paused] = [await read(''), await read('&paused=true')]
    await call(`retry?contextId=${contextId}`, { body: { state: 'hold' } })
    await call(`pause?contextId=${contextId}`)
    await call(`resume?contextId=${contextId}`)
    await expect.poll(() => kinds(all)).toEqual(['retry', 'pause', 'resume'])
    expect(kinds(paused)).toEqual(['pause'])
    stop.abort()
  })

  test('nobody is answered any more of a webhook whose context is retried', async () => {
    const { status, json } = await live.call('POST', '/api/hook', { body: {} })
    expect(status).toBe(500)
    const { contextId } = json as { contextId: number }
    expect((await call(`retry?contextId=${contextId}`)).status).toBe(200)
    await live.call('GET', `/flux-api/context/wait?contextId=${contextId}&status=FAILED`)
    expect((await live.call('POST', '/api/hook', { body: {} })).status).toBe(500)
  })
})

describe('roles', () => {
  test('of a server that asks for tokens: admin, and no other', async () => {
    const live = await openLive({ ACTORFLUX_REQUIRE_AUTH: 'true' }, SERVICES, { a: 'admin', i: 'invoke' })
    const [admin, invoke] = [tokenOf('a'), tokenOf('i')]
    const { json } = await live.call('POST', '/flux-api/p/execute', { body: { fluxName: 'Fails' }, token: admin })
    const { contextId } = json as { contextId: number }
    await live.call('GET', `/flux-api/context/wait?contextId=${contextId}&status=FAILED`, { token: admin })
    for (const path of ['context/retry', 'context/pause', 'context/resume', 'server/resume']) {
      const query = path === 'server/resume' ? '' : `?contextId=${contextId}`
      const statuses = []
      for (const token of [undefined, invoke])
        statuses.push((await live.call('POST', `/flux-api/${path}${query}`, { ...(token && { token }) })).status)
      expect([path, ...statuses]).toEqual([path, 401, 403])
    }
    expect((await live.call('POST', '/flux-api/server/resume', { token: admin })).status).toBe(200)
    const retry = { token: admin, body: { state: 'hold' } }
    expect((await live.call('POST', `/flux-api/context/retry?contextId=${contextId}`, retry)).status).toBe(200)
    for (const path of ['pause', 'resume']) {
      const query = `/flux-api/context/${path}?contextId=${contextId}`
      expect((await live.call('POST', query, { token: admin })).status).toBe(200)
    }
  })

  test('of an open server: whoever calls through a proxy cannot tell the server to go on', async () => {
    const live = await openLive({}, SERVICES, { a: 'admin' })
    const resume = (headers: Record<string, string>) =>
      fetch(`${live.url}/flux-api/server/resume`, { method: 'POST', headers }).then(({ status }) => status)
    expect(await resume({})).toBe(200)
    expect(await resume({ 'x-forwarded-for': '203.0.113.7' })).toBe(401)
    const headers = { 'x-forwarded-for': '203.0.113.7', authorization: `Bearer ${tokenOf('a')}` }
    expect(await resume(headers)).toBe(200)
  })
})
