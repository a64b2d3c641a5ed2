// What metrics cost an event: the same process decides and commits events by id in two engines, one of which counts and
// nobody scrapes it, in turns; and what the calls of one event and one request take by themselves.
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { Hono } from 'hono'
import { NO_SIGNALS } from '../../src/engine/contexts/deps.ts'
import { requestEnded, routeFinder } from '../../src/http/socket/observe.ts'
import { TimedResponse } from '../../src/http/socket/response.ts'
import type { Engine } from '../../src/engine/engine.ts'
import type { Move } from '../../src/model/context.ts'
import { SYSTEM } from '../../src/model/caller.ts'
import { ServerMetrics } from '../../src/observe/metrics.ts'
import type { Signals } from '../../src/ports/signals.ts'
import { openBench } from '../support/engine.ts'
import type { Env } from '../../src/http/request/incoming.ts'
import { percentiles } from './load.ts'

const CONTEXTS = 64
/** Events of one round, of which the first is not counted. */
const EVENTS = 4000
const ROUNDS = 11
/** Calls of the loops that measure the calls alone. */
const CALLS = 500_000

const SERVICE = {
  'p/Spread.flux': {
    states: [{ name: 'wait', waiting: true, transitions: [{ event: 'tick', to: 'wait' }] }],
  },
}

const metricsOf = () => new ServerMetrics({ store: 'embedded', version: '0', countContexts: () => Promise.resolve([]) })

/** Lines that tell it. */
export async function measureSignals(): Promise<string[]> {
  const [counted, silent] = [await openSide(metricsOf()), await openSide(NO_SIGNALS)]
  const [withUs, withoutUs]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round += 1) {
    // Each side goes first every other time.
    const isFirst = round % 2 === 0
    const first = await cpuOf(isFirst ? counted : silent)
    const second = await cpuOf(isFirst ? silent : counted)
    if (round === 0) continue
    withUs.push(isFirst ? first : second)
    withoutUs.push(isFirst ? second : first)
  }
  await Promise.all([counted.close(), silent.close()])
  const [one, other] = [percentiles(withUs).p50, percentiles(withoutUs).p50]
  const [event, request] = [eventNs(metricsOf()), requestNs(metricsOf())]
  const share = (event + request) / 1000 / other
  return [
    `signals: ${one.toFixed(2)} µs of processor time for an event in process with metrics, ${other.toFixed(2)} µs without (medians of ${withUs.length} rounds)`,
    `signals: the calls of an event take ${event.toFixed(0)} ns, those of its request ${request.toFixed(0)} ns: ${(share * 100).toFixed(2)}% of an event in process`,
  ]
}

interface Side {
  readonly engine: Engine
  readonly ids: readonly number[]
  close(): Promise<void>
}

async function openSide(signals: Signals): Promise<Side> {
  const bench = await openBench(SERVICE, { signals })
  const ids = await Promise.all(Array.from({ length: CONTEXTS }, () => bench.run('Spread')))
  return { engine: bench.engine, ids, close: () => bench.close() }
}

/** Microseconds for an event. */
async function cpuOf({ engine, ids }: Side): Promise<number> {
  const api = engine.api(SYSTEM)
  const began = process.cpuUsage()
  await Promise.all(
    ids.map(async (contextId) => {
      for (let n = 0; n < EVENTS / CONTEXTS; n += 1) await api.sendEvent({ contextId, event: 'tick' })
    }),
  )
  const { user, system } = process.cpuUsage(began)
  return (user + system) / EVENTS
}

/** Nanoseconds of what an event by id calls, the clock included. */
function eventNs(signals: Signals): number {
  const service = { package: 'p', fluxName: 'Spread' }
  const made: Move[] = [{ from: null, event: null, to: 's', at: 0, values: {} }]
  return loopNs(() => {
    signals.depth(0)
    const began = performance.now()
    signals.commit(performance.now() - began)
    signals.moves(service, made)
    signals.event('moved')
  })
}

/** Nanoseconds of what its request calls, and a little more: a listener is added once, and not removed. */
function requestNs(metrics: ServerMetrics): number {
  const app = new Hono<Env>()
  for (const path of ['/flux-api/contexts', '/flux-api/event', '/flux-api/:package/execute'])
    app.on(['GET', 'POST'], path, (c) => c.text(''))
  void app.request('/')
  const incoming = Object.assign(new IncomingMessage(new Socket()), {
    method: 'POST',
    url: '/flux-api/event?contextId=1',
  })
  const response = new TimedResponse(incoming)
  const timer = requestEnded({ signals: metrics, routeOf: routeFinder(app), accessLog: null })
  return loopNs(() => {
    performance.now()
    response.on('close', timer)
    response.emit('close')
    response.off('close', timer)
  })
}

function loopNs(call: () => void): number {
  for (let n = 0; n < CALLS / 10; n += 1) call()
  const began = process.cpuUsage()
  for (let n = 0; n < CALLS; n += 1) call()
  const { user, system } = process.cpuUsage(began)
  return ((user + system) * 1000) / CALLS
}
