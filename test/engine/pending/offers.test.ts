// Offers of held events to contexts of other partitions, while the clock stands still: a claim under which nobody takes
// the event is given up at once, and whoever passed over it meanwhile is looked at again. What could not be looked at is
// looked at soon.
import { beforeEach, describe, expect, test } from 'vitest'
import { LookUps } from '../../../src/engine/pending/matching.ts'
import { keysOfHearers } from '../../../src/engine/record/index-keys.ts'
import { unavailable } from '../../../src/model/failure.ts'
import { partitionOf, type StoredRow } from '../../../src/model/rows.ts'
import type { CommitRequest, Store } from '../../../src/ports/store.ts'
import type { Bench } from '../../support/engine.ts'
import { held, nextTurn, type Held } from '../../support/held.ts'
import { SimulatedClock } from '../../../src/testing/simulated-clock.ts'
import { emptyStore, withVerbs } from '../../support/stores.ts'
import { inMemory, seenBy, seenByAll, type World } from './world.ts'
import { silent as log } from '../../support/silent.ts'

const PARTITIONS = 3
const paid = { event: 'paid', input: { by: 1 }, ttl: 86_400 }

/** The commit from which on an event is unclaimed. */
const holds = ({ rows = [] }: CommitRequest) => rows.some(({ space, expects }) => space === 'held' && expects === null)
/** The commit by which an event is claimed. */
const claims = ({ rows = [] }: CommitRequest) =>
  rows.some(({ space, value }) => space === 'held' && value !== null && !value.includes('"claim":null'))
/** The commit in which a context takes an event. */
const takes = ({ writes, rows = [] }: CommitRequest) =>
  writes.length > 0 && rows.some(({ space }) => space === 'lookups')

let world: World
let bench: Bench
/** Before or after the next commit of that kind. */
let onHolding: (() => Promise<unknown>) | null
let onClaimed: (() => Promise<unknown>) | null
let onTaking: (() => Promise<unknown>) | null
beforeEach(async () => {
  ;[onHolding, onClaimed, onTaking] = [null, null, null]
  world = await inMemory(PARTITIONS)
  const wrap = (store: Store) =>
    withVerbs(store, {
      async commit(request) {
        const holding = holds(request) ? onHolding : null
        if (holding) onHolding = null
        await holding?.()
        const taking = takes(request) ? onTaking : null
        if (taking) onTaking = null
        await taking?.()
        const outcome = await store.commit(request)
        const claimed = claims(request) ? onClaimed : null
        if (claimed) onClaimed = null
        await claimed?.()
        return outcome
      },
    })
  bench = await world.open({ wrap })
})

const go = (contextId: number) => bench.sendEvent({ contextId, event: 'go' })
const end = (contextId: number) => bench.terminate({ contextId })
const settle = async () => {
  for (let turns = 0; turns < 200; turns += 1) await nextTurn()
}

/** Two contexts of other partitions than that in which the event is held. */
async function openOffer(): Promise<readonly [number, number]> {
  const ids = []
  for (let nr = 0; nr < 2 * PARTITIONS; nr += 1) ids.push(await bench.run('Order'))
  const { eventId } = await bench.sendEvent(paid)
  const home = partitionOf(eventId, PARTITIONS)
  const [first = 0, second = 0] = ids.filter((id) => id % PARTITIONS !== home)
  return [first, second]
}

/** Why the first context does not take it. */
const reasons: [string, (first: number) => void][] = [
  ['does not wait any more', (first) => (onClaimed = () => end(first))],
  ['can not be committed', () => (onTaking = () => Promise.reject(unavailable('away')))],
]

describe.each(reasons)('an event that was claimed for a context which %s', (_, prevent) => {
  test('is taken by the next that comes to wait', async () => {
    const [first, second] = await openOffer()
    prevent(first)
    await go(first)
    await settle()
    expect([onClaimed, onTaking]).toEqual([null, null])
    await go(second)
    await expect.poll(() => seenBy(bench, second)).toEqual([1])
    expect(await seenBy(bench, first)).toEqual([])
  })

  test('is taken by one that passed over it meanwhile', async () => {
    const [first, second] = await openOffer()
    prevent(first)
    const prevented = onClaimed
    // The second one comes, and finds it claimed.
    onClaimed = async () => {
      await go(second)
      await settle()
      expect(await seenBy(bench, second)).toEqual([])
      await prevented?.()
    }
    await go(first)
    await expect.poll(() => seenBy(bench, second)).toEqual([1])
    expect(await seenBy(bench, first)).toEqual([])
  })
})

test('an event for which contexts come to wait while it is written is taken by one of them', async () => {
  const ids: number[] = []
  for (let nr = 0; nr < PARTITIONS; nr += 1) ids.push(await bench.run('Order'))
  onHolding = async () => {
    await Promise.all(ids.map(go))
    await settle()
  }
  await bench.sendEvent(paid)
  await settle()
  expect(await seenByAll(bench, ids)).toEqual([1])
})

test('an event that a context passed over while it was paused is taken when it is resumed', async () => {
  const contextId = await bench.run('Order')
  onHolding = async () => {
    await go(contextId)
    await bench.pause({ contextId })
  }
  await bench.sendEvent(paid)
  await settle()
  expect(await seenBy(bench, contextId)).toEqual([])
  await bench.resume({ contextId })
  await settle()
  expect(await seenBy(bench, contextId)).toEqual([1])
})

test('an event that was taken, though the store did not answer, is not offered again', async () => {
  const [first, second] = await openOffer()
  const store = held<void>()
  onTaking = () => Promise.resolve(store.release())
  await go(first)
  await store.promise
  await expect.poll(() => seenBy(bench, first)).toEqual([1])
  await go(second)
  await settle()
  expect([await seenBy(bench, second), await bench.listPending({})]).toEqual([[], []])
})

const offer = () => Promise.resolve('passed' as const)

const openLookUps = (more: Partial<Store>) => {
  const missed: number[] = []
  const looks = { count: 0 }
  const load: Store['load'] = async () => {
    looks.count += 1
    return null
  }
  const store = emptyStore({ load, ...more })
  const clock = new SimulatedClock()
  class Counted extends LookUps {
    override hurry() {
      missed.push(looks.count)
    }
  }
  const unclaimed = { unclaimed: () => Promise.resolve(null) }
  const lookUps = new Counted({ beat: null, store, clock, log, unclaimed, offer })
  return { lookUps, missed, looks }
}

describe('a context that is not looked at', () => {
  test('since the store is away, is told of', async () => {
    const { lookUps, missed } = openLookUps({ load: () => Promise.reject(unavailable('away')) })
    await lookUps.request(1, null)
    expect(missed).toHaveLength(1)
    const other = openLookUps({ listRows: () => Promise.reject(unavailable('away')) })
    await other.lookUps.request(1, keysOfHearers('paid', []))
    expect(other.missed).toHaveLength(1)
  })

  test('since there are too many, is told of, and all others are looked at', async () => {
    const { lookUps, missed, looks } = openLookUps({})
    // Those that are looked at, and those that wait for it.
    const room = 32 + 10_000
    for (let id = 1; id <= room + 3; id += 1) void lookUps.request(id, null)
    await nextTurn()
    expect(missed).toHaveLength(3)
    // One that waits already takes no other place.
    await lookUps.request(room, null)
    expect(missed).toHaveLength(3)
    expect(looks.count).toBe(room)
  })
})

test('a context that is to be looked at again, whenever it is, is looked at again', async () => {
  for (let later = 0; later < 30; later += 1) {
    const reads: Held<StoredRow[]>[] = []
    const { lookUps } = openLookUps({
      listRows() {
        const read = held<StoredRow[]>()
        reads.push(read)
        return read.promise
      },
    })
    void lookUps.request(1, keysOfHearers('paid', []))
    await expect.poll(() => reads.length).toBe(1)
    reads[0]?.release([])
    for (let turn = 0; turn < later; turn += 1) await Promise.resolve()
    void lookUps.request(1, keysOfHearers('paid', []))
    await nextTurn()
    await nextTurn()
    expect([later, reads.length]).toEqual([later, 2])
  }
})
