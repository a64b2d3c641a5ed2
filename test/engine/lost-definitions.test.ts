// Contexts of whose definition nothing is left: looked at, listed, tagged, terminated; what carries them on fails.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { ANONYMOUS } from '../../src/model/caller.ts'
import { at, BrokenBench, done, errors, failureOf, ids, type Instead } from '../support/broken.ts'
import { outputs } from '../support/engine.ts'

const servers = new BrokenBench()
afterEach(() => servers.close())

const LOST: readonly (readonly [string, Instead])[] = [
  ['no JSON', '{"package":'],
  ['no definition', '{"states":[]}'],
  ['not stored', null],
  ['without a list of states', at('states', 'none')],
]

describe.each(LOST)('a definition that is %s', (what, instead) => {
  const HAS_SOURCE = what === 'without a list of states'

  test('still gives names, states, data and history', async () => {
    const first = await servers.open()
    const contextId = await first.run('Waits')
    await first.sendEvent({ contextId, event: 'again', input: { value: 4 } })
    const before = await first.getContext({ contextId })
    const server = await servers.broken(first, [contextId, instead])
    const view = await server.getContext({ contextId, snapshot: true })
    expect(view).toMatchObject({
      fluxName: 'Waits',
      package: 'p',
      currentState: 'stands',
      startState: 'first',
      status: 'WAITING_UNTIL',
      tags: ['own'],
      nextRun: before.nextRun,
    })
    expect(outputs(view)).toEqual({ count: 1 })
    expect(view.executionHistory.map(({ stateName }) => stateName)).toEqual(['first', 'stands', 'stands'])
    expect(view.snapshot).toMatchObject({ value: { stands: 'waiting' } })
    expect(await server.getStateContext({ contextId, stateName: 'stands' })).toMatchObject({
      name: 'stands',
      transitionContexts: [{ event: 'again' }],
    })
    expect(await failureOf(server.getStateContext({ contextId, stateName: 'nope' }))).toMatchObject({
      kind: 'notFound',
    })
    const definition = await failureOf(server.getDefinition({ contextId }))
    if (HAS_SOURCE) expect(definition).toBeNull()
    else expect(definition).toMatchObject({ kind: 'notFound', detail: expect.stringContaining(`context ${contextId}`) })
    expect(errors(server)).toEqual([])
  })

  test('leaves its contexts in lists, tagged and untagged, and terminates them', async () => {
    const first = await servers.open()
    const [contextId, other] = [await first.run('Waits'), await first.run('Waits')]
    const server = await servers.broken(first, [contextId, instead])
    const found = async () =>
      [
        await server.listContexts({ fluxName: 'Waits' }),
        await server.listContexts({ currentState: 'stands' }),
        await server.listContexts({ startState: 'first' }),
        await server.listContexts({ status: 'WAITING_UNTIL' }),
        await server.listContexts({ tag: ['own'] }),
      ].map(ids)
    expect(await found()).toEqual(Array.from({ length: 5 }, () => [contextId, other]))
    await server.addTags({ contextId, tag: ['new'] })
    expect(await found()).toEqual(Array.from({ length: 5 }, () => [contextId, other]))
    expect(ids(await server.listContexts({ tag: ['new'], currentState: 'stands' }))).toEqual([contextId])
    await server.removeTags({ contextId, tag: ['new', 'own'] })
    expect(ids(await server.listContexts({ tag: ['own'] }))).toEqual([other])
    await server.terminate({ contextId })
    expect(await server.getContext({ contextId })).toMatchObject({ status: 'TERMINATED', currentState: 'stands' })
    expect(ids(await server.listContexts({ status: 'TERMINATED', fluxName: 'Waits', currentState: 'stands' }))).toEqual(
      [contextId],
    )
    expect(errors(server)).toEqual([])
  })

  test('fails by an event that it waits for, refuses others, and is heard of by a broadcast', async () => {
    const first = await servers.open()
    const [contextId, other, third] = [await first.run('Waits'), await first.run('Waits'), await first.run('Waits')]
    for (const id of [contextId, other]) await first.removeTags({ contextId: id, tag: ['own'] })
    const server = await servers.broken(first, [contextId, instead], [other, instead], [third, instead])
    expect(await failureOf(server.sendEvent({ contextId, event: 'unknown' }))).toMatchObject({ kind: 'conflict' })
    await server.sendEvent({ contextId, event: 'on' })
    expect(await server.getContext({ contextId })).toMatchObject({
      status: 'FAILED',
      currentState: 'stands',
      error: { type: 'DefinitionError' },
    })
    expect((await server.sendEvent({ event: 'on' })).transitions).toEqual([{ contextId: other, state: 'stands' }])
    expect((await server.sendEvent({ event: 'on', tags: ['own'] })).transitions).toEqual([
      { contextId: third, state: 'stands' },
    ])
    expect(await server.getContext({ contextId: third })).toMatchObject({
      status: 'FAILED',
      error: { type: 'DefinitionError' },
    })
    expect(errors(server)).toEqual([])
  })

  test('fails by its time, the end of its step, of a pause, and of a delay', async () => {
    const first = await servers.open()
    const [waits, calls, retries, delays] = [
      await first.run('Waits'),
      await first.run('Calls'),
      await first.run('Retries'),
      await first.run('Delays'),
    ]
    await first.until(retries, ({ step }) => step?.nextAttemptAt != null)
    const server = await servers.broken(
      first,
      [waits, instead],
      [calls, instead],
      [retries, instead],
      [delays, instead],
    )
    expect(await server.until(calls, done)).toMatchObject({
      status: 'FAILED',
      currentState: 'call',
      error: { type: 'DefinitionError' },
    })
    await server.advance(59_000)
    expect(await server.getContext({ contextId: waits })).toMatchObject({ status: 'WAITING_UNTIL' })
    await server.advance(1_000)
    for (const contextId of [waits, retries, delays])
      expect(await server.until(contextId, done)).toMatchObject({
        status: 'FAILED',
        error: { type: 'DefinitionError' },
      })
    expect(errors(server)).toEqual([])
  })

  test('holds up no parent: it is terminated, times out and gets its end', async () => {
    const first = await servers.open()
    const parents = [
      await first.run('Parent'),
      await first.run('Parent'),
      await first.run('Parent'),
      await first.run('Parent'),
    ]
    const [ended, late, told, failed] = parents.map((id) => [id, id + 1] as const)
    if (!ended || !late || !told || !failed) throw new Error('there are no parents')
    const server = await servers.broken(
      first,
      ...[ended, late, told, failed].map(([, child]) => [child, instead] as const),
    )
    await server.terminate({ contextId: ended[0] })
    for (const contextId of ended)
      expect(await server.getContext({ contextId })).toMatchObject({ status: 'TERMINATED' })
    await server.terminate({ contextId: told[1] })
    expect(outputs(await server.until(told[0], done))).toMatchObject({ note: 'ServiceTerminated' })
    await server.sendEvent({ contextId: failed[1], event: 'on' })
    expect(outputs(await server.until(failed[0], done))).toMatchObject({ note: 'ServiceFailed' })
    await server.advance(30_000)
    expect(outputs(await server.until(late[0], done))).toMatchObject({ note: 'TimeoutError' })
    expect(await server.getContext({ contextId: late[1] })).toMatchObject({ status: 'TERMINATED' })
    expect(errors(server)).toEqual([])
  })

  test("as a parent gets its child's end, and fails; terminated, it ends its child", async () => {
    const first = await servers.open()
    const [parent, other] = [await first.run('Parent'), await first.run('Parent')]
    const server = await servers.broken(first, [parent, instead], [other, instead])
    await server.sendEvent({ contextId: parent + 1, event: 'on' })
    expect(await server.until(parent, done)).toMatchObject({
      status: 'FAILED',
      currentState: 'ask',
      error: { type: 'DefinitionError' },
    })
    expect(await server.getContext({ contextId: parent + 1 })).toMatchObject({ status: 'COMPLETED' })
    await server.terminate({ contextId: other })
    for (const contextId of [other, other + 1])
      expect(await server.getContext({ contextId })).toMatchObject({ status: 'TERMINATED' })
    expect(errors(server)).toEqual([])
  })
})

test.each(LOST)(
  'a context of a secured service stays closed when its definition is %s and its service is gone',
  async (_, instead) => {
    const first = await servers.open()
    const [contextId, other] = [await first.run('Secured'), await first.run('Waits')]
    await rm(join(first.folder, 'actors/p/Secured.flux'))
    const server = await servers.broken(first, [contextId, instead], [other, instead])
    const anybody = server.engine.api(ANONYMOUS)
    expect(await failureOf(anybody.getContext({ contextId }))).toMatchObject({ kind: 'unauthorized' })
    expect(await failureOf(anybody.terminate({ contextId }))).toMatchObject({ kind: 'unauthorized' })
    expect(ids(await anybody.listContexts({}))).toEqual([other])
    await server.addTags({ contextId, tag: ['x'] })
    expect(ids(await anybody.listContexts({}))).toEqual([other])
    expect(await anybody.getContext({ contextId: other })).toMatchObject({ id: other })
    await server.terminate({ contextId })
    expect(await failureOf(anybody.getContext({ contextId }))).toMatchObject({ kind: 'unauthorized' })
  },
)

test('an event that nobody knows is told so, whatever is stored', async () => {
  const first = await servers.open()
  const [contextId, other] = [await first.run('Waits'), await first.run('Waits')]
  const server = await servers.broken(first, [contextId, 'no JSON'], [other, '[]'])
  expect(await failureOf(server.sendEvent({ contextId: await server.run('Waits'), event: 'agan' }))).toMatchObject({
    kind: 'conflict',
    hint: expect.stringContaining("did you mean 'again'?"),
  })
})
