// Deliveries of webhooks, from the request to the lists, on both stores: what is kept of them, in what order, without
// secrets, how many, and what is sent when one is sent again.
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Hono } from 'hono'
import type { DeliveryView, WebhookView } from '../../src/api/webhooks.ts'
import type { Env } from '../../src/http/request/incoming.ts'
import { ByteBudget } from '../../src/model/byte-budget.ts'
import type { Delivery, Endpoint } from '../../src/model/webhook.ts'
import { openLmdbStore } from '../../src/store/lmdb/store.ts'
import { inDoubt } from '../../src/model/failure.ts'
import type { RowWrite } from '../../src/model/rows.ts'
import type { CommitRequest, Store } from '../../src/ports/store.ts'
import { openBench, outputs, type Bench, type BenchOptions, type Files } from '../support/engine.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { withVerbs } from '../support/stores.ts'
import { testApp } from './support.ts'
import { silent as log } from '../support/silent.ts'
import { openRedis } from '../support/redis-store.ts'
import { nextTurn } from '../support/held.ts'
import { newFolder } from '../support/at-end.ts'

const set = (expression: string, ...to: string[]) => ({ type: 'set', expression, evaluate: true, to })
const hook = (urlPath: string, more: object = {}) => ({
  webhooks: [{ urlPath, httpMethods: ['POST', 'GET'], ...more }],
})

const FILES: Files = {
  'p/fns.mjs': 'export const raw = (_, { rawBody }) => ({ bytes: rawBody.toString("base64") })\n',
  'p/Echo.flux': {
    ...hook('/echo/{id}', { name: 'Echo', timeout: 5 }),
    input: [{ name: 'id' }, { name: 'X-Own' }, { name: 'n', type: 'integer', array: true }],
    output: [{ name: 'seen', type: 'any' }],
    states: [
      {
        name: 'act',
        action: {
          type: 'invokeCode',
          className: 'fns',
          methodName: 'raw',
          inputs: [],
          outputs: [
            set(
              '{ id: id, own: $request.headers["x-own"], n: n, body: $request.body, bytes: bytes, key: $request.headers["x-api-key"] }',
              'seen',
            ),
          ],
        },
      },
    ],
  },
  'p/Wait.flux': {
    ...hook('/wait'),
    states: [{ name: 'wait', waiting: true, transitions: [{ event: 'go', to: 'end' }] }, { name: 'end' }],
  },
  'p/Order.flux': {
    ...hook('/order/{id}', { send: { event: "'paid'", key: '$request.parameters.id', orStart: true } }),
    key: '${id}',
    input: [{ name: 'id' }],
    states: [{ name: 'wait', waiting: true, transitions: [{ event: 'paid', to: 'wait' }] }],
  },
  'p/Fail.flux': {
    ...hook('/fail'),
    states: [
      {
        name: 'fail',
        action: { type: 'invokeCode', className: 'Errors', methodName: 'throwException', inputs: [], outputs: [] },
      },
    ],
  },
  'p/Slow.flux': {
    ...hook('/slow', { timeout: 2 }),
    states: [{ name: 'act', action: { type: 'invokeFlux', name: 'Wait', inputs: [], outputs: [] } }],
  },
  'p/Typed.flux': {
    ...hook('/typed'),
    input: [{ name: 'n', type: 'integer', required: true }],
    states: [{ name: 'end' }],
  },
}

const parsed = ({ value }: { value: string }): unknown => JSON.parse(value)

const OWN: Files = {
  'p/Unfit.flux': {
    ...hook('/own-broken'),
    output: [{ name: 'x', type: 'any' }],
    states: [{ name: 'end', action: { type: 'map', lines: [set('$request.body.toUpperCase()', 'x')] } }],
  },
  'p/Own.flux': {
    ...hook('/own', { dedupe: { key: '$request.body.id' } }),
    input: [{ name: 'x-own' }],
    output: [{ name: 'own' }],
    states: [{ name: 'end', action: { type: 'map', lines: [{ from: ['x-own'], to: ['own'] }] } }],
  },
}

const LIST = '/flux-api/webhooks/deliveries'

/** The number in the body. */
const shown = ({ request }: DeliveryView): string => {
  const body: unknown = request?.['body']
  return typeof body === 'object' && body !== null && 'n' in body ? String(body.n) : 'refused'
}

interface Served {
  readonly bench: Bench
  readonly app: Hono<Env>
}

/** Opens the store of the world again, as another server does, or the same one later. */
type Opener = (clock: SimulatedClock) => Promise<Store>

async function embedded(): Promise<Opener> {
  const folder = await newFolder()
  return (clock) => openLmdbStore({ folder, log, clock })
}

async function onRedis(): Promise<Opener> {
  const namespace = `test-${randomUUID()}`
  return () => openRedis({ namespace, partitions: 3 })
}

describe.each([
  ['embedded', embedded],
  ['Redis', onRedis],
])('on %s', (name, world) => {
  let clock: SimulatedClock
  let open: Opener
  let store: Store
  let served: Served

  async function serve(options: BenchOptions = {}): Promise<Served> {
    store = watched(await open(clock))
    const bench = await openBench({ ...FILES, ...OWN }, { clock, store, ...options })
    return { bench, app: testApp(bench, { webhooks: bench.engine.webhooks, clock }).app }
  }

  const underWay = new Set<Promise<unknown>>()

  /** Called with each commit. */
  let commits: (() => void) | null = null

  /** What reads of rows wait for. */
  let gate: Promise<void> = Promise.resolve()
  let reads = 0
  /** What becomes of commits. */
  let fate: (commit: () => ReturnType<Store['commit']>, request: CommitRequest) => ReturnType<Store['commit']>

  const watched = (given: Store): Store =>
    withVerbs(given, {
      async listRows(query) {
        reads += 1
        await gate
        return given.listRows(query)
      },
      async commit(request) {
        commits?.()
        const commit = fate(() => given.commit(request), request)
        underWay.add(commit)
        return commit.finally(() => underWay.delete(commit))
      },
    })

  /** Resolves when no commit is under way, and none follows one at once. */
  async function written(): Promise<void> {
    for (let idle = 0; idle < 3; idle = underWay.size === 0 ? idle + 1 : 0) {
      await Promise.allSettled(underWay)
      await nextTurn()
    }
  }

  async function again(options: BenchOptions = {}): Promise<void> {
    await served.bench.close()
    served = await serve(options)
  }

  beforeEach(async () => {
    clock = new SimulatedClock(Date.now())
    fate = (commit) => commit()
    open = await world()
    served = await serve()
  })

  const JSON_TYPE = { 'content-type': 'application/json' }
  const deliver = async (path: string, body: unknown = {}, headers: Record<string, string> = JSON_TYPE) =>
    served.app.request(`/api${path}`, {
      method: 'POST',
      headers,
      body:
        typeof body === 'string' || body instanceof Uint8Array
          ? new Uint8Array(Buffer.from(body))
          : JSON.stringify(body),
    })

  /** Those that are there once everything is written. */
  async function listed(query = ''): Promise<DeliveryView[]> {
    // What comes while others are written is written after them.
    for (let round = 0; round < 2; round += 1) {
      await served.bench.advance(100)
      await written()
    }
    const response = await served.app.request(LIST + query)
    expect(response.status).toBe(200)
    const list: DeliveryView[] = JSON.parse(await response.text())
    return list
  }

  async function replay(deliveryId: string): Promise<{ status: number; answer: Record<string, unknown> }> {
    const response = await served.app.request(`${LIST}/replay?deliveryId=${deliveryId}`, { method: 'POST' })
    return { status: response.status, answer: JSON.parse(await response.text()) }
  }

  test('a bounded number of lists is gathered at once, and waits for that', async () => {
    const reads: (() => void)[] = []
    gate = new Promise<void>((resolve) => {
      reads.push(resolve)
    })
    const held = Array.from({ length: 208 }, () => served.app.request(LIST))
    const refused = await served.app.request(LIST)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.any(String)])
    expect((await served.app.request('/flux-api/webhooks')).status).toBe(503)
    for (const letRead of reads) letRead()
    for (const answer of await Promise.all(held)) expect(answer.status).toBe(200)
    expect((await served.app.request(LIST)).status).toBe(200)
  })

  const endpointOf = (path: string): Endpoint => {
    const found = served.bench.engine.webhooks.find('POST', [path])
    if (!found || !('endpoint' in found)) throw new Error('it is not there')
    return found.endpoint
  }

  const settle = (delivery: Partial<Delivery>, path = 'wait') =>
    served.bench.engine.webhooks.settled({
      ...served.bench.engine.webhooks.arrival(),
      endpoint: endpointOf(path),
      method: 'POST',
      path: '/api/wait',
      outcome: 'signature-invalid',
      status: 401,
      duration: 1,
      contextId: null,
      replayOf: null,
      reason: 'no signature fits',
      request: null,
      rawBody: null,
      ...delivery,
    })

  test('what starts a context is listed with its outcome, status, duration and context', async () => {
    expect((await deliver('/wait', { a: 1 })).status).toBe(202)
    expect((await deliver('/fail')).status).toBe(500)
    const slow = deliver('/slow')
    await expect.poll(async () => (await listed('?urlPath=/slow')).length).toBe(1)
    expect(await listed('?urlPath=/slow')).toMatchObject([{ outcome: 'accepted', status: null, duration: null }])
    await served.bench.advance(2_000)
    expect((await slow).status).toBe(504)
    expect((await deliver('/typed?n=x')).status).toBe(400)
    const list = await listed()
    expect(list).toMatchObject([
      { urlPath: '/typed', outcome: 'invalid', status: 400, contextId: null, reason: expect.stringContaining('n') },
      { urlPath: '/slow', outcome: 'timeout', status: 504, contextId: expect.any(Number) },
      { urlPath: '/fail', outcome: 'failed', status: 500, contextId: expect.any(Number) },
      { urlPath: '/wait', outcome: 'accepted', status: 202, method: 'POST', replayOf: null, reason: null },
    ])
    const { contextId, time, request, duration } = list[3] ?? {}
    expect(request).toMatchObject({ method: 'POST', uri: '/api/wait', body: { a: 1 } })
    expect(time).toBeGreaterThan(0)
    expect(duration).toBe(0)
    expect(await served.bench.getContext({ contextId: contextId ?? 0 })).toMatchObject({ fluxName: 'Wait' })
    expect(list[1]?.duration).toBeGreaterThanOrEqual(2_000)
    expect((await listed('?outcome=failed')).map(({ urlPath }) => urlPath)).toEqual(['/fail'])
    expect(await listed('?urlPath=/nothing')).toEqual([])
  })

  test('the row is in the commit of the start: it is there when nothing else was written', async () => {
    expect((await deliver('/wait')).status).toBe(202)
    const [row] = await store.listRows({ space: 'deliveries', prefix: '', limit: 10 })
    expect(JSON.parse(row?.value ?? '')).toMatchObject({ outcome: 'accepted', status: 202, isStart: true })
  })

  test('so is that of a start by orStart; what its event moves is written later, for the context that it moved', async () => {
    expect((await deliver('/order/1', { a: 1 })).status).toBe(200)
    const rows = await store.listRows({ space: 'deliveries', prefix: '', limit: 10 })
    const accepted = { outcome: 'accepted', status: 200, contextId: expect.any(Number) }
    expect(rows.map(parsed)).toMatchObject([{ ...accepted, isStart: true }])
    const [first] = await listed()
    expect(first).toMatchObject({ ...accepted, request: { body: { a: 1 } } })
    expect((await replay(first?.deliveryId ?? '')).answer).toMatchObject({ status: 200, contextId: first?.contextId })
    // All but one find that another start was faster.
    await Promise.all(Array.from({ length: 10 }, () => deliver('/order/2')))
    const [, other] = await served.bench.listContexts({ fluxName: 'Order' })
    const list = await listed('?urlPath=/order/{id}')
    expect(list.map(({ contextId }) => contextId)).toEqual([
      ...Array.from({ length: 10 }, () => other?.id),
      ...[first, first].map((one) => one?.contextId),
    ])
    const all = await store.listRows({ space: 'deliveries', prefix: '', limit: 20 })
    expect(all.map(parsed).filter((row) => JSON.stringify(row).includes('"isStart":true'))).toHaveLength(2)
  })

  test('that row has the outcome of one that fails at once, and the reason follows', async () => {
    expect((await deliver('/own-broken')).status).toBe(500)
    const [row] = await store.listRows({ space: 'deliveries', prefix: '', limit: 10 })
    const failed = { outcome: 'failed', status: 500, duration: 0 }
    expect(JSON.parse(row?.value ?? '')).toMatchObject({ ...failed, isStart: true, reason: null })
    expect(await listed()).toMatchObject([{ ...failed, reason: expect.stringContaining('toUpperCase') }])
  })

  test('that row is written once, unless there is more to say, such as that no repeat was looked for', async () => {
    const rows: RowWrite[] = []
    const startedAt = clock.now()
    fate = (commit, given) => {
      rows.push(...(given.rows ?? []).filter(({ space }) => space === 'deliveries'))
      return commit()
    }
    await deliver('/wait')
    expect(await listed()).toMatchObject([{ outcome: 'accepted', reason: null }])
    expect(rows).toHaveLength(1)
    await deliver('/own')
    expect(await listed('?urlPath=/own')).toMatchObject([
      { outcome: 'accepted', reason: expect.stringContaining('the key of dedupe came out empty') },
    ])
    expect(rows).toHaveLength(3)
    // The request is in a row of its own.
    await deliver('/typed', { long: 'x'.repeat(6000) })
    await listed()
    expect(rows).toHaveLength(5)
    // Those of an endpoint that is gone go as well.
    for (const { expiresAt } of rows) {
      expect(expiresAt).toBeGreaterThanOrEqual(startedAt + 30 * 86_400_000)
      expect(expiresAt).toBeLessThanOrEqual(clock.now() + 30 * 86_400_000)
    }
  })

  test.each([
    ['is', true],
    ['is not', false],
  ])('one whose start %s stored, which nobody knows, is listed once, and can be sent again', async (_, isStored) => {
    let isLost = true
    fate = async (commit, { writes }) => {
      if (!isLost || writes.length === 0) return commit()
      isLost = false
      if (isStored) await commit()
      throw inDoubt('the answer was lost')
    }
    for (let n = 0; n < 4; n += 1) {
      isLost = true
      expect((await deliver('/wait', { n, long: 'x'.repeat(6000) })).status).toBe(503)
    }
    const list = await listed()
    expect(list.map(shown)).toEqual(['3', '2', '1', '0'])
    expect(list).toMatchObject(Array.from({ length: 4 }, () => ({ outcome: 'refused', status: 503 })))
    for (const { deliveryId } of list)
      expect(await replay(deliveryId)).toMatchObject({ status: 200, answer: { status: 202 } })
  })

  test('of a body, no more than 64 KB are shown, whatever it becomes as text', async () => {
    await deliver('/wait', Buffer.alloc(60_000), { 'content-type': 'application/octet-stream' })
    await deliver('/wait', Buffer.alloc(70_000, 255), { 'content-type': 'image/png' })
    const list = await listed()
    expect(list).toMatchObject([{ request: { bodyTruncated: true } }, { request: { bodyTruncated: true } }])
    for (const { request } of list) expect(Buffer.byteLength(String(request?.['body']))).toBeLessThanOrEqual(65_536)
  })

  test('one that is sent again gives the inputs of its headers, too', async () => {
    await deliver('/own', {}, { ...JSON_TYPE, 'x-own': 'abc' })
    const [first] = await listed()
    const { answer } = await replay(first?.deliveryId ?? '')
    const contextId = Number(answer['contextId'])
    expect(outputs(await served.bench.getContext({ contextId }))).toEqual({ own: 'abc' })
  })

  /** Reads of rows while so many deliveries come and are written. */
  async function readsOf(count: number): Promise<number> {
    reads = 0
    for (let n = 0; n < count; n += 1) {
      await deliver('/wait')
      await served.bench.advance(100)
      await written()
    }
    return reads
  }

  test('what is too much is looked for once in a while, not each time', async () => {
    await again({ deliveries: 50 })
    expect(await readsOf(60)).toBeGreaterThan(0)
    expect(await readsOf(4)).toBe(0)
  })

  test('they are there after a restart, also those that were not written yet, and other servers see them', async () => {
    await deliver('/wait', { n: 1 })
    await deliver('/typed', { n: 2 })
    await again()
    expect(await listed()).toMatchObject([
      { urlPath: '/typed', outcome: 'invalid', status: 400 },
      { urlPath: '/wait', outcome: 'accepted', status: 202 },
    ])
    const [first] = await served.bench.listWebhooks()
    expect(first).toMatchObject({ urlPath: '/echo/{id}', last: null })
    expect((await served.bench.listWebhooks()).find(({ urlPath }) => urlPath === '/wait')).toMatchObject({
      counts: { accepted: 0 },
      last: { outcome: 'accepted', status: 202 },
    })
    if (name === 'embedded') return
    const other = await serve()
    await deliver('/wait')
    await served.bench.advance(200)
    await written()
    expect(await other.bench.listDeliveries()).toHaveLength(3)
  })

  test('the newest come first, page by page, and those that were refused are among them', async () => {
    const order: string[] = []
    for (let n = 0; n < 12; n += 1) {
      if (n % 3 === 2) settle({})
      else await deliver('/wait', { n })
      order.unshift(n % 3 === 2 ? 'refused' : String(n))
    }
    const all = await listed()
    expect(all.map(shown)).toEqual(order)
    const pages: string[][] = []
    for (let next: string | null = `${LIST}?limit=5&urlPath=/wait`; next !== null;) {
      const response: Response = await served.app.request(next)
      const page: DeliveryView[] = JSON.parse(await response.text())
      pages.push(page.map(shown))
      next = /<(.+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1] ?? null
      // What comes meanwhile shifts nothing.
      settle({})
    }
    expect(pages.map(({ length }) => length)).toEqual([5, 5, 2])
    expect(pages.flat()).toEqual(order)
    expect((await listed('?limit=5&page=1&outcome=accepted')).map(shown)).toEqual(['4', '3', '1', '0'].slice(-3))
  })

  test('refused ones are counted, and the last hundred are kept in memory, where they push out nothing', async () => {
    await deliver('/wait', { n: 1 })
    for (let n = 0; n < 250; n += 1) settle({ reason: `number ${n}` })
    const list = await listed('?limit=1000')
    expect(list).toHaveLength(101)
    expect(list[0]).toMatchObject({ outcome: 'signature-invalid', status: 401, reason: 'number 249', request: null })
    expect(list[99]).toMatchObject({ reason: 'number 150' })
    expect(list[100]).toMatchObject({ outcome: 'accepted' })
    const view = (await served.bench.listWebhooks()).find(({ urlPath }) => urlPath === '/wait')
    expect(view).toMatchObject({
      counts: { accepted: 1, 'signature-invalid': 250 },
      last: { reason: 'number 249' },
    } satisfies { [name in keyof WebhookView]?: unknown })
    expect(await store.listRows({ space: 'deliveries', prefix: '', limit: 10 })).toHaveLength(1)
    const refused = await replay(list[0]?.deliveryId ?? '')
    expect(refused.status).toBe(409)
    await again()
    expect(await listed()).toHaveLength(1)
  })

  test('of each endpoint the newest so many are kept', async () => {
    await again({ deliveries: 5 })
    for (let n = 0; n < 20; n += 1) await deliver('/wait', { n, long: n % 2 === 0 ? 'x'.repeat(3000) : '' })
    await deliver('/typed')
    await expect.poll(async () => (await listed('?urlPath=/wait')).length).toBeLessThanOrEqual(6)
    expect(await listed('?urlPath=/typed')).toHaveLength(1)
    const kept = await listed('?urlPath=/wait')
    expect(kept.length).toBeGreaterThanOrEqual(5)
    expect(kept[0]?.request).toMatchObject({ body: { n: 19 } })
    // Rows of requests go with them.
    expect((await store.listRows({ space: 'deliveries', prefix: 'request:', limit: 100 })).length).toBeLessThanOrEqual(
      3,
    )
    await again({ deliveries: 2 })
    await expect.poll(async () => (await listed('?urlPath=/wait')).length).toBe(2)
    await again({ deliveries: 0 })
    expect((await deliver('/fail')).status).toBe(500)
    settle({})
    expect(await listed('?urlPath=/fail')).toEqual([])
    expect((await served.bench.listWebhooks()).find(({ urlPath }) => urlPath === '/fail')).toMatchObject({
      counts: { failed: 1 },
    })
  })

  test('where some could not be kept, those that are there stay', async () => {
    await again({ deliveries: 10 })
    const request = { method: 'POST', uri: '/api/wait', headers: [], cookies: [], parameters: {}, encoded: false }
    const filtered = (n: number, length: number) => {
      const body = `${n} ${'x'.repeat(length)}`
      settle({
        outcome: 'filtered',
        status: 204,
        reason: null,
        request: { ...request, body },
        rawBody: Buffer.from(body),
      })
    }
    for (let n = 0; n < 10; n += 1) filtered(n, 10)
    expect(await listed()).toHaveLength(10)
    // More than what may wait to be written.
    for (let n = 10; n < 640; n += 1) filtered(n, 60_000)
    expect((await listed()).length).toBeGreaterThanOrEqual(10)
    await expect
      .poll(async () => (await store.listRows({ space: 'deliveries', prefix: '', limit: 1000 })).length)
      .toBe(20)
  })

  test('the last one is the one that came last, also when an earlier one is answered after it', async () => {
    const slow = deliver('/slow')
    await expect.poll(async () => (await listed('?urlPath=/slow')).length).toBe(1)
    settle({ reason: null }, 'slow')
    await served.bench.advance(2_000)
    expect((await slow).status).toBe(504)
    const view = (await served.bench.listWebhooks()).find(({ urlPath }) => urlPath === '/slow')
    expect(view).toMatchObject({ counts: { timeout: 1 }, last: { outcome: 'signature-invalid' } })
  })

  test('one that is answered late is one of the newest by its arrival, and pushes out none that came later', async () => {
    await again({ deliveries: 2 })
    const slow = deliver('/slow', { n: 1 })
    await expect.poll(async () => (await listed('?urlPath=/slow')).length).toBe(1)
    const request = { method: 'POST', uri: '/api/slow', headers: [], cookies: [], parameters: {}, body: { n: 2 } }
    settle({ outcome: 'filtered', status: 204, request, rawBody: Buffer.from('{"n":2}'), reason: null }, 'slow')
    await served.bench.advance(2_000)
    expect((await slow).status).toBe(504)
    expect((await listed('?urlPath=/slow')).map(shown)).toEqual(['2', '1'])
    expect((await listed('?urlPath=/slow')).map(shown)).toEqual(['2', '1'])
  })

  test('one that is damaged hides no other', async () => {
    await deliver('/wait')
    await deliver('/wait')
    await listed()
    const [{ deliveryId } = { deliveryId: '' }] = await listed('?urlPath=/wait')
    await again()
    const rows = await store.listRows({ space: 'deliveries', prefix: '', limit: 10 })
    const row = rows.find(({ value }) => value.includes(deliveryId))
    if (!row) throw new Error('it is not there')
    await store.commit({ writes: [], rows: [{ ...row, space: 'deliveries', value: '{', expiresAt: null }] })
    expect(await listed('?urlPath=/wait')).toHaveLength(1)
    const views = await served.bench.listWebhooks()
    expect(views.find(({ urlPath }) => urlPath === '/wait')).toMatchObject({ last: { outcome: 'accepted' } })
  })

  test('one that can not be read is not sent again: its sender would be refused', async () => {
    expect((await deliver('/wait', '{"n":')).status).toBe(400)
    const [broken] = await listed()
    expect(broken).toMatchObject({ outcome: 'invalid', status: 400, request: { unreadable: true } })
    expect(await replay(broken?.deliveryId ?? '')).toMatchObject({ status: 409 })
    expect(await served.bench.listContexts({})).toMatchObject([])
  })

  test('secrets of the request are in none of the rows', async () => {
    const secrets = {
      'x-api-key': 'SECRETHEADER1234567',
      authorization: 'Bearer SECRETBEARER1234567',
      cookie: 'sid=SECRETCOOKIE1234567',
      'stripe-signature': 't=1,v1=SECRETSIGNATURE12345',
    }
    const headers = { ...JSON_TYPE, ...secrets }
    await deliver('/wait?access_token=SECRETPARAMETER12345', { open: 'yes' }, headers)
    await deliver('/typed?access_token=SECRETPARAMETER12345', { open: 'x'.repeat(6000) }, headers)
    const [typed, wait] = await listed()
    expect(wait?.request).toMatchObject({
      uri: '/api/wait?access_token=[redacted]',
      parameters: { access_token: '[redacted]' },
      cookies: [{ name: 'sid', value: '[redacted]' }],
      body: { open: 'yes' },
    })
    expect(JSON.stringify([typed, wait])).not.toContain('SECRET')
    const rows = await store.listRows({ space: 'deliveries', prefix: '', limit: 100 })
    expect(rows).toHaveLength(3)
    expect(JSON.stringify(rows)).not.toContain('SECRET')
  })

  test('of a long body the beginning is kept', async () => {
    const long = { text: 'ä'.repeat(60_000) }
    await deliver('/wait', long)
    await deliver('/wait', Buffer.alloc(100_000, 7), { 'content-type': 'application/octet-stream' })
    const [binary, json] = await listed()
    const body = String(json?.request?.['body'])
    expect(json?.request).toMatchObject({ bodyTruncated: true })
    expect(JSON.stringify(long).startsWith(body)).toBe(true)
    expect(Buffer.byteLength(body)).toBeGreaterThan(65_000)
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(65_536)
    expect(binary?.request).toMatchObject({ bodyTruncated: true, encoded: true })
    expect(String(binary?.request?.['body'])).toHaveLength(65_536)
  })

  test('what is kept of a body is bounded as it is stored, too, where characters are escaped', async () => {
    const type = { 'content-type': 'text/plain' }
    await deliver('/wait', Buffer.alloc(65_536, 1), type)
    await deliver('/wait', Buffer.alloc(60_000, '"'), type)
    // Its bytes are stored beside what they were parsed to.
    await deliver('/wait', `[${' '.repeat(10)}"${'x'.repeat(65_000)}"]`)
    await deliver('/wait', Buffer.concat([Buffer.from('a=b'), Buffer.alloc(65_000, 1)]), {
      'content-type': 'application/x-www-form-urlencoded',
    })
    const [, , quotes, controls] = await listed()
    expect(controls?.request).toMatchObject({ bodyTruncated: true })
    expect(String(controls?.request?.['body']).length).toBeGreaterThan(20_000)
    expect(quotes?.request?.['body'] === '"'.repeat(60_000)).toBe(true)
    const rows = await store.listRows({ space: 'deliveries', prefix: 'request:', limit: 100 })
    expect(rows).toHaveLength(4)
    for (const { value } of rows) expect(value.length).toBeLessThan(270_000)
  })

  test('a page ends where its requests would take much memory when parsed', async () => {
    const request = { method: 'POST', uri: '/api/wait', headers: [], cookies: [], parameters: {}, encoded: false }
    const body = Array.from({ length: 20_000 }, () => [])
    const rawBody = Buffer.from(JSON.stringify(body))
    for (let n = 0; n < 12; n += 1)
      settle({ outcome: 'filtered', status: 204, reason: null, request: { ...request, body }, rawBody })
    const list = await listed()
    // About 2.5 MB each.
    expect(list.length).toBeGreaterThan(3)
    expect(list.length).toBeLessThan(10)
  })

  const seenBy = async (contextId: unknown) => outputs(await served.bench.getContext({ contextId: Number(contextId) }))

  test('one is sent again, with all of its request while its context is there', async () => {
    const headers = { ...JSON_TYPE, 'X-Own': 'own', 'x-api-key': 'SECRETHEADER1234567' }
    expect((await deliver('/echo/a%20b?n=1&n=2', '{ "a":  1 }', headers)).status).toBe(200)
    const [first] = await listed()
    const { status, answer } = await replay(first?.deliveryId ?? '')
    expect({ status, answer }).toEqual({
      status: 200,
      answer: { deliveryId: expect.any(String), status: 200, contextId: expect.any(Number) },
    })
    expect(answer['contextId']).not.toBe(first?.contextId)
    const [, before] = [await seenBy(answer['contextId']), await seenBy(first?.contextId)]
    expect(await seenBy(answer['contextId'])).toEqual(before)
    expect(before).toMatchObject({
      seen: { id: 'a b', n: [1, 2], body: { a: 1 }, bytes: Buffer.from('{ "a":  1 }').toString('base64') },
    })
    const [second] = await listed()
    expect(second).toMatchObject({
      deliveryId: answer['deliveryId'],
      replayOf: first?.deliveryId,
      contextId: answer['contextId'],
      outcome: 'accepted',
      status: 200,
    })
    // Once more, of what was sent again.
    expect((await replay(second?.deliveryId ?? '')).answer).toMatchObject({ status: 200 })
  })

  test('when its context is gone, what was kept is sent: without the secrets', async () => {
    const headers = { ...JSON_TYPE, 'x-api-key': 'SECRETHEADER1234567' }
    const bodies = ['{ "a":  1 }', '{"a":1}', '']
    for (const body of bodies) await deliver('/echo/x', body, headers)
    await deliver('/echo/x', Buffer.from([0, 255, 128]), { 'content-type': 'image/png' })
    await deliver('/echo/x', Buffer.from([0xe4]), { 'content-type': 'image/png' })
    await deliver('/echo/x', { long: 'x'.repeat(70_000) }, headers)
    const list = (await listed()).toReversed()
    await served.bench.advance(8 * 86_400_000)
    await expect
      .poll(async () => {
        await served.bench.advance(120_000)
        return (await served.bench.listContexts({ status: 'COMPLETED' })).length
      })
      .toBe(0)
    const bytes: unknown[] = []
    for (const { deliveryId } of list.slice(0, 5)) {
      const { answer } = await replay(deliveryId)
      const { seen } = await seenBy(answer['contextId'])
      bytes.push(JSON.parse(JSON.stringify(seen)).bytes)
    }
    expect(bytes).toEqual(
      [...bodies, Buffer.from([0, 255, 128]), Buffer.from([0xe4])].map((body) => Buffer.from(body).toString('base64')),
    )
    const { status, answer } = await replay(list[5]?.deliveryId ?? '')
    expect(status).toBe(409)
    expect(answer).toMatchObject({ type: 'urn:actorflux:problem:conflict', detail: expect.stringContaining('longer') })
  })

  test('one that started nothing is sent again as it was kept; its status is what its sender would have got', async () => {
    await deliver('/typed', { n: 1 })
    const [invalid] = await listed()
    expect(await replay(invalid?.deliveryId ?? '')).toMatchObject({
      status: 200,
      answer: { status: 400, contextId: null },
    })
    expect(await listed()).toMatchObject([{ outcome: 'invalid', replayOf: invalid?.deliveryId }, { replayOf: null }])
    await deliver('/fail')
    const [failed] = await listed()
    expect(await replay(failed?.deliveryId ?? '')).toMatchObject({ status: 200, answer: { status: 500 } })
    const request = {
      method: 'POST',
      uri: '/api/wait',
      headers: [],
      cookies: [],
      parameters: {},
      body: { a: 1 },
      encoded: false,
      contentType: 'application/json',
      config: { timeout: 1 },
    }
    settle({ outcome: 'filtered', status: 204, request, rawBody: Buffer.from('{"a":1}'), reason: null })
    const [filtered] = await listed()
    expect(filtered).toMatchObject({ outcome: 'filtered', status: 204, request: { body: { a: 1 } } })
    expect(await replay(filtered?.deliveryId ?? '')).toMatchObject({ status: 200, answer: { status: 202 } })
    settle({ outcome: 'handshake', status: 200, request, rawBody: Buffer.from('{"a":1}'), reason: null })
    const [handshake] = await listed()
    expect(await replay(handshake?.deliveryId ?? '')).toMatchObject({ status: 409 })
  })

  test('one that is sent again has the time that the first one had, and is logged without its query', async () => {
    await deliver('/typed?n=x&other=qzv')
    const [invalid] = await listed()
    served.bench.logged.length = 0
    await replay(invalid?.deliveryId ?? '')
    await expect.poll(() => served.bench.logged).toMatchObject([{ fields: { path: '/api/typed' } }])
    const first = deliver('/slow')
    await expect.poll(async () => (await listed('?urlPath=/slow')).length).toBe(1)
    await served.bench.advance(2_000)
    await first
    const [slow] = await listed('?urlPath=/slow')
    let isAnswered = false
    const again = replay(slow?.deliveryId ?? '').finally(() => {
      isAnswered = true
    })
    await expect.poll(async () => (await served.bench.listContexts({ fluxName: 'Slow' })).length).toBe(2)
    await served.bench.advance(1_900)
    expect(isAnswered).toBe(false)
    await served.bench.advance(100)
    expect(await again).toMatchObject({ status: 200, answer: { status: 504 } })
  })

  test('one that came with HEAD is sent again to the endpoint that takes GET, also before it is written', async () => {
    expect((await served.app.request('/api/typed?n=x', { method: 'HEAD' })).status).toBe(400)
    const { last } = (await served.bench.listWebhooks()).find(({ urlPath }) => urlPath === '/typed') ?? {}
    expect(last).toMatchObject({ method: 'HEAD', outcome: 'invalid' })
    expect(await replay(last?.deliveryId ?? '')).toMatchObject({ status: 200, answer: { status: 400 } })
  })

  test('any number can be sent again, one after the other', async () => {
    await deliver('/wait')
    const [first] = await listed()
    for (let n = 0; n < 40; n += 1)
      expect(await replay(first?.deliveryId ?? '')).toMatchObject({ status: 200, answer: { status: 202 } })
  })

  test('what is sent again is charged to the memory for requests before it is parsed, until it is answered', async () => {
    const requests = new ByteBudget({ bytes: 1024 * 1024, what: 'requests' })
    await again({ memory: { requests } })
    const body = { list: Array.from({ length: 10_000 }, () => []) }
    const slow = deliver('/slow', body)
    await expect.poll(async () => (await listed('?urlPath=/slow')).length).toBe(1)
    await served.bench.advance(2_000)
    expect((await slow).status).toBe(504)
    const [{ deliveryId } = { deliveryId: '' }] = await listed()
    const release = requests.take(1024 * 1024)
    expect((await replay(deliveryId)).status).toBe(503)
    release()
    const taken: number[] = []
    commits = () => taken.push(requests.held)
    const repeated = replay(deliveryId)
    await expect.poll(async () => (await listed('?urlPath=/slow')).length).toBe(2)
    expect(Math.max(...taken)).toBeGreaterThan(500_000)
    // It waits for the workflow, and for what is noted of the delivery.
    expect(requests.held).toBeGreaterThan(500_000)
    await served.bench.advance(2_000)
    expect((await repeated).answer).toMatchObject({ status: 504 })
    expect(requests.held).toBe(0)
  })

  test('an unknown one is not found', async () => {
    for (const id of ['019b76da-a800-7000-8000-00005f2c1e6d', 'nonsense'])
      expect(await replay(id)).toMatchObject({ status: 404, answer: { type: 'urn:actorflux:problem:not-found' } })
  })

  test('callers do not wait until a delivery is written, and who lists deliveries finds it', async () => {
    const order = await listed()
    expect(order).toEqual([])
    await deliver('/typed')
    // Nothing was written yet.
    expect(await store.listRows({ space: 'deliveries', prefix: '', limit: 10 })).toEqual([])
    expect(await served.bench.listDeliveries()).toHaveLength(1)
    expect(await store.listRows({ space: 'deliveries', prefix: '', limit: 10 })).toHaveLength(1)
  })
})
