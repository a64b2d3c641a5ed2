// The metrics of a server, scraped over a socket after traffic, on both stores: they say exactly what happened, and their
// labels stay few whatever is asked for.
import { randomUUID } from 'node:crypto'
import parse from 'parse-prometheus-text-format'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { openLive, raw, tokenOf, type Live } from '../http/live.ts'

vi.setConfig({ testTimeout: 60_000 })

const call = (methodName: string, more: object = {}) => ({
  states: [
    {
      name: 'call',
      action: { type: 'invokeCode', className: 'fns', methodName, ...more },
      transitions: [{ to: 'end' }],
    },
    { name: 'end' },
  ],
})

const SERVICES = {
  'p/Order.flux': {
    triggers: ['ordered'],
    states: [
      {
        name: 'open',
        waiting: true,
        transitions: [
          { event: 'hold', to: 'open' },
          { event: 'close', to: 'shut' },
        ],
      },
      { name: 'shut' },
    ],
  },
  'q/Order.flux': {
    secured: true,
    states: [{ name: 'rest', waiting: true, transitions: [{ event: 'never', to: 'rest' }] }],
  },
  'p/Good.flux': call('good'),
  'p/Bad.flux': call('bad'),
  'p/Twice.flux': call('twice', { retry: { maxAttempts: 2, delay: 0 } }),
  'p/Slow.flux': call('slow', { timeout: 0.05 }),
  'p/Timed.flux': {
    states: [{ name: 'nap', waiting: true, transitions: [{ wait: 'duration:0.2', to: 'end' }] }, { name: 'end' }],
  },
  'p/Hook.flux': {
    webhooks: [{ urlPath: '/hook/{nr}', httpMethods: ['GET'] }],
    input: [{ name: 'nr', type: 'integer' }],
    states: [{ name: 'only' }],
  },
  'p/fns.mjs': `const tried = new Set()
    export const good = () => ({})
    export const bad = () => { throw new Error('no') }
    export const twice = (_, { stepKey }) => { if (tried.has(stepKey)) return {}; tried.add(stepKey); throw new Error('once') }
    export const slow = () => new Promise(() => {})`,
}

type Families = ReturnType<typeof parse>

async function scrape(live: Live): Promise<Families> {
  const { status, text, headers } = await live.call('GET', '/metrics')
  expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  return parse(text)
}

/** The values of a counter or gauge, by its labels; of a histogram, how many values there were. */
function valuesOf(families: Families, name: string): { [labels: string]: number } {
  const family = families.find((one) => one.name === `actorflux_${name}`)
  expect(family, name).toBeDefined()
  return Object.fromEntries(
    (family?.metrics ?? []).map(({ labels = {}, value, count }) => [
      Object.values(labels).join(' '),
      Number(value ?? count),
    ]),
  )
}

/** The parser drops the labels of histograms: how many values there were, by their labels. */
const countsOf = (text: string, name: string): { [labels: string]: number } =>
  Object.fromEntries(
    [...text.matchAll(new RegExp(`^actorflux_${name}_count\\{(.*)\\} (\\d+)$`, 'gm'))].map(([, labels = '', count]) => [
      [...labels.matchAll(/"([^"]*)"/g)].map(([, value]) => value).join(' '),
      Number(count),
    ]),
  )

const STORES = [
  ['embedded', () => ({})],
  ['redis', () => ({ ACTORFLUX_REDIS_URL: inject('redisUrl'), ACTORFLUX_NAMESPACE: `test-${randomUUID()}` })],
] as const

describe.each(STORES)('on the store %s', (store, env) => {
  let live: Live
  beforeAll(async () => {
    live = await openLive(env(), SERVICES)
  })
  afterAll(() => live.close())

  const start = async (fluxName: string, more: object = {}): Promise<number> => {
    const { json } = await live.call('POST', '/flux-api/p/execute', { body: { fluxName }, ...more })
    return Number(Reflect.get(Object(json), 'contextId'))
  }
  const send = (event: string, query = '', more: object = {}) =>
    live.call('POST', `/flux-api/event${query}`, { body: { event, ...more } })
  const ended = (id: number) =>
    live.call('GET', `/flux-api/context/wait?contextId=${id}&status=COMPLETED,FAILED&timeout=20`)

  test('what is counted is what happened', async () => {
    const orders = [await start('Order'), await start('Order'), await start('Order')]
    const ended0 = await Promise.all(['Good', 'Good', 'Bad', 'Twice', 'Slow', 'Timed'].map((name) => start(name)))
    for (const id of ended0) await ended(id)
    for (let turn = 0; turn < 5; turn += 1) await send('hold', `?contextId=${orders[0]}`)
    await send('close', `?contextId=${orders[1]}`)
    await send('close', `?contextId=${orders[1]}`)
    await send('nothing', `?contextId=${orders[0]}`)
    await send('hold')
    await send('unheard')
    await send('ordered')
    await send('later', '', { ttl: 3600 })
    for (const nr of [1, 2, 3]) await live.call('GET', `/api/hook/${nr}`)
    await live.call('GET', '/api/hook/x')
    await live.call('GET', '/api/nowhere')
    const families = await scrape(live)
    expect(valuesOf(families, 'events_total')).toEqual({ moved: 8, refused: 2, ignored: 1, started: 1, pending: 1 })
    expect(valuesOf(families, 'moves_total')).toEqual({
      'p/Order': 4 + 5 + 1 + 2,
      'p/Good': 4,
      'p/Bad': 1,
      'p/Twice': 2,
      'p/Slow': 1,
      'p/Timed': 2,
      'p/Hook': 3,
    })
    expect(valuesOf(families, 'contexts')).toMatchObject({
      'p/Order WAITING': 3,
      'p/Order COMPLETED': 1,
      'p/Good COMPLETED': 2,
      'p/Bad FAILED': 1,
      'p/Bad COMPLETED': 0,
      'p/Twice COMPLETED': 1,
      'p/Slow FAILED': 1,
      'p/Hook COMPLETED': 3,
      'q/Order WAITING': 0,
    })
    expect(valuesOf(families, 'steps_total')).toEqual({
      'p/Good call ok': 2,
      'p/Bad call failed': 1,
      'p/Twice call retried': 1,
      'p/Twice call ok': 1,
      'p/Slow call timeout': 1,
    })
    expect(valuesOf(families, 'step_duration_seconds')).toEqual({ '': 6 })
    expect(valuesOf(families, 'steps_running')).toEqual({ '': 0 })
    expect(valuesOf(families, 'commit_conflicts_total')).toEqual({ '': 0 })
    expect(valuesOf(families, 'wakeup_lateness_seconds')['']).toBeGreaterThanOrEqual(1)
    expect(valuesOf(families, 'webhook_requests_total')).toEqual({
      '/hook/{nr} accepted': 3,
      '/hook/{nr} invalid': 1,
      'other refused': 1,
    })
    const { text } = await live.call('GET', '/metrics')
    expect(countsOf(text, 'http_request_duration_seconds')).toMatchObject({
      '/flux-api/{package}/execute POST 200': 9,
      '/flux-api/event POST 200': 10,
      '/flux-api/event POST 409': 2,
      '/api/hook/{nr} GET 204': 3,
      '/api/hook/{nr} GET 400': 1,
      'other GET 404': 1,
    })
    const commits = Object.entries(countsOf(text, 'commit_duration_seconds'))
    expect(commits).toEqual([[store, expect.toSatisfy((count: number) => count > 25)]])
    expect(families.find(({ name }) => name === 'actorflux_build_info')?.metrics).toEqual([
      { labels: { version: expect.stringMatching(/^\d+\.\d+\.\d+/), node: process.version }, value: '1' },
    ])
    const names = families.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['process_cpu_seconds_total', 'nodejs_eventloop_lag_seconds']))
    expect(new Set(names).size).toBe(names.length)
  })
})

const get = (live: Live, ...headers: readonly string[]) =>
  raw(live.url, ['GET /metrics HTTP/1.1', 'Host: localhost', 'Connection: close', ...headers, '', ''].join('\r\n'))

describe('the metrics', () => {
  test('have few labels, whatever is asked for', async () => {
    const live = await openLive({}, SERVICES)
    const send = (event: string) => live.call('POST', '/flux-api/event', { body: { event } })
    onTestFinished(() => live.close())
    const linesOf = async () =>
      (await live.call('GET', '/metrics')).text.split('\n').filter((line) => line.startsWith('actorflux_')).length
    await Promise.all([send(`e${-1}`), live.call('GET', '/nowhere/1'), live.call('GET', '/api/unknown/1')])
    await live.call('PROPFIND', '/flux-api/event')
    // The scrape is a request, too.
    await linesOf()
    const before = await linesOf()
    for (let n = 0; n < 1000; n += 50)
      await Promise.all(
        Array.from({ length: 50 }, async (_, at) => {
          await live.call('GET', `/nowhere/${n + at}`)
          await live.call('GET', `/api/unknown/${n + at}`)
          await send(`e${n + at}`)
        }),
      )
    await live.call('MKCOL', '/flux-api/event')
    expect(await linesOf()).toBe(before)
  })

  test('are for tokens that may read alone where every call needs one', async () => {
    const live = await openLive({ ACTORFLUX_REQUIRE_AUTH: 'true' }, SERVICES, { scraper: 'read' })
    onTestFinished(() => live.close())
    expect(await get(live)).toMatch(/^HTTP\/1.1 401 /)
    expect(await get(live, `Authorization: Bearer ${tokenOf('scraper')}`)).toMatch(/^HTTP\/1.1 200 /)
  })

  test('are for programs on this machine, and tokens that may read', async () => {
    const live = await openLive({}, SERVICES, { scraper: 'read' })
    const token = tokenOf('scraper')
    expect(await get(live)).toMatch(/^HTTP\/1.1 200 [^]*actorflux_build_info/)
    expect(await get(live)).toMatch(/\r\ncache-control: no-store\r\n/i)
    // A page that a browser shows may lead its name to this machine.
    const elsewhere = 'GET /metrics HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n'
    expect(await raw(live.url, elsewhere)).toMatch(/^HTTP\/1.1 421 /)
    const ofProxies = [
      'X-Real-IP',
      'Via',
      'X-Forwarded-Proto',
      'X-Forwarded-Host',
      'CF-Connecting-IP',
      'True-Client-IP',
    ]
    const headers = [...ofProxies, 'X-Envoy-External-Address', 'X-Forwarded-For', 'Forwarded']
    for (const header of [...headers.map((name) => `${name}: 127.0.0.1`), 'X-Forwarded-For:']) {
      expect(await get(live, header), header).toMatch(/^HTTP\/1.1 401 /)
      expect(await get(live, header, `Authorization: Bearer ${token}`)).toMatch(/^HTTP\/1.1 200 /)
    }
  })

  test('are for anybody if the setting says so', async () => {
    const live = await openLive({ ACTORFLUX_METRICS: 'open' }, SERVICES)
    expect(await get(live, 'X-Forwarded-For: 192.0.2.1')).toMatch(/^HTTP\/1.1 200 /)
  })
})
