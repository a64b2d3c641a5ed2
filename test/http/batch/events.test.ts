// Many events in one request, a line each, against a whole server.
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openLive, tokenOf, type Live } from '../live.ts'

const NDJSON = 'application/x-ndjson'

let live: Live
beforeAll(async () => {
  const known = { reader: 'read', writer: 'invoke', limited: { role: 'invoke', rate: '4/m' } } as const
  live = await openLive({}, undefined, known)
})
afterAll(() => live.close())

interface Line {
  readonly [field: string]: unknown
}

const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

const jsonLines = (values: readonly unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('')

async function send(
  body: string | Uint8Array,
  headers: { readonly [name: string]: string } = {},
  path = '/flux-api/events',
) {
  const response = await fetch(live.url + path, {
    method: 'POST',
    body,
    headers: { 'content-type': NDJSON, ...headers },
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text }
}

const start = async (fluxName = 'Waiter') =>
  ((await live.call('POST', '/flux-api/p/execute', { body: { fluxName } })).json as { contextId: number }).contextId

const hold = (contextId: number, eventId: string) => ({ event: 'hold', contextId, eventId, input: { by: 'Ada' } })

const PROBLEM = { type: expect.any(String), title: expect.any(String), detail: expect.any(String) }

test('each line counts for the rate of a token, and what is beyond it is refused by itself', async () => {
  const headers = { authorization: `Bearer ${tokenOf('limited')}` }
  // The request itself is the first call; lines that can't be read count, and empty ones don't.
  expect((await send('', headers)).headers.get('ratelimit')).toContain('r=3')
  const lines = ['{"event":"nobody"}', '', 'no JSON', '{"event":"nobody"}', '{"event":"nobody"}', '']
  const answered = await send(lines.join('\n'), headers)
  expect(answered.headers.get('ratelimit')).toContain('r=2')
  const told = linesOf(answered.text)
  expect(told.map(({ status }) => status)).toEqual([200, 400, 429, 429, undefined])
  expect(told[2]).toMatchObject({ problem: { type: 'urn:actorflux:problem:rate-limited' } })
  expect(told[2]?.['retryAfter']).toBeGreaterThan(10)
})

describe('a stream of events', () => {
  test('has an answer for each line, in order, and a last line', async () => {
    const id = await start()
    const { status, headers, text } = await send(
      jsonLines([
        { event: 'hold', contextId: id, input: { by: 'Ada' }, eventId: 'mine' },
        { event: 'hold', contextId: id },
        { event: 'hold', contextId: 999_999 },
        { event: 'close', contextId: id, input: { by: 'Ada' } },
        { event: 'close', contextId: id, input: { by: 'Ada' } },
        { event: 'nobody waits for this' },
      ]),
    )
    expect([status, headers.get('content-type')]).toEqual([200, NDJSON])
    expect(linesOf(text)).toEqual([
      {
        n: 0,
        status: 200,
        transitions: [{ contextId: id, state: 'open' }],
        executions: [],
        ignored: [],
        eventId: 'mine',
        pending: [],
      },
      { n: 1, status: 422, problem: expect.objectContaining({ ...PROBLEM, status: 422 }) },
      { n: 2, status: 404, problem: expect.objectContaining(PROBLEM) },
      expect.objectContaining({ n: 3, status: 200, transitions: [{ contextId: id, state: 'shut' }] }),
      { n: 4, status: 409, problem: expect.objectContaining(PROBLEM) },
      expect.objectContaining({
        n: 5,
        status: 200,
        transitions: [],
        eventId: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-7/),
      }),
      { done: true, lines: 6, ok: 3, failed: 3 },
    ])
  })

  test('answers lines that repeat an event of the same request as its repeats', async () => {
    const [id, other] = [await start(), await start()]
    const twice = [hold(id, 'same'), hold(other, 'another'), hold(id, 'same'), hold(id, 'same')]
    const toAll = { event: 'nobody waits for this', eventId: 'same-for-all' }
    const changed = { ...hold(id, 'same'), input: { other: 1 } }
    const { text } = await send(jsonLines([...twice, toAll, toAll, hold(other, 'same'), changed]))
    expect(linesOf(text).map(({ status, replayed }) => [status, replayed])).toEqual([
      [200, undefined],
      [200, undefined],
      [200, true],
      [200, true],
      [200, undefined],
      [200, true],
      [200, undefined],
      [422, undefined],
      [undefined, undefined],
    ])
  })

  test('passes over empty lines, takes CR LF, a byte order mark and a missing last line feed', async () => {
    const { text } = await send('\uFEFF{"event":"x"}\r\n\r\n \t\r\n\n{"event":"y"}\n\n\n{"event":"z"}')
    expect(linesOf(text).map(({ n, status, done, lines }) => [n ?? done, status ?? lines])).toEqual([
      [0, 200],
      [1, 200],
      [2, 200],
      [true, 3],
    ])
  })

  test('goes on after lines that are wrong', async () => {
    const deep = `{"event":"x","input":{"a":${'['.repeat(70)}${']'.repeat(70)}}}`
    const wrong = ['{}', '[]', 'null', '{"event":', deep, '{"event":"x","evnet":1}', '{"event":"x","waits":true}']
    const invalid = Buffer.concat([Buffer.from('{"event":"'), Buffer.from([0xff]), Buffer.from('"}\n')])
    const { text } = await send(
      Buffer.concat([Buffer.from(`${wrong.join('\n')}\n`), invalid, Buffer.from('{"event":"x"}')]),
    )
    const lines = linesOf(text)
    expect(lines.map(({ status }) => status)).toEqual([...wrong.map(() => 400), 400, 200, undefined])
    for (const [index, body] of wrong.entries()) {
      const single = await live.call('POST', '/flux-api/event', { body })
      const { instance: _instance, ...problem } = single.json as { instance: string }
      expect(lines[index]?.['problem'], body).toEqual(problem)
    }
    expect(lines.at(-1)).toEqual({ done: true, lines: 9, ok: 1, failed: 8 })
  })

  test('answers failures and the last line only, if asked to', async () => {
    const { headers, text } = await send('{"event":"x"}\n{}\n{"event":"x"}\n', { prefer: 'foo, return=minimal; a=b' })
    expect(headers.get('preference-applied')).toBe('return=minimal')
    expect(linesOf(text)).toEqual([
      expect.objectContaining({ n: 1, status: 400 }),
      { done: true, lines: 3, ok: 2, failed: 1 },
    ])
  })

  test('may be compressed', async () => {
    const { text } = await send(gzipSync('{"event":"x"}\n'.repeat(5000)), { 'content-encoding': 'gzip' })
    expect(linesOf(text).at(-1)).toEqual({ done: true, lines: 5000, ok: 5000, failed: 0 })
  })

  test('ends where it can not be unpacked', async () => {
    const whole = gzipSync('{"event":"x"}\n'.repeat(100))
    for (const broken of [
      whole.subarray(0, -12),
      Buffer.from('no gzip at all'),
      Buffer.concat([whole.subarray(0, 20), whole]),
    ]) {
      const { status, text } = await send(broken, { 'content-encoding': 'gzip' })
      expect([status, linesOf(text).at(-1)]).toEqual([
        200,
        expect.objectContaining({ done: false, problem: expect.objectContaining({ status: 400 }) }),
      ])
    }
  })

  test('is refused as a whole before its first line', async () => {
    const refused: [number, { [name: string]: string }, string?][] = [
      [401, { authorization: 'Bearer nonsense' }],
      [403, { origin: 'https://elsewhere.example' }],
      [406, { accept: 'application/xml' }],
      [415, { 'content-type': 'application/json' }],
      [415, { 'content-type': `${NDJSON}; charset=latin1` }],
      [415, { 'content-encoding': 'br' }],
      [400, { 'idempotency-key': 'k' }],
      [400, {}, '/flux-api/events?contextId=1'],
    ]
    for (const [status, headers, path] of refused) {
      const answer = await send('{"event":"x"}\n', headers, path)
      expect([answer.status, answer.headers.get('content-type')?.includes('problem')]).toEqual([status, true])
    }
    expect(
      linesOf((await send('{"event":"x"}\n', { authorization: `Bearer ${tokenOf('reader')}` })).text),
    ).toHaveLength(2)
  })

  test('judges the rights of each line by its service', async () => {
    const [reader, writer] = [tokenOf('reader'), tokenOf('writer')]
    const secret = (await live.call('POST', '/flux-api/p/execute', { body: { fluxName: 'Secret' }, token: writer }))
      .json as { contextId: number }
    const lines = jsonLines([
      { event: 'hold', contextId: secret.contextId, input: { by: 'x' } },
      { event: 'hold', contextId: await start(), input: { by: 'x' } },
    ])
    const statuses = async (headers: { [name: string]: string }) =>
      linesOf((await send(lines, headers)).text).map(({ status }) => status)
    expect(await statuses({})).toEqual([401, 200, undefined])
    expect(await statuses({ authorization: `Bearer ${reader}` })).toEqual([403, 200, undefined])
    expect(await statuses({ authorization: `Bearer ${writer}` })).toEqual([200, 200, undefined])
  })
})

describe('a stream of starts', () => {
  test('has the id of each context', async () => {
    const { text } = await send(
      jsonLines([
        { fluxName: 'Waiter', input: { tag: 't' }, idempotencyKey: 'k1' },
        { fluxName: 'Nobody' },
        { fluxName: 'Secret' },
        { fluxName: 'Waiter', input: { tag: 1, more: 2 } },
        { fluxName: 'Waiter', idempotencyKey: '' },
      ]),
      {},
      '/flux-api/p/executes',
    )
    expect(linesOf(text)).toEqual([
      { n: 0, status: 200, contextId: expect.any(Number), started: true },
      expect.objectContaining({ n: 1, status: 404 }),
      expect.objectContaining({ n: 2, status: 401 }),
      expect.objectContaining({ n: 3, status: 422 }),
      expect.objectContaining({ n: 4, status: 400 }),
      { done: true, lines: 5, ok: 1, failed: 4 },
    ])
  })

  test('answers lines under one key as repeats of the first', async () => {
    const line = { fluxName: 'Waiter', idempotencyKey: 'the-same' }
    const { text } = await send(
      jsonLines([line, line, { ...line, input: { tag: 'other' } }]),
      {},
      '/flux-api/p/executes',
    )
    const [first, second, other] = linesOf(text)
    expect(second).toEqual({ ...first, n: 1, replayed: true })
    expect(other).toMatchObject({ status: 422, problem: { type: 'urn:actorflux:problem:idempotency-mismatch' } })
  })

  test('of 3,000 lines starts 3,000 contexts', async () => {
    const { text } = await send('{"fluxName":"Open"}\n'.repeat(3000), {}, '/flux-api/p/executes')
    const lines = linesOf(text)
    expect(new Set(lines.map(({ contextId }) => contextId)).size).toBe(3001)
    expect(lines.map(({ n }) => n)).toEqual([...Array.from({ length: 3000 }, (_, n) => n), undefined])
  })
})
