// Keys: one context for one thing, whoever starts it, and calls that name it by its key.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ANONYMOUS } from '../../src/model/caller.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench, type Bench, type Files } from '../support/engine.ts'
import { withVerbs } from '../support/stores.ts'
import { PINGED } from '../support/services.ts'

const waiting = (more: object = {}) => ({ states: PINGED, ...more })

const id = { name: 'orderId', required: true }
const FILES: Files = {
  'p/Plain.flux': waiting(),
  'p/Order.flux': waiting({ key: 'order-${orderId}', input: [id, { name: 'sum', type: 'integer', required: true }] }),
  'p/Maybe.flux': waiting({ key: '${orderId}', input: [{ name: 'orderId', defaultValue: '' }] }),
  'p/Once.flux': waiting({ keyReuse: 'never' }),
  'p/Short.flux': { states: [{ name: 'end' }] },
  'p/Random.flux': waiting({ key: 'r-${random()}' }),
  'q/Plain.flux': waiting(),
  'q/Secret.flux': waiting({ secured: true }),
  'p/Parent.flux': {
    states: [
      {
        name: 'a',
        action: {
          type: 'invokeFlux',
          name: 'Order',
          inputs: [
            { type: 'set', expression: "'1'", evaluate: true, to: ['orderId'] },
            { type: 'set', expression: '1', evaluate: true, to: ['sum'] },
          ],
        },
        transitions: [{ to: 'b' }],
      },
      { name: 'b' },
    ],
  },
}

const refusal = (kind: string, more: object = {}) =>
  expect.objectContaining({ failure: expect.objectContaining({ kind, ...more }) })

let bench: Bench
beforeAll(async () => {
  bench = await openBench(FILES)
})
afterAll(() => bench.close())

const start = (key: string, more: object = {}) => bench.execute({ package: 'p', fluxName: 'Plain', key, ...more })
const named = (key: string, more: object = {}) => ({ key, fluxName: 'Plain', package: 'p', ...more })

describe('a start with a key', () => {
  test('is refused while another context of the service has it, and tells which', async () => {
    const { contextId } = await start('a')
    await expect(start('a')).rejects.toEqual(refusal('conflict', { contextId }))
    expect(await bench.getContext({ contextId })).toMatchObject({ key: 'a', status: 'WAITING' })
    expect((await bench.execute({ package: 'q', fluxName: 'Plain', key: 'a' })).started).toBe(true)
    expect((await start('A')).started).toBe(true)
    await bench.sendEvent({ contextId, event: 'finish' })
    expect((await start('a')).contextId).toBeGreaterThan(contextId)
  })

  test('existing: use answers with the context that has it, whatever the input is', async () => {
    const first = await start('use', { existing: 'use' })
    expect(first).toMatchObject({ started: true })
    const again = await start('use', { existing: 'use', input: { nobody: 1 }, tags: ['t'] })
    expect(again).toEqual({ message: expect.any(String), contextId: first.contextId, started: false })
    expect(await bench.getContext(first)).toMatchObject({ tags: [], version: 1 })
    const order = await bench.run('Order', { orderId: '7', sum: 1 })
    expect(
      await bench.execute({ fluxName: 'Order', input: { orderId: '7', sum: 'x' }, existing: 'use' }),
    ).toMatchObject({ contextId: order, started: false })
    await expect(
      bench.execute({ fluxName: 'Order', input: { orderId: '8', sum: 'x' }, existing: 'use' }),
    ).rejects.toEqual(refusal('invalid'))
  })

  test('existing: replace ends the context that has it in the same commit', async () => {
    expect(await start('re', { existing: 'replace' })).not.toHaveProperty('replaced')
    const { contextId } = await bench.getContext(named('re')).then(({ id: contextId }) => ({ contextId }))
    const second = await start('re', { existing: 'replace' })
    expect(second).toMatchObject({ started: true, replaced: contextId })
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'TERMINATED' })
    expect(await bench.getContext(named('re'))).toMatchObject({ id: second.contextId, status: 'WAITING' })
    await expect(start('re', { existing: 'replace', startState: 'none' })).rejects.toEqual(refusal('invalid'))
    expect(await bench.getContext(named('re'))).toMatchObject({ id: second.contextId, status: 'WAITING' })
  })

  test('that ends at once is refused all the same, and leaves its key free', async () => {
    const { contextId } = await bench.execute({ package: 'p', fluxName: 'Short', key: 's' })
    expect(await bench.execute({ package: 'p', fluxName: 'Short', key: 's' })).toMatchObject({ started: true })
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'COMPLETED', key: 's' })
  })

  test('keyReuse: never keeps a key in use as long as its context is kept', async () => {
    const once = (existing?: 'use' | 'replace') => bench.execute({ fluxName: 'Once', key: 'o', existing })
    const { contextId } = await once()
    await expect(once('replace')).rejects.toEqual(refusal('conflict', { contextId }))
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'WAITING' })
    await bench.terminate({ contextId })
    await expect(once()).rejects.toEqual(refusal('conflict', { contextId }))
    await expect(once('replace')).rejects.toEqual(refusal('conflict', { contextId }))
    expect(await once('use')).toMatchObject({ contextId, started: false })
  })

  test('the key that is given wins over the template; an empty template gives none', async () => {
    const { contextId } = await bench.execute({ fluxName: 'Order', input: { orderId: 'x', sum: 1 }, key: 'mine' })
    expect(await bench.getContext({ contextId })).toMatchObject({ key: 'mine' })
    const other = await bench.run('Order', { orderId: 'x', sum: 1 })
    expect(await bench.getContext({ contextId: other })).toMatchObject({ key: 'order-x' })
    const none = [await bench.run('Maybe'), await bench.run('Maybe', { orderId: '' })]
    for (const each of none) expect(await bench.getContext({ contextId: each })).toMatchObject({ key: null })
    await expect(bench.run('Maybe', { orderId: 'ä'.repeat(129) })).rejects.toEqual(refusal('invalid'))
  })

  test('a child has none', async () => {
    const order = await bench.run('Order', { orderId: '1', sum: 1 })
    const parent = await bench.run('Parent')
    const child = (await bench.listContexts({ fluxName: 'Order', limit: 1000 })).find(({ id: each }) => each > parent)
    expect(child).toMatchObject({ key: null, status: 'WAITING' })
    expect(child?.id).not.toBe(order)
  })

  test.each(['', 'k'.repeat(257), 'ä'.repeat(129), '\ud800'])('%j is no key', async (key) => {
    await expect(start(key)).rejects.toEqual(
      refusal('invalid', { errors: [expect.objectContaining({ pointer: '/key' })] }),
    )
    await expect(bench.terminate(named(key))).rejects.toEqual(refusal('invalid'))
  })

  test.each([
    ['ä'.repeat(128), 'ä'.repeat(127)],
    [' ', '  '],
    ['a:1:b', 'a:1'],
    ['e\u0301', '\u00e9'],
    ['\u0000', '\u0000\u0000'],
  ])('%j is one, and %j another', async (key, another) => {
    const { contextId } = await start(key)
    expect(await start(another)).toMatchObject({ started: true })
    expect(await bench.getContext(named(key))).toMatchObject({ id: contextId, key })
  })
})

describe('a call that names a context by its key', () => {
  test('means the unfinished one, else the newest', async () => {
    const { contextId: first } = await start('calls')
    expect((await bench.sendEvent({ ...named('calls'), event: 'ping' })).transitions).toEqual([
      { contextId: first, state: 'open' },
    ])
    await bench.addTags({ ...named('calls'), tag: ['t'] })
    expect(await bench.getContext(named('calls'))).toMatchObject({ id: first, tags: ['t'] })
    expect(await bench.getStateContext({ ...named('calls'), stateName: 'open' })).toMatchObject({ name: 'open' })
    expect(await bench.getDefinition(named('calls'))).toEqual(FILES['p/Plain.flux'])
    expect(await bench.terminate(named('calls'))).toEqual({ message: `terminated context ${first}` })
    expect(await bench.getContext(named('calls'))).toMatchObject({ id: first, status: 'TERMINATED' })
    await expect(bench.sendEvent({ ...named('calls'), event: 'ping' })).rejects.toEqual(refusal('conflict'))
    const { contextId: second } = await start('calls')
    expect(await bench.getContext(named('calls'))).toMatchObject({ id: second })
    await bench.removeTags({ ...named('calls'), tag: ['t'] })
  })

  test('needs the service, and its package where several have one of that name', async () => {
    await expect(bench.getContext({ key: 'a' })).rejects.toEqual(refusal('malformed'))
    await expect(bench.getContext({ ...named('a'), contextId: 1 })).rejects.toEqual(refusal('malformed'))
    await expect(bench.getContext({ fluxName: 'Plain' })).rejects.toEqual(refusal('malformed'))
    await expect(bench.getContext({})).rejects.toEqual(refusal('malformed'))
    await expect(bench.sendEvent({ event: 'ping', fluxName: 'Plain' })).rejects.toEqual(refusal('malformed'))
    await expect(bench.getContext({ key: 'a', fluxName: 'Plain' })).rejects.toEqual(refusal('conflict'))
    await expect(bench.getContext({ key: 'a', fluxName: 'None' })).rejects.toEqual(refusal('notFound'))
    await expect(bench.getContext(named('nobody has this'))).rejects.toEqual(refusal('notFound'))
  })

  test('is refused where the service is secured', async () => {
    await bench.execute({ fluxName: 'Secret', key: 's' })
    const stranger = bench.engine.api(ANONYMOUS)
    for (const key of ['s', 'none'])
      await expect(stranger.getContext({ key, fluxName: 'Secret' })).rejects.toEqual(refusal('unauthorized'))
  })

  test('follows the key when its context ended just then', async () => {
    let shared: Store | null = null
    const racing = await openBench(FILES, {
      wrap: (store) => {
        shared = store
        return store
      },
    })
    const { contextId: first } = await racing.execute({ package: 'p', fluxName: 'Plain', key: 'f' })
    if (shared === null) throw new Error('the store is open')
    const stale: Store = shared
    let looks = 0
    const other = await openBench(FILES, {
      clock: racing.clock,
      store: withVerbs(stale, {
        async selectIds(request) {
          const found = await stale.selectIds(request)
          looks += 1
          if (looks === 1) await racing.execute({ package: 'p', fluxName: 'Plain', key: 'f', existing: 'replace' })
          return found
        },
      }),
    })
    const { transitions } = await other.sendEvent({ ...named('f'), event: 'ping' })
    expect(transitions).toEqual([{ contextId: expect.any(Number), state: 'open' }])
    expect(transitions[0]?.contextId).toBeGreaterThan(first)
  })

  test('lists are filtered by key, in all services', async () => {
    const { contextId } = await start('listed')
    const { contextId: other } = await bench.execute({ package: 'q', fluxName: 'Plain', key: 'listed' })
    expect((await bench.listContexts({ key: 'listed' })).map((view) => view.id)).toEqual([contextId, other])
    await bench.terminate({ contextId })
    expect((await bench.listContexts({ key: 'listed' })).map((view) => view.id)).toEqual([other])
    expect((await bench.listContexts({ key: 'listed', status: 'TERMINATED' })).map((view) => view.id)).toEqual([
      contextId,
    ])
  })
})

test('package/name names the one of several services', async () => {
  const both = 'q/Plain'
  const { contextId } = await bench.execute({ fluxName: both, key: 'slash', input: {} })
  expect(await bench.getContext({ contextId })).toMatchObject({ fluxName: 'Plain' })
  const address = { fluxName: both, key: 'slash' }
  expect((await bench.sendEvent({ event: 'ping', ...address })).transitions).toEqual([{ contextId, state: 'open' }])
  expect(await bench.getContext(address)).toMatchObject({ id: contextId, key: 'slash' })
  const started = await bench.sendEvent({ event: 'ping', fluxName: both, key: 'new', orStart: { input: {} } })
  expect(started.executions).toHaveLength(1)
  expect(await bench.getServiceSchema({ fluxName: both })).toMatchObject({ package: 'q', fluxName: 'Plain' })
  expect(await bench.getMachine({ fluxName: both })).toMatchObject({ initial: 'open' })
  await expect(bench.getServiceSchema({ fluxName: 'Plain' })).rejects.toMatchObject({ failure: { kind: 'conflict' } })
  for (const fluxName of ['r/Plain', 'q/Order', '/Plain', 'q/'])
    await expect(bench.getServiceSchema({ fluxName })).rejects.toMatchObject({ failure: { kind: 'notFound' } })
  // The package beside it is the one that counts.
  await expect(bench.execute({ package: 'p', fluxName: both, input: {} })).rejects.toMatchObject({
    failure: { kind: 'notFound' },
  })
})
