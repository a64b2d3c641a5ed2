// Contexts of whose definition states are broken: they fail when they act in one, everything else goes on.
import { afterEach, describe, expect, test } from 'vitest'
import { at, BrokenBench, done, errors, failureOf, ids, type Change } from '../support/broken.ts'
import { outputs } from '../support/engine.ts'
import { definitionIn } from '../support/stores.ts'

const servers = new BrokenBench()
afterEach(() => servers.close())

/** Parts of `Waits` that break, an event that makes its context act, and the state in which it then fails. */
const PARTS: readonly (readonly [part: string, change: Change, event: string, state: string])[] = [
  ['an expression', at('states/1/action/lines/0/expression', 'count +'), 'again', 'stands'],
  ['an expression with a name that is nowhere', at('states/1/action/lines/0/expression', 'nope'), 'again', 'stands'],
  ['a line', at('states/1/action/lines/0', 'none'), 'on', 'stands'],
  ['the type of a line', at('states/1/action/lines/0/type', 'jump'), 'on', 'stands'],
  ['an action of an unknown type', at('states/1/action/type', 'dance'), 'on', 'stands'],
  ["an action that isn't one", at('states/1/action', 'none'), 'on', 'stands'],
  ['a line of a transition', at('states/1/transitions/1/lines/0/to', ['nowhere']), 'on', 'stands'],
  ['the lines of a transition', at('states/1/transitions/1/lines', 'none'), 'on', 'stands'],
  ['the target of a transition', at('states/1/transitions/1/to', 'nowhere'), 'on', 'stands'],
  ['the type of a property that a line writes', at('states/2/input/0/type', 'thing'), 'on', 'ends'],
  ['a wait that is entered again', at('states/1/transitions/2/wait', 'duration:${'), 'again', 'stands'],
  ['a wait that is no text', at('states/1/transitions/2/wait', { x: 1 }), 'again', 'stands'],
]

describe('where a part is broken', () => {
  test.each(PARTS)('%s: the context fails when it acts in that state', async (_, change, event, state) => {
    const first = await servers.open()
    const contextId = await first.run('Waits')
    const server = await servers.broken(first, [contextId, change])
    const { definition } = await server.getContext({ contextId })
    const { source } = JSON.parse((await definitionIn(servers.store, definition)) ?? '')
    expect(await server.getDefinition({ contextId })).toEqual(source)
    expect(await server.listContexts({ currentState: 'stands' })).toMatchObject([
      { id: contextId, currentState: 'stands', status: 'WAITING_UNTIL' },
    ])
    await server.sendEvent({ contextId, event })
    const view = await server.getContext({ contextId })
    expect(view).toMatchObject({
      status: 'FAILED',
      currentState: state,
      error: { type: 'DefinitionError', message: expect.stringMatching(/^\/states\//) },
    })
    expect(errors(server)).toEqual([])
    expect(server.logged).toContainEqual(
      expect.objectContaining({ level: 'warn', fields: expect.objectContaining({ definition: view.definition }) }),
    )
  })

  test.each([
    ['inputs', at('input', [{ name: 'x', type: 'thing' }])],
    ['outputs', at('output/1/defaultValue', 'many')],
  ])("the service's own %s are those of all states", async (_, change) => {
    const first = await servers.open()
    const contextId = await first.run('Waits')
    const server = await servers.broken(first, [contextId, change])
    await server.sendEvent({ contextId, event: 'again' })
    expect(await server.getContext({ contextId })).toMatchObject({ status: 'FAILED', currentState: 'stands' })
  })

  test("what doesn't touch it goes on as before", async () => {
    const first = await servers.open()
    const contextId = await first.run('Waits')
    const server = await servers.broken(first, [
      contextId,
      (definition) => {
        at('states/3/action/lines/0/type', 'jump')(definition)
        at('tags', ['${'])(definition)
        at('webhooks', [{ urlPath: 5 }])(definition)
        at('triggers', 7)(definition)
      },
    ])
    await server.sendEvent({ contextId, event: 'again', input: { value: 1 } })
    await server.sendEvent({ contextId, event: 'again' })
    expect(outputs(await server.getContext({ contextId }))).toMatchObject({ count: 2 })
    await server.advance(60_000)
    expect(await server.until(contextId, done)).toMatchObject({ status: 'COMPLETED', currentState: 'ends' })
  })

  test.each([
    ['its transition', at('states/1/transitions/2', 'none')],
    ['its target', at('states/1/transitions/2/to', 'nowhere')],
    ['that it waits', at('states/1/waiting', 'maybe')],
    ['its name', at('states/1/name', 7)],
  ])('a time that comes fails: %s', async (_, change) => {
    const first = await servers.open()
    const contextId = await first.run('Waits')
    const server = await servers.broken(first, [contextId, change])
    await server.advance(60_000)
    const view = await server.until(contextId, done)
    expect([view.error?.type, outputs(view)['note']]).toContain('DefinitionError')
    expect(errors(server)).toEqual([])
  })

  test.each([
    ['its action', 'Calls', at('states/0/action/type', 'dance')],
    ['its pause', 'Retries', at('states/0/action/retry', 'often')],
    ['its delay', 'Delays', at('states/0/transitions/0/wait', 9)],
  ])('a context that stands where its state has no place any more fails: %s', async (_, fluxName, change) => {
    const first = await servers.open()
    const [contextId, other] = [await first.run(fluxName), await first.run(fluxName)]
    if (fluxName === 'Retries')
      for (const id of [contextId, other]) await first.until(id, ({ step }) => step?.nextAttemptAt != null)
    const server = await servers.broken(first, [contextId, change], [other, change])
    if (fluxName !== 'Calls') {
      await server.terminate({ contextId: other })
      expect(await server.getContext({ contextId: other })).toMatchObject({ status: 'TERMINATED' })
    }
    await server.advance(60_000)
    const view = await server.until(contextId, done)
    expect(view).toMatchObject({ status: 'FAILED', error: { type: 'DefinitionError' } })
    expect(errors(server)).toEqual([])
  })

  test('a parent whose outputs are broken fails when its child has ended', async () => {
    const first = await servers.open()
    const parent = await first.run('Parent')
    const server = await servers.broken(first, [parent, at('states/0/action/outputs/0/to', [])])
    await server.sendEvent({ contextId: parent + 1, event: 'on' })
    expect(await server.until(parent, done)).toMatchObject({ status: 'FAILED', error: { type: 'DefinitionError' } })
  })
})

describe('secrets', () => {
  const request = {
    method: 'POST',
    uri: '/api/hook',
    contentType: '',
    headers: [{ name: 'x-api-key', value: 'topsecret' }],
    cookies: [],
    parameters: {},
    body: null,
    config: {},
  }

  test.each([
    ['a part', at('states/0/action/lines', ['none'])],
    ['the whole', 'none'],
    ['not even stored', null],
  ] as const)('are hidden wherever they may be: %s', async (_, instead) => {
    const first = await servers.open()
    const received = first.engine.webhooks.receive({
      endpoint: { package: 'p', fluxName: 'Hook', urlPath: '/hook', timeout: null, verify: null },
      request,
      deliveryId: 'd',
      time: 0,
      idempotencyKey: null,
      replayOf: null,
      rawBody: new Uint8Array(),
      timeout: 1_000_000,
      onStarted() {},
    })
    received.catch(() => undefined)
    await expect.poll(() => first.listContexts({ fluxName: 'Hook' })).toHaveLength(1)
    const [{ id: contextId } = { id: 0 }] = await first.listContexts({ fluxName: 'Hook' })
    const stored = await servers.store.load({ id: contextId })
    if (!stored) throw new Error('there is no context')
    const context = {
      ...stored,
      version: stored.version + 1,
      parts: {
        ...stored.parts,
        output: JSON.stringify({ key: 'topsecret', other: 'see topsecret there', harmless: 'harmless' }),
      },
    }
    await servers.store.commit({
      writes: [
        { context, previous: stored.version, changed: ['output'], log: [], notifies: [], answersNotification: false },
      ],
    })
    const server = await servers.broken(first, [contextId, instead])
    const views = [await server.getContext({ contextId }), ...(await server.listContexts({ fluxName: 'Hook' }))]
    expect(views).toHaveLength(2)
    for (const view of views) {
      expect(JSON.stringify(view)).not.toContain('topsecret')
      expect(outputs(view)).toMatchObject({ harmless: 'harmless' })
    }
  })
})

const later: Change = (definition) => void Object.assign(definition, { format: 99 })

test('a definition of another format is looked at and terminated here, and carried on elsewhere', async () => {
  const first = await servers.open()
  const [parent, contextId, unknown] = [await first.run('Parent'), await first.run('Waits'), await first.run('Waits')]
  const server = await servers.broken(
    first,
    [parent + 1, later],
    [contextId, later],
    [unknown, '{"format":99,"all":"else"}'],
  )
  expect(await failureOf(server.sendEvent({ contextId: unknown, event: 'on' }))).toMatchObject({ kind: 'unavailable' })
  expect(await failureOf(server.sendEvent({ contextId, event: 'on' }))).toMatchObject({
    kind: 'unavailable',
    detail: expect.stringContaining('has format 99'),
  })
  await server.advance(120_000)
  expect(await server.getContext({ contextId })).toMatchObject({ status: 'WAITING_UNTIL', currentState: 'stands' })
  expect(await server.getContext({ contextId: unknown })).toMatchObject({
    status: 'WAITING_UNTIL',
    currentState: 'stands',
  })
  const { operationId = '' } = await server.startOperation({ filter: {}, do: 'event', with: { event: 'on' } })
  await server.advance(5000)
  expect(await server.getOperation({ operationId })).toMatchObject({ status: 'done', changed: 0, failed: 2 })
  await server.terminate({ contextId: unknown })
  await server.addTags({ contextId, tag: ['kept'] })
  expect(ids(await server.listContexts({ tag: ['kept'] }))).toEqual([contextId])
  await server.terminate({ contextId })
  expect(await server.getContext({ contextId })).toMatchObject({ status: 'TERMINATED' })
  expect(outputs(await server.until(parent, done))).toMatchObject({ note: 'TimeoutError' })
  expect(await server.getContext({ contextId: parent + 1 })).toMatchObject({ status: 'TERMINATED' })
})

test('what stands in for a definition is made anew when another server was faster', async () => {
  const first = await servers.open()
  const contextId = await first.run('Waits')
  const server = await servers.broken(first, [contextId, at('states/1/waiting', false)])
  await server.addTags({ contextId, tag: ['x'] })
  const stored = await servers.store.load({ id: contextId })
  if (!stored) throw new Error('there is no context')
  const head = { ...JSON.parse(stored.parts['head'] ?? ''), state: 3, visited: [0, 1, 3] }
  const context = { ...stored, version: stored.version + 1, parts: { ...stored.parts, head: JSON.stringify(head) } }
  const write = {
    context,
    previous: stored.version,
    changed: ['head'],
    log: [],
    notifies: [],
    answersNotification: false,
  }
  expect(await servers.store.commit({ writes: [write] })).toEqual({ ok: true })
  await server.advance(60_000)
  const view = await server.until(contextId, done)
  expect(view).toMatchObject({ status: 'FAILED', currentState: 'caught', error: { type: 'DefinitionError' } })
  expect(errors(server)).toEqual([])
})
