// What a stranger's requests for pages may cost: how many are made at once, how much they read, and how large they are.
import { expect, test } from 'vitest'
import type { FluxApi } from '../../src/api/calls.ts'
import type { ContextView } from '../../src/api/contexts.ts'
import { createInspector } from '../../src/inspector/inspector.tsx'
import { jsonText } from '../../src/inspector/parts/cut-text.tsx'
import { ANONYMOUS } from '../../src/model/caller.ts'
import { encodeXml } from '../../src/http/formats/xml/encode.ts'
import { statusOf } from '../../src/http/formats/problem.ts'
import { turnsDuring } from '../support/turns-during.ts'
import { contextView, fakeApi, memoryLog } from '../http/support.ts'

const HEALTH = {
  trouble: null,
  store: 'embedded',
  runId: 'r',
  uptimeMs: 1,
  lagMs: 0,
  memoryBytes: 1,
  steps: [],
  servers: [],
}

function pagesOf(overrides: Partial<FluxApi>) {
  const { api } = fakeApi(overrides)
  const app = createInspector({
    api: () => api,
    authenticate: () => ANONYMOUS,
    requireAuth: false,
    now: () => 1_000_000,
    log: memoryLog().log,
    version: '1',
    health: () => Promise.resolve(HEALTH),
    checkHost() {},
    checkCall() {},
    statusOf,
    takeQuota: () => {},
    xmlOf: encodeXml,
    readForm: () => Promise.resolve(new Map()),
    stream: () => Promise.reject(new Error('not here')),
  })
  return async (path: string) => {
    const response = await app.request(path)
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
}

const contextPages = (view: ContextView) =>
  pagesOf({
    getContext: () => Promise.resolve(view),
    getDefinition: () => Promise.resolve({}),
  })

const manyProperties = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ name: `v${index}`, type: 'string' as const, value: 'x'.repeat(100) }))

test.each(['/wake-ups', '/health', '/contexts', '/contexts/7', '/deliveries', '/'])(
  'of %s only so many are made at once, and others are refused',
  async (path) => {
    let [begun, release] = [0, () => {}]
    const until = new Promise<void>((resolve) => {
      release = resolve
    })
    const wait = async (): Promise<never> => {
      begun += 1
      await until
      throw new Error('the test is over')
    }
    const get = pagesOf({
      listPage: wait,
      getContext: wait,
      listServices: wait,
      listDeliveriesPage: wait,
    })
    const answers = Array.from({ length: 200 }, () => get(path))
    const refused = await Promise.race(answers)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('1')
    release()
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    expect(begun).toBeLessThanOrEqual(path === '/contexts' ? 128 : 64)
    expect(statuses.filter((status) => status === 500).length).toBeLessThanOrEqual(64)
    // All have given back their places.
    expect((await get(path)).status).toBe(500)
  },
)

test('pages that are made without a pause let others be served in between', async () => {
  const get = contextPages(contextView(7))
  const made = Promise.all(Array.from({ length: 8 }, () => get('/contexts/7')))
  const turns = await turnsDuring(made)
  expect((await made).map(({ status }) => status)).toEqual(Array(8).fill(200))
  // One between two of them.
  expect(turns).toBeGreaterThanOrEqual(7)
})

test('the page of wake-ups does not read on without end where lists end early', async () => {
  let reads = 0
  const get = pagesOf({
    listPage: () => {
      reads += 1
      return Promise.resolve({ contexts: [], next: reads < 1000 ? reads : null })
    },
  })
  const { status, text } = await get('/wake-ups')
  expect(status).toBe(200)
  expect(reads).toBeLessThanOrEqual(10)
  expect(text).toContain('There are more than these charts count.')
})

test('a page of data has a bound, however many values there are', async () => {
  const view = contextView(7)
  const large = { ...view.input, gloopProperties: manyProperties(50_000) }
  const state = { name: 'a', input: large, output: large, transitionContexts: [] }
  const get = contextPages({ ...view, input: large, stateContexts: [state] })
  const { status, text } = await get('/contexts/7?tab=Data')
  expect(status).toBe(200)
  expect(text.length).toBeLessThan(1_000_000)
  expect(text).toContain('<dt>v0</dt>')
  expect(text).toContain('49000 more are left out here: the API shows them.')
})

test('a page of a context has a bound, however many events and inputs there are', async () => {
  const names = Array.from({ length: 3000 }, (_, index) => `name${index}`)
  const input = { properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) }
  const page = pagesOf({
    getContext: () => Promise.resolve(contextView(7)),
    getDefinition: () => Promise.resolve({}),
    getContextEvents: async () => ({
      contextId: 7,
      state: 'a',
      status: 'WAITING',
      events: names.map((event) => ({ event, to: 'b', input })),
      else: null,
      timed: null,
      others: names.map((event) => ({ event: `other ${event}`, states: ['b'], reason: 'is taken in b' })),
    }),
  })
  const { status, text } = await page('/contexts/7')
  expect(status).toBe(200)
  expect(text.length).toBeLessThan(200_000)
  // The first has its form, and what is left out is told.
  expect(text).toContain('name="input.name0"')
  expect(text).toContain('2800 more inputs are left out here')
  expect(text).toContain('2999 more events')
})

test('JSON in a page takes what is shown, not what there is', () => {
  let read = 0
  const items = Array.from({ length: 10_000 }, () => ({
    get value() {
      read += 1
      return 'x'.repeat(100)
    },
  }))
  const { text, isCut } = jsonText({ items }, 5000, 2)
  expect([text.length, isCut]).toEqual([5000, true])
  expect(read).toBeLessThan(100)
})

test.each([
  {},
  [],
  { a: [], b: {}, c: [1, null, true, 'é"\n', -0.5], 'a "b"': { d: { e: [{}] } } },
  [[[]], [{ a: undefined, b: 1 }]],
])('JSON that is short is that of JSON.stringify', (value) => {
  expect(jsonText(value, 10_000, 2)).toEqual({ text: JSON.stringify(value, null, 2), isCut: false })
  expect(jsonText(value, 10_000)).toEqual({ text: JSON.stringify(value), isCut: false })
})
