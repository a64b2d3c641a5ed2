// Events that are held: two servers that offer the same one, servers that die at any commit, and one that is slow.
import { describe, expect, test } from 'vitest'
import type { CommitRequest, Store } from '../../../src/ports/store.ts'
import type { Bench } from '../../support/engine.ts'
import { withVerbs } from '../../support/stores.ts'
import { cutOff, inMemory, onRedis, seenBy, seenByAll, pass, type World } from './world.ts'
import { storesOf } from '../../support/effort.ts'

const paid = (by: number, more: object = {}) => ({ event: 'paid', input: { by }, ttl: 86_400, ...more })

let world: World

const startOn = (bench: Bench, count: number) => Promise.all(Array.from({ length: count }, () => bench.run('Order')))
const pendingOn = async (bench: Bench) => (await bench.listPending({})).length

describe.each([
  ['a store in one partition', () => inMemory(1)],
  ['a store in three partitions', () => inMemory(3)],
  ['Redis', () => onRedis(1)],
  ['Redis, in three partitions', () => onRedis(3)],
])('two servers on %s', (_, openWorld) => {
  test('that each have a context for an event: one takes it', async () => {
    world = await openWorld()
    const [one, two] = [await world.open(), await world.open()]
    for (let by = 0; by < 15; by += 1) {
      const ids = await startOn(one, 2)
      await one.sendEvent(paid(by))
      await Promise.all(ids.map((contextId, n) => (n === 0 ? one : two).sendEvent({ contextId, event: 'go' })))
      await expect.poll(() => seenByAll(one, ids)).toEqual([by])
      await expect.poll(() => pendingOn(two)).toBe(0)
      expect(await seenByAll(two, ids)).toEqual([by])
      for (const contextId of ids) await two.terminate({ contextId })
    }
  })

  test('that send and wait at the same time: each event is taken once', async () => {
    world = await openWorld()
    const [one, two] = [await world.open(), await world.open()]
    const ids = await startOn(one, 16)
    await Promise.all(
      ids.flatMap((contextId, by) => [
        (by % 2 === 0 ? one : two).sendEvent({ contextId, event: 'go' }),
        // Some move all who wait already.
        (by % 3 === 0 ? one : two).sendEvent(paid(by, by % 4 === 0 ? { eventId: `e-${by}` } : {})),
      ]),
    )
    await pass(world)
    await expect.poll(async () => (await pendingOn(one)) === 0 || (await waitingOn(one, ids)) === 0).toBe(true)
    const seen = await Promise.all(ids.map((id) => seenBy(one, id)))
    for (const taken of seen) expect(taken.length).toBeLessThanOrEqual(1)
  })
})

const waitingOn = async (bench: Bench, ids: readonly number[]) => {
  const views = await Promise.all(ids.map((contextId) => bench.getContext({ contextId })))
  return views.filter(({ currentState }) => currentState === 'open').length
}

describe.each(storesOf([3, 1]))('in a store of %i partitions, a server that dies', (partitions) => {
  /** Commits that may still be made. */
  let left = Infinity
  const open = () => world.open({ wrap: (store) => cutOff(() => left)(counting(store, () => (left -= 1))) })

  // As many as there may be, and some more.
  const commits = Array.from({ length: 14 }, (_, at) => at)
  const forms = [
    ['', {}],
    [' under a key', { eventId: 'kept' }],
  ] as const
  const cases = forms.flatMap(([name, more]) => commits.map((at) => [at, name, more] as const))

  test.each(cases)(
    'after %i commits loses no event that was acknowledged%s, and none is taken twice',
    async (at, _, more) => {
      world = await inMemory(partitions)
      left = Infinity
      const first = await open()
      const ids = await startOn(first, partitions)
      left = at
      const answer = await first.sendEvent(paid(1, more)).catch(() => null)
      // Each in a partition of its own: also those in which the event isn't held.
      const target = ids[at % ids.length] ?? 0
      const isWaiting = await first.sendEvent({ contextId: target, event: 'go' }).then(
        () => true,
        () => false,
      )
      await world.clock.advance(1)
      left = -1
      await world.clock.advance(1)
      left = Infinity
      const second = await world.open()
      if (!isWaiting) await second.sendEvent({ contextId: target, event: 'go' }).catch(() => null)
      await pass(world)
      await pass(world)
      const repeated = 'eventId' in more ? await second.sendEvent(paid(1, more)).catch(() => null) : null
      await pass(world)
      const isSure = answer !== null || repeated !== null
      if (isSure) await expect.poll(() => seenByAll(second, ids)).toEqual([1])
      else expect((await seenByAll(second, ids)).length).toBeLessThanOrEqual(1)
      await expect.poll(() => pendingOn(second)).toBe(0)
      for (const contextId of ids) await second.sendEvent({ contextId, event: 'go' }).catch(() => null)
      await pass(world)
      expect((await seenByAll(second, ids)).length).toBe(isSure ? 1 : (await seenByAll(second, ids)).length)
      expect((await seenByAll(second, ids)).length).toBeLessThanOrEqual(1)
    },
  )
})

const counting = (store: Store, onCommit: () => void): Store =>
  withVerbs(store, {
    commit(request) {
      onCommit()
      return store.commit(request)
    },
  })

/** The commit in which a context takes an event. */
const takes = ({ writes, rows }: CommitRequest) =>
  writes.length > 0 && (rows ?? []).some(({ space }) => space === 'lookups')

test('a server that is slow does not take an event that another has taken meanwhile', async () => {
  world = await inMemory(3)
  let holding = false
  const held: (() => void)[] = []
  const wrap = (store: Store) =>
    withVerbs(store, {
      commit: async (request) => {
        // What it commits after that is held as well: else it would renew its claims.
        if (holding && (held.length > 0 || takes(request)))
          await new Promise<void>((resolve) => {
            held.push(resolve)
          })
        return store.commit(request)
      },
    })
  const [slow, quick] = [await world.open({ wrap }), await world.open()]
  for (let by = 0; by < 9; by += 1) {
    const [mine = 0, other = 0] = await startOn(slow, 2)
    await slow.sendEvent(paid(by))
    holding = true
    await slow.sendEvent({ contextId: mine, event: 'go' })
    await world.clock.idle()
    expect(held.length).toBe(1)
    await quick.sendEvent({ contextId: other, event: 'go' })
    await pass(world)
    // Of both, which wait as far as it can see.
    expect(await seenByAll(quick, [mine, other])).toEqual([by])
    holding = false
    for (const go of held.splice(0)) go()
    await pass(world)
    expect(await seenByAll(quick, [mine, other])).toEqual([by])
    expect(await pendingOn(quick)).toBe(0)
    for (const contextId of [mine, other]) await quick.terminate({ contextId })
  }
})
