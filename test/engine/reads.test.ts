// Reads of large contexts: parsed as far as they are needed, one in a turn of the event loop, within a budget.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { FluxApi } from '../../src/api/calls.ts'
import { SYSTEM } from '../../src/model/caller.ts'
import { ReadScope } from '../../src/model/read-scope.ts'
import { openBench, type Bench } from '../support/engine.ts'

const FILES = {
  'p/Large.flux': {
    tags: ['big'],
    input: [{ name: 'v', type: 'any' }],
    states: [
      {
        name: 'W',
        waiting: true,
        transitions: [
          { event: 'go', to: 'W' },
          { event: 'end', to: 'E' },
        ],
      },
      { name: 'E' },
    ],
  },
}
/** 200,000 characters: more than are parsed in a turn together with others. */
const LARGE = { v: Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n.toString(36)}`, 1])) }
const LARGE_CHARACTERS = 100_000

let bench: Bench
let loop = 0
/** The turn of the event loop in which each large text was parsed. */
let parsed: number[] = []
let scopes: ReadScope[] = []

/** The calls of a request over HTTP. */
function request(signal?: AbortSignal): FluxApi {
  const scope = new ReadScope(signal)
  scopes.push(scope)
  return bench.engine.api(SYSTEM, undefined, scope)
}

const startLarge = () => bench.run('Large', LARGE)

beforeEach(() => {
  const parse = JSON.parse.bind(JSON)
  vi.spyOn(JSON, 'parse').mockImplementation((text: string, reviver?: Parameters<typeof JSON.parse>[1]) => {
    if (text.length > LARGE_CHARACTERS) parsed.push(loop)
    return parse(text, reviver)
  })
  ;[parsed, scopes] = [[], []]
})

afterEach(() => {
  vi.restoreAllMocks()
  for (const scope of scopes) scope.end()
})

async function counting<T>(run: () => Promise<T>): Promise<T> {
  let isOver = false
  const count = () => {
    loop += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  try {
    return await run()
  } finally {
    isOver = true
  }
}

test('events, states, waits, definitions and summaries do not parse the inputs, and neither does a refused event', async () => {
  bench = await openBench(FILES)
  const contextId = await startLarge()
  parsed = []
  const calls = request()
  expect((await calls.getContextEvents({ contextId })).events).toHaveLength(2)
  expect(await calls.getStateContext({ contextId, stateName: 'W' })).toMatchObject({ name: 'W' })
  expect(await calls.getDefinition({ contextId })).toMatchObject({ tags: ['big'] })
  expect(await calls.listContexts({ tag: ['big'], view: 'summary' })).toMatchObject([{ id: contextId }])
  await expect(calls.sendEvent({ contextId, event: 'other' })).rejects.toMatchObject({ failure: { kind: 'conflict' } })
  expect(parsed).toEqual([])
})

test('a version that another server has made is read, though this one keeps an earlier one', async () => {
  bench = await openBench(FILES)
  const contextId = await startLarge()
  const other = await openBench(FILES, { store: bench.parts.store, clock: bench.clock })
  await other.sendEvent({ contextId, event: 'go' })
  expect(await request().getContext({ contextId })).toMatchObject({ version: 2 })
})

test('callers in process, who may change what they are given, share nothing', async () => {
  bench = await openBench(FILES, { memory: { cache: 0 } })
  const contextId = await startLarge()
  parsed = []
  await Promise.all(Array.from({ length: 3 }, () => bench.getContext({ contextId })))
  expect(parsed).toHaveLength(3)
})

test('each large context is parsed in a turn of the event loop of its own, also for lists', async () => {
  bench = await openBench(FILES, { memory: { cache: 0 } })
  const ids = [await startLarge(), await startLarge(), await startLarge(), await startLarge()]
  parsed = []
  await counting(() =>
    Promise.all([
      ...ids.map((contextId) => request().getContext({ contextId })),
      ...ids.map(() => request().listContexts({ tag: ['big'], limit: 2 })),
    ]),
  )
  expect(parsed).toHaveLength(4 + 8)
  expect(new Set(parsed).size).toBe(parsed.length)
})

test('what does not fit into the memory waits until the answers before it are charged', async () => {
  bench = await openBench(FILES, { memory: { cache: 0, steps: 5_000_000 } })
  const ids = await Promise.all(Array.from({ length: 4 }, startLarge))
  parsed = []
  const reading = ids.map((contextId) => request().getContext({ contextId }))
  for (let turn = 0; turn < 200; turn += 1) await nextTurn()
  const before = parsed.length
  expect(before).toBeGreaterThan(0)
  expect(before).toBeLessThan(4)
  for (let turn = 0; turn < 200; turn += 1) {
    for (const scope of scopes) scope.end()
    await nextTurn()
  }
  expect(await Promise.all(reading)).toHaveLength(4)
  expect(parsed).toHaveLength(4)
})

test('nothing is parsed any more for clients that have gone, and their lists end', async () => {
  bench = await openBench(FILES, { memory: { cache: 0 } })
  const ids = await Promise.all(Array.from({ length: 12 }, startLarge))
  const gone = new AbortController()
  const left = new Error('the client has hung up')
  parsed = []
  const reading = [
    ...ids.map((contextId) => request(gone.signal).getContext({ contextId })),
    ...ids.map(() => request(gone.signal).listPage({ tag: ['big'] })),
  ]
  const ended = Promise.allSettled(reading)
  gone.abort(left)
  for (const outcome of await ended) expect(outcome).toEqual({ status: 'rejected', reason: left })
  expect(parsed).toEqual([])
})

test('a page ends after as much as was read for it, though it shows little of that', async () => {
  bench = await openBench(FILES)
  const ids: number[] = []
  for (let n = 0; n < 16; n += 1) ids.push(await startLarge())
  const seen: number[][] = []
  for (let after: number | null | undefined; after !== null;) {
    const page: Awaited<ReturnType<FluxApi['listPage']>> = await request().listPage(
      { limit: 1000, view: 'summary', after },
      () => true,
    )
    seen.push(page.contexts.map(({ id }) => id))
    after = page.next
  }
  expect(seen.flat()).toEqual(ids)
  expect(seen.length).toBeGreaterThan(1)
})
