// What the tests of the HTTP room share: an api that remembers its calls, and an application around it.
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Hono } from 'hono'
import { openTokens } from '../../src/access/authenticate.ts'
import { systemClock } from '../../src/alarms/clock.ts'
import { definitionSchema } from '../../src/definitions/editor/document.ts'
import { createApp, type AppOptions } from '../../src/http/app.ts'
import { ByteBudget } from '../../src/model/byte-budget.ts'
import { RECEIPT_EXAMPLE } from '../../src/api/events.ts'
import { OPERATION_EXAMPLE } from '../../src/api/operations.ts'
import { METHODS, type Calls, type FluxApi } from '../../src/api/calls.ts'
import type { ContextView } from '../../src/api/contexts.ts'
import type { ModelDescriptor } from '../../src/model/context.ts'
import type { Log } from '../../src/ports/log.ts'
import { MoveRing } from '../../src/store/lmdb/move-ring.ts'
import { openSecrets } from '../../src/settings/secrets.ts'

export interface Call {
  readonly name: string
  readonly request: unknown
}
export interface Logged {
  readonly level: keyof Log
  readonly message: string
  readonly fields: object | undefined
}

const nothing: ModelDescriptor = { name: 'nothing', type: 'model', allowExtraProperties: false, gloopProperties: [] }

export const contextView = (id: number): ContextView => ({
  fluxName: 'F',
  id,
  currentState: 'a',
  startState: 'a',
  waiting: true,
  debugged: false,
  nextRun: null,
  status: 'WAITING',
  input: nothing,
  output: nothing,
  tags: [],
  stateContexts: [],
  executionHistory: [],
  package: 'p',
  version: 1,
  startedAt: 1,
  updatedAt: 1,
  endedAt: null,
  error: null,
  definition: 'h',
  step: null,
  parent: null,
  child: null,
  lastEvent: null,
  pending: [],
  forkedFrom: null,
  paused: false,
  key: null,
})

/** Answers everything; `overrides` replaces single calls. */
export function fakeApi(overrides: Partial<FluxApi> = {}): { api: FluxApi; calls: Call[] } {
  const calls: Call[] = []
  const note =
    <T>(name: string, answer: T) =>
    (request: unknown): Promise<T> => {
      calls.push({ name, request })
      return Promise.resolve(answer)
    }
  const entries: unknown[][] = Object.entries(METHODS).map(([name, { answerExample }]) => [
    name,
    note(name, answerExample),
  ])
  const examples: FluxApi = Object.fromEntries(entries)
  const api: FluxApi = {
    ...examples,
    execute: note('execute', { message: 'started', contextId: 7, started: true }),
    terminate: note('terminate', { message: 'terminated' }),
    retry: note('retry', { message: 'retried', contextId: 7 }),
    pause: note('pause', { message: 'paused' }),
    resume: note('resume', { message: 'resumed' }),
    sendEvent: note('sendEvent', {
      message: 'sent',
      eventId: 'e',
      transitions: [{ contextId: 7, state: 'b' }],
      executions: [],
      ignored: [],
      pending: [],
    }),
    getEvent: note('getEvent', RECEIPT_EXAMPLE),
    listPending: note('listPending', []),
    listPendingPage: note('listPendingPage', { events: [], next: null }),
    withdraw: note('withdraw', { message: 'withdrew' }),
    stopEvent: note('stopEvent', RECEIPT_EXAMPLE),
    listContexts: note('listContexts', [contextView(1), contextView(2)]),
    listPage: note('listPage', { contexts: [contextView(1), contextView(2)], next: null }),
    countContexts: note('countContexts', { total: 2, by: 'status', counts: { WAITING: 2 } }),
    getContext: note('getContext', contextView(1)),
    waitFor: note('waitFor', contextView(1)),
    getStateContext: note('getStateContext', { name: 'a', input: nothing, output: nothing, transitionContexts: [] }),
    getContextEvents: note('getContextEvents', {
      contextId: 1,
      state: 'a',
      status: 'WAITING',
      events: [],
      else: null,
      timed: null,
      others: [],
    }),
    addTags: note('addTags', { message: 'added' }),
    removeTags: note('removeTags', { message: 'removed' }),
    getDefinition: note('getDefinition', { states: [] }),
    getServiceSchema: note('getServiceSchema', { package: 'p', fluxName: 'F', definition: 'h', input: {}, output: {} }),
    listServices: note('listServices', { services: [], faults: [], loadedAt: 1 }),
    getMachine: note('getMachine', { states: {} }),
    listWebhooks: note('listWebhooks', []),
    listDeliveries: note('listDeliveries', []),
    listDeliveriesPage: note('listDeliveriesPage', { deliveries: [], next: null }),
    replayDelivery: note('replayDelivery', { deliveryId: 'd', status: 202, contextId: 7 }),
    startOperation: note('startOperation', { operationId: 'o', matched: 7 }),
    getOperation: note('getOperation', OPERATION_EXAMPLE),
    listOperations: note('listOperations', [OPERATION_EXAMPLE]),
    stopOperation: note('stopOperation', OPERATION_EXAMPLE),
    ...overrides,
  }
  return { api, calls }
}

const told = (answer: unknown) => ({ answer })

/** Calls that are made by those methods. Nothing is told of their answers besides. */
export function callsBy(api: FluxApi): Calls {
  // No async functions, whose promises would be counted as those of a request.
  const make = (name: string, request: unknown, more: unknown) => {
    const method: unknown = Reflect.get(api, name)
    if (typeof method !== 'function') throw new TypeError(`there is no call ${name}`)
    return method(request, more).then(told)
  }
  return { call: make, ask: make }
}

export function memoryLog(): { log: Log; lines: Logged[] } {
  const lines: Logged[] = []
  const at = (level: keyof Log) => (message: string, fields?: object) => {
    lines.push({ level, message, fields })
  }
  return {
    lines,
    log: { trace: at('trace'), debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
  }
}

/** Of a server that knows no tokens. */
const { authenticate } = await openTokens({ file: join(tmpdir(), 'no-such-tokens.json'), now: Date.now, onError() {} })

const ABOUT = { name: 'actorflux', version: '9.8.7' }

/** Of a server without any. */
const NO_SECRETS = await openSecrets({})

export function testApp(overrides: Partial<FluxApi> = {}, options: Partial<AppOptions> = {}) {
  const { api, calls } = fakeApi(overrides)
  const { log, lines } = memoryLog()
  const app = createApp({
    api: () => callsBy(api),
    authenticate,
    webhooks: {
      find: () => null,
      all: () => [],
      receive: () => Promise.reject(new Error('no webhook')),
      arrival: () => ({ deliveryId: 'd', time: 0 }),
      now: () => 0,
      settled() {},
      unmatched() {},
      giveUp() {},
    },
    secrets: NO_SECRETS,
    publicUrl: null,
    webhookTimeout: 1000,
    maxParts: 100,
    requireAuth: false,
    maxBody: 1024 * 1024,
    maxDepth: 64,
    maxValues: 100_000,
    maxAnswers: 128 * 1024 * 1024,
    inFlight: new ByteBudget({ bytes: 256 * 1024 * 1024, what: 'requests' }),
    unverified: new ByteBudget({ bytes: 128 * 1024 * 1024, what: 'webhooks that are not verified yet' }),
    waiting: new ByteBudget({ bytes: 64 * 1024 * 1024, what: 'webhooks that wait' }),
    origins: [],
    allowedHosts: [],
    isLoopback: () => false,
    about: ABOUT,
    fluxSchema: definitionSchema,
    inspector: () => new Hono(),
    ready: () => null,
    log,
    live: {
      feed: new MoveRing(systemClock),
      isSecured: () => false,
      maxReaders: 10,
      tagLimits: { count: 64, bytes: 256 },
    },
    clock: systemClock,
    requestTimeout: 30_000,
    maxStreams: 64,
    stopping: new AbortController().signal,
    ...options,
  })
  return { app, calls, lines }
}

export const post = (
  body: unknown,
  headers: Record<string, string> = { 'content-type': 'application/json' },
): RequestInit => ({ method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), headers })
