// Calls under an idempotency key: their effect is there once, whatever is sent again, and the first answer with it.
import { beforeEach, describe, expect, test } from 'vitest'
import { isReplayed } from '../support/answers.ts'
import type { Role } from '../../src/model/caller.ts'
import { inDoubt, unavailable } from '../../src/model/failure.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench, outputs, type Bench, type Files } from '../support/engine.ts'
import { isOfDefinition, withVerbs } from '../support/stores.ts'
import { FINISHING_COUNTER } from '../support/services.ts'
import { SharedMemory } from '../support/shared-memory.ts'

const FILES: Files = {
  'p/Count.flux': {
    allowExtraProperties: true,
    input: [{ name: 'by', type: 'integer', defaultValue: 1 }],
    ...FINISHING_COUNTER,
  },
  'p/Secret.flux': {
    secured: true,
    states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'tick' }] }],
  },
}
const DAY_MS = 86_400_000

let bench: Bench
/** Before and instead of the next commit. */
let next: ((commit: () => ReturnType<Store['commit']>) => ReturnType<Store['commit']>) | null
let commits: number
const wrap = (store: Store): Store =>
  withVerbs(store, {
    commit(request) {
      if (isOfDefinition(request)) return store.commit(request)
      commits += 1
      const run = next
      next = null
      return run ? run(() => store.commit(request)) : store.commit(request)
    },
  })

beforeEach(async () => {
  next = null
  commits = 0
  bench = await openBench(FILES, { wrap })
})

const count = async (contextId: number) => outputs(await bench.getContext({ contextId }))['n']
const start = (idempotencyKey: string, more: object = {}) =>
  bench.execute({ package: 'p', fluxName: 'Count', idempotencyKey, ...more })
const started = async () => (await bench.listContexts({ limit: 100 })).length

describe('a start under a key', () => {
  test('is one commit, and a repeat is answered with the first answer', async () => {
    const first = await start('k')
    expect([commits, isReplayed(first)]).toEqual([1, false])
    const again = await start('k')
    expect([again, isReplayed(again), await started()]).toEqual([first, true, 1])
    expect((await start('other')).contextId).not.toBe(first.contextId)
  })

  test('is mismatched by another content under the same key', async () => {
    await start('k')
    await expect(start('k', { input: { by: 2 } })).rejects.toMatchObject({ failure: { kind: 'idempotencyMismatch' } })
    await expect(start('k', { tags: ['x'] })).rejects.toMatchObject({ failure: { kind: 'idempotencyMismatch' } })
    expect(await started()).toBe(1)
  })

  test('is the same content whatever the order of its names', async () => {
    await start('k', { input: { by: 1, more: { a: 1, b: [2] } }, tags: [] })
    expect(isReplayed(await start('k', { input: { more: { b: [2], a: 1 }, by: 1 } }))).toBe(true)
  })

  test('is refused while the first is under way, and told so', async () => {
    const [first, second, other] = await Promise.allSettled([start('k'), start('k'), start('k', { tags: ['x'] })])
    expect(first.status).toBe('fulfilled')
    expect(second).toMatchObject({ reason: { failure: { kind: 'idempotencyInProgress', retryAfter: 1 } } })
    expect(other).toMatchObject({ reason: { failure: { kind: 'idempotencyMismatch' } } })
    expect(isReplayed(await start('k'))).toBe(true)
  })

  test('that changed nothing is not remembered', async () => {
    await expect(start('k', { input: { by: 'x' } })).rejects.toMatchObject({ failure: { kind: 'invalid' } })
    expect(isReplayed(await start('k'))).toBe(false)
    next = () => Promise.reject(unavailable('away'))
    await expect(start('l')).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
    expect(isReplayed(await start('l'))).toBe(false)
    expect(await started()).toBe(2)
  })

  test('whose commit got no answer is found to be made', async () => {
    next = async (commit) => {
      await commit()
      throw inDoubt('the answer was lost')
    }
    expect(isReplayed(await start('k'))).toBe(false)
    expect([isReplayed(await start('k')), await started()]).toEqual([true, 1])
  })

  test('is remembered by the next process', async () => {
    const first = await start('k')
    bench = await bench.restart()
    const again = await start('k')
    expect([again, isReplayed(again)]).toEqual([first, true])
  })

  test('is remembered for a day, whatever becomes of the context, and not longer', async () => {
    const { contextId } = await start('k')
    await bench.terminate({ contextId })
    await bench.advance(DAY_MS - 1)
    expect(isReplayed(await start('k'))).toBe(true)
    await bench.advance(1)
    expect(isReplayed(await start('k'))).toBe(false)
  })
})

const tick = (contextId: number, more: object = { eventId: 'e' }) =>
  bench.sendEvent({ contextId, event: 'tick', ...more })

describe('an event under a key', () => {
  test('moves its context once', async () => {
    const contextId = await bench.run('Count')
    const before = commits
    const first = await tick(contextId)
    expect(commits - before).toBe(1)
    expect(first).toMatchObject({ eventId: 'e', transitions: [{ contextId, state: 'w' }] })
    const again = await tick(contextId)
    expect([again, isReplayed(again), await count(contextId)]).toEqual([first, true, 1])
    expect(await tick(contextId, { idempotencyKey: 'e' })).toEqual(first)
  })

  test('is refused where the two ids differ', async () => {
    const contextId = await bench.run('Count')
    await expect(tick(contextId, { eventId: 'e', idempotencyKey: 'f' })).rejects.toMatchObject({
      failure: { kind: 'malformed' },
    })
  })

  test('gets its first answer also when its context has ended since, or is gone', async () => {
    const contextId = await bench.run('Count')
    const finish = () => bench.sendEvent({ contextId, event: 'finish', eventId: 'f' })
    const first = await finish()
    expect([await finish(), isReplayed(await finish())]).toEqual([first, true])
    await bench.close()
    bench = await openBench(FILES, { retention: 1000, wrap })
    const id = await bench.run('Count')
    await bench.sendEvent({ contextId: id, event: 'finish', eventId: 'g' })
    for (let times = 0; times < 5; times += 1) await bench.advance(2000)
    await expect(bench.getContext({ contextId: id })).rejects.toMatchObject({ failure: { kind: 'notFound' } })
    expect(isReplayed(await bench.sendEvent({ contextId: id, event: 'finish', eventId: 'g' }))).toBe(true)
  })

  test('many at once, with repeats among them: each has its effect once', async () => {
    const contextId = await bench.run('Count')
    const keys = Array.from({ length: 200 }, (_, at) => `e${at % 50}`)
    const settled = await Promise.allSettled(keys.map((eventId) => tick(contextId, { eventId })))
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(50)
    expect(await count(contextId)).toBe(50)
    const again = await Promise.all(keys.slice(0, 50).map((eventId) => tick(contextId, { eventId })))
    expect([again.every(isReplayed), await count(contextId)]).toEqual([true, 50])
  })

  test('that was refused is not remembered', async () => {
    const contextId = await bench.run('Count')
    await expect(bench.sendEvent({ contextId, event: 'nope', eventId: 'e' })).rejects.toMatchObject({
      failure: { kind: 'conflict' },
    })
    expect(isReplayed(await tick(contextId))).toBe(false)
  })

  test('of two servers that are given it at once, one has the effect, and both the answer', async () => {
    const shared = new SharedMemory(2, bench.clock)
    const [one, other] = [await openBench(FILES, shared.server()), await openBench(FILES, shared.server())]
    const request = { package: 'p', fluxName: 'Count', idempotencyKey: 'k' }
    const [first, second] = await Promise.all([one.execute(request), other.execute(request)])
    expect(first).toEqual(second)
    expect([first, second].filter(isReplayed)).toHaveLength(1)
    const { contextId } = first
    const sent = { contextId, event: 'tick', eventId: 'e' }
    const answers = await Promise.all([one.sendEvent(sent), other.sendEvent(sent)])
    expect(answers[0]).toEqual(answers[1])
    expect(answers.filter(isReplayed)).toHaveLength(1)
    expect(outputs(await one.getContext({ contextId }))['n']).toBe(1)
  })
})

test('a context is terminated and tagged once under a key', async () => {
  const contextId = await bench.run('Count')
  const tag = () => bench.addTags({ contextId, tag: ['x'], idempotencyKey: 't' })
  const first = await tag()
  await bench.removeTags({ contextId, tag: ['x'], idempotencyKey: 't' })
  expect([isReplayed(await tag()), await tag()]).toEqual([true, first])
  expect((await bench.getContext({ contextId })).tags).toEqual([])
  // What finds nothing to do is answered, and so remembered.
  await bench.removeTags({ contextId, tag: ['y'], idempotencyKey: 'none' })
  expect(isReplayed(await bench.removeTags({ contextId, tag: ['y'], idempotencyKey: 'none' }))).toBe(true)
  const end = () => bench.terminate({ contextId, idempotencyKey: 'e' })
  const ended = await end()
  expect([await end(), isReplayed(await end())]).toEqual([ended, true])
  await expect(bench.terminate({ contextId })).rejects.toMatchObject({ failure: { kind: 'conflict' } })
})

test('keys of different callers, and of different calls, are different keys', async () => {
  const contextId = await bench.run('Count')
  const event = { contextId, event: 'tick', eventId: 'k' }
  await bench.sendEvent(event)
  await start('k')
  await bench.engine.api({ name: 'ann', roles: ['invoke'] }).sendEvent(event)
  await bench.engine.api({ name: 'bob', roles: ['invoke'] }).sendEvent(event)
  await bench.engine.local().sendEvent(event)
  expect(await count(contextId)).toBe(4)
})

test('who may not make the call any more is not told what it led to', async () => {
  const contextId = await bench.run('Secret')
  const send = (roles: Role[]) =>
    bench.engine.api({ name: 'ann', roles }).sendEvent({ contextId, event: 'tick', eventId: 'k' })
  const first = await send(['invoke'])
  await expect(send(['read'])).rejects.toMatchObject({ failure: { kind: 'forbidden' } })
  expect(await send(['invoke'])).toEqual(first)
})

test('events for one context keep their order, also where it must be counted first whether there is room for a key', async () => {
  await bench.close()
  bench = await openBench(FILES, { idempotency: { max: 3, kept: DAY_MS } })
  const [contextId, other] = [await bench.run('Count'), await bench.run('Count')]
  // Repeats need no room, and are told apart by counting.
  for (let times = 0; times < 5; times += 1) await tick(other)
  await bench.advance(1000)
  const sent = [tick(contextId, { eventId: 'f' }), bench.sendEvent({ contextId, event: 'finish' })]
  expect(await Promise.all(sent)).toMatchObject([
    { transitions: [{ state: 'w' }] },
    { transitions: [{ state: 'end' }] },
  ])
})

test('beyond the bound calls with a key are refused, and repeats are still answered', async () => {
  await bench.close()
  bench = await openBench(FILES, { idempotency: { max: 3, kept: DAY_MS } })
  for (const key of ['a', 'b', 'c']) await start(key)
  await expect(start('d')).rejects.toMatchObject({ failure: { kind: 'overloaded' } })
  expect(isReplayed(await start('a'))).toBe(true)
  expect(await bench.run('Count')).toBeGreaterThan(0)
  await bench.advance(DAY_MS)
  // They are swept from time to time.
  const tryOnce = async () => {
    await bench.advance(60_000)
    return start('d').then(isReplayed, () => 'full')
  }
  await expect.poll(tryOnce).toBe(false)
})
