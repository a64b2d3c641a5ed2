// Servers that are none, or mean no good: what they answer is an error after a while, and takes a bounded memory.
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { ConnectionError, createClient, Problem, type ClientOptions } from '../../src/client/client.ts'
import { listening } from '../support/listening.ts'

/** A server that answers as it is told, and what it was asked. */
async function serving(answer: RequestListener) {
  const seen: string[] = []
  const server = createServer((request, response) => {
    request.resume().on('error', () => undefined)
    seen.push(`${request.method} ${request.url}`)
    answer(request, response)
  })
  const url = `http://127.0.0.1:${await listening(server)}`
  return { url, seen, client: (options: Partial<ClientOptions> = {}) => createClient({ url, retries: 1, ...options }) }
}

const page: RequestListener = (_, response) =>
  response.writeHead(200, { 'content-type': 'text/html' }).end('<html>\n\n<p>Welcome</p>\n\n</html>')

/** Sends the same bytes until the client has enough; tells how many bytes that were. */
function pouring(head: (response: ServerResponse) => void, piece: Buffer) {
  const poured = { bytes: 0 }
  const answer: RequestListener = (_, response) => {
    head(response)
    const pour = () => {
      do poured.bytes += piece.length
      while (!response.destroyed && response.write(piece))
    }
    response.on('drain', pour)
    pour()
  }
  return { answer, poured }
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const got: Item[] = []
  for await (const item of items) got.push(item)
  return got
}

const BOUND_BYTES = 67_108_864
const START = { package: 'p', fluxName: 'F' }

describe('an address that is that of a page', () => {
  test('gives no answer to a call', async () => {
    const { client, seen } = await serving(page)
    await expect(client().listContexts()).rejects.toThrow(ConnectionError)
    await expect(client().execute(START)).rejects.toMatchObject({ name: 'ConnectionError', retryable: true })
    expect(seen).toHaveLength(4)
  })

  test('is no stream', async () => {
    const { client, seen } = await serving(page)
    await expect(all(client().stream())).rejects.toThrow('the answer is no stream of moves')
    expect(seen).toHaveLength(2)
  })
})

test.each([301, 302, 303, 307, 308])('a redirect is not followed, but told: %i', async (status) => {
  const { client, seen } = await serving((_, response) =>
    response.writeHead(status, { location: 'http://127.0.0.1:1/there' }).end(),
  )
  const refusal = { name: 'Problem', status, retryable: false, detail: expect.stringContaining('127.0.0.1:1/there') }
  const { execute, startOperation, getContext, stream, sendEvents } = client({ token: 'secret' })
  await expect(execute(START)).rejects.toMatchObject(refusal)
  await expect(startOperation({ filter: {}, do: 'terminate' })).rejects.toMatchObject(refusal)
  await expect(getContext({ contextId: 1 })).rejects.toMatchObject(refusal)
  await expect(all(stream())).rejects.toMatchObject(refusal)
  await expect(all(sendEvents([{ event: 'e' }]))).rejects.toMatchObject(refusal)
  expect(seen).toHaveLength(5)
})

const ends = async ({ poured }: { readonly poured: { bytes: number } }, fails: Promise<unknown>) => {
  await expect(fails).rejects.toThrow('longer than')
  expect(poured.bytes).toBeGreaterThan(BOUND_BYTES)
  expect(poured.bytes).toBeLessThan(2 * BOUND_BYTES)
}
const open = (response: ServerResponse) => response.writeHead(200)

describe('an answer without end', () => {
  test('that is one line of a batch is ended', async () => {
    const pour = pouring(open, Buffer.alloc(1_048_576, 'x'))
    const { client } = await serving(pour.answer)
    await ends(pour, all(client({ retries: 0 }).sendEvents([{ event: 'e' }])))
  })

  test.each([
    ['line', Buffer.alloc(1_048_576, 'x')],
    ['message', Buffer.from(`data: ${'x'.repeat(1018)}\n`.repeat(1024))],
  ])('that is one %s of a stream is ended', async (_, piece) => {
    const pour = pouring(open, piece)
    const { client } = await serving(pour.answer)
    await ends(pour, all(client({ retries: 0 }).stream()))
  })

  test('that is no success is a problem all the same', async () => {
    const pour = pouring((response) => response.writeHead(400), Buffer.alloc(1_048_576, 'x'))
    const { client } = await serving(pour.answer)
    await expect(client().listContexts()).rejects.toMatchObject({ status: 400, detail: 'x'.repeat(1000) })
    expect(pour.poured.bytes).toBeLessThan(2 * BOUND_BYTES)
  })
})

test.each([
  ['7', 7],
  ['0.5', 0.5],
  ['-1', null],
  ['1,5', null],
  ['soon', null],
  ['9'.repeat(400), Infinity],
])('a time to wait is understood, or none: %s', async (header, retryAfter) => {
  const { client } = await serving((_, response) => response.writeHead(503, { 'retry-after': header }).end())
  await expect(client({ retries: 0 }).listContexts()).rejects.toMatchObject({ status: 503, retryAfter })
})

test('lines that nobody asked for are no answers', async () => {
  const { client } = await serving((_, response) => {
    response.writeHead(200)
    response.write('{"n":0,"status":200}\n'.repeat(3))
  })
  const [first, second, ...others] = await all(client().sendEvents([{ event: 'e' }]))
  expect(first).toEqual({ n: 0, status: 200 })
  expect(second).toEqual({ done: true, lines: 1, ok: 1, failed: 0 })
  expect(others).toEqual([])
})

test('a batch does not wait longer than a timer can', async () => {
  const { client, seen } = await serving((_, response) =>
    response.writeHead(503, { 'retry-after': '99999999999' }).end(),
  )
  await expect(all(client().sendEvents([{ event: 'e' }]))).rejects.toMatchObject({
    status: 503,
    retryAfter: 99999999999,
  })
  expect(seen).toHaveLength(1)
})

test.each([
  [
    { title: 'Only a title', type: 'urn:t' },
    { title: 'Only a title', detail: 'Only a title', type: 'urn:t' },
  ],
  [{ detail: 'd', title: 7, type: null, errors: 'none', contextId: '5', context: 1, hint: [] }, { detail: 'd' }],
  [{ detail: 'd', errors: [1, null, { pointer: '/a', detail: 'b' }] }, { errors: [{ pointer: '/a', detail: 'b' }] }],
  [{ message: 'no route' }, { detail: '{"message":"no route"}' }],
  [null, { detail: 'null' }],
])('a problem has the types that it says: %j', async (document, expected) => {
  const { client } = await serving((_, response) => response.writeHead(422).end(JSON.stringify(document)))
  const problem = await client()
    .listContexts()
    .catch((error: unknown) => error)
  expect(problem).toBeInstanceOf(Problem)
  expect(problem).toMatchObject({
    status: 422,
    type: 'about:blank',
    title: 'HTTP status 422',
    errors: [],
    contextId: null,
    context: null,
    hint: null,
    ...expected,
  })
})

test('calls share one listener of their signal', async () => {
  const refused = new Set<string | undefined>()
  const { client } = await serving(({ url }, response) => {
    if (refused.has(url)) response.end('[]')
    else response.writeHead(503).end()
    refused.add(url)
  })
  const { signal } = new AbortController()
  const calls = Array.from({ length: 30 }, (_, n) => client().listContexts({ limit: n + 1 }, { signal }))
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  await Promise.all(calls)
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
})

test('calls at once end with their signal', async () => {
  const { client } = await serving(() => undefined)
  const controller = new AbortController()
  const calls = Array.from({ length: 5 }, () => client().listContexts({}, { signal: controller.signal }))
  setTimeout(() => controller.abort(new Error('enough')), 20)
  for (const outcome of await Promise.allSettled(calls))
    expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'enough' } })
})

test('a source with an item that no line can have is closed', async () => {
  const { client } = await serving((_, response) => response.end())
  let isClosed = false
  async function* events() {
    try {
      yield { event: 'e', input: { n: Number.NaN } }
      yield { event: 'e' }
    } finally {
      isClosed = true
    }
  }
  await expect(all(client().sendEvents(events()))).rejects.toThrow('JSON has no such number')
  expect(isClosed).toBe(true)
})
