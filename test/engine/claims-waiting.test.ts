// Claims alone: what waits for a slot, for memory or for the store, is not forgotten. Takeovers are noted instead of done.
import { expect, test, vi } from 'vitest'
import { ByteBudget } from '../../src/model/byte-budget.ts'
import { unavailable, unreadable } from '../../src/model/failure.ts'
import { readyOwner } from '../../src/model/context.ts'
import type { CommitFeed } from '../../src/ports/feeds.ts'
import type { AbandonedLease } from '../../src/ports/store.ts'
import { Admission, type Slot } from '../../src/engine/turn/admission.ts'
import { Claims } from '../../src/engine/cluster/claims.ts'
import type { StepShortage } from '../../src/engine/cluster/recovery.ts'
import { Slots } from '../../src/model/slots.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { emptyStore } from '../support/stores.ts'
import { silent as log, SILENT_FEED } from '../support/silent.ts'

const GONE = 'gone'
const HEAVY = { text: 'x'.repeat(1_000_000) }

interface Taken {
  readonly lease: AbandonedLease
  readonly slot: Slot | null
  /** How often that context was looked at before. */
  readonly before: number
}

interface Options {
  readonly maxWaiting?: number
  readonly feed?: CommitFeed | null
}

/** `takeOver`: what becomes of a takeover; null: the step starts, and ends at once. */
function open(takeOver: (taken: Taken) => StepShortage | null, { maxWaiting = 1000, feed = null }: Options = {}) {
  const clock = new SimulatedClock()
  const slots = new Slots({ code: 1, isolated: 1, script: 1, maxWaiting })
  /** What the store has; while it is away, it has nothing. */
  const state: { offered: AbandonedLease[]; isAway: boolean } = { offered: [], isAway: false }
  const taken: Taken[] = []
  /** Of each claim in the store. */
  const limits: number[] = []
  const store = emptyStore({
    claimAbandoned: ({ limit }) => {
      limits.push(limit)
      return state.isAway ? Promise.reject(unavailable('away')) : Promise.resolve(state.offered.splice(0, limit))
    },
  })
  const budget = new ByteBudget({ bytes: 1000, what: 'steps' })
  const claims = new Claims({
    store,
    servers: { own: 'me' },
    clock,
    log,
    slots,
    admission: new Admission({ slots, budget }),
    recovery: {
      async takeOver(lease, slot) {
        const one = { lease, slot, before: taken.filter((other) => other.lease.id === lease.id).length }
        taken.push(one)
        try {
          await Promise.resolve()
          return takeOver(one)
        } finally {
          slot?.release()
        }
      },
    },
    feed,
    gate: { isClosed: false },
  })
  const free = () => [slots.free('code'), slots.free('isolated'), slots.free('script')]
  return { clock, slots, state, taken, limits, claims, free }
}

const ids = (count: number) => Array.from({ length: count }, (_, place) => place + 1)
const idsOf = (taken: readonly Taken[]) => taken.map(({ lease }) => lease.id).toSorted((a, b) => a - b)

test('a step that a gone server left is still its step after it has waited for a slot', async () => {
  const { state, taken, claims, slots } = open(({ slot }) => (slot ? null : { kind: 'code', weight: null }))
  slots.tryTake('code')
  state.offered.push({ id: 1, owner: GONE })
  await claims.look()
  await vi.waitFor(() => expect(taken).toMatchObject([{ lease: { id: 1, owner: GONE }, slot: null }]))
  expect(claims.has(1)).toBe(true)
  slots.release('code')
  await vi.waitFor(() => expect(claims.has(1)).toBe(false))
  expect(taken.slice(1)).toMatchObject([{ lease: { id: 1, owner: GONE }, slot: { kind: 'code' } }])
})

test("what can't be read is forgotten, so that it can be claimed again", async () => {
  const { state, taken, claims } = open(({ before }) => {
    if (before === 0) throw unreadable(1)
    return null
  })
  for (const owner of [GONE, GONE]) {
    state.offered.push({ id: 1, owner })
    await claims.look()
    await vi.waitFor(() => expect(claims.has(1)).toBe(false))
  }
  expect(idsOf(taken)).toEqual([1, 1])
})

test('takeovers that fail are tried again after a while, however many they are', async () => {
  const { clock, state, taken, claims, free } = open(({ before }) => {
    if (before === 0) throw new Error('EIO')
    return null
  })
  // A claim asks for as many as slots are free.
  for (let count = 3; count <= 30; count += 3) {
    state.offered = [2, 1, 0].map((place) => ({ id: count - place, owner: GONE }))
    await claims.look()
    await vi.waitFor(() => expect(taken).toHaveLength(2 * count - 3))
    await clock.advance(5_000)
    await vi.waitFor(() => expect(taken).toHaveLength(2 * count))
  }
  expect(idsOf(taken)).toEqual(ids(30).flatMap((id) => [id, id]))
  expect(free()).toEqual([1, 1, 1])
})

test('any number of steps in turn can wait for memory, and each has it when it gets a slot', async () => {
  const rooms: (boolean | undefined)[] = []
  const { taken, claims, free } = open(({ slot, before }) => {
    if (before === 0) return { kind: 'code', weight: 10 }
    rooms.push(slot?.fits(HEAVY))
    return null
  })
  for (const id of ids(200)) claims.ready(id, 'code')
  await vi.waitFor(() => expect(idsOf(taken)).toEqual(ids(200).flatMap((id) => [id, id])))
  await vi.waitFor(() => expect(ids(200).some((id) => claims.has(id))).toBe(false))
  expect(rooms).toEqual(ids(200).map(() => true))
  expect(free()).toEqual([1, 1, 1])
})

test('a store that is away is asked again after a pause', async () => {
  const { clock, state, taken, claims } = open(() => null, { maxWaiting: 0 })
  state.isAway = true
  claims.ready(1, 'code')
  await clock.advance(500)
  state.offered.push({ id: 1, owner: readyOwner('code') })
  state.isAway = false
  await clock.advance(400)
  expect(taken).toEqual([])
  await clock.advance(200)
  await vi.waitFor(() => expect(idsOf(taken)).toEqual([1]))
})

test('a hint that comes too soon is given after the pause, once', async () => {
  const times: number[] = []
  const feed: CommitFeed = { ...SILENT_FEED, notifyReady: () => void times.push(clock.now() - start) }
  const { claims, clock, slots } = open(() => null, { feed })
  const start = clock.now()
  slots.tryTake('code')
  for (const id of [1, 2, 3]) claims.ready(id, 'code')
  expect(times).toEqual([0])
  await clock.advance(1_000)
  expect(times).toEqual([0, 100])
  claims.ready(4, 'code')
  await clock.advance(1_000)
  expect(times).toEqual([0, 100, 1_000])
  claims.ready(5, 'code')
  claims.ready(6, 'code')
  claims.close()
  expect(times).toEqual([0, 100, 1_000, 2_000, 2_000])
})
