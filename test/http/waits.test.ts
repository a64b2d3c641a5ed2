// Requests that are held, over HTTP: waits, `Prefer: wait`, the end of the server and of its clients, and the rates of
// tokens.
import { request as httpRequest, type ClientRequest } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { TokenBucket } from '../../src/access/token-bucket.ts'
import { FluxError } from '../../src/model/failure.ts'
import { openLive, tokenOf, type Live } from './live.ts'
import { memoryLog, testApp, post, contextView } from './support.ts'

const SERVICES = {
  'p/Order.flux': {
    states: [
      {
        name: 'open, still',
        waiting: true,
        transitions: [
          { event: 'work', to: 'busy' },
          { event: 'end', to: 'done' },
        ],
      },
      {
        name: 'busy',
        action: { type: 'invokeCode', className: 'fns', methodName: 'brief' },
        transitions: [{ to: 'done' }],
      },
      { name: 'done' },
    ],
  },
  'p/fns.mjs': 'export const brief = () => new Promise((resolve) => { setTimeout(resolve, 150) })\n',
}

const execute = async (live: Live, prefer?: string) => {
  const { json } = await live.call('POST', '/flux-api/p/execute', {
    body: { fluxName: 'Order' },
    ...(prefer !== undefined && { prefer }),
  })
  return json as { contextId: number; context?: { status: string } }
}
const event = (live: Live, id: number, name: string, prefer?: string) =>
  live.call('POST', `/flux-api/event?contextId=${id}`, {
    body: { event: name },
    ...(prefer !== undefined && { prefer }),
  })

describe('a server', () => {
  let live: Live
  beforeAll(async () => {
    live = await openLive({}, SERVICES)
  })
  afterAll(() => live.close())

  const wait = (id: number, query: string, accept?: string) =>
    live.call('GET', `/flux-api/context/wait?contextId=${id}&${query}`, accept === undefined ? {} : { accept })

  test('holds a request until the context gets there, and answers in either format', async () => {
    const { contextId } = await execute(live)
    const held = [
      wait(contextId, 'status=FAILED,COMPLETED&timeout=60'),
      wait(contextId, 'state=busy&state=done', 'application/xml'),
    ]
    await sleep(50)
    expect((await event(live, contextId, 'end')).status).toBe(200)
    const [json, xml] = await Promise.all(held)
    expect(json).toMatchObject({ status: 200, json: { id: contextId, status: 'COMPLETED' } })
    expect(xml?.text).toMatch(/^<\?xml[^]*<context><fluxName>Order</)
  })

  test('accepts an event for all, and tells by which preference', async () => {
    const send = (prefer?: string, query = '', eventId?: string) =>
      live.call('POST', `/flux-api/event${query}`, {
        body: { event: 'nobody', ...(eventId !== undefined && { eventId }) },
        ...(prefer !== undefined && { prefer }),
      })
    const factsOf = ({ status, headers }: Awaited<ReturnType<typeof send>>) => [
      status,
      headers.get('preference-applied'),
      headers.get('idempotency-replayed'),
    ]
    expect(factsOf(await send())).toEqual([200, null, null])
    const accepted = await send('foo, Respond-Async; a=b', '', 'e/1')
    expect([factsOf(accepted), accepted.headers.get('location')]).toEqual([
      [202, 'respond-async', null],
      '/flux-api/event?eventId=e%2F1',
    ])
    expect(accepted.json).toEqual({ message: expect.any(String), eventId: 'e/1' })
    const again = await send(undefined, '', 'e/1')
    expect([factsOf(again), again.headers.get('location'), again.json]).toEqual([
      [202, null, 'true'],
      '/flux-api/event?eventId=e%2F1',
      accepted.json,
    ])
    expect(factsOf(await send('respond-async, wait=10'))).toEqual([200, 'wait', null])
    expect(factsOf(await send('respond-async, wait=0'))).toEqual([202, 'respond-async', null])
    // For one context it is ignored.
    const { contextId } = await execute(live)
    expect((await event(live, contextId, 'end', 'respond-async')).status).toBe(200)
  })

  test('takes names of states with commas, and refuses what it can not wait for', async () => {
    const { contextId } = await execute(live)
    expect((await wait(contextId, `state=${encodeURIComponent('open, still')}&timeout=0`)).status).toBe(200)
    expect((await wait(contextId, 'timeout=1')).status).toBe(400)
    expect((await wait(contextId, 'state=open&timeout=0')).status).toBe(422)
    expect((await wait(contextId, 'status=DONE&timeout=0')).status).toBe(422)
    expect((await wait(contextId, 'status=FAILED&timeout=soon')).status).toBe(400)
    expect((await wait(4711, 'status=FAILED')).status).toBe(404)
  })

  test('answers 504 and 409 with the context', async () => {
    const { contextId } = await execute(live)
    const late = await wait(contextId, 'state=done&timeout=0')
    expect(late).toMatchObject({
      status: 504,
      json: { type: 'urn:actorflux:problem:wait-timeout', context: { id: contextId, currentState: 'open, still' } },
    })
    expect((await wait(contextId, 'state=done&timeout=0', 'application/xml')).text).toContain(
      '<context><fluxName>Order</fluxName>',
    )
    await event(live, contextId, 'end')
    expect(await wait(contextId, 'status=FAILED')).toMatchObject({
      status: 409,
      json: { type: 'urn:actorflux:problem:conflict', context: { id: contextId, status: 'COMPLETED' } },
    })
  })

  test('holds the answer of a start and of an event until the context rests, if that is preferred', async () => {
    const started = await execute(live, 'wait=10')
    expect(started.context).toMatchObject({ id: started.contextId, status: 'WAITING' })
    const { contextId } = started
    const moved = await event(live, contextId, 'work', 'respond-async, wait=10; x=1')
    expect(moved.json).toMatchObject({ transitions: [{ contextId }], context: { status: 'COMPLETED' } })
    expect(moved.headers.get('preference-applied')).toBe('wait')
  })

  test('answers with what there is when the time is up, and ignores what it can not hold', async () => {
    const { contextId } = await execute(live)
    const hurried = await event(live, contextId, 'work', 'wait=0')
    expect(hurried.json).toMatchObject({ context: { status: 'RUNNING' } })
    const others = [await execute(live), await execute(live)]
    const broadcast = await live.call('POST', '/flux-api/event', { body: { event: 'end' }, prefer: 'wait=10' })
    expect((broadcast.json as { transitions: unknown[] }).transitions.length).toBeGreaterThanOrEqual(others.length)
    expect(broadcast.json).not.toHaveProperty('context')
    expect(broadcast.headers.get('preference-applied')).toBeNull()
    for (const prefer of ['wait=-1', 'wait', 'return=minimal', 'wait=x', 'await=3'])
      expect(await execute(live, prefer)).not.toHaveProperty('context')
  })
})

describe('whose', () => {
  const open: ClientRequest[] = []
  afterEach(() => {
    for (const request of open.splice(0)) request.destroy()
  })

  function hold(live: Live, contextId: number): ClientRequest {
    const request = httpRequest(`${live.url}/flux-api/context/wait?contextId=${contextId}&state=done&timeout=300`, {
      agent: false,
    })
    request.on('error', () => undefined).end()
    open.push(request)
    return request
  }

  test('client hangs up is forgotten at once', async () => {
    const live = await openLive({ ACTORFLUX_MAX_WAITS: '2' }, SERVICES)
    const { contextId } = await execute(live)
    const held = [hold(live, contextId), hold(live, contextId)]
    const isFull = async () => {
      const { status, headers, json } = await live.call(
        'GET',
        `/flux-api/context/wait?contextId=${contextId}&state=done&timeout=0`,
      )
      if (status === 503) {
        expect(headers.get('retry-after')).toBe('1')
        expect(json).toMatchObject({ type: 'urn:actorflux:problem:overloaded' })
      }
      return status === 503
    }
    await vi.waitFor(async () => expect(await isFull()).toBe(true), 5000)
    held[0]?.destroy()
    await vi.waitFor(async () => expect(await isFull()).toBe(false), 5000)
  })

  test('deadlines for requests and answers are over is held all the same', async () => {
    const deadline = '200ms'
    const live = await openLive(
      {
        ACTORFLUX_HEADER_TIMEOUT: deadline,
        ACTORFLUX_REQUEST_TIMEOUT: deadline,
        ACTORFLUX_ANSWER_TIMEOUT: deadline,
      },
      SERVICES,
    )
    const { contextId } = await execute(live)
    const held = live.call('GET', `/flux-api/context/wait?contextId=${contextId}&state=done&timeout=300`)
    await sleep(2500)
    await event(live, contextId, 'end')
    expect((await held).status).toBe(200)
  })

  test('server stops are answered 503 at once; an answer that was preferred to wait is 200', async () => {
    const live = await openLive({}, SERVICES)
    const { contextId } = await execute(live)
    const waiting = live.call('GET', `/flux-api/context/wait?contextId=${contextId}&state=done&timeout=300`)
    const moved = event(live, contextId, 'work', 'wait=300')
    // Both are held while the function runs.
    await vi.waitFor(
      async () =>
        expect((await live.call('GET', `/flux-api/context?contextId=${contextId}`)).json).toMatchObject({
          status: 'RUNNING',
        }),
      { timeout: 5000, interval: 5 },
    )
    const begun = performance.now()
    const closed = live.close(10_000)
    expect(await waiting).toMatchObject({ status: 503 })
    expect(await moved).toMatchObject({ status: 200, json: { transitions: [{ contextId }] } })
    await closed
    expect(performance.now() - begun).toBeLessThan(9000)
  })
})

describe('a token with a rate', () => {
  test('is told what is left with every answer, and refused beyond it', async () => {
    const known = { limited: { role: 'invoke', rate: '3/m' }, free: 'invoke' } as const
    const live = await openLive({ ACTORFLUX_REQUIRE_AUTH: 'true' }, SERVICES, known)
    const [limited, free] = [tokenOf('limited'), tokenOf('free')]
    const policy = '"token";q=3;w=60'
    const answers = [
      await live.call('GET', '/flux-api/contexts', { token: limited }),
      await live.call('GET', '/flux-api/context?contextId=4711', { token: limited }),
      await live.call('GET', '/flux-api/schema.xsd', { token: limited }),
      await live.call('GET', '/flux-api/contexts', { token: limited }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 429])
    expect(answers.map(({ headers }) => headers.get('ratelimit')?.replace(/t=\d+/, 't'))).toEqual(
      [2, 1, 0, 0].map((left) => `"token";r=${left};t`),
    )
    expect(answers.map(({ headers }) => headers.get('ratelimit-policy'))).toEqual([policy, policy, policy, policy])
    expect(answers[3]?.json).toMatchObject({ type: 'urn:actorflux:problem:rate-limited' })
    expect(Number(answers[3]?.headers.get('retry-after'))).toBeGreaterThan(10)
    const unlimited = await live.call('GET', '/flux-api/contexts', { token: free })
    expect([unlimited.status, unlimited.headers.get('ratelimit')]).toEqual([200, null])
  })

  test('gets it back steadily, and never more than one window has', () => {
    let now = 0
    const bucket = new TokenBucket({ limit: 5, window: 1 }, () => now)
    const take = (calls = 1) => {
      try {
        bucket.take(calls)
        return true
      } catch (error) {
        if (!(error instanceof FluxError)) throw error
        return false
      }
    }
    expect([take(), take(), take(), take(), take(), take()]).toEqual([true, true, true, true, true, false])
    expect(bucket.state()).toEqual({ remaining: 0, reset: 1, limit: 5, window: 1 })
    now = 200
    expect([take(), take()]).toEqual([true, false])
    now = 60_000
    expect(bucket.state()).toEqual({ remaining: 5, reset: 0, limit: 5, window: 1 })
    // A clock that is set back gives nothing, and takes nothing.
    expect(take(5)).toBe(true)
    now = 0
    expect(take()).toBe(false)
    now = 1000
    expect(take(5)).toBe(true)
  })
})

test('a wait that fails after the event is no failure of the event', async () => {
  const { log } = memoryLog()
  const { app } = testApp(
    {
      waitFor: () => Promise.reject(new FluxError({ kind: 'overloaded', detail: 'too many', retryAfter: 1 })),
    },
    { log },
  )
  const init = post({ event: 'go' })
  const response = await app.request('/flux-api/event?contextId=7', {
    ...init,
    headers: { 'content-type': 'application/json', prefer: 'wait=3' },
  })
  expect(response.status).toBe(200)
  expect(response.headers.get('preference-applied')).toBeNull()
  expect(await response.json()).not.toHaveProperty('context')
})

test.each(['application/json', 'application/xml'])('a large context in a problem is charged, as %s', async (accept) => {
  const context = { ...contextView(1), tags: Array.from({ length: 50_000 }, (_, index) => `tag-${index}`) }
  const waitFor = () => Promise.reject(new FluxError({ kind: 'waitTimeout', detail: 'late', context }))
  const { app } = testApp({ waitFor }, { maxAnswers: 1 })
  const ask = () => app.request('/flux-api/context/wait?contextId=1&state=x', { headers: { accept } })
  // What alone is larger than the budget fits while nothing else is held, and is held until it is read.
  const whole = await ask()
  expect([whole.status, whole.headers.get('content-type')]).toEqual([504, accept.replace('/', '/problem+')])
  expect((await ask()).status).toBe(503)
  expect(await whole.text()).toContain('tag-49999')
  expect((await ask()).status).toBe(504)
})

test('names that XML can not have are written as attributes in a problem', async () => {
  const context = { ...contextView(1), tags: ['a'], '1 <odd> name': { ok: 1 } }
  const { app } = testApp({
    waitFor: () => Promise.reject(new FluxError({ kind: 'waitTimeout', detail: 'late', context })),
  })
  const response = await app.request('/flux-api/context/wait?contextId=1&state=x', {
    headers: { accept: 'application/xml' },
  })
  expect(response.status).toBe(504)
  expect(await response.text()).toContain('<entry name="1 &lt;odd&gt; name"><ok>1</ok></entry>')
})
