// pinned: what is done with the services until their contexts stand in every phase.
import type { JsonObject } from '../../../src/model/json/value.ts'
import { UNOWNED } from '../../../src/model/context.ts'
import type { RecordedServer } from '../../recorded/server.ts'
import type { Commits } from './commits.ts'
import type { PinnedRecord } from './corpus.ts'

/** Inputs that the examples can be started with. */
const EXAMPLES: readonly (readonly [string, JsonObject])[] = [
  ['ApprovalWithTimeout', { patience: 86_400 }],
  ['DataPassing', { customer: { id: 'c-1', name: 'Ada' }, items: [{ sku: 'pear', quantity: 2, price: 5 }] }],
  ['flux.Polling', { readyAfter: 3, interval: 600 }],
  ['Tags', { customerId: 'c-7' }],
  ['Trigger', { orderId: '4711' }],
  ['ErrorHandling', {}],
  ['DelayUntilDate', { at: '2026-03-01T00:00:00Z' }],
  ['Parent', { question: 'why?' }],
  ['Child', { question: 'what?' }],
  [
    'orders.OrderProcess',
    { order: { id: '4711', customer: { id: 'c-7', name: 'Ada' }, items: [{ sku: 'pear', quantity: 2, price: 5 }] } },
  ],
  ['webhooks.Deployment', { repository: 'r', commit: 'c' }],
  ['webhooks.Greeting', {}],
  ['webhooks.Order', { customer: 4 }],
  ['webhooks.Upload', {}],
]

export interface Played {
  /** Records of moments that have passed. */
  readonly special: () => PinnedRecord[]
  /** Requests that are answered when the server stops. */
  readonly waiting: readonly Promise<unknown>[]
}

export async function play(server: RecordedServer, commits: Commits): Promise<Played> {
  for (const [fluxName, input] of EXAMPLES) {
    await server.api.execute({ package: 'examples', fluxName, input })
    await server.settle()
  }
  const steps = await playSteps(server, commits)
  await playEvents(server)
  await playKeyed(server)
  const relatives = await playRelatives(server, commits)
  const waiting = await playWebhooks(server, commits)
  await server.advance(1)
  return { waiting, special: () => [...steps(), ...relatives()] }
}

type Later = () => PinnedRecord[]

async function run({ api, settle }: RecordedServer, fluxName: string, input: JsonObject = {}): Promise<number> {
  const { contextId } = await api.execute({ package: 'k', fluxName, input })
  await settle()
  return contextId
}

async function send({ api, settle }: RecordedServer, contextId: number, event: string, input?: JsonObject) {
  await api.sendEvent({ contextId, event, ...(input && { input }) })
  await settle()
}

async function playSteps(server: RecordedServer, commits: Commits): Promise<Later> {
  const acting = await run(server, 'Stands')
  await run(server, 'Stands')
  const called = await run(server, 'Echoes', { what: { a: [1, 'ü', null] } })
  const scripted = await run(server, 'Scripted', { list: [1, 2, 3] })
  for (const fluxName of ['Retries', 'Delays', 'Fails', 'Ends', 'Isolated']) await run(server, fluxName)
  const early = (id: number, phase: string) => commits.record(id, phase, ({ context }) => context.version > 1)
  return () => [
    early(called, "a function that hasn't answered"),
    early(scripted, "a script that hasn't answered"),
    commits.record(acting, 'a function under way', ({ context }) => context.owner?.startsWith(UNOWNED) === true),
  ]
}

async function playEvents(server: RecordedServer): Promise<void> {
  await run(server, 'Types', {
    integer: 3,
    double: [0.5],
    thing: [{ id: 'a' }],
    model: { a: 'x', extra: [1] },
    bigDecimal: '1.5000000000000000001',
    ['__proto__']: { x: 1 },
    stranger: 'kept',
  })
  const data = { date: '2026-01-02', any: { sessionId: 1, send: 2, ref: 3 }, long: '9223372036854775807' }
  await send(server, await run(server, 'Types', data), 'anything', { told: { deep: [{ 'odd name': true }] } })
  const rounds = await run(server, 'Events', { name: 'many' })
  await server.api.addTags({ contextId: rounds, tag: ['own'] })
  for (let round = 0; round < 20; round += 1) {
    await send(server, rounds, 'again', { note: round === 3 ? 'x'.repeat(5000) : round })
  }
  await send(server, await run(server, 'Events'), 'later')
  await server.api.sendEvent({ event: 'begin', tags: ['from-trigger'] })
  await server.api.terminate({ contextId: await run(server, 'Events', { name: 'short' }) })
}

/** Events that come early, for a context and for nobody, under ids of their sender. */
async function playKeyed(server: RecordedServer): Promise<void> {
  const first = await run(server, 'Keyed', { name: 'first' })
  await server.api.sendEvent({ contextId: first, event: 'paid', eventId: 'paid-1' })
  await server.api.sendEvent({ event: 'ordered', input: { name: 'second' }, eventId: 'ordered-1', ttl: 3600 })
  await server.api.sendEvent({ event: 'later', tags: ['nobody'], eventId: 'later-1', ttl: 3600 })
  await server.settle()
}

/** A parent whose child waits, and one whose child has ended and that hasn't looked yet. */
async function playRelatives(server: RecordedServer, commits: Commits): Promise<Later> {
  await run(server, 'Parent')
  const parent = await run(server, 'Parent', { child: 'ends' })
  const child = parent + 1
  await send(server, child, 'stop')
  return () => [
    commits.record(parent, "a parent that was told of its child's end", (write) => commits.isAfter(write, child)),
    { ...commits.record(child, 'a child whose parent was told of its end'), pokes: [parent] },
  ]
}

const HEADERS = { 'content-type': 'application/json', 'x-api-key': 'secret', cookie: 'sid=s' }

async function playWebhooks(server: RecordedServer, commits: Commits): Promise<Promise<unknown>[]> {
  const waiting: Promise<unknown>[] = []
  for (const path of ['stands/Ada', 'waits', 'answers']) {
    const before = commits.ids.length
    waiting.push(server.send({ method: 'POST', path: `/api/pinned/${path}`, headers: HEADERS, body: '{"a":1}' }))
    while (commits.ids.length === before) await server.settle()
    await server.settle()
  }
  return waiting
}
