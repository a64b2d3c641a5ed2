// What it costs to look for held events goes with what is held, not with what a context waits for.
import { beforeEach, describe, expect, test } from 'vitest'
import { unavailable } from '../../../src/model/failure.ts'
import type { Store } from '../../../src/ports/store.ts'
import type { Bench } from '../../support/engine.ts'
import { withVerbs } from '../../support/stores.ts'
import { embedded, inMemory, onRedis, pass, seenBy, type World } from './world.ts'

const TAGS = Array.from({ length: 64 }, (_, n) => `t${n}`)

describe.each([
  ['the embedded store', embedded],
  ['a store in three partitions', () => inMemory(3)],
  ['Redis', () => onRedis(1)],
])('on %s', (_, openWorld) => {
  let world: World
  let bench: Bench
  /** Look-ups since the last count. */
  let reads: number
  beforeEach(async () => {
    reads = 0
    world = await openWorld()
    const wrap = (store: Store) =>
      withVerbs(store, {
        listRows(query) {
          if (query.space === 'lookups') reads += 1
          return store.listRows(query)
        },
      })
    const first = await world.open()
    // The first server opens the store; those behind it share that, and the embedded one has only one.
    bench = openWorld === embedded ? await reopened(first, wrap) : await world.open({ wrap })
  })

  const reopened = async (first: Bench, wrap: (store: Store) => Store) => {
    await first.engine.close({ grace: 0 })
    return world.open({ wrap })
  }

  test('a context with many tags that waits for many events looks no more often than there are events', async () => {
    const contextId = await bench.run('Wide', {}, { tags: TAGS })
    const come = async () => {
      reads = 0
      await bench.sendEvent({ contextId, event: 'go' })
      await expect.poll(() => reads).toBeGreaterThan(0)
      await pass(world)
      const made = reads
      await bench.sendEvent({ contextId, event: 'e0' })
      return made
    }
    await bench.sendEvent({ event: 'unheard', ttl: 3600, tags: ['x'] })
    expect(await come()).toBe(1)
    for (let n = 0; n < 7; n += 1) await bench.sendEvent({ event: 'unheard', ttl: 3600, tags: TAGS })
    await bench.sendEvent({ event: 'e1', ttl: 3600, tags: ['y'] })
    expect(await come()).toBeLessThanOrEqual(1 + 10)
    // One that fits is found among the others.
    await bench.sendEvent({ event: 'e9', ttl: 3600, tags: ['z', 't63'], eventId: 'fits' })
    await bench.sendEvent({ contextId, event: 'go' })
    await bench.until(contextId, ({ currentState }) => currentState === 'done')
    expect(await bench.getEvent({ eventId: 'fits' })).toMatchObject({ moved: [{ contextId }] })
  })

  test('of many held events of one name, those with a tag of the context are found in their order', async () => {
    const contextId = await bench.run('Long', {}, { tags: ['mine', 'own'] })
    for (let by = 0; by < 120; by += 1) {
      const tags = by % 40 === 7 ? ['mine'] : by % 40 === 9 ? ['own', 'other'] : [`other-${by}`]
      await bench.sendEvent({ event: 'paid', input: { by }, ttl: 3600, tags })
      await world.clock.advance(1)
    }
    await bench.sendEvent({ contextId, event: 'go' })
    await expect.poll(() => seenBy(bench, contextId)).toEqual([7, 9, 47, 49, 87, 89])
  })
})

test('what is left of events that were not kept keeps no context from the events behind', async () => {
  const world = await inMemory(3)
  let isAway = true
  const wrap = (store: Store) =>
    withVerbs(store, {
      commit(request) {
        const keeps = request.rows?.some(({ space, value }) => space === 'held' && value !== null)
        return isAway && keeps === true ? Promise.reject(unavailable('away')) : store.commit(request)
      },
    })
  const bench = await world.open({ wrap })
  const paid = { event: 'paid', input: { by: 1 }, ttl: 36_000 }
  for (let sent = 0; sent < 240; sent += 1) await expect(bench.sendEvent(paid)).rejects.toThrow('away')
  isAway = false
  await world.clock.advance(1)
  await bench.sendEvent(paid)
  await world.clock.advance(700_000)
  const contextId = await bench.run('Order')
  await bench.sendEvent({ contextId, event: 'go' })
  await pass(world)
  await expect.poll(() => seenBy(bench, contextId)).toEqual([1])
})
