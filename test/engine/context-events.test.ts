// What a context can take: as the call in process tells it, where names can't be sent, or a later version wrote the definition.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hashOf } from '../../src/definitions/pinned/text.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench } from '../support/engine.ts'
import { definitionIn, withVerbs } from '../support/stores.ts'

const waiter = (more: object = {}) => ({
  states: [
    {
      name: 'rest',
      waiting: true,
      transitions: [
        { event: 'go', to: 'end' },
        { event: '$odd', to: 'end' },
        { event: 'stay', to: 'rest' },
      ],
    },
    {
      name: 'far',
      waiting: true,
      transitions: [
        { event: '$odd', to: 'end' },
        { event: 'back', to: 'rest' },
      ],
    },
    { name: 'end' },
  ],
  ...more,
})

test('what no sender can send is no event, neither here nor elsewhere', async () => {
  const bench = await openBench({ 'p/Waiter.flux': waiter() })
  const contextId = await bench.run('Waiter')
  const { events, others } = await bench.getContextEvents({ contextId })
  expect(events.map(({ event }) => event)).toEqual(['go', 'stay'])
  expect(others.map(({ event }) => event)).toEqual(['back'])
})

test('who may only read sees the events and the schema of what is secured', async () => {
  const bench = await openBench({ 'p/Waiter.flux': waiter({ secured: true, key: 'k' }) })
  const contextId = await bench.run('Waiter')
  const [reader, stranger] = [bench.engine.api({ roles: ['read'] }), bench.engine.api({ roles: [] })]
  for (const address of [{ contextId }, { key: 'k', fluxName: 'Waiter' }])
    expect((await reader.getContextEvents(address)).events).toHaveLength(2)
  expect(await reader.getServiceSchema({ fluxName: 'Waiter' })).toMatchObject({ fluxName: 'Waiter' })
  expect((await reader.listServices({})).services).toMatchObject([{ fluxName: 'Waiter', contexts: { WAITING: 1 } }])
  for (const refused of [stranger.getContextEvents({ contextId }), stranger.getServiceSchema({ fluxName: 'Waiter' })])
    await expect(refused).rejects.toMatchObject({ failure: { kind: 'unauthorized' } })
})

test('a definition of another format takes nothing at this server, and says where it is taken', async () => {
  const first = await openBench({ 'p/Waiter.flux': waiter() })
  const contextId = await first.run('Waiter')
  const { definition } = await first.getContext({ contextId })
  // The service is gone, so the definition is read from the store.
  await rm(join(first.folder, 'actors/p/Waiter.flux'))
  await first.engine.close({ grace: 0 })
  const asLater = (store: Store): Store => {
    const text = async (hash: string) =>
      JSON.stringify({ ...JSON.parse((await definitionIn(store, hash)) ?? ''), format: 99 })
    return withVerbs(store, {
      load: async (request) => {
        const stored = await store.load(request)
        const base = stored?.parts['base'] ?? ''
        const later = base.replace(definition, hashOf(await text(definition)))
        return stored && { ...stored, parts: { ...stored.parts, base: later } }
      },
      readRow: async (row) =>
        row.space === 'definitions' ? { ...row, value: await text(definition), expiresAt: null } : store.readRow(row),
    })
  }
  const bench = await openBench({ 'p/Other.flux': waiter() }, { folder: first.folder, wrap: asLater })
  const { events, others, state } = await bench.getContextEvents({ contextId })
  expect([state, events]).toEqual(['rest', []])
  expect(others.find(({ event }) => event === 'go')).toEqual({
    event: 'go',
    states: ['rest'],
    reason: 'is taken in rest, by a server of the version that wrote the definition',
  })
})

test('the reasons why other events are not taken', async () => {
  const bench = await openBench({
    'p/Worker.flux': {
      states: [
        {
          name: 'first',
          waiting: true,
          transitions: [
            { event: 'go', to: 'works' },
            { event: 'kept', to: 'end', early: '1h' },
          ],
        },
        {
          name: 'works',
          action: { lines: [{ type: 'set', expression: 'go', to: ['$fluxEvent'] }] },
          transitions: [
            { event: 'go', to: 'leaves' },
            { event: 'never', to: 'end' },
          ],
        },
        { name: 'leaves', waiting: true, transitions: [{ event: 'on', wait: 'duration:60', to: 'end' }] },
        { name: 'last', waiting: true, transitions: [{ event: 'go', to: 'end' }] },
        { name: 'end' },
      ],
    },
  })
  const contextId = await bench.run('Worker', {}, { startState: 'last' })
  const { others } = await bench.getContextEvents({ contextId })
  // Of those that name an event, only those that take it from outside are named.
  expect(others).toContainEqual({
    event: 'never',
    states: ['works'],
    reason: 'is set by the action of works, and is not taken from outside',
  })
  const left = await bench.run('Worker', {}, { startState: 'leaves' })
  const named = (await bench.getContextEvents({ contextId: left })).others
  expect(named).toContainEqual({
    event: 'go',
    states: ['first', 'last'],
    reason: 'is taken in first and last',
  })
  await bench.sendEvent({ contextId: left, event: 'on' })
  const delayed = await bench.getContextEvents({ contextId: left })
  expect(delayed).toMatchObject({ state: 'leaves', status: 'WAITING_UNTIL', events: [], timed: { to: 'end' } })
  expect(delayed.others).toContainEqual({
    event: 'on',
    states: ['leaves'],
    reason: 'is taken in leaves, but not while it waits to be left',
  })
})

/** Two have to approve. */
const approve = (more: object[] = []) => ({
  early: '1h',
  output: [{ name: 'count', type: 'integer', defaultValue: 0 }],
  states: [
    {
      name: 'wait',
      waiting: true,
      action: {
        lines: [
          { type: 'set', expression: 'count + 1', evaluate: true, to: ['count'] },
          { type: 'set', expression: "count >= 2 ? 'complete' : $fluxEvent", evaluate: true, to: ['$fluxEvent'] },
        ],
      },
      transitions: [{ event: 'approve', to: 'wait' }, { event: 'complete', to: 'end', internal: true }, ...more],
    },
    { name: 'end' },
  ],
})

describe('an internal event', () => {
  const ELSE = { event: '$else', to: 'wait' }

  test('is chosen by the action alone, and unknown to who sends it', async () => {
    const bench = await openBench({ 'p/Approval.flux': { ...approve(), key: 'k' } })
    const contextId = await bench.run('Approval', {}, { tags: ['t'] })
    const { events, others } = await bench.getContextEvents({ contextId })
    expect([events.map(({ event }) => event), others]).toEqual([['approve'], []])
    const refused = { failure: { kind: 'conflict', detail: expect.stringMatching(/doesn't wait for 'complete'/) } }
    await expect(bench.sendEvent({ event: 'complete', contextId })).rejects.toMatchObject(refused)
    await expect(bench.sendEvent({ event: 'complete', key: 'k', fluxName: 'Approval' })).rejects.toMatchObject(refused)
    for (const request of [{ tags: ['t'] }, {}])
      expect(await bench.sendEvent({ event: 'complete', ...request })).toMatchObject({
        transitions: [],
        pending: [],
        hint: "no service knows the event 'complete'",
      })
    const start = { event: 'complete', key: 'other', fluxName: 'Approval', orStart: {} }
    await expect(bench.sendEvent(start)).rejects.toMatchObject({ failure: { kind: 'invalid' } })
    await bench.pause({ contextId })
    await expect(bench.sendEvent({ event: 'complete', contextId })).rejects.toMatchObject({
      failure: { detail: "no state of 'Approval' waits for 'complete'" },
    })
    await bench.resume({ contextId })
    await bench.sendEvent({ event: 'approve', contextId })
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'WAITING', lastEvent: { event: 'approve' } })
    await bench.sendEvent({ event: 'approve', contextId })
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'COMPLETED' })
  })

  test('is not taken by $else either, which would let its sender choose', async () => {
    const bench = await openBench({ 'p/Approval.flux': approve([ELSE]) })
    const contextId = await bench.run('Approval', {}, { tags: ['t'] })
    await expect(bench.sendEvent({ event: 'complete', contextId })).rejects.toMatchObject({
      failure: { kind: 'conflict' },
    })
    expect(await bench.sendEvent({ event: 'complete', tags: ['t'] })).toMatchObject({ transitions: [] })
    await bench.pause({ contextId })
    await expect(bench.sendEvent({ event: 'complete', contextId })).rejects.toMatchObject({
      failure: { kind: 'conflict' },
    })
    await bench.resume({ contextId })
    await bench.sendEvent({ event: 'another', contextId })
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'WAITING', lastEvent: { event: 'another' } })
  })
})
