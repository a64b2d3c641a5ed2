// Many events and starts in one request: against a real server, through a connection that breaks, in requests that are
// streamed and in ones that are not.
import { EventEmitter, once } from 'node:events'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createClient, type Client, type ClientOptions } from '../../src/client/client.ts'
import { cleanUp, placeFor, startServer } from '../support/server.ts'
import { SERVICES } from './services.ts'

let client: Client
let url: string
beforeAll(async () => {
  const place = await placeFor(SERVICES)
  ;({ url } = await startServer({ program: inject('program'), ...place }))
  client = createClient({ url })
})
afterAll(cleanUp)

/** A platform that gives the answer only when the request is complete, as browsers and some proxies. */
const halfDuplex: ClientOptions['fetch'] = async (target, init) => {
  if (!(init.body instanceof ReadableStream)) return fetch(target, init)
  const { body, ...rest } = init
  return fetch(target, { ...rest, body: await new Response(body).text() })
}

async function collected<Line>(lines: AsyncIterable<Line>): Promise<Line[]> {
  const all: Line[] = []
  for await (const line of lines) all.push(line)
  return all
}

const starts = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ fluxName: 'Order', input: { item: `tea ${n}` } }))

const idsIn = (lines: readonly object[]): number[] =>
  lines.flatMap((line) => ('contextId' in line && typeof line.contextId === 'number' ? [line.contextId] : []))

async function* later<Item>(items: readonly Item[], after: Promise<unknown>): AsyncGenerator<Item> {
  for (const [index, item] of items.entries()) {
    if (index === items.length - 1) await after
    yield item
  }
}

describe('lines', () => {
  test('are answered in order, refused ones among them, and by a last one', async () => {
    const lines = await collected(client.executeMany('shop', [...starts(2), { fluxName: 'Nobody' }, ...starts(1)]))
    expect(lines).toMatchObject([
      { n: 0, status: 200, started: true },
      { n: 1, status: 200 },
      { n: 2, status: 404, problem: { status: 404 } },
      { n: 3, status: 200 },
      { done: true, lines: 4, ok: 3, failed: 1 },
    ])
    const events = idsIn(lines).map((contextId) => ({ contextId, event: 'paid', input: { amount: 1 } }))
    expect(await collected(client.sendEvents(new Set(events)))).toMatchObject([
      ...events.map(({ contextId }, n) => ({ n, status: 200, transitions: [{ contextId, state: 'Paid' }] })),
      { done: true, lines: 3, ok: 3, failed: 0 },
    ])
  })

  test('of none are answered by a last one', async () => {
    expect(await collected(client.sendEvents([]))).toEqual([{ done: true, lines: 0, ok: 0, failed: 0 }])
  })

  test('are answered while the request goes on', async () => {
    const answers = new EventEmitter()
    const seen: object[] = []
    for await (const line of client.executeMany('shop', later(starts(3), once(answers, 'two')))) {
      seen.push(line)
      if (seen.length === 2) answers.emit('two')
    }
    expect(seen).toHaveLength(4)
  })

  test('may be more than are sent at a time', async () => {
    const lines = await collected(client.executeMany('shop', starts(3000)))
    expect(new Set(idsIn(lines)).size).toBe(3000)
    expect(lines.slice(0, -1).map((line) => ('n' in line ? line.n : -1))).toEqual(
      Array.from({ length: 3000 }, (_, n) => n),
    )
    expect(lines.at(-1)).toEqual({ done: true, lines: 3000, ok: 3000, failed: 0 })
  })

  test('are sent in complete requests where the answer comes only then', async () => {
    let requests = 0
    const half = createClient({
      url,
      fetch(target, init) {
        requests += 1
        return halfDuplex(target, init)
      },
    })
    const lines = await collected(half.executeMany('shop', starts(2500)))
    expect(new Set(idsIn(lines)).size).toBe(2500)
    expect(lines.at(-1)).toEqual({ done: true, lines: 2500, ok: 2500, failed: 0 })
    expect(requests).toBeGreaterThan(2)
  })
})

function* cutOff() {
  yield* starts(2)
  throw new Error('the file ends here')
}

describe('a source', () => {
  test('is read no further than the answers are taken', async () => {
    let pulled = 0
    function* endless() {
      for (;;) {
        pulled += 1
        yield { fluxName: 'Order', input: { item: 'tea' } }
      }
    }
    let taken = 0
    let most = 0
    for await (const _ of client.executeMany('shop', endless())) {
      taken += 1
      most = Math.max(most, pulled - taken)
      if (taken === 50) {
        // Whatever could be read while nobody takes answers has been read by then.
        await new Promise((resolve) => setTimeout(resolve, 300))
        most = Math.max(most, pulled - taken)
      }
      if (taken === 3000) break
    }
    expect(most).toBeLessThanOrEqual(1025)
    const atEnd = pulled
    await client.listServices()
    expect(pulled).toBe(atEnd)
  })

  test('is closed when the answers are not wanted any more', async () => {
    let isClosed = false
    async function* source() {
      try {
        for (;;) yield { fluxName: 'Order', input: { item: 'tea' } }
      } finally {
        isClosed = true
      }
    }
    for await (const _ of client.executeMany('shop', source())) break
    await expect.poll(() => isClosed).toBe(true)
  })

  test('that fails does so after the answers to what it gave', async () => {
    const seen: object[] = []
    const reading = (async () => {
      for await (const line of client.executeMany('shop', cutOff())) seen.push(line)
    })()
    await expect(reading).rejects.toThrow('the file ends here')
    expect(idsIn(seen)).toHaveLength(2)
  })

  test('that has nothing yet does not outlast the signal', async () => {
    const controller = new AbortController()
    for (const fetchFor of [undefined, halfDuplex]) {
      async function* silent() {
        await new Promise(() => {})
        yield* starts(1)
      }
      const waiting = collected(
        createClient({ url, fetch: fetchFor }).executeMany('shop', silent(), { signal: controller.signal }),
      )
      setTimeout(() => controller.abort(new Error('enough')), 20)
      await expect(waiting).rejects.toThrow('enough')
    }
  })
})
