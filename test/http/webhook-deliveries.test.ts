// Each request to an endpoint is one delivery; what is refused at the door is logged at most once a second; and a repeat
// is answered exactly as the first request.
import { describe, expect, test } from 'vitest'
import { ByteBudget } from '../../src/model/byte-budget.ts'
import { FluxError, notFound, overloaded, type Failure } from '../../src/model/failure.ts'
import type { Delivery, Endpoint, WebhookAnswer, WebhookCall, WebhookReply } from '../../src/model/webhook.ts'
import type { ServiceSecrets } from '../../src/ports/secrets.ts'
import { openSecrets } from '../../src/settings/secrets.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { testApp } from './support.ts'

const SECRET = 'the-secret-of-the-door'
const endpoint = (more: Partial<Endpoint> = {}): Endpoint => ({
  package: 'p',
  fluxName: 'F',
  urlPath: '/hook',
  timeout: null,
  verify: null,
  ...more,
})
const verifying = (scheme: 'token' | 'slack', ...secrets: string[]) =>
  endpoint({ verify: { scheme, secrets, rule: { toleranceS: 300 } } })
const TOKEN = verifying('token', 'KEY', 'NEXT')
const proof = { authorization: `Bearer ${SECRET}` }

type Receive = (call: WebhookCall) => Promise<WebhookReply> | WebhookReply

interface Asked {
  readonly at?: Endpoint
  readonly receive?: Receive
  readonly secrets?: ServiceSecrets
  readonly clock?: SimulatedClock
}

async function open({
  at = endpoint(),
  receive = () => reply({ kind: 'nothing', contextId: 7 }),
  ...more
}: Asked = {}) {
  const settled: Delivery[] = []
  const unmatched: unknown[] = []
  const calls: WebhookCall[] = []
  const clock = more.clock ?? new SimulatedClock()
  let deliveries = 0
  const secrets =
    more.secrets ?? (await openSecrets({ ACTORFLUX_SECRET_KEY: SECRET, ACTORFLUX_SECRET_NEXT: 'next-one' }))
  const inFlight = new ByteBudget({ bytes: 1024 * 1024, what: 'requests' })
  const waiting = new ByteBudget({ bytes: 1024 * 1024, what: 'webhooks that wait' })
  const { app, lines } = testApp(
    {},
    {
      inFlight,
      waiting,
      clock,
      secrets,
      webhooks: {
        find: (method, [path]) =>
          path !== 'hook' ? null : method === 'PUT' ? { allow: ['POST'] } : { endpoint: at, parameters: new Map() },
        all: () => [],
        receive: async (call) => {
          calls.push(call)
          return receive(call)
        },
        arrival: () => ({ deliveryId: `d${(deliveries += 1)}`, time: clock.now() }),
        now: () => clock.now(),
        settled: (delivery) => settled.push(delivery),
        unmatched: (request) => unmatched.push(request),
        giveUp() {},
      },
    },
  )
  const post = async (
    headers: Record<string, string> = {},
    body: string = '{}',
    path = '/api/hook',
    method = 'POST',
  ) => {
    const response = await app.request(path, {
      method,
      body,
      headers: { 'content-type': 'application/json', ...headers },
    })
    const text = await response.text()
    return { status: response.status, headers: Object.fromEntries(response.headers), text }
  }
  return { post, settled, unmatched, calls, lines, clock, inFlight, waiting }
}

const reply = (answer: WebhookAnswer, more: Partial<WebhookReply> = {}): WebhookReply => ({
  answer,
  replayed: false,
  remark: null,
  ...more,
})
const starting = async ({ onStarted }: WebhookCall) => {
  onStarted()
  return reply({ kind: 'nothing', contextId: 7 })
}
const failing = (error: unknown) => async (): Promise<never> => {
  throw error
}
const refusedBy = (failure: Failure) => failing(new FluxError(failure))

const ANSWERS: readonly [
  answer: WebhookAnswer,
  status: number,
  outcome: string,
  contextId: number | null,
  reason?: string,
][] = [
  [
    { kind: 'response', contextId: 7, response: { responseCode: 418, headers: { 'X-A': '1' }, content: 'tea' } },
    418,
    'accepted',
    7,
  ],
  [
    { kind: 'response', contextId: 7, response: { responseCode: 5 } },
    500,
    'failed',
    7,
    "the answer can't be sent: responseCode must be an integer from 200 to 599",
  ],
  [{ kind: 'outputs', contextId: 7, value: { a: 1 } }, 200, 'accepted', 7],
  [{ kind: 'nothing', contextId: 7 }, 204, 'accepted', 7],
  [{ kind: 'paused', contextId: 7, status: 'WAITING' }, 202, 'accepted', 7],
  [{ kind: 'accepted', contextId: 7, status: 'RUNNING' }, 202, 'accepted', 7],
  [{ kind: 'failed', contextId: 7, reason: 'Oops: no' }, 500, 'failed', 7, 'Oops: no'],
  [{ kind: 'late', contextId: 7 }, 504, 'timeout', 7],
  [{ kind: 'filtered' }, 204, 'filtered', null],
  [{ kind: 'running', contextId: 7 }, 202, 'duplicate', 7],
  [{ kind: 'sent', eventId: 'e', contextIds: [7] }, 200, 'accepted', 7],
  [{ kind: 'sent', eventId: 'e', contextIds: [7, 8] }, 200, 'accepted', null],
  [{ kind: 'sent', eventId: 'e', contextIds: [] }, 200, 'ignored', null],
]

test.each<[string, Asked, Record<string, string>, string, number]>([
  ['without proof', { at: TOKEN }, {}, '{}', 401],
  ['of a malformed body', {}, {}, '{"n":', 400],
  ['that is refused', { receive: failing(notFound('no')) }, {}, '{}', 404],
  ['of no interest', { receive: () => reply({ kind: 'filtered' }) }, {}, '{}', 204],
  ['that starts a context', { receive: starting }, {}, '{}', 204],
  ['that meets a fault', { at: TOKEN, receive: failing(new Error('a fault')) }, proof, '{}', 500],
])('a request %s holds no memory once it is answered', async (_, asked, headers, body, status) => {
  const { post, inFlight, waiting } = await open(asked)
  expect((await post(headers, body)).status).toBe(status)
  expect([inFlight.held, waiting.held]).toEqual([0, 0])
})

test('the clock of the server may go back: no delivery takes less than no time', async () => {
  const clock = new SimulatedClock(1000)
  const receive: Receive = (call) => {
    clock.jump(-5)
    return starting(call)
  }
  const { post, settled } = await open({ clock, receive })
  await post()
  expect(settled).toMatchObject([{ time: 1000, duration: 0 }])
})

test('a repeat of a request that failed is not logged again', async () => {
  const failed = { kind: 'failed', contextId: 7, reason: 'Oops: no' } as const
  let replayed = false
  const { post, lines } = await open({ receive: () => reply(failed, { replayed }) })
  for (const isRepeat of [false, true, true]) {
    replayed = isRepeat
    expect((await post()).status).toBe(500)
  }
  expect(lines.filter(({ message }) => message === 'the workflow behind a webhook failed')).toHaveLength(1)
})

describe('a delivery', () => {
  test.each(ANSWERS)('of the answer %j', async (answer, status, outcome, contextId, reason = undefined) => {
    const { post, settled } = await open({ receive: () => reply(answer) })
    expect((await post()).status).toBe(status)
    expect(settled).toEqual([
      {
        deliveryId: 'd1',
        endpoint: endpoint(),
        method: 'POST',
        path: '/api/hook',
        time: expect.any(Number),
        outcome,
        status,
        duration: 0,
        contextId,
        replayOf: null,
        reason: reason ?? null,
        request: expect.objectContaining({ method: 'POST', body: {} }),
        rawBody: Buffer.from('{}'),
      },
    ])
  })

  test.each<[string, Receive, number, string, string]>([
    ['invalid inputs', refusedBy({ kind: 'invalid', detail: 'bad', errors: [] }), 400, 'invalid', 'bad'],
    ['an unknown context', failing(notFound('nobody')), 404, 'refused', 'nobody'],
    ['too much work', failing(overloaded('full')), 503, 'refused', 'full'],
    ['a fault of the server', failing(new Error('inner')), 500, 'failed', 'a fault of the server: see its log'],
    ['a text with a secret', failing(notFound(`no ${SECRET}`)), 404, 'refused', 'no [redacted]'],
  ])('of %s', async (_, receive, status, outcome, reason) => {
    const { post, settled } = await open({ receive })
    expect((await post()).status).toBe(status)
    expect(settled).toMatchObject([{ status, outcome, reason, contextId: null, request: { body: {} } }])
  })

  test('of a body that is malformed has the bytes, and no secret', async () => {
    const { post, settled, calls } = await open({ at: TOKEN })
    expect((await post(proof, '{')).status).toBe(400)
    expect(settled).toMatchObject([
      { status: 400, outcome: 'invalid', request: { body: Buffer.from('{').toString('base64'), encoded: true } },
    ])
    expect(settled[0]?.request?.['headers']).toContainEqual({ name: 'authorization', value: '[redacted]' })
    expect(calls).toEqual([])
  })

  test('of a sender that proves nothing tells why, and nothing of what was sent', async () => {
    const { post, settled, calls } = await open({ at: TOKEN })
    expect((await post({ authorization: 'Bearer wrong' })).status).toBe(401)
    expect(settled).toMatchObject([
      { status: 401, outcome: 'signature-invalid', reason: 'the token is wrong', contextId: null, request: null },
    ])
    expect(calls).toEqual([])
  })

  test('names a secret that is missing, and not what else is set on the server', async () => {
    const { post, settled } = await open({ at: TOKEN, secrets: await openSecrets({ ACTORFLUX_SECRET_NEXTS: 'x' }) })
    await post(proof)
    expect(settled).toMatchObject([{ reason: 'there is no secret KEY; there is no secret NEXT' }])
  })

  test('tells how long it took, and what is noteworthy', async () => {
    const clock = new SimulatedClock()
    const receive = async () => {
      await clock.advance(250)
      return reply({ kind: 'nothing', contextId: 7 }, { remark: 'dedupe.key came out empty' })
    }
    const { post, settled } = await open({ receive, clock })
    await post()
    expect(settled).toMatchObject([{ duration: 250, reason: 'dedupe.key came out empty' }])
  })

  test('says what is noteworthy also of a workflow that failed', async () => {
    const failed = reply({ kind: 'failed', contextId: 7, reason: 'Oops: no' }, { remark: 'dedupe.key came out empty' })
    const { post, settled } = await open({ receive: () => failed })
    await post()
    expect(settled).toMatchObject([{ outcome: 'failed', reason: 'Oops: no; dedupe.key came out empty' }])
  })

  test('keeps nothing of a request that a context has', async () => {
    const { post, settled } = await open({ receive: starting })
    await post()
    expect(settled).toMatchObject([{ outcome: 'accepted', contextId: 7, request: null }])
  })

  test('is none where there is no endpoint', async () => {
    const { post, settled, unmatched } = await open()
    expect((await post({}, '{}', '/api/none')).status).toBe(404)
    expect((await post({}, '{}', '/api/hook', 'PUT')).status).toBe(405)
    expect(settled).toEqual([])
    expect(unmatched).toEqual([
      { method: 'POST', path: '/api/none', reason: 'no webhook is at this path' },
      { method: 'PUT', path: '/api/hook', reason: 'this webhook takes POST' },
    ])
  })
})

describe('an Idempotency-Key', () => {
  test.each([
    ['abc', 'abc'],
    ['"abc"', 'abc'],
    ['"', '"'],
    ['x'.repeat(255), 'x'.repeat(255)],
  ])('is passed on: %s', async (sent, key) => {
    const { post, calls } = await open()
    await post({ 'idempotency-key': sent })
    expect(calls).toMatchObject([{ idempotencyKey: key, replayOf: null, deliveryId: 'd1' }])
  })

  test.each([[''], ['""'], ['a b'], ['x'.repeat(256)], ['ä']])('is checked: %s', async (sent) => {
    const { post, calls, settled } = await open()
    expect((await post({ 'idempotency-key': sent })).status).toBe(400)
    expect(calls).toEqual([])
    expect(settled).toMatchObject([{ outcome: 'invalid', status: 400 }])
  })

  test('may be left out', async () => {
    const { post, calls } = await open()
    await post()
    expect(calls).toMatchObject([{ idempotencyKey: null }])
  })

  test.each(ANSWERS)('gives a repeat the same answer: %j', async (answer) => {
    const first = await open({ receive: () => reply(answer) })
    const second = await open({ receive: () => reply(answer, { replayed: true }) })
    const key = { 'idempotency-key': 'k' }
    const [one, two, unkeyed] = [await first.post(key), await second.post(key), await second.post()]
    const { 'idempotency-replayed': replayed, ...headers } = two.headers
    expect([replayed, one.headers['idempotency-replayed'], unkeyed.headers['idempotency-replayed']]).toEqual([
      'true',
      undefined,
      undefined,
    ])
    expect({ ...two, headers }).toEqual(one)
    expect(unkeyed).toEqual(one)
    expect(second.settled).toMatchObject([{ outcome: 'duplicate' }, { outcome: 'duplicate' }])
  })
})

describe('the log', () => {
  const MESSAGE = 'a webhook was refused: its sender proved nothing'
  const told = ({ lines }: Pick<Awaited<ReturnType<typeof open>>, 'lines'>) =>
    lines.filter(({ message }) => message === MESSAGE).map(({ fields }) => fields)

  test('has a line a second, with how many there were', async () => {
    const door = await open({ at: TOKEN })
    for (let sent = 0; sent < 5; sent += 1) await door.post()
    const facts = { package: 'p', fluxName: 'F', urlPath: '/hook', scheme: 'token', method: 'POST', path: '/api/hook' }
    const missing = 'the header "Authorization" is missing'
    expect(told(door)).toEqual([{ ...facts, reason: missing, refused: 1 }])
    await door.post({ authorization: 'Bearer x' })
    await door.clock.advance(1000)
    const wrong = { ...facts, reason: 'the token is wrong' }
    expect(told(door)).toEqual([
      { ...facts, reason: missing, refused: 1 },
      { ...wrong, refused: 5 },
    ])
    await door.clock.advance(999)
    await door.post({ authorization: 'Bearer x' })
    expect(told(door).length).toBe(2)
    await door.clock.advance(1)
    expect(told(door)).toMatchObject([{}, {}, { ...wrong, refused: 1 }])
    await door.clock.advance(5000)
    await door.post()
    expect(told(door)).toMatchObject([{}, {}, {}, { reason: missing, refused: 1 }])
  })

  test('names a secret that is missing, and nobody is let in by it', async () => {
    const secrets = await openSecrets({ ACTORFLUX_SECRET_NEXT: 'next-one' })
    const door = await open({ at: TOKEN, secrets })
    expect((await door.post(proof)).status).toBe(401)
    expect(told(door)).toMatchObject([{ reason: expect.stringContaining('there is no secret KEY') }])
    expect((await door.post({ authorization: 'Bearer next-one' })).status).toBe(204)
    const none = await open({ at: TOKEN, secrets: await openSecrets({}) })
    for (const authorization of ['Bearer ', 'Bearer null', 'Bearer undefined'])
      expect((await none.post({ authorization })).status).toBe(401)
    expect(told(none)).toMatchObject([{ reason: 'there is no secret KEY; there is no secret NEXT' }])
  })

  test('has nothing of a path that has a secret', async () => {
    const door = await open({ at: { ...TOKEN, urlPath: '/hook/{token}' } })
    await door.post({}, '{}', '/api/hook?access_token=hidden-in-the-query')
    expect(told(door)).toMatchObject([{ path: '/api/hook/{token}' }])
    expect(JSON.stringify(door.lines)).not.toContain('hidden')
  })
})
