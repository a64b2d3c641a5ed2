// Traces: what a client names in `traceparent` reaches functions and the requests of services; with an SDK, there are
// spans from the request to the step. Both over a socket; the receiver is a server of the test.
import { context, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base'
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { traceparentOf } from '../../src/http/socket/observe.ts'
import { openTraces } from '../../src/observe/traces.ts'
import { openLive, type Live } from '../http/live.ts'
import { listening, shut } from '../support/listening.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const GIVEN = `00-${TRACE}-00f067aa0ba902b7-01`

const set = (expression: string, ...to: string[]) => ({ type: 'set', expression, evaluate: true, to })
const code = (className: string, methodName: string, more: object = {}) => ({
  action: { type: 'invokeCode', className, methodName, ...more },
})

const service = (url: string, awaited: object) => ({
  output: [{ name: 'here' }, { name: 'apart' }],
  states: [
    {
      name: 'open',
      waiting: true,
      transitions: [{ ...awaited, to: 'request' }],
    },
    {
      name: 'request',
      ...code('Http', 'request', { inputs: [set(`'${url}/request'`, 'url')] }),
      transitions: [{ to: 'tell' }],
    },
    {
      name: 'tell',
      ...code('fns', 'tell', { outputs: [{ from: ['seen'], to: ['here'] }] }),
      transitions: [{ to: 'apart' }],
    },
    {
      name: 'apart',
      ...code('fns', 'tell', { isolate: true, outputs: [{ from: ['seen'], to: ['apart'] }] }),
      transitions: [{ to: 'post' }],
    },
    {
      name: 'post',
      ...code('Webhooks', 'send', {
        inputs: [set(`'${url}/post'`, 'url'), set(`'c2VjcmV0IHNlY3JldCBzZWNyZXQh'`, 'secret')],
      }),
      transitions: [{ to: 'end' }],
    },
    { name: 'end' },
  ],
})

const services = (url: string) => ({
  'p/Call.flux': service(url, { event: 'go' }),
  'p/Timed.flux': service(url, { wait: 'duration:0.1' }),
  'p/fns.mjs': 'export const tell = (_, { traceparent }) => ({ seen: traceparent ?? null })',
})

/** What the receiver got, `traceparent` by path. */
const came = new Map<string, string | undefined>()
let url = ''
const receiver = createServer(({ url: path = '', headers }, response) => {
  came.set(path, headers['traceparent']?.toString())
  response.end()
})

beforeAll(async () => {
  url = `http://127.0.0.1:${await listening(receiver)}`
})
afterAll(() => shut(receiver))

async function open(): Promise<Live> {
  came.clear()
  const live = await openLive({ ACTORFLUX_ALLOW_PRIVATE_ADDRESSES: 'true' }, services(url))
  onTestFinished(() => live.close())
  return live
}

async function call(live: Live, path: string, body: object, traceparent?: string): Promise<number> {
  const headers = { 'content-type': 'application/json', ...(traceparent !== undefined && { traceparent }) }
  const response = await fetch(live.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const answer: unknown = await response.json()
  return Number(Reflect.get(Object(answer), 'contextId'))
}

const start = (live: Live, fluxName: string, traceparent?: string) =>
  call(live, '/flux-api/p/execute', { fluxName }, traceparent)
const go = (live: Live, id: number, traceparent?: string) =>
  call(live, `/flux-api/event?contextId=${id}`, { event: 'go' }, traceparent)

/** What the functions saw, the isolated one last. */
async function seen(live: Live, id: number): Promise<unknown[]> {
  const { json } = await live.call('GET', `/flux-api/context/wait?contextId=${id}&status=COMPLETED,FAILED&timeout=20`)
  expect(Reflect.get(Object(json), 'status'), JSON.stringify(json)).toBe('COMPLETED')
  const { gloopProperties: values } = Reflect.get(Object(json), 'output')
  const outputs = values.map((property: object) => Reflect.get(property, 'value') ?? undefined)
  return [came.get('/request'), ...outputs, came.get('/post')]
}

describe('without an SDK', () => {
  test('nothing is traced', () => {
    expect(openTraces()).toBeNull()
  })

  test('the trace of the start is passed on, also after a wait', async () => {
    const live = await open()
    expect(await seen(live, await start(live, 'Timed', GIVEN))).toEqual([GIVEN, GIVEN, GIVEN, GIVEN])
  })

  test('that of a later sender is passed on instead', async () => {
    const live = await open()
    const id = await start(live, 'Call', GIVEN.replace('4bf9', 'ffff'))
    await go(live, id, GIVEN)
    expect(await seen(live, id)).toEqual([GIVEN, GIVEN, GIVEN, GIVEN])
  })

  test.each([undefined, 'nonsense', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`])('%s is none', async (header) => {
    const live = await open()
    expect(await seen(live, await start(live, 'Timed', header))).toEqual([undefined, undefined, undefined, undefined])
  })
})

test.each([
  [GIVEN, GIVEN],
  [`${GIVEN}-more`, undefined],
  [GIVEN.replace(/^00/, '01'), GIVEN],
  [`${GIVEN.replace(/^00/, '01')}-more`, GIVEN],
  [`${GIVEN.replace(/^00/, '01')}more`, undefined],
  [GIVEN.replace(/^00/, 'ff'), undefined],
  [GIVEN.toUpperCase(), undefined],
  [['a'], undefined],
])('the header %s', (header, expected) => {
  expect(traceparentOf(header)).toBe(expected)
})

describe('with an SDK', () => {
  const exporter = new InMemorySpanExporter()
  const manager = new AsyncLocalStorageContextManager()
  beforeAll(() => {
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
    expect(trace.setGlobalTracerProvider(provider)).toBe(true)
    context.setGlobalContextManager(manager.enable())
  })
  afterAll(() => {
    trace.disable()
    context.disable()
  })

  const named = (name: string): ReadableSpan[] =>
    exporter.getFinishedSpans().filter((span) => span.name === name || span.name.startsWith(`${name} `))

  test('spans lead from the request to the step', async () => {
    exporter.reset()
    const live = await open()
    const id = await start(live, 'Call')
    await go(live, id, GIVEN)
    await seen(live, id)
    const [request] = named('request POST /flux-api/event')
    expect(request?.spanContext().traceId).toBe(TRACE)
    expect(request?.parentSpanContext?.spanId).toBe('00f067aa0ba902b7')
    const turn = named('turn').find((span) => span.parentSpanContext?.spanId === request?.spanContext().spanId)
    expect(turn?.spanContext().traceId).toBe(TRACE)
    const commit = named('commit').find((span) => span.parentSpanContext?.spanId === turn?.spanContext().spanId)
    expect(commit).toBeDefined()
    const steps = await vi.waitFor(() => {
      const all = named('step p/Call')
      expect(all.map(({ name }) => name.split(' ').at(-1))).toEqual(['request', 'tell', 'apart', 'post'])
      return all
    })
    expect(steps.map((step) => step.spanContext().traceId)).toEqual([TRACE, TRACE, TRACE, TRACE])
    expect(steps[0]?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId)
    expect(came.get('/request')).toBe(`00-${TRACE}-${steps[0]?.spanContext().spanId}-01`)
    expect(came.get('/post')).toBe(`00-${TRACE}-${steps[3]?.spanContext().spanId}-01`)
  })

  test('a step after a wait begins a trace that is linked to the sender', async () => {
    exporter.reset()
    const live = await open()
    await seen(live, await start(live, 'Timed', GIVEN))
    const [request] = named('request POST /flux-api/{package}/execute')
    const [step] = await vi.waitFor(() => {
      const all = named('step p/Timed request')
      expect(all).toHaveLength(1)
      return all
    })
    expect(step?.parentSpanContext).toBeUndefined()
    expect(step?.spanContext().traceId).not.toBe(TRACE)
    expect(step?.links.map(({ context: { traceId, spanId } }) => [traceId, spanId])).toEqual([
      [TRACE, request?.spanContext().spanId],
    ])
  })

  test('a stream of moves has a span, which ends with it', async () => {
    exporter.reset()
    const live = await open()
    const reader = new AbortController()
    const response = await fetch(`${live.url}/flux-api/stream`, { signal: reader.signal })
    await response.body?.getReader().read()
    expect(named('request')).toEqual([])
    reader.abort()
    const [span] = await vi.waitFor(() => {
      const all = named('request')
      expect(all).toHaveLength(1)
      return all
    })
    expect([span?.name, span?.attributes['http.response.status_code']]).toEqual(['request GET /flux-api/stream', 200])
  })

  const opened = () => {
    exporter.reset()
    const traces = openTraces()
    if (traces === null) throw new Error('an SDK is loaded')
    return traces
  }
  const other = GIVEN.replace('4bf9', 'aaaa').replace(/01$/, '00')

  test('a turn of several senders is in the trace of the first, and linked to the others', () => {
    const turn = opened().turn(7, [GIVEN, other])
    turn.commit()(false)
    turn.end()
    const [span] = named('turn')
    expect(span?.spanContext().traceId).toBe(TRACE)
    expect(span?.attributes).toEqual({ 'actorflux.context_id': 7 })
    expect(span?.links.map(({ context: { traceId, traceFlags } }) => [traceId, traceFlags])).toEqual([
      [TRACE.replace('4bf9', 'aaaa'), 0],
    ])
    expect(named('commit').map(({ status }) => status.code)).toEqual([SpanStatusCode.ERROR])
  })

  test('a commit that was done is no error', () => {
    opened().turn(null, []).commit()(true)
    expect(named('commit').map(({ status }) => status.code)).toEqual([SpanStatusCode.UNSET])
  })

  test.each([
    ['/a/{b}', 499, 'request GET /a/{b}', SpanStatusCode.UNSET],
    ['/a/{b}', 500, 'request GET /a/{b}', SpanStatusCode.ERROR],
    [null, 404, 'request GET', SpanStatusCode.UNSET],
    ['/a/{b}', null, 'request GET /a/{b}', SpanStatusCode.UNSET],
  ])('a request of the route %s that ends with %s', (route, status, name, code) => {
    opened().request('GET', undefined).end(route, status)
    const [span] = named('request')
    const shown = span?.attributes['http.response.status_code'] ?? null
    expect([span?.name, span?.status.code, shown]).toEqual([name, code, status])
    expect(span?.attributes['http.route']).toBe(route ?? undefined)
  })

  test('a step that goes on at once has no link, and its error has a type', () => {
    const step = { contextId: 7, service: 'p/F', state: 's', attempt: 2 }
    const traces = opened()
    traces.step({ ...step, parent: GIVEN, sender: other }).end('TimeoutError')
    traces.step({ ...step, parent: undefined, sender: other }).end(null)
    const [failed, later] = named('step p/F')
    expect([failed?.links, failed?.status.code, failed?.attributes['error.type']]).toEqual([
      [],
      SpanStatusCode.ERROR,
      'TimeoutError',
    ])
    expect([later?.links.length, later?.status.code]).toEqual([1, SpanStatusCode.UNSET])
    // What is passed on says whether the trace is recorded, in two digits.
    expect(traces.request('GET', GIVEN).traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`))
  })
})
