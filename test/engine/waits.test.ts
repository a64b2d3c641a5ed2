// Requests that are held until a context gets somewhere: what ends them, and what they cost.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import type { FluxApi } from '../../src/api/calls.ts'
import { ANONYMOUS } from '../../src/model/caller.ts'
import { openBench, type BenchOptions } from '../support/engine.ts'
import { withVerbs } from '../support/stores.ts'

const FILES = {
  'p/Order.flux': {
    states: [
      {
        name: 'open',
        waiting: true,
        transitions: [
          { event: 'pay', to: 'paid' },
          { event: 'rush', to: 'through' },
          { event: 'stay', to: 'open' },
        ],
      },
      { name: 'paid', waiting: true, transitions: [{ event: 'ship', to: 'done' }] },
      // Passed in the same commit.
      { name: 'through', transitions: [{ to: 'open' }] },
      { name: 'done' },
    ],
  },
  'p/Secret.flux': {
    secured: true,
    states: [{ name: 'open', waiting: true, transitions: [{ event: 'go', to: 'open' }] }],
  },
  'p/Parent.flux': {
    states: [
      {
        name: 'call',
        action: { type: 'invokeFlux', name: 'Order', inputs: [], outputs: [] },
        transitions: [{ to: 'end' }],
      },
      { name: 'end' },
    ],
  },
}

const open = (options: BenchOptions = {}) => openBench(FILES, options)

/** Whether it has ended yet. */
function follow<T>(promise: Promise<T>) {
  const state = { ended: false, promise }
  const end = () => {
    state.ended = true
  }
  promise.then(end, end)
  return state
}

class Gate {
  #open: (() => void) | null = null
  /** Resolves when it is opened; undefined: it is open. */
  passed: Promise<void> | undefined

  close(): void {
    this.passed = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  open(): void {
    this.passed = undefined
    this.#open?.()
  }
}

/** Until what was asked for is held. */
async function held(): Promise<void> {
  for (let turns = 0; turns < 10; turns += 1) await nextTurn()
}

const event = (bench: FluxApi, contextId: number, name: string) => bench.sendEvent({ contextId, event: name })

describe('it is answered', () => {
  test('at once when the context stands so: by status, state or tag, ended or not', async () => {
    const bench = await open()
    const id = await bench.run('Order', {}, { tags: ['vip'] })
    const wait = { contextId: id, timeout: 0 }
    expect(await bench.waitFor({ ...wait, status: ['WAITING'] })).toMatchObject({ id, currentState: 'open' })
    expect(await bench.waitFor({ ...wait, state: ['open'] })).toMatchObject({ id })
    expect(await bench.waitFor({ ...wait, tag: ['no', 'vip'] })).toMatchObject({ id })
    await event(bench, id, 'pay')
    await event(bench, id, 'ship')
    expect(await bench.waitFor({ ...wait, status: ['COMPLETED'] })).toMatchObject({ status: 'COMPLETED' })
    expect(await bench.waitFor({ ...wait, state: ['done'] })).toMatchObject({ status: 'COMPLETED' })
  })

  test('when it gets there, by any of what is named', async () => {
    const bench = await open()
    const id = await bench.run('Order')
    const waits = [
      bench.waitFor({ contextId: id, state: ['done', 'paid'] }),
      bench.waitFor({ contextId: id, status: ['FAILED'], tag: ['marked'] }),
      bench.waitFor({ contextId: id, status: ['COMPLETED'] }),
    ].map(follow)
    await held()
    expect(waits.map(({ ended }) => ended)).toEqual([false, false, false])
    await event(bench, id, 'stay')
    await held()
    expect(waits.map(({ ended }) => ended)).toEqual([false, false, false])
    await bench.addTags({ contextId: id, tag: ['marked'] })
    expect(await waits[1]?.promise).toMatchObject({ tags: ['marked'] })
    await event(bench, id, 'pay')
    expect(await waits[0]?.promise).toMatchObject({ currentState: 'paid' })
    await held()
    expect(waits[2]?.ended).toBe(false)
    await event(bench, id, 'ship')
    expect(await waits[2]?.promise).toMatchObject({ status: 'COMPLETED' })
  })

  test('when it entered the state and has left it again, and shows it as it is', async () => {
    const bench = await open()
    const id = await bench.run('Order')
    const wait = bench.waitFor({ contextId: id, state: ['through'] })
    await held()
    await event(bench, id, 'rush')
    expect(await wait).toMatchObject({ currentState: 'open', status: 'WAITING' })
    // What was entered before the request came in does not count.
    await expect(bench.waitFor({ contextId: id, state: ['through'], timeout: 0 })).rejects.toMatchObject({
      failure: { kind: 'waitTimeout' },
    })
  })

  test('by a commit that comes while the context is being read', async () => {
    const gate = new Gate()
    const bench = await open({
      wrap: (store) =>
        withVerbs(store, {
          async load(request) {
            const found = await store.load(request)
            await gate.passed
            return found
          },
        }),
    })
    const id = await bench.run('Order')
    await event(bench, id, 'stay')
    gate.close()
    const wait = bench.waitFor({ contextId: id, state: ['through'] })
    await held()
    await event(bench, id, 'rush')
    gate.open()
    expect(await wait).toMatchObject({ currentState: 'open' })
  })

  test('with 504 and the context when the time is up', async () => {
    const bench = await open()
    const id = await bench.run('Order')
    const wait = follow(bench.waitFor({ contextId: id, state: ['done'], timeout: 10 }))
    await held()
    await bench.advance(9999)
    expect(wait.ended).toBe(false)
    await bench.advance(1)
    await expect(wait.promise).rejects.toMatchObject({
      failure: { kind: 'waitTimeout', context: { id, currentState: 'open' } },
    })
  })

  test('after 300 seconds at most, and after 30 if nothing is said', async () => {
    const bench = await open()
    const id = await bench.run('Order')
    const long = follow(bench.waitFor({ contextId: id, state: ['done'], timeout: 1_000_000 }))
    const usual = follow(bench.waitFor({ contextId: id, state: ['done'] }))
    await held()
    await bench.advance(30_000)
    await expect(usual.promise).rejects.toMatchObject({ failure: { kind: 'waitTimeout' } })
    await bench.advance(269_999)
    expect(long.ended).toBe(false)
    await bench.advance(1)
    await expect(long.promise).rejects.toMatchObject({ failure: { kind: 'waitTimeout' } })
  })

  test('with 409 and the context when it ends otherwise, or has', async () => {
    const bench = await open()
    const id = await bench.run('Order')
    const wait = bench.waitFor({ contextId: id, state: ['paid'] })
    await held()
    await bench.terminate({ contextId: id })
    const failure = { kind: 'conflict', context: { id, status: 'TERMINATED' } }
    await expect(wait).rejects.toMatchObject({ failure })
    await expect(bench.waitFor({ contextId: id, tag: ['x'] })).rejects.toMatchObject({ failure })
  })
})

describe('it is refused', () => {
  test.each([
    ['without anything to wait for', {}, 'malformed'],
    ['with lists that are empty', { status: [], tag: [] }, 'malformed'],
    ['for a state that the definition lacks', { state: ['paid', 'nowhere'] }, 'invalid'],
    ['for a name of Object.prototype', { state: ['constructor'] }, 'invalid'],
    ['for a tag that can not be', { tag: ['a,b'] }, 'invalid'],
    ['for a field that it does not know', { state: ['paid'], states: ['paid'] }, 'malformed'],
  ])('%s', async (_, request, kind) => {
    const bench = await open()
    const contextId = await bench.run('Order')
    await expect(bench.waitFor({ contextId, ...request })).rejects.toMatchObject({ failure: { kind } })
  })

  test('for a status that is none', async () => {
    const bench = await open()
    const request = { contextId: await bench.run('Order'), status: ['DONE'] }
    // @ts-expect-error: from JavaScript
    await expect(bench.waitFor(request)).rejects.toMatchObject({
      failure: { kind: 'invalid', errors: [{ pointer: '/status/0' }] },
    })
  })

  test('for a context that is not there, or that the caller may not see', async () => {
    const bench = await open()
    await expect(bench.waitFor({ contextId: 4711, state: ['x'] })).rejects.toMatchObject({
      failure: { kind: 'notFound' },
    })
    const id = await bench.run('Secret')
    await expect(bench.engine.api(ANONYMOUS).waitFor({ contextId: id, status: ['WAITING'] })).rejects.toMatchObject({
      failure: { kind: 'unauthorized' },
    })
  })

  test('beyond the bound, at once; places are free again however a wait ends', async () => {
    const bench = await open({ bounds: { waits: 3 } })
    const id = await bench.run('Order')
    const wait = (signal?: AbortSignal) => bench.waitFor({ contextId: id, state: ['paid'], timeout: 5 }, { signal })
    const controller = new AbortController()
    const waits = [wait(controller.signal), wait(), wait()].map(follow)
    await held()
    await expect(wait()).rejects.toMatchObject({ failure: { kind: 'overloaded', retryAfter: 1 } })
    controller.abort(new Error('gone'))
    await expect(waits[0]?.promise).rejects.toThrow('gone')
    const next = follow(wait())
    await held()
    await expect(wait()).rejects.toMatchObject({ failure: { kind: 'overloaded' } })
    await bench.advance(5000)
    for (const { promise } of [...waits.slice(1), next])
      await expect(promise).rejects.toMatchObject({ failure: { kind: 'waitTimeout' } })
    // Refused ones hold no place either.
    for (let count = 0; count < 5; count += 1)
      await expect(bench.waitFor({ contextId: id, state: ['nowhere'] })).rejects.toMatchObject({
        failure: { kind: 'invalid' },
      })
    const last = [wait(), wait(), wait()].map(follow)
    await held()
    await event(bench, id, 'pay')
    for (const { promise } of last) expect(await promise).toMatchObject({ currentState: 'paid' })
  })
})

test('those who hung up before are not held', async () => {
  const bench = await open()
  const id = await bench.run('Order')
  const signal = AbortSignal.abort(new Error('gone'))
  await expect(bench.waitFor({ contextId: id, state: ['paid'] }, { signal })).rejects.toThrow('gone')
})

test('waiting costs no reads and no timers while nothing happens', async () => {
  const calls: string[] = []
  const bench = await open({
    wrap: (store) =>
      withVerbs(store, {
        load(request) {
          calls.push('load')
          return store.load(request)
        },
        version(request) {
          calls.push('version')
          return store.version(request)
        },
      }),
  })
  const id = await bench.run('Order')
  const other = await bench.run('Order')
  const waits = Array.from({ length: 100 }, () => follow(bench.waitFor({ contextId: id, state: ['done'] })))
  await held()
  expect(calls).toEqual(Array.from({ length: 100 }, () => 'load'))
  calls.length = 0
  for (let count = 0; count < 20; count += 1) await event(bench, other, 'stay')
  await bench.advance(20_000)
  expect(calls).toEqual([])
  await event(bench, id, 'pay')
  calls.length = 0
  await event(bench, id, 'ship')
  for (const { promise } of waits) expect(await promise).toMatchObject({ status: 'COMPLETED' })
  // Those who waited for one commit share two looks at it: the first that asks has one, and all others the next.
  expect(calls).toEqual(['load', 'load'])
})

test('a server that stops ends them at once, and takes no more', async () => {
  const bench = await openBench(FILES)
  const id = await bench.run('Order')
  const wait = bench.waitFor({ contextId: id, state: ['done'] })
  await held()
  bench.engine.endWaits()
  const failure = { kind: 'unavailable', detail: 'the server is stopping' }
  await expect(wait).rejects.toMatchObject({ failure })
  await expect(bench.waitFor({ contextId: id, state: ['done'] })).rejects.toMatchObject({ failure })
})

/** A server whose commits are held from `close` to `open`. */
async function openHeld(bounds: NonNullable<BenchOptions['bounds']>) {
  const gate = new Gate()
  const bench = await open({
    bounds,
    wrap: (store) =>
      withVerbs(store, {
        async commit(request) {
          await gate.passed
          return store.commit(request)
        },
      }),
  })
  return { bench, gate }
}

describe('bounds', () => {
  test('calls beyond the commits that may be under way are refused, others than calls never', async () => {
    const { bench, gate } = await openHeld({ commits: 3 })
    const ids = [await bench.run('Order'), await bench.run('Order'), await bench.run('Order')]
    gate.close()
    const sent = ids.slice(0, 2).map((id) => event(bench, id, 'stay'))
    const started = bench.run('Order')
    await held()
    const overloaded = { failure: { kind: 'overloaded', retryAfter: 1 } }
    await expect(event(bench, ids[2] ?? 0, 'stay')).rejects.toMatchObject(overloaded)
    await expect(bench.run('Order')).rejects.toMatchObject(overloaded)
    await expect(bench.terminate({ contextId: ids[2] ?? 0 })).rejects.toMatchObject(overloaded)
    // The mailbox of one that is busy has a bound of its own.
    sent.push(event(bench, ids[0] ?? 0, 'stay'))
    const broadcast = bench.sendEvent({ event: 'stay' })
    await held()
    gate.open()
    await Promise.all([...sent, started])
    expect((await broadcast).transitions.length).toBeGreaterThanOrEqual(3)
    await event(bench, ids[2] ?? 0, 'stay')
    expect(await bench.run('Order')).toBeGreaterThan(0)
  })

  test('large broadcasts beyond the bound are refused, small ones not', async () => {
    const { bench, gate } = await openHeld({ broadcasts: 1 })
    for (let count = 0; count < 65; count += 1) await bench.run('Order', {}, { tags: ['large'] })
    await bench.run('Order', {}, { tags: ['small'] })
    gate.close()
    const first = bench.sendEvent({ event: 'stay', tags: ['large'] })
    await held()
    await expect(bench.sendEvent({ event: 'stay', tags: ['large'] })).rejects.toMatchObject({
      failure: { kind: 'overloaded', retryAfter: 1 },
    })
    const small = bench.sendEvent({ event: 'stay', tags: ['small'] })
    gate.open()
    expect((await first).transitions).toHaveLength(65)
    expect((await small).transitions).toHaveLength(1)
    expect((await bench.sendEvent({ event: 'stay', tags: ['large'] })).transitions).toHaveLength(65)
  })
})

describe('those that wait for tags', () => {
  test('are looked up among the tags at a commit, not compared with each', async () => {
    const bench = await openBench(FILES)
    const contextId = await bench.run('Order')
    const wanted = Array.from({ length: 40 }, (_, n) => `wanted-${n}`)
    const held = Array.from({ length: 50 }, () => bench.waitFor({ contextId, tag: wanted, timeout: 60 }))
    await bench.addTags({ contextId, tag: Array.from({ length: 20 }, (_, n) => `other-${n}`) })
    for (let turn = 0; turn < 20; turn += 1) await nextTurn()
    const compared = vi.spyOn(Array.prototype, 'includes')
    await bench.addTags({ contextId, tag: ['more'] })
    const some = compared.mock.calls.filter(([tag]) => typeof tag === 'string' && tag.startsWith('wanted-')).length
    compared.mockRestore()
    expect(some).toBe(0)
    await bench.addTags({ contextId, tag: ['wanted-39'] })
    for (const view of await Promise.all(held)) expect(view.tags).toContain('wanted-39')
  })
})
