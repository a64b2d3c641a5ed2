// Webhooks that are sent, by a step and at the end of a context, to a receiver behind a socket: what a server that is
// killed by `kill -9` leaves behind comes all the same, under the same id.
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { basename } from 'node:path'
import { afterEach, expect, inject, onTestFinished, test, vi } from 'vitest'
import type { ContextView } from '../../src/api/contexts.ts'
import { verify } from '../../src/steps/builtin/webhooks.ts'
import { startRedis } from '../support/redis.ts'
import { cleanUp, placeFor, startServer, type Server } from '../support/server.ts'
import { listening } from '../support/listening.ts'

const CONTEXTS = 20
const RECOVERY_S = 3
/** Milliseconds that anything may take on a busy machine. */
const PATIENCE_MS = 60_000
vi.setConfig({ testTimeout: 180_000 })

const SECRET = `whsec_${Buffer.from('what webhooks are signed with').toString('base64')}`
const set = (expression: string, ...to: string[]) => ({ type: 'set', expression, evaluate: true, to })
const ON_END = { url: '${url}/ended?n=${n}', secret: '$secrets.HOOK' }
const INPUT = [{ name: 'url' }, { name: 'n', type: 'integer' }]
const SERVICES = {
  'p/Done.flux': {
    onEnd: ON_END,
    input: INPUT,
    output: [{ name: 'twice', type: 'integer' }],
    states: [{ name: 'end', action: { type: 'map', lines: [set('n * 2', 'twice')] } }],
  },
  'p/Send.flux': {
    input: INPUT,
    states: [
      {
        name: 'send',
        action: {
          type: 'invokeCode',
          className: 'Webhooks',
          methodName: 'send',
          inputs: [
            set('`${url}/sent?n=${n}`', 'url'),
            set('{ n }', 'body'),
            { from: ['$secrets', 'HOOK'], to: ['secret'] },
          ],
        },
      },
    ],
  },
}

interface Delivery {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly rawBody: Buffer
}

afterEach(cleanUp)

/** Answers by a function, which may leave a request unanswered. */
async function openReceiver() {
  const came: Delivery[] = []
  const receiver = {
    came,
    url: '',
    answer: (_: Delivery, response: ServerResponse): void => {
      response.writeHead(204).end()
    },
    ids: (path: string) => came.filter((one) => one.path.startsWith(path)).map(({ headers }) => headers['webhook-id']),
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const delivery = { path: request.url ?? '', headers: request.headers, rawBody: Buffer.concat(chunks) }
      came.push(delivery)
      receiver.answer(delivery, response)
    })
  })
  receiver.url = `http://127.0.0.1:${await listening(server)}`
  return receiver
}

const proofOf = ({ headers, rawBody }: Delivery) => {
  const list = Object.entries(headers).map(([name, value]) => ({ name, value: String(value) }))
  return verify({ headers: list, secrets: SECRET }, { rawBody })
}

const eventually = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: PATIENCE_MS, interval: 20 })

async function start(server: Server, fluxName: string, input: object): Promise<number> {
  const response = await fetch(`${server.url}/flux-api/p/execute`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ fluxName, input }),
  })
  expect(response.status).toBe(200)
  const { contextId }: { contextId: number } = JSON.parse(await response.text())
  return contextId
}

async function view(server: Server, contextId: number): Promise<ContextView> {
  return JSON.parse(await (await fetch(`${server.url}/flux-api/context?contextId=${contextId}`)).text())
}

const ENV = { ACTORFLUX_SECRET_HOOK: SECRET, ACTORFLUX_ALLOW_PRIVATE_ADDRESSES: 'true' }

test('a server that is killed while it sends, and while a receiver fails, sends the same again', async () => {
  const receiver = await openReceiver()
  const options = { program: inject('program'), ...(await placeFor(SERVICES)), env: ENV }
  let server = await startServer(options)
  // Those of contexts with an even number are refused, the others stay without an answer.
  receiver.answer = ({ path }, response) => {
    if (Number(path.split('n=')[1]) % 2 === 0) response.writeHead(503).end()
  }
  const numbers = Array.from({ length: CONTEXTS }, (_, n) => n)
  const { url } = receiver
  const ended = await Promise.all(numbers.map((n) => start(server, 'Done', { url, n })))
  const sending = await Promise.all(numbers.map((n) => start(server, 'Send', { url, n })))
  await eventually(() => expect(receiver.came).toHaveLength(2 * CONTEXTS))
  await eventually(async () => {
    const { step } = await view(server, sending[0] ?? 0)
    expect(step).toMatchObject({ attempt: 2 })
  })
  await server.kill('SIGKILL')
  const first = new Map(['/ended', '/sent'].map((path) => [path, new Set(receiver.ids(path))]))
  for (const ids of first.values()) expect(ids.size).toBe(CONTEXTS)
  receiver.came.length = 0
  receiver.answer = (_, response) => {
    response.writeHead(204).end()
  }
  server = await startServer(options)
  await eventually(async () => {
    const views = await Promise.all(sending.map((id) => view(server, id)))
    expect(views.filter(({ status }) => status !== 'COMPLETED').map(({ id }) => id)).toEqual([])
    expect(receiver.ids('/ended')).toHaveLength(CONTEXTS)
  })
  for (const [path, ids] of first) expect(new Set(receiver.ids(path))).toEqual(ids)
  for (const delivery of receiver.came) {
    expect(proofOf(delivery)).toMatchObject({ valid: true })
    expect(delivery.headers['content-type']).toBe('application/json')
  }
  const done = receiver.came.find(({ path }) => path === '/ended?n=7')
  expect(JSON.parse(String(done?.rawBody))).toMatchObject({
    type: 'context.completed',
    data: { contextId: ended[7], package: 'p', fluxName: 'Done', output: { twice: 14 }, error: null },
  })
  expect(server.output()).not.toContain(SECRET.slice(6))
})

test('with Redis, another server sends what one leaves behind that is killed', async () => {
  const redis = await startRedis({ appendfsync: 'no' })
  onTestFinished(() => redis.close())
  const receiver = await openReceiver()
  const place = await placeFor(SERVICES)
  const env = {
    ...ENV,
    ACTORFLUX_REDIS_URL: redis.url,
    ACTORFLUX_NAMESPACE: basename(place.folder),
    ACTORFLUX_RECOVERY: `${RECOVERY_S}s`,
    ACTORFLUX_PARTITIONS: '3',
  }
  const options = { program: inject('program'), ...place, env }
  const one = await startServer(options)
  receiver.answer = () => undefined
  const { url } = receiver
  const numbers = Array.from({ length: CONTEXTS }, (_, n) => n)
  await Promise.all(numbers.map((n) => start(one, 'Done', { url, n })))
  await eventually(() => expect(receiver.came).toHaveLength(CONTEXTS))
  const other = await startServer(options)
  // It leaves to the first one what that is sending, as long as it lives.
  await sleep(1.5 * RECOVERY_S * 1000)
  expect(receiver.came).toHaveLength(CONTEXTS)
  const ids = new Set(receiver.ids('/ended'))
  receiver.answer = (_, response) => {
    response.writeHead(200).end()
  }
  await one.kill('SIGKILL')
  const killedAt = performance.now()
  await eventually(() => expect(receiver.came).toHaveLength(2 * CONTEXTS))
  expect(performance.now() - killedAt).toBeLessThan(RECOVERY_S * 1000 + 3000)
  expect(new Set(receiver.ids('/ended'))).toEqual(ids)
  // None is sent a third time.
  await sleep(RECOVERY_S * 1000)
  expect(receiver.came).toHaveLength(2 * CONTEXTS)
  expect((await other.kill('SIGTERM')).code).toBe(0)
})
