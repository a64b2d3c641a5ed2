// How rehearsals and versions travel, as the client sends them, and what it makes of the answers.
import { expect, test } from 'vitest'
import type { ContextView } from '../../src/api/contexts.ts'
import { createClient, Problem } from '../../src/client/client.ts'
import { openLive } from '../http/live.ts'

const SERVICES = {
  'p/Order.flux': {
    key: '${id}',
    input: [{ name: 'id', type: 'string' }],
    states: [
      {
        name: 'Open',
        waiting: true,
        transitions: [
          { event: 'pay', to: 'Charge' },
          { event: 'hold', to: 'Open' },
        ],
      },
      {
        name: 'Charge',
        action: { type: 'invokeCode', className: 'fns', methodName: 'charge' },
        transitions: [{ to: 'Done' }],
      },
      { name: 'Done' },
    ],
  },
  'p/fns.mjs': 'export const charge = () => ({})\n',
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly ifMatch: string | null
  readonly body: unknown
}

/** A client that is answered with nothing, and what it sends. */
function noting() {
  const sent: Sent[] = []
  const client = createClient({
    url: 'http://localhost',
    fetch: async (target, init) => {
      const { method, url, headers, body } = new Request(target, init)
      const text = body === null ? null : await new Response(body).text()
      const { pathname, search } = new URL(url)
      const ifMatch = headers.get('if-match')
      sent.push({ method, path: pathname + search, ifMatch, body: text === null ? null : JSON.parse(text) })
      return Response.json({ message: 'done' })
    },
  })
  return { client, sent }
}

const assume = { steps: { Charge: [{ result: 1 }] }, until: '2026-01-04' }

test('dryRun is in the query, what is assumed in the body, and the version in a header', async () => {
  const { client, sent } = noting()
  await client.execute({ package: 'p', fluxName: 'Order', dryRun: true, assume })
  await client.sendEvent({ contextId: 1, event: 'pay', dryRun: true, assume, version: 3 })
  await client.terminate({ contextId: 1, dryRun: true, assume, version: 3 })
  await client.terminate({ contextId: 1, dryRun: false })
  await client.addTags({ contextId: 1, tag: ['a', 'b'], dryRun: true })
  await client.removeTags({ contextId: 1, tag: ['a'], version: 4 })
  await client.retry({ contextId: 1, state: 'Open', dryRun: true, assume })
  await client.pause({ contextId: 1, version: 5 })
  await client.resume({ key: 'k', fluxName: 'Order', dryRun: true, assume })
  await client.startOperation({ filter: {}, do: 'pause', dryRun: true, assume })
  const none = { ifMatch: null, body: null }
  expect(sent).toEqual([
    {
      method: 'POST',
      path: '/flux-api/p/execute?dryRun=true',
      ifMatch: null,
      body: { fluxName: 'Order', assume },
    },
    {
      method: 'POST',
      path: '/flux-api/event?dryRun=true',
      ifMatch: '"3"',
      body: { contextId: 1, event: 'pay', assume },
    },
    { method: 'DELETE', path: '/flux-api/terminate?contextId=1&dryRun=true', ifMatch: '"3"', body: { assume } },
    { method: 'DELETE', path: '/flux-api/terminate?contextId=1&dryRun=false', ...none },
    { method: 'POST', path: '/flux-api/context/tag?contextId=1&tag=a&tag=b&dryRun=true', ...none },
    { method: 'DELETE', path: '/flux-api/context/tag?contextId=1&tag=a', ifMatch: '"4"', body: null },
    {
      method: 'POST',
      path: '/flux-api/context/retry?contextId=1&dryRun=true',
      ifMatch: null,
      body: { state: 'Open', assume },
    },
    { method: 'POST', path: '/flux-api/context/pause?contextId=1', ifMatch: '"5"', body: null },
    {
      method: 'POST',
      path: '/flux-api/context/resume?key=k&fluxName=Order&dryRun=true',
      ifMatch: null,
      body: { assume },
    },
    {
      method: 'POST',
      path: '/flux-api/operations',
      ifMatch: null,
      body: { filter: {}, do: 'pause', dryRun: true, assume },
    },
  ])
})

test('a rehearsal says what would happen, and a problem the version', async () => {
  const { url } = await openLive({}, SERVICES)
  const client = createClient({ url })
  const dry = await client.execute({ package: 'p', fluxName: 'Order', input: { id: 'a' }, dryRun: true })
  expect([dry.dryRun, dry.contextId, dry.would?.[0]?.to]).toEqual([true, null, 'Open'])
  const { contextId } = await client.execute({ package: 'p', fluxName: 'Order', input: { id: 'a' } })
  const paid = await client.sendEvent({ key: 'a', fluxName: 'Order', event: 'pay', dryRun: true, assume })
  expect(paid.would).toMatchObject([{ contextId, version: 1, entered: ['Charge', 'Done'] }])
  for (const call of ['terminate', 'pause', 'resume', 'retry'] as const)
    expect((await client[call]({ contextId, dryRun: true, assume }).catch(problemOf)) ?? null).toMatchObject(
      call === 'retry' ? { status: 409 } : { dryRun: true },
    )
  const wrong = await client.sendEvent({ contextId, event: 'hold', version: 7 }).catch(problemOf)
  expect(wrong).toBeInstanceOf(Problem)
  expect(wrong).toMatchObject({ status: 412, type: 'urn:actorflux:problem:version-mismatch', version: 1 })
  expect(await client.sendEvent({ contextId, event: 'unknown' }).catch(problemOf)).toMatchObject({ version: null })
  const { version }: ContextView = await client.getContext({ contextId })
  expect((await client.sendEvent({ contextId, event: 'hold', version })).transitions).toHaveLength(1)
  const answers = []
  for await (const answer of client.sendEvents([
    { contextId, event: 'hold', version },
    { contextId, event: 'hold', version: version + 1 },
  ]))
    answers.push('problem' in answer ? answer.problem?.version : answer)
  expect(answers).toMatchObject([2, { status: 200 }, { done: true }])
})

const problemOf = (error: unknown) => error

/** Errors of the compiler, each on purpose. */
export function mistakes({ execute, getContext, terminate }: ReturnType<typeof createClient>): unknown[] {
  return [
    // @ts-expect-error a version is a number
    terminate({ contextId: 1, version: '"1"' }),
    // @ts-expect-error an outcome is a result or an error
    terminate({ contextId: 1, dryRun: true, assume: { steps: { Charge: [{ value: 1 }] } } }),
    // @ts-expect-error a start has no version
    execute({ package: 'p', fluxName: 'Order', version: 1 }),
    // @ts-expect-error what only reads is not rehearsed
    getContext({ contextId: 1, dryRun: true }),
  ]
}
