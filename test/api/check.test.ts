// HTTP and callers in process are refused by the same check: of the same kind, with the same pointers and hints.
import { CALLS } from '../../src/api/calls.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FluxError, type Failure } from '../../src/model/failure.ts'
import { check } from '../../src/api/call.ts'
import { openLive, type Live } from '../http/live.ts'
import { openBench, type Bench } from '../support/engine.ts'

const WAITER = { states: [{ name: 'wait', waiting: true, transitions: [{ event: 'go', to: 'wait' }] }] }

let bench: Bench
let live: Live
beforeAll(async () => {
  bench = await openBench({ 'p/Waiter.flux': WAITER })
  live = await openLive({}, { 'p/Waiter.flux': WAITER })
})
afterAll(async () => {
  await bench.close()
  await live.close()
})

type Method = 'sendEvent' | 'execute' | 'listContexts' | 'getContext' | 'getStateContext' | 'addTags' | 'getDefinition'
type Problem = Omit<Extract<Failure, { kind: 'malformed' | 'invalid' }>, 'kind'>

/** What a caller in process gets, whatever the types say. */
async function refusalOf(method: Method, request: object): Promise<Problem & { kind: string }> {
  return bench[method](JSON.parse(JSON.stringify(request))).then(
    () => {
      throw new Error('it was not refused')
    },
    ({ failure }) => failure,
  )
}

const MUST_BE_ID = 'must be a positive integer below 2^53'

test.each<[Method, object, string, string, string, string]>([
  ['sendEvent', {}, 'POST event', 'malformed', '/event', 'is required'],
  ['sendEvent', { event: '' }, 'POST event', 'malformed', '/event', 'must be a text that is not empty'],
  ['sendEvent', { event: ['go'] }, 'POST event', 'malformed', '/event', 'must be a text that is not empty'],
  ['sendEvent', { event: '$else' }, 'POST event', 'malformed', '/event', 'must not begin with $'],
  [
    'sendEvent',
    { event: 'e'.repeat(1001) },
    'POST event',
    'malformed',
    '/event',
    'must not have more than 1000 characters',
  ],
  ['sendEvent', { event: 'go', contextId: 0 }, 'POST event', 'malformed', '/contextId', MUST_BE_ID],
  ['sendEvent', { event: 'go', contextId: null }, 'POST event', 'malformed', '/contextId', MUST_BE_ID],
  [
    'sendEvent',
    { event: 'go', contextid: 1 },
    'POST event',
    'malformed',
    '/contextid',
    "is not known; did you mean 'contextId'?",
  ],
  ['sendEvent', { event: 'go', input: [1] }, 'POST event', 'invalid', '/input', 'must be an object'],
  ['sendEvent', { event: 'go', tags: 'x' }, 'POST event', 'invalid', '/tags', 'must be a list of texts'],
  ['sendEvent', { event: 'go', tags: ['a', 'b,c'] }, 'POST event', 'invalid', '/tags/1', 'must not have a comma'],
  ['execute', { fluxName: 5 }, 'POST p/execute', 'malformed', '/fluxName', 'must be a text that is not empty'],
  ['execute', { fluxName: 'Waiter', startState: 5 }, 'POST p/execute', 'invalid', '/startState', 'must be a text'],
  ['execute', { fluxName: 'Waiter', tags: [''] }, 'POST p/execute', 'invalid', '/tags/0', 'must not be empty'],
  [
    'execute',
    { fluxName: 'Waiter', startstate: 'wait' },
    'POST p/execute',
    'malformed',
    '/startstate',
    "is not known; did you mean 'startState'?",
  ],
  ['listContexts', { limit: 0 }, 'GET contexts?limit=0', 'malformed', '/limit', 'must be a positive integer'],
  [
    'listContexts',
    { startState: '' },
    'GET contexts?startState=',
    'malformed',
    '/startState',
    'must be a text that is not empty',
  ],
  ['listContexts', { page: -1 }, 'GET contexts?page=-1', 'malformed', '/page', 'must be an integer, 0 or more'],
  ['listContexts', { page: 9e15 }, 'GET contexts?page=9000000000000000', 'malformed', '/page', 'is too large'],
  ['listContexts', { after: 2 ** 53 }, 'GET contexts?after=9007199254740992', 'malformed', '/after', MUST_BE_ID],
  ['listContexts', { tags: ['x'] }, 'GET contexts?tags=x', 'malformed', '/tags', "is not known; did you mean 'tag'?"],
  [
    'listContexts',
    { status: 'TIRED' },
    'GET contexts?status=TIRED',
    'malformed',
    '/status',
    'must be one of RUNNING, WAITING, WAITING_UNTIL, COMPLETED, FAILED, TERMINATED',
  ],
  [
    'getContext',
    { contextId: 1, snapshot: 'yes' },
    'GET context?contextId=1&snapshot=yes',
    'malformed',
    '/snapshot',
    'must be true or false',
  ],
  ['getStateContext', { contextId: 1 }, 'GET context/state?contextId=1', 'malformed', '/stateName', 'is required'],
  ['getContext', {}, 'GET context', 'malformed', '/contextId', 'is required (or key with fluxName)'],
  ['getContext', { contextId: 0 }, 'GET context?contextId=0', 'malformed', '/contextId', MUST_BE_ID],
  ['addTags', { contextId: 1 }, 'POST context/tag?contextId=1', 'malformed', '/tag', 'is required'],
  [
    'addTags',
    { contextId: 1, tag: ['x'.repeat(257)] },
    `POST context/tag?contextId=1&tag=${'x'.repeat(257)}`,
    'invalid',
    '/tag/0',
    'must not be longer than 256 bytes',
  ],
  ['getDefinition', {}, 'GET definition', 'malformed', '', 'fluxName or contextId must be given'],
])('%s %.60j', async (method, request, target, kind, pointer, detail) => {
  const inProcess = await refusalOf(method, request)
  expect(inProcess).toMatchObject({ kind, errors: [{ pointer, detail }] })
  const [httpMethod = '', path = ''] = target.split(' ')
  const isBody = path === 'event' || path === 'p/execute'
  const { status, json } = await live.call(httpMethod, `/flux-api/${path}`, isBody ? { body: request } : {})
  expect([status, json]).toEqual([
    kind === 'malformed' ? 400 : 422,
    expect.objectContaining({ errors: inProcess.errors }),
  ])
  if (isBody) expect(json).toMatchObject({ detail: inProcess.detail })
})

test('a request that was changed since is looked at anew', async () => {
  const { contextId } = await bench.execute({ package: 'p', fluxName: 'Waiter' })
  const request = { contextId }
  expect(await bench.getContext(request)).toMatchObject({ id: contextId })
  Object.assign(request, { contextId: 'no' })
  await expect(bench.getContext(request)).rejects.toMatchObject({ failure: { kind: 'malformed' } })
})

test('of many unknown fields of orStart only some are told', () => {
  const orStart = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`inputs${n}`, 0]))
  let problem: Failure | null = null
  try {
    check(CALLS.sendEvent, { event: 'go', key: 'k', fluxName: 'Waiter', orStart })
  } catch (error) {
    problem = error instanceof FluxError ? error.failure : null
  }
  expect(problem).toMatchObject({ kind: 'malformed', errors: { length: 20 } })
  expect(problem?.detail.length).toBeLessThan(2000)
})
