// Calls that fail on their way: what is sent again, under which key and when, and what is not.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { ConnectionError, createClient, Problem, type ClientOptions } from '../../src/client/client.ts'
import { listening } from '../support/listening.ts'

interface Seen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly key: string | string[] | undefined
  readonly body: string
  readonly at: number
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void

/** A server that answers one request after the other as it is told; the last answer stands for all that follow. */
async function failing(...answers: Answer[]) {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (text) => {
      body += String(text)
    })
    request.on('end', () => {
      const { method, url, headers } = request
      seen.push({ method, url, key: headers['idempotency-key'], body, at: performance.now() })
      const answer = answers[Math.min(seen.length, answers.length) - 1]
      answer?.(response, request)
    })
  })
  const url = `http://127.0.0.1:${await listening(server)}`
  return { url, seen, client: (options: Partial<ClientOptions> = {}) => createClient({ url, ...options }) }
}

const ok: Answer = (response) => response.end(JSON.stringify({ message: 'done', contextId: 7, started: true }))
const broken: Answer = (_, request) => request.socket.destroy()
const cut: Answer = (response, request) => {
  response.writeHead(200, { 'content-length': '100' }).write('{"message":')
  setTimeout(() => request.socket.destroy(), 10)
}
const silent: Answer = () => {}
const status =
  (code: number, { type = 'about:blank', ...headers }: { readonly [name: string]: string } = {}): Answer =>
  (response) =>
    response
      .writeHead(code, { 'content-type': 'application/problem+json', ...headers })
      .end(JSON.stringify({ type, title: 'T', status: code, detail: `a ${code}` }))

const START = { package: 'p', fluxName: 'F' }
const OVERLOADED = 'urn:actorflux:problem:overloaded'
const IN_PROGRESS = 'urn:actorflux:problem:idempotency-in-progress'

describe('a call that fails on its way', () => {
  test.each([
    ['the connection breaks', broken],
    ['the answer is cut off', cut],
    ['429', status(429)],
    ['503', status(503)],
  ])('is made again under the same key: %s', async (_, failure) => {
    const { client, seen } = await failing(failure, failure, ok)
    expect(await client().execute(START)).toMatchObject({ contextId: 7 })
    expect(seen).toHaveLength(3)
    expect(new Set(seen.map(({ key }) => key)).size).toBe(1)
    expect(seen[0]?.key).toMatch(/^[!-~]{1,255}$/)
    expect(new Set(seen.map(({ body }) => body)).size).toBe(1)
    await client().execute(START)
    expect(seen[3]?.key).not.toBe(seen[0]?.key)
  })

  test('keeps the key that it was given', async () => {
    const { client, seen } = await failing(broken, ok)
    await client().terminate({ contextId: 1, idempotencyKey: 'mine' })
    expect(seen).toMatchObject([
      { method: 'DELETE', url: '/flux-api/terminate?contextId=1', key: 'mine' },
      { key: 'mine' },
    ])
  })

  test('of an event with an id has that as its key', async () => {
    const { client, seen } = await failing(broken, status(503, { 'retry-after': '0' }))
    await expect(client({ retries: 1 }).sendEvent({ event: 'e', eventId: 'mine' })).rejects.toMatchObject({
      idempotencyKey: 'mine',
    })
    expect(seen).toMatchObject([{ key: undefined, body: '{"event":"e","eventId":"mine"}' }, { key: undefined }])
  })

  test('is not made again before the time that the server names', async () => {
    const date: Answer = (response, request) =>
      status(429, { 'retry-after': new Date(Date.now() + 2000).toUTCString() })(response, request)
    const { client, seen } = await failing(status(503, { 'retry-after': '1' }), date, ok)
    await client().execute(START)
    const [first, second, third] = seen.map(({ at }) => at)
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(1000)
    // A date has whole seconds.
    expect((third ?? 0) - (second ?? 0)).toBeGreaterThanOrEqual(1000)
  })

  test.each([400, 401, 403, 404, 409, 422, 500, 502, 504])('is not made again after %d', async (code) => {
    const { client, seen } = await failing(status(code, { 'retry-after': '0' }))
    await expect(client().execute(START)).rejects.toMatchObject({
      status: code,
      retryable: false,
      message: `a ${code}`,
    })
    await expect(client().getContext({ contextId: 1 })).rejects.toBeInstanceOf(Problem)
    expect(seen).toHaveLength(2)
  })

  test('fails in the end, and tells its key', async () => {
    const { client, seen } = await failing(status(503, { 'retry-after': '0' }))
    await expect(client({ retries: 2 }).execute(START)).rejects.toMatchObject({
      status: 503,
      retryable: true,
      retryAfter: 0,
      idempotencyKey: seen[0]?.key ?? expect.any(String),
    })
    expect(seen).toHaveLength(3)
    const away = createClient({ url: 'http://127.0.0.1:1', retries: 1 })
    const error = await away.execute(START).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error).toMatchObject({ retryable: true, idempotencyKey: expect.any(String) })
  })

  test('is made once, and needs no key, where nothing is to be tried again', async () => {
    const { client, seen } = await failing(broken, ok)
    await expect(client({ retries: 0 }).execute(START)).rejects.toBeInstanceOf(ConnectionError)
    expect(seen).toMatchObject([{ key: undefined }])
  })
})

describe('an earlier attempt', () => {
  test('that is still under way is waited for', async () => {
    const { client, seen } = await failing(broken, status(409, { type: IN_PROGRESS, 'retry-after': '0' }), ok)
    expect(await client().execute(START)).toMatchObject({ contextId: 7 })
    expect(seen).toHaveLength(3)
  })

  test('of another call under the same key is not', async () => {
    const { client, seen } = await failing(status(409, { type: IN_PROGRESS, 'retry-after': '0' }))
    await expect(client().execute({ ...START, idempotencyKey: 'k' })).rejects.toMatchObject({
      status: 409,
      retryable: true,
    })
    expect(seen).toHaveLength(1)
  })
})

describe('a call without a key', () => {
  test('that only reads, or does the same twice, is made again', async () => {
    const { client, seen } = await failing(broken, ok)
    await client().getContext({ contextId: 1 })
    expect(seen).toMatchObject([{ key: undefined }, { key: undefined }])
    const { client: other, seen: there } = await failing(broken, ok)
    await other().withdraw({ eventId: 'e' })
    expect(there).toHaveLength(2)
  })

  test('that would do more the second time is so only where the first did nothing', async () => {
    const { client, seen } = await failing(status(503, { type: OVERLOADED }), status(429), ok)
    await client().replayDelivery({ deliveryId: 'd' })
    expect(seen).toHaveLength(3)
    for (const failure of [broken, status(503)]) {
      const { client: other, seen: there } = await failing(failure, ok)
      await expect(other().replayDelivery({ deliveryId: 'd' })).rejects.toThrow()
      expect(there).toHaveLength(1)
    }
  })
})

describe('a call ends before its answer', () => {
  test('when its time is up, that of the client or its own', async () => {
    const { client } = await failing(silent)
    await expect(client({ timeout: 50 }).execute(START)).rejects.toMatchObject({ name: 'TimeoutError' })
    await expect(client().execute(START, { timeout: 50 })).rejects.toMatchObject({ name: 'TimeoutError' })
  })

  test('with the problem, when there is no time for another attempt', async () => {
    const { client, seen } = await failing(status(503, { 'retry-after': '60' }))
    await expect(client({ timeout: 5000 }).execute(START)).rejects.toMatchObject({ status: 503, retryAfter: 60 })
    expect(seen).toHaveLength(1)
  })

  test('with its signal, during an attempt, between two, and before the first', async () => {
    const { client, seen } = await failing(silent)
    const controller = new AbortController()
    const waiting = client().execute(START, { signal: controller.signal })
    await expect.poll(() => seen.length).toBe(1)
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await expect(client().execute(START, { signal: controller.signal })).rejects.toThrow('enough')
    const { client: later, seen: there } = await failing(status(503, { 'retry-after': '60' }))
    const other = new AbortController()
    const between = later().execute(START, { signal: other.signal })
    await expect.poll(() => there.length).toBe(1)
    other.abort(new Error('now'))
    await expect(between).rejects.toThrow('now')
  })
})

test('the token is sent with each request', async () => {
  const { url } = await failing((response, { headers }) =>
    response.end(JSON.stringify({ message: headers.authorization })),
  )
  const client = createClient({ url: `${url}/`, token: 'secret' })
  expect(await client.terminate({ contextId: 1 })).toEqual({ message: 'Bearer secret' })
})

test('an address may have a path of its own', async () => {
  const { url, seen } = await failing(ok)
  await createClient({ url: `${url}/proxy/of/it/?x=1#y` }).execute({ package: 'a/b ü', fluxName: 'F' })
  expect(seen[0]?.url).toBe('/proxy/of/it/flux-api/a%2Fb%20%C3%BC/execute')
})

test('an answer that is no problem document is one all the same', async () => {
  const { client } = await failing((response) => response.writeHead(502).end('<h1>Bad Gateway</h1>'))
  await expect(client().execute(START)).rejects.toMatchObject({
    status: 502,
    type: 'about:blank',
    detail: '<h1>Bad Gateway</h1>',
    errors: [],
  })
})
