// Services behind webhooks under keys, and servers for them on each store.
import { randomUUID } from 'node:crypto'
import { beforeEach, expect } from 'vitest'
import type { WebhookReply } from '../../src/model/webhook.ts'
import { openBench, type Bench, type BenchOptions, type Files } from './engine.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { BEAT_MS } from './shared-memory.ts'
import { SILENT_FEED } from './silent.ts'
import { openRedis } from './redis-store.ts'

const set = (expression: string, ...to: string[]) => ({ type: 'set', expression, evaluate: true, to })
export const hook = (urlPath: string, more: object = {}) => ({
  webhooks: [{ urlPath, httpMethods: ['POST'], ...more }],
})
const OUT = { output: [{ name: 'out', type: 'any' }] }
const BY_ID = { dedupe: { key: '$request.body.id' } }
export const MINUTE_MS = 60_000

export const FILES: Files = {
  'p/Paid.flux': {
    ...OUT,
    input: [{ name: 'n', type: 'integer' }],
    states: [{ name: 'end', action: { type: 'map', lines: [set('uuid()', 'out')] } }],
    webhooks: [
      { urlPath: '/paid', httpMethods: ['POST', 'PUT'], ...BY_ID },
      { urlPath: '/paid2', httpMethods: ['POST'], ...BY_ID },
      { urlPath: '/short', httpMethods: ['POST'], dedupe: { key: '$request.body.id', keep: '90s' } },
      { urlPath: '/plain', httpMethods: ['POST', 'PUT'] },
    ],
  },
  'p/Keyed.flux': {
    key: '${n}',
    ...OUT,
    input: [{ name: 'n', type: 'integer' }],
    states: [
      {
        name: 'w',
        waiting: true,
        transitions: [
          { to: 'w', event: 'go' },
          { to: 'end', event: 'stop' },
        ],
      },
      { name: 'end' },
    ],
    webhooks: [
      { urlPath: '/keyed', httpMethods: ['POST'], ...BY_ID },
      { urlPath: '/keyed2', httpMethods: ['POST'] },
    ],
  },
  'p/Long.flux': {
    ...OUT,
    states: [
      { name: 'act', action: { type: 'invokeFlux', name: 'Child' }, transitions: [{ to: 'end' }] },
      {
        name: 'end',
        action: {
          type: 'map',
          lines: [
            set('201', '$response', 'responseCode'),
            set('[{ name: "sid", value: "abc" }]', '$response', 'cookies'),
            set('{ "X-A": "a" }', '$response', 'headers'),
            set('uuid()', '$response', 'content'),
            { from: ['$response'], to: ['out'] },
          ],
        },
      },
    ],
    webhooks: [
      { urlPath: '/long', httpMethods: ['POST'], ...BY_ID },
      { urlPath: '/long2', httpMethods: ['POST'] },
    ],
  },
  'p/Child.flux': {
    states: [{ name: 'w', waiting: true, transitions: [{ to: 'end', event: 'go' }] }, { name: 'end' }],
  },
  'p/Failing.flux': {
    states: [{ name: 's', action: { type: 'invokeFlux', name: 'Nobody' } }],
    ...hook('/failing', BY_ID),
  },
  'p/Odd.flux': {
    states: [{ name: 'end' }],
    ...hook('/odd', { dedupe: { key: '$request.body.id.toUpperCase()' } }),
  },
}

export type Where = 'embedded' | 'Redis' | 'Redis with 4 partitions'

export let clock: SimulatedClock
beforeEach(() => {
  // Redis has a time of its own.
  clock = new SimulatedClock(Date.now())
})

/** Opens servers on one store; the embedded one has one server at a time. */
export async function opener(where: Where): Promise<(options?: BenchOptions) => Promise<Bench>> {
  if (where === 'embedded') return (options) => openBench(FILES, { clock, onDisk: true, ...options })
  const namespace = `test-${randomUUID()}`
  const partitions = where === 'Redis' ? 1 : 4
  return async (options) => {
    const store = await openRedis({ namespace, partitions })
    return openBench(FILES, { clock, store, others: { beat: BEAT_MS, feed: SILENT_FEED }, ...options })
  }
}

export const contextsOf = async (bench: Bench, fluxName: string): Promise<number[]> => {
  const statuses = [undefined, 'COMPLETED', 'FAILED'] as const
  const lists = await Promise.all(statuses.map((status) => bench.listContexts({ fluxName, status, limit: 100 })))
  return lists
    .flat()
    .map(({ id }) => id)
    .toSorted((one, other) => one - other)
}
export const count = async (bench: Bench, fluxName: string) => (await contextsOf(bench, fluxName)).length
export const idOf = ({ answer }: WebhookReply): number => ('contextId' in answer ? answer.contextId : -1)
export const child = async (bench: Bench) => (await contextsOf(bench, 'Child'))[0] ?? 0
export const go = async (bench: Bench) => bench.sendEvent({ contextId: await child(bench), event: 'go' })
/** The context of a delivery that is under way. */
export const running = async (bench: Bench, fluxName = 'Long') => {
  await expect.poll(() => count(bench, fluxName)).toBe(1)
  return (await contextsOf(bench, fluxName))[0] ?? 0
}
