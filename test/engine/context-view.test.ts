// What the view of a context tells of its relatives, of the last event, and of what it keeps.
import { describe, expect, test } from 'vitest'
import { openBench, type Bench, type Files } from '../support/engine.ts'
import { ANONYMOUS } from '../../src/model/caller.ts'
import { getOwn, isObject, type JsonObject } from '../../src/model/json/value.ts'
import { unreadable } from '../../src/model/failure.ts'
import type { Store } from '../../src/ports/store.ts'
import { withVerbs } from '../support/stores.ts'

const FILES: Files = {
  'p/Parent.flux': {
    states: [
      { name: 'ask', action: { type: 'invokeFlux', name: 'Child' }, transitions: [{ to: 'done' }] },
      { name: 'done' },
    ],
  },
  'p/Child.flux': {
    early: 600,
    states: [
      { name: 'a', waiting: true, transitions: [{ event: 'go', to: 'b' }] },
      {
        name: 'b',
        waiting: true,
        transitions: [
          { event: 'later', to: 'c' },
          { wait: 'duration:60', to: 'c' },
        ],
      },
      { name: 'c' },
    ],
  },
  'p/SecretParent.flux': {
    secured: true,
    states: [
      { name: 'ask', action: { type: 'invokeFlux', name: 'Child' }, transitions: [{ to: 'done' }] },
      { name: 'done' },
    ],
  },
}

const SECRET_CHILD: Files = {
  'p/SecretChild.flux': {
    secured: true,
    states: [{ name: 'a', waiting: true, transitions: [{ event: 'go', to: 'b' }] }, { name: 'b' }],
  },
  'p/ParentOfSecret.flux': {
    states: [
      { name: 'ask', action: { type: 'invokeFlux', name: 'SecretChild' }, transitions: [{ to: 'done' }] },
      { name: 'done' },
    ],
  },
}

const objectIn = (object: JsonObject | undefined, name: string): JsonObject => {
  const value = getOwn(object ?? {}, name)
  return isObject(value) ? value : {}
}

describe('the view of a context', () => {
  let bench: Bench

  test('tells the parent and the child, with their states', async () => {
    bench = await openBench(FILES)
    const parent = await bench.run('Parent')
    const view = await bench.until(parent, ({ child }) => child !== null)
    const childId = view.child?.contextId ?? 0
    expect(view).toMatchObject({ parent: null, child: { contextId: childId, fluxName: 'Child', state: 'a' } })
    expect(await bench.getContext({ contextId: childId })).toMatchObject({
      parent: { contextId: parent, fluxName: 'Parent', state: 'ask' },
      child: null,
    })
    await bench.sendEvent({ contextId: childId, event: 'go' })
    expect((await bench.getContext({ contextId: parent })).child).toMatchObject({ state: 'b' })
    const listed = await bench.listContexts({ fluxName: 'Parent' })
    expect(listed[0]?.child).toEqual({ contextId: childId, fluxName: 'Child', state: 'b' })
    await bench.sendEvent({ contextId: childId, event: 'later' })
    expect((await bench.until(parent, ({ status }) => status === 'COMPLETED')).child).toBeNull()
  })

  test('tells nothing but the id of a relative that the caller may not see', async () => {
    bench = await openBench(FILES)
    const parent = await bench.run('SecretParent')
    const { child } = await bench.until(parent, (view) => view.child !== null)
    const contextId = child?.contextId ?? 0
    const anyone = bench.engine.api(ANONYMOUS)
    expect((await anyone.getContext({ contextId })).parent).toEqual({ contextId: parent, fluxName: null, state: null })
    expect((await bench.getContext({ contextId })).parent).toMatchObject({ fluxName: 'SecretParent' })
  })

  test('tells nothing but the id of a child in a snapshot that the caller may not see', async () => {
    bench = await openBench(SECRET_CHILD)
    const parent = await bench.run('ParentOfSecret')
    const { child } = await bench.until(parent, (view) => view.child !== null)
    const id = String(child?.contextId)
    const snapshotFor = async (as: Pick<Bench, 'getContext'>) =>
      (await as.getContext({ contextId: parent, snapshot: true })).snapshot
    expect(await snapshotFor(bench.engine.api(ANONYMOUS))).toMatchObject({ children: { [id]: { src: '' } } })
    expect(await snapshotFor(bench)).toMatchObject({ children: { [id]: { src: 'p/SecretChild' } } })
  })

  test('shows the snapshot also where the child can not be read', async () => {
    const seen = await snapshotsWithout((id) => Promise.reject(unreadable(id)))
    expect(seen).toEqual({ all: '', anyone: '' })
  })

  /** The source of the child in the snapshot of its parent, once the store answers that when it is asked for the child. */
  async function snapshotsWithout(load: (id: number) => ReturnType<Store['load']>) {
    let lost: number | null = null
    const wrap = (store: Store): Store =>
      withVerbs(store, { load: ({ id }) => (id === lost ? load(id) : store.load({ id })) })
    bench = await openBench(SECRET_CHILD, { wrap })
    const parent = await bench.run('ParentOfSecret')
    const id = (await bench.until(parent, (view) => view.child !== null)).child?.contextId ?? 0
    lost = id
    const sourceFor = async (as: Pick<Bench, 'getContext'>) => {
      const { snapshot } = await as.getContext({ contextId: parent, snapshot: true })
      return getOwn(objectIn(objectIn(snapshot, 'children'), String(id)), 'src')
    }
    return { all: await sourceFor(bench), anyone: await sourceFor(bench.engine.api(ANONYMOUS)) }
  }

  test('tells the last event that it took, which a wake-up and a refused event leave as it was', async () => {
    bench = await openBench(FILES)
    const contextId = await bench.run('Child')
    expect(await bench.getContext({ contextId })).toMatchObject({ lastEvent: null, forkedFrom: null, paused: false })
    const at = bench.clock.now()
    await bench.sendEvent({ contextId, event: 'go', eventId: 'own-id' })
    await expect(bench.sendEvent({ contextId, event: 'unknown' })).rejects.toMatchObject({
      failure: { kind: 'conflict' },
    })
    await bench.advance(61_000)
    bench = await bench.restart()
    const view = await bench.until(contextId, ({ status }) => status === 'COMPLETED')
    expect(view.lastEvent).toEqual({ event: 'go', at, eventId: 'own-id' })
  })

  test('tells the events that it keeps, until they expire', async () => {
    bench = await openBench(FILES)
    const contextId = await bench.run('Child')
    await bench.sendEvent({ contextId, event: 'later', eventId: 'early-1' })
    const { pending, lastEvent } = await bench.getContext({ contextId })
    expect(pending).toEqual(await bench.listPending({ contextId }))
    expect(pending).toMatchObject([{ eventId: 'early-1', event: 'later', contextId, fluxName: 'Child' }])
    expect(lastEvent).toBeNull()
    await bench.sendEvent({ contextId, event: 'go' })
    const after = await bench.getContext({ contextId })
    expect(after).toMatchObject({ status: 'COMPLETED', pending: [], lastEvent: { event: 'later', eventId: 'early-1' } })
  })
})
