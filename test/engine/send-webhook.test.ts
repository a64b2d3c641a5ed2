import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { expect, test } from 'vitest'
import { verify } from '../../src/steps/builtin/webhooks.ts'
import { openBench, outputs, type Bench } from '../support/engine.ts'
import { listening } from '../support/listening.ts'

const SECRET = `whsec_${Buffer.from('a secret of 24 bytes....').toString('base64')}`
const OLD = Buffer.from('an older one').toString('base64')

interface Delivery {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Answers with these statuses, one after the other, and then with 204. */
async function receiver(answers: readonly { status: number; headers?: { [name: string]: string }; body?: string }[]) {
  const deliveries: Delivery[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { status, headers, body } = answers[deliveries.length] ?? { status: 204 }
      deliveries.push({ method: request.method ?? '', headers: request.headers, body: Buffer.concat(chunks) })
      response.writeHead(status, headers).end(body)
    })
  })
  return { deliveries, url: `http://127.0.0.1:${await listening(server)}/hook` }
}

const set = (to: string) => ({ type: 'set', expression: to, evaluate: true, to: [to] })
const service = (names: readonly string[], more: object = {}) => ({
  input: names.map((name) => ({ name, type: 'any' })),
  output: [
    { name: 'sent', type: 'any' },
    { name: 'error', type: 'any' },
  ],
  states: [
    {
      name: 's',
      action: {
        type: 'invokeCode',
        className: 'Webhooks',
        methodName: 'send',
        inputs: names.map(set),
        outputs: [{ from: ['$result'], to: ['sent'] }],
        ...more,
      },
      transitions: [{ to: 'failed', event: '$exception', lines: [{ from: ['$fluxException'], to: ['e'] }] }],
    },
    {
      name: 'failed',
      input: [{ name: 'e', type: 'any' }],
      action: { type: 'map', lines: [{ from: ['e'], to: ['error'] }] },
    },
  ],
})

async function open(names: readonly string[], more: object = {}): Promise<Bench> {
  const bench = await openBench({ 'p/Send.flux': service(names, more) }, { allowPrivate: true })
  return bench
}

const done = ({ status }: { status: string }) => status === 'COMPLETED' || status === 'FAILED'
const proof = ({ headers, body }: Delivery, secrets: string) =>
  verify(
    { headers: Object.entries(headers).map(([name, value]) => ({ name, value: String(value) })), secrets },
    { rawBody: body },
  )

/** Waits until the next attempt is planned, gives the milliseconds until then, and lets them pass. */
async function pause(bench: Bench, contextId: number): Promise<number> {
  const { nextRun } = await bench.until(contextId, (view) => (view.nextRun ?? 0) > bench.clock.now())
  const ms = (nextRun ?? 0) - bench.clock.now()
  await bench.advance(ms)
  return ms
}

test('a webhook is signed, and has an id that no other step has', async () => {
  const { url, deliveries } = await receiver([])
  const bench = await open(['url', 'secret', 'body', 'headers'])
  const headers = { 'X-Own': 'a', 'Webhook-Signature': 'v1,forged' }
  const first = await bench.run('Send', { url, secret: SECRET, body: { ä: [1, 2] }, headers })
  const view = await bench.until(first, done)
  const [delivery] = deliveries
  if (!delivery) throw new Error('nothing came')
  expect(delivery).toMatchObject({ method: 'POST', headers: { 'content-type': 'application/json', 'x-own': 'a' } })
  expect(delivery.body.toString()).toBe('{"ä":[1,2]}')
  const id = String(delivery.headers['webhook-id'])
  expect(id).toMatch(/^msg_[0-9a-f]{24}_\d+-\d+$/)
  expect(proof(delivery, SECRET)).toMatchObject({ valid: true, id })
  expect(proof(delivery, OLD)).toMatchObject({ valid: false })
  expect(outputs(view)['sent']).toEqual({ id, status: 204 })
  await bench.until(await bench.run('Send', { url, secret: SECRET, body: 'text', headers: null }), done)
  expect(deliveries[1]).toMatchObject({ headers: { 'content-type': 'text/plain;charset=UTF-8' } })
  expect(deliveries[1]?.headers['webhook-id']).not.toBe(id)
})

test('while a secret is replaced, both sign', async () => {
  const { url, deliveries } = await receiver([])
  const bench = await open(['url', 'secrets', 'body'])
  await bench.until(await bench.run('Send', { url, secrets: [SECRET, OLD], body: {} }), done)
  const [delivery] = deliveries
  for (const secret of [SECRET, OLD]) expect(delivery && proof(delivery, secret)).toMatchObject({ valid: true })
})

test('a receiver that fails for a while gets it again on the schedule, under one id', async () => {
  const { url, deliveries } = await receiver(
    [500, 503, 301, 429, 500, 500, 500, 500, 500].map((status) => ({ status })),
  )
  const bench = await open(['url', 'secret', 'body'])
  const contextId = await bench.run('Send', { url, secret: SECRET, body: { n: 1 } })
  const pauses: number[] = []
  for (let nr = 0; nr < 9; nr += 1) pauses.push(await pause(bench, contextId))
  const view = await bench.until(contextId, done)
  expect(view.status).toBe('COMPLETED')
  const [minute, hour] = [60_000, 3_600_000]
  const delays = [5000, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]
  for (const [nr, delay] of delays.entries()) {
    expect(pauses[nr]).toBeGreaterThanOrEqual(delay * 0.9)
    expect(pauses[nr]).toBeLessThanOrEqual(delay * 1.1 + 1)
  }
  expect(new Set(pauses.map((ms, nr) => ms / (delays[nr] ?? 1))).size).toBeGreaterThan(1)
  expect(new Set(deliveries.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  expect(deliveries).toHaveLength(10)
})

test('the last attempt fails the action', async () => {
  const { url, deliveries } = await receiver(Array.from({ length: 20 }, () => ({ status: 500 })))
  const bench = await open(['url', 'secret', 'body'])
  const contextId = await bench.run('Send', { url, secret: SECRET, body: {} })
  for (let nr = 0; nr < 9; nr += 1) await pause(bench, contextId)
  const view = await bench.until(contextId, done)
  expect(deliveries).toHaveLength(10)
  expect(outputs(view)['error']).toMatchObject({ type: 'DeliveryError', message: 'the receiver answered 500' })
})

test('410 ends it at once, and Retry-After puts the next attempt off', async () => {
  const { url, deliveries } = await receiver([
    { status: 503, headers: { 'Retry-After': '90' } },
    { status: 429, headers: { 'Retry-After': '1' } },
    { status: 410 },
  ])
  const bench = await open(['url', 'secret', 'body'])
  const contextId = await bench.run('Send', { url, secret: SECRET, body: {} })
  expect(await pause(bench, contextId)).toBe(90_000)
  expect(await pause(bench, contextId)).toBeGreaterThan(4 * 60_000)
  const view = await bench.until(contextId, done)
  expect(deliveries).toHaveLength(3)
  expect(outputs(view)['error']).toMatchObject({ realException: { status: 410 } })
})

test('a retry of the action wins, and a receiver may not put it off for ever', async () => {
  const forever = new Date(Date.UTC(2999, 0)).toUTCString()
  const { url, deliveries } = await receiver([{ status: 500 }, { status: 500, headers: { 'Retry-After': forever } }])
  const bench = await open(['url', 'secret', 'body'], { retry: { maxAttempts: 3, delay: 2 } })
  const contextId = await bench.run('Send', { url, secret: SECRET, body: {} })
  expect(await pause(bench, contextId)).toBe(2000)
  expect(await pause(bench, contextId)).toBe(24 * 3_600_000)
  await bench.until(contextId, done)
  expect(deliveries).toHaveLength(3)
})

test('the id stays the same over a restart', async () => {
  const { url, deliveries } = await receiver([{ status: 500 }])
  const bench = await openBench({ 'p/Send.flux': service(['url', 'secret', 'body']) }, { allowPrivate: true })
  const contextId = await bench.run('Send', { url, secret: SECRET, body: {} })
  await bench.until(contextId, (view) => (view.nextRun ?? 0) > bench.clock.now())
  const again = await bench.restart()
  await again.advance(10_000)
  await again.until(contextId, done)
  expect(deliveries).toHaveLength(2)
  expect(deliveries[1]?.headers['webhook-id']).toBe(deliveries[0]?.headers['webhook-id'])
})

test('a public key cannot sign, alone or beside others, which is said at once and repeats no secret', async () => {
  const { url, deliveries } = await receiver([])
  const bench = await open(['url', 'secrets', 'body'], { retry: { maxAttempts: 1 } })
  const publicKey = `whpk_${Buffer.alloc(32, 7).toString('base64')}`
  for (const secrets of [publicKey, [SECRET, publicKey]]) {
    const view = await bench.until(await bench.run('Send', { url, secrets, body: {} }), done)
    const message = "a secret of Webhooks.send can't be used: a public key can check signatures, and make none"
    expect(outputs(view)['error']).toMatchObject({ message })
  }
  for (const secrets of ['whsec_%%', 'whsk_AAAA', 7]) {
    const view = await bench.until(await bench.run('Send', { url, secrets, body: {} }), done)
    expect(outputs(view)['error']).toMatchObject({
      message: expect.stringMatching(/^a secret of Webhooks\.send can't be used: (must be|after "whsk_")/),
    })
    expect(JSON.stringify(outputs(view)['error'])).not.toMatch(/%%|AAAA/)
  }
  expect(deliveries).toEqual([])
})

test('a private key signs, for receivers that have the public one', async () => {
  const { url, deliveries } = await receiver([])
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const [{ x = '' }, { d = '' }] = [publicKey.export({ format: 'jwk' }), privateKey.export({ format: 'jwk' })]
  const secret = `whsk_${Buffer.from(d, 'base64url').toString('base64')}`
  const bench = await open(['url', 'secret', 'body'])
  await bench.until(await bench.run('Send', { url, secret, body: {} }), done)
  const [delivery] = deliveries
  const verifying = `whpk_${Buffer.from(x, 'base64url').toString('base64')}`
  expect(delivery && proof(delivery, verifying)).toMatchObject({ valid: true })
})

test('a content type of its own replaces the other, and the answer may be anything', async () => {
  const body = 'x'.repeat(3 * 1024 * 1024)
  const { url, deliveries } = await receiver([{ status: 200, headers: { 'content-encoding': 'gzip' }, body }])
  const bench = await open(['url', 'secret', 'body', 'headers'])
  const headers = { 'Content-Type': 'application/cloudevents+json' }
  const view = await bench.until(await bench.run('Send', { url, secret: SECRET, body: { n: 1 }, headers }), done)
  expect(outputs(view)['sent']).toMatchObject({ status: 200 })
  expect(deliveries.map((delivery) => delivery.headers['content-type'])).toEqual(['application/cloudevents+json'])
})
