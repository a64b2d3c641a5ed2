// Contexts whose pinned definition isn't what it was: looked at, listed, tagged, terminated; and what reaches a broken part fails.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { hashOf } from '../../src/definitions/pinned-text.ts'
import { ANONYMOUS } from '../../src/model/caller.ts'
import { FluxError } from '../../src/model/failure.ts'
import { getOwn, isObject, type Json, type JsonObject } from '../../src/model/json.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench, outputs, type Bench, type Files } from '../support/runtime.ts'

const set = (to: string, expression: string) => ({ type: 'set', expression, evaluate: true, to: [to] })
const caught = { name: 'caught', input: [{ name: 'e', type: 'any' }], action: { lines: [{ from: ['e', 'type'], to: ['note'] }] } }
const onException = { event: '$exception', to: 'caught', lines: [{ from: ['$fluxException'], to: ['e'] }] }

const FILES: Files = {
  'p/fn.ts': 'export const slow = () => new Promise(() => {})\nexport const quick = () => ({ got: "it" })\nexport const fails = () => { throw new Error("no") }',
  'p/Waits.flux': {
    tags: ['own'], output: [{ name: 'note' }, { name: 'count', type: 'integer', defaultValue: 0 }],
    states: [
      { name: 'first', transitions: [{ to: 'stands' }] },
      {
        name: 'stands', waiting: true, input: [{ name: 'value', type: 'integer' }], action: { lines: [set('count', 'count + 1')] },
        transitions: [{ event: 'again', to: 'stands' }, { event: 'on', to: 'ends', lines: [set('word', '"w"')] }, { to: 'ends', wait: 'duration:60' }, onException],
      },
      { name: 'ends', input: [{ name: 'word' }], action: { lines: [set('note', '"end"')] } },
      caught,
    ],
  },
  'p/Calls.flux': {
    output: [{ name: 'note' }],
    states: [{ name: 'call', action: { type: 'invokeCode', className: 'fn', methodName: 'slow', outputs: [{ from: ['got'], to: ['note'] }] }, transitions: [{ to: 'ends' }, onException] }, { name: 'ends' }, caught],
  },
  'p/Retries.flux': {
    output: [{ name: 'note' }],
    states: [{ name: 'call', action: { type: 'invokeCode', className: 'fn', methodName: 'fails', retry: { maxAttempts: 3, delay: 60 } }, transitions: [{ to: 'ends' }, onException] }, { name: 'ends' }, caught],
  },
  'p/Delays.flux': {
    output: [{ name: 'note' }],
    states: [{ name: 'delay', transitions: [{ to: 'ends', wait: 'duration:60', lines: [set('word', '"w"')] }, onException] }, { name: 'ends', input: [{ name: 'word' }] }, caught],
  },
  'p/Parent.flux': {
    output: [{ name: 'note' }, { name: 'got', type: 'any' }],
    states: [{ name: 'ask', action: { type: 'invokeFlux', name: 'Waits', timeout: 30, outputs: [{ from: ['note'], to: ['got'] }] }, transitions: [{ to: 'ends' }, onException] }, { name: 'ends' }, caught],
  },
  'p/Secured.flux': { secured: true, states: [{ name: 'stands', waiting: true, transitions: [{ event: 'on', to: 'stands' }] }] },
  'p/Hook.flux': {
    webhooks: [{ urlPath: '/hook', httpMethods: ['POST'] }], output: [{ name: 'key' }, { name: 'other' }],
    states: [{ name: 'stands', waiting: true, action: { lines: [] }, transitions: [{ event: 'go', to: 'stands' }] }],
  },
}

let bench: Bench | null = null
let store: Store
afterEach(async () => {
  await bench?.close()
  bench = null
})

const open = async (): Promise<Bench> => bench = await openBench(FILES, { wrap: (opened) => store = opened })

type Change = (definition: { source: JsonObject } & JsonObject) => void
/** What is stored instead: changed, a text, or nothing. */
type Instead = Change | string | null

/** Starts the server again, with other definitions under the contexts. */
async function broken(server: Bench, ...changes: readonly (readonly [contextId: number, instead: Instead])[]): Promise<Bench> {
  for (const [id, instead] of changes) {
    const stored = await store.load({ id })
    if (!stored) throw new Error('there is no such context')
    const base = JSON.parse(stored.parts['base'] ?? '')
    const text = textOf(instead, await store.getDefinition({ hash: base.definition }) ?? '')
    base.definition = hashOf(text ?? `nothing ${id}`)
    if (text !== null) await store.putDefinition({ hash: base.definition, text })
    const context = { ...stored, version: stored.version + 1, parts: { ...stored.parts, base: JSON.stringify(base) } }
    expect(await store.commit({ writes: [{ context, previous: stored.version, changed: ['base'], log: [], pokes: [], answersPoke: false }] })).toEqual({ ok: true })
  }
  return bench = await server.restart()
}

function textOf(instead: Instead, before: string): string | null {
  if (typeof instead !== 'function') return instead
  const definition = JSON.parse(before)
  instead(definition)
  return JSON.stringify(definition)
}

/** Changes what lies at that path of the source. */
const at = (path: string, value: Json): Change => ({ source }) => {
  const keys = path.split('/')
  const last = keys.pop() ?? ''
  let place: Json = source
  for (const key of keys) place = Array.isArray(place) ? place[Number(key)] ?? null : isObject(place) ? getOwn(place, key) ?? null : null
  if (Array.isArray(place)) place[Number(last)] = value
  else if (isObject(place)) place[last] = value
}

const failureOf = (call: Promise<unknown>) => call.then(() => null, (error: unknown) => error instanceof FluxError ? error.failure : String(error))
const done = ({ status }: { status: string }) => ['COMPLETED', 'FAILED', 'TERMINATED'].includes(status)
const ids = (views: readonly { id: number }[]) => views.map(({ id }) => id)
/** Nothing was delivered again, nor went wrong in the server. */
const errors = (server: Bench) => server.logged.filter(({ level }) => level === 'error')

const LOST: readonly (readonly [string, Instead])[] = [
  ['no JSON', '{"package":'], ['no definition', '{"states":[]}'], ['not stored', null],
  ['without a list of states', at('states', 'none')],
]

describe.each(LOST)('a definition that is %s', (what, instead) => {
  const HAS_SOURCE = what === 'without a list of states'

  test('still gives names, states, data and history', async () => {
    const first = await open()
    const contextId = await first.run('Waits')
    await first.sendEvent({ contextId, event: 'again', input: { value: 4 } })
    const before = await first.getContext({ contextId })
    const server = await broken(first, [contextId, instead])
    const view = await server.getContext({ contextId, snapshot: true })
    expect(view).toMatchObject({ fluxName: 'Waits', package: 'p', currentState: 'stands', startState: 'first', status: 'WAITING_UNTIL', tags: ['own'], nextRun: before.nextRun })
    expect(outputs(view)).toEqual({ count: 1 })
    expect(view.executionHistory.map(({ stateName }) => stateName)).toEqual(['first', 'stands', 'stands'])
    expect(view.snapshot).toMatchObject({ value: { stands: 'waiting' } })
    expect(await server.getStateContext({ contextId, stateName: 'stands' })).toMatchObject({ name: 'stands', transitionContexts: [{ event: 'again' }] })
    expect(await failureOf(server.getStateContext({ contextId, stateName: 'nope' }))).toMatchObject({ kind: 'notFound' })
    const definition = await failureOf(server.getDefinition({ contextId }))
    if (HAS_SOURCE) expect(definition).toBeNull()
    else expect(definition).toMatchObject({ kind: 'notFound', detail: expect.stringContaining(`context ${contextId}`) })
    expect(errors(server)).toEqual([])
  })

  test('leaves its contexts in lists, tagged and untagged, and terminates them', async () => {
    const first = await open()
    const [contextId, other] = [await first.run('Waits'), await first.run('Waits')]
    const server = await broken(first, [contextId, instead])
    const found = async () => [
      await server.listContexts({ fluxName: 'Waits' }), await server.listContexts({ currentState: 'stands' }), await server.listContexts({ startState: 'first' }),
      await server.listContexts({ status: 'WAITING_UNTIL' }), await server.listContexts({ tag: ['own'] }),
    ].map(ids)
    expect(await found()).toEqual(Array.from({ length: 5 }, () => [contextId, other]))
    await server.addTags({ contextId, tag: ['new'] })
    expect(await found()).toEqual(Array.from({ length: 5 }, () => [contextId, other]))
    expect(ids(await server.listContexts({ tag: ['new'], currentState: 'stands' }))).toEqual([contextId])
    await server.removeTags({ contextId, tag: ['new', 'own'] })
    expect(ids(await server.listContexts({ tag: ['own'] }))).toEqual([other])
    await server.terminate({ contextId })
    expect(await server.getContext({ contextId })).toMatchObject({ status: 'TERMINATED', currentState: 'stands' })
    expect(ids(await server.listContexts({ status: 'TERMINATED', fluxName: 'Waits', currentState: 'stands' }))).toEqual([contextId])
    expect(errors(server)).toEqual([])
  })

  test('fails by an event that it waits for, refuses others, and is heard of by a broadcast', async () => {
    const first = await open()
    const [contextId, other, third] = [await first.run('Waits'), await first.run('Waits'), await first.run('Waits')]
    for (const id of [contextId, other]) await first.removeTags({ contextId: id, tag: ['own'] })
    const server = await broken(first, [contextId, instead], [other, instead], [third, instead])
    expect(await failureOf(server.sendEvent({ contextId, event: 'unknown' }))).toMatchObject({ kind: 'conflict' })
    await server.sendEvent({ contextId, event: 'on' })
    expect(await server.getContext({ contextId })).toMatchObject({ status: 'FAILED', currentState: 'stands', error: { type: 'DefinitionError' } })
    expect((await server.sendEvent({ event: 'on' })).transitions).toEqual([{ contextId: other, state: 'stands' }])
    expect((await server.sendEvent({ event: 'on', tags: ['own'] })).transitions).toEqual([{ contextId: third, state: 'stands' }])
    expect(await server.getContext({ contextId: third })).toMatchObject({ status: 'FAILED', error: { type: 'DefinitionError' } })
    expect(errors(server)).toEqual([])
  })

  test('fails by its time, the end of its step, of a pause, and of a delay', async () => {
    const first = await open()
    const [waits, calls, retries, delays] = [await first.run('Waits'), await first.run('Calls'), await first.run('Retries'), await first.run('Delays')]
    await first.until(retries, ({ step }) => step?.nextAttemptAt != null)
    const server = await broken(first, [waits, instead], [calls, instead], [retries, instead], [delays, instead])
    expect(await server.until(calls, done)).toMatchObject({ status: 'FAILED', currentState: 'call', error: { type: 'DefinitionError' } })
    await server.advance(59_000)
    expect(await server.getContext({ contextId: waits })).toMatchObject({ status: 'WAITING_UNTIL' })
    await server.advance(1_000)
    for (const contextId of [waits, retries, delays]) expect(await server.until(contextId, done)).toMatchObject({ status: 'FAILED', error: { type: 'DefinitionError' } })
    expect(errors(server)).toEqual([])
  })

  test('holds up no parent: it is terminated, times out and gets its end', async () => {
    const first = await open()
    const parents = [await first.run('Parent'), await first.run('Parent'), await first.run('Parent'), await first.run('Parent')]
    const [ended, late, told, failed] = parents.map((id) => [id, id + 1] as const)
    if (!ended || !late || !told || !failed) throw new Error('there are no parents')
    const server = await broken(first, ...[ended, late, told, failed].map(([, child]) => [child, instead] as const))
    await server.terminate({ contextId: ended[0] })
    for (const contextId of ended) expect(await server.getContext({ contextId })).toMatchObject({ status: 'TERMINATED' })
    await server.terminate({ contextId: told[1] })
    expect(outputs(await server.until(told[0], done))).toMatchObject({ note: 'ServiceTerminated' })
    await server.sendEvent({ contextId: failed[1], event: 'on' })
    expect(outputs(await server.until(failed[0], done))).toMatchObject({ note: 'ServiceFailed' })
    await server.advance(30_000)
    expect(outputs(await server.until(late[0], done))).toMatchObject({ note: 'TimeoutError' })
    expect(await server.getContext({ contextId: late[1] })).toMatchObject({ status: 'TERMINATED' })
    expect(errors(server)).toEqual([])
  })

  test('as a parent gets its child\'s end, and fails; terminated, it ends its child', async () => {
    const first = await open()
    const [parent, other] = [await first.run('Parent'), await first.run('Parent')]
    const server = await broken(first, [parent, instead], [other, instead])
    await server.sendEvent({ contextId: parent + 1, event: 'on' })
    expect(await server.until(parent, done)).toMatchObject({ status: 'FAILED', currentState: 'ask', error: { type: 'DefinitionError' } })
    expect(await server.getContext({ contextId: parent + 1 })).toMatchObject({ status: 'COMPLETED' })
    await server.terminate({ contextId: other })
    for (const contextId of [other, other + 1]) expect(await server.getContext({ contextId })).toMatchObject({ status: 'TERMINATED' })
    expect(errors(server)).toEqual([])
  })
})

/** Parts of `Waits` that break, and the event that reaches each. */
const PARTS: readonly (readonly [part: string, change: Change, event: string])[] = [
  ['an expression', at('states/1/action/lines/0/expression', 'count +'), 'again'],
  ['an expression with a name that is nowhere', at('states/1/action/lines/0/expression', 'nope'), 'again'],
  ['a line', at('states/1/action/lines/0', 'none'), 'on'],
  ['the type of a line', at('states/1/action/lines/0/type', 'jump'), 'on'],
  ['an action of an unknown type', at('states/1/action/type', 'dance'), 'on'],
  ['an action that isn\'t one', at('states/1/action', 'none'), 'on'],
  ['a line of a transition', at('states/1/transitions/1/lines/0/to', ['nowhere']), 'on'],
  ['the lines of a transition', at('states/1/transitions/1/lines', 'none'), 'on'],
  ['the target of a transition', at('states/1/transitions/1/to', 'nowhere'), 'on'],
  ['the type of a property that a line writes', at('states/2/input/0/type', 'thing'), 'on'],
  ['a model of a property that a line writes', at('states/2/input/0', { name: 'word', type: 'model', reference: 'Gone' }), 'on'],
  ['a default', at('states/2/input/0', { name: 'word', type: 'integer', defaultValue: 'x' }), 'on'],
  ['a wait that is entered again', at('states/1/transitions/2/wait', 'duration:${'), 'again'],
  ['a wait that is no text', at('states/1/transitions/2/wait', { x: 1 }), 'again'],
]

describe('where a part is broken', () => {
  test.each(PARTS)('%s: an event that reaches it goes the way of exceptions', async (_, change, event) => {
    const first = await open()
    const contextId = await first.run('Waits')
    const server = await broken(first, [contextId, change])
    const { source } = JSON.parse(await store.getDefinition({ hash: (await server.getContext({ contextId })).definition }) ?? '')
    expect(await server.getDefinition({ contextId })).toEqual(source)
    expect(await server.listContexts({ currentState: 'stands' })).toMatchObject([{ id: contextId, currentState: 'stands', status: 'WAITING_UNTIL' }])
    await server.sendEvent({ contextId, event })
    const view = await server.getContext({ contextId })
    expect(view).toMatchObject({ status: 'COMPLETED', currentState: 'caught' })
    expect(outputs(view)).toMatchObject({ note: 'DefinitionError' })
    expect(errors(server)).toEqual([])
    expect(server.logged).toContainEqual(expect.objectContaining({ level: 'warn', fields: expect.objectContaining({ definition: view.definition }) }))
  })

  test.each(PARTS)('%s: without a way for exceptions the context fails', async (_, change, event) => {
    const first = await open()
    const contextId = await first.run('Waits')
    const server = await broken(first, [contextId, (definition) => {
      at('states/1/transitions/3/event', 'other')(definition)
      change(definition)
    }])
    await server.sendEvent({ contextId, event })
    expect(await server.getContext({ contextId })).toMatchObject({ status: 'FAILED', currentState: 'stands', error: { type: 'DefinitionError', message: expect.stringMatching(/\/states\/|^the default of "word"/) } })
    expect(errors(server)).toEqual([])
  })

  test('what doesn\'t touch it goes on as before', async () => {
    const first = await open()
    const contextId = await first.run('Waits')
    const server = await broken(first, [contextId, (definition) => {
      at('states/1/transitions/1/lines/0/expression', '(')(definition)
      at('webhooks', [{ urlPath: 5 }])(definition)
      at('triggers', 7)(definition)
    }])
    await server.sendEvent({ contextId, event: 'again', input: { value: 1 } })
    await server.sendEvent({ contextId, event: 'again' })
    expect(outputs(await server.getContext({ contextId }))).toMatchObject({ count: 2 })
    await server.advance(60_000)
    expect(await server.until(contextId, done)).toMatchObject({ status: 'COMPLETED', currentState: 'ends' })
  })

  test.each([['its transition', at('states/1/transitions/2', 'none')], ['its target', at('states/1/transitions/2/to', 'nowhere')], ['that it waits', at('states/1/waiting', 'maybe')], ['its name', at('states/1/name', 7)]])(
    'a time that comes fails: %s', async (_, change) => {
      const first = await open()
      const contextId = await first.run('Waits')
      const server = await broken(first, [contextId, change])
      await server.advance(60_000)
      const view = await server.until(contextId, done)
      expect([view.error?.type, outputs(view)['note']]).toContain('DefinitionError')
      expect(errors(server)).toEqual([])
    })

  test('an input that can\'t be read is refused, and moves nothing', async () => {
    const first = await open()
    const contextId = await first.run('Waits')
    const server = await broken(first, [contextId, at('states/1/input/0/type', 'thing')])
    expect(await failureOf(server.sendEvent({ contextId, event: 'again', input: { value: 1 } }))).toMatchObject({
      kind: 'invalid', errors: [{ pointer: '/input/value', detail: expect.stringContaining('"thing" is no type') }],
    })
    await server.sendEvent({ contextId, event: 'again' })
    expect(outputs(await server.getContext({ contextId }))).toMatchObject({ count: 1 })
  })

  test.each([['its action', 'Calls', at('states/0/action/type', 'dance')], ['its pause', 'Retries', at('states/0/action/retry', 'often')], ['its delay', 'Delays', at('states/0/transitions/0/wait', 9)]])(
    'a context that stands where its state has no place any more fails: %s', async (_, fluxName, change) => {
      const first = await open()
      const [contextId, other] = [await first.run(fluxName), await first.run(fluxName)]
      if (fluxName === 'Retries') for (const id of [contextId, other]) await first.until(id, ({ step }) => step?.nextAttemptAt != null)
      const server = await broken(first, [contextId, change], [other, change])
      if (fluxName !== 'Calls') {
        await server.terminate({ contextId: other })
        expect(await server.getContext({ contextId: other })).toMatchObject({ status: 'TERMINATED' })
      }
      await server.advance(60_000)
      const view = await server.until(contextId, done)
      expect(view).toMatchObject({ status: 'COMPLETED', currentState: 'caught' })
      expect(outputs(view)).toMatchObject({ note: 'DefinitionError' })
      expect(errors(server)).toEqual([])
    })

  test('a parent whose outputs are broken fails when its child has ended', async () => {
    const first = await open()
    const parent = await first.run('Parent')
    const server = await broken(first, [parent, at('states/0/action/outputs/0/to', [])])
    await server.sendEvent({ contextId: parent + 1, event: 'on' })
    expect(outputs(await server.until(parent, done))).toMatchObject({ note: 'DefinitionError' })
  })
})

describe('secrets', () => {
  const request = { method: 'POST', uri: '/api/hook', contentType: '', headers: [{ name: 'x-api-key', value: 'topsecret' }], cookies: [], parameters: {}, body: null, config: {} }

  test.each([['a part', at('states/0/action/lines', ['none'])], ['the whole', 'none'], ['not even stored', null]] as const)('are hidden wherever they may be: %s', async (_, instead) => {
    const first = await open()
    const received = first.runtime.webhooks.receive({
      endpoint: { package: 'p', fluxName: 'Hook', urlPath: '/hook', timeout: null }, request, rawBody: new Uint8Array(), textsOf: () => [], timeout: 1_000_000, onStarted() {},
    })
    received.catch(() => undefined)
    await expect.poll(() => first.listContexts({ fluxName: 'Hook' })).toHaveLength(1)
    const [{ id: contextId } = { id: 0 }] = await first.listContexts({ fluxName: 'Hook' })
    const stored = await store.load({ id: contextId })
    if (!stored) throw new Error('there is no context')
    const context = { ...stored, version: stored.version + 1, parts: { ...stored.parts, output: JSON.stringify({ key: 'topsecret', other: 'see topsecret there', harmless: 'harmless' }) } }
    await store.commit({ writes: [{ context, previous: stored.version, changed: ['output'], log: [], pokes: [], answersPoke: false }] })
    const server = await broken(first, [contextId, instead])
    const views = [await server.getContext({ contextId }), ...await server.listContexts({ fluxName: 'Hook' })]
    expect(views).toHaveLength(2)
    for (const view of views) {
      expect(JSON.stringify(view)).not.toContain('topsecret')
      expect(outputs(view)).toMatchObject({ harmless: 'harmless' })
    }
  })
})

test.each(LOST)('a context of a secured service stays closed when its definition is %s and its service is gone', async (_, instead) => {
  const first = await open()
  const [contextId, other] = [await first.run('Secured'), await first.run('Waits')]
  await rm(join(first.folder, 'actors/p/Secured.flux'))
  const server = await broken(first, [contextId, instead], [other, instead])
  const anybody = server.runtime.api(ANONYMOUS)
  expect(await failureOf(anybody.getContext({ contextId }))).toMatchObject({ kind: 'unauthorized' })
  expect(await failureOf(anybody.terminate({ contextId }))).toMatchObject({ kind: 'unauthorized' })
  expect(ids(await anybody.listContexts({}))).toEqual([other])
  await server.addTags({ contextId, tag: ['x'] })
  expect(ids(await anybody.listContexts({}))).toEqual([other])
  expect(await anybody.getContext({ contextId: other })).toMatchObject({ id: other })
  await server.terminate({ contextId })
  expect(await failureOf(anybody.getContext({ contextId }))).toMatchObject({ kind: 'unauthorized' })
})

test('an event that nobody knows is told so, whatever is stored', async () => {
  const first = await open()
  const [contextId, other] = [await first.run('Waits'), await first.run('Waits')]
  const server = await broken(first, [contextId, 'no JSON'], [other, '[]'])
  expect(await failureOf(server.sendEvent({ contextId: await server.run('Waits'), event: 'agan' }))).toMatchObject({ kind: 'conflict', hint: expect.stringContaining("did you mean 'again'?") })
})

test('a later version\'s definition is looked at and terminated here, and carried on elsewhere', async () => {
  const first = await open()
  const [parent, contextId] = [await first.run('Parent'), await first.run('Waits')]
  const server = await broken(first, ...[parent + 1, contextId].map((id) => [id, (definition: JsonObject) => { definition['format'] = 99 }] as const))
  expect(await failureOf(server.sendEvent({ contextId, event: 'on' }))).toMatchObject({ kind: 'unavailable', detail: expect.stringContaining('later version') })
  await server.advance(120_000)
  expect(await server.getContext({ contextId })).toMatchObject({ status: 'WAITING_UNTIL', currentState: 'stands' })
  await server.addTags({ contextId, tag: ['kept'] })
  expect(ids(await server.listContexts({ tag: ['kept'] }))).toEqual([contextId])
  await server.terminate({ contextId })
  expect(await server.getContext({ contextId })).toMatchObject({ status: 'TERMINATED' })
  expect(outputs(await server.until(parent, done))).toMatchObject({ note: 'TimeoutError' })
  expect(await server.getContext({ contextId: parent + 1 })).toMatchObject({ status: 'TERMINATED' })
})
