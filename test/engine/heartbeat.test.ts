// A server says that it lives, and sees that the steps that are leased to it are those that it runs.
import { expect, test, vi } from 'vitest'
import { unavailable } from '../../src/model/failure.ts'
import type { Store } from '../../src/ports/store.ts'
import { Heartbeat } from '../../src/engine/cluster/heartbeat.ts'
import { LEASE_BEATS, Servers } from '../../src/engine/cluster/servers.ts'
import { held } from '../support/held.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { emptyStore } from '../support/stores.ts'

const BEAT_MS = 1000

interface State {
  incarnation: number
  /** By the store. */
  leased: number[]
  /** Here. */
  running: number[]
  /** With messages under way. */
  busy: number[]
  /** Being claimed. */
  claimed: number[]
}

function open({ every = BEAT_MS, ...verbs }: { every?: number | null } & Partial<Pick<Store, 'heartbeat'>> = {}) {
  const clock = new SimulatedClock()
  const [owners, logged]: [string[], string[]] = [[], []]
  const state: State = { incarnation: 0, leased: [], running: [], busy: [], claimed: [] }
  const seen: {
    beats: string[]
    reconciled: number[]
    checked: number[]
    abandoned: string[]
    looks: number
  } = { beats: [], reconciled: [], checked: [], abandoned: [], looks: 0 }
  const store = emptyStore({
    heartbeat(request) {
      seen.beats.push(request.owner)
      return verbs.heartbeat?.(request) ?? Promise.resolve(true)
    },
    leasedTo({ owner }) {
      expect(owner).toBe(servers.own)
      return Promise.resolve(state.leased)
    },
  })
  const onOwner = (owner: string) => void owners.push(owner)
  const servers: Servers = new Servers({ store, clock, beat: every, onOwner })
  const heartbeat = new Heartbeat({
    store: {
      ...store,
      get incarnation() {
        return state.incarnation
      },
    },
    clock,
    servers,
    log: {
      trace() {},
      debug() {},
      info() {},
      warn: (message) => {
        logged.push(message)
      },
      error() {},
    },
    mailboxes: { isBusy: (id) => state.busy.includes(id) },
    redelivery: {
      reconcile: (id) => {
        seen.reconciled.push(id)
        return Promise.resolve()
      },
    },
    steps: {
      contexts: () => state.running,
      abandon: (reason) => {
        seen.abandoned.push(reason)
        return []
      },
      check: async (id) => void seen.checked.push(id),
    },
    claims: {
      has: (id) => state.claimed.includes(id),
      look: () => {
        seen.looks += 1
        return Promise.resolve()
      },
    },
  })
  return { clock, owners, logged, servers, state, seen, heartbeat }
}

test('it beats at once and then again and again, and looks for steps of dead servers each time', async () => {
  const { clock, servers, seen, heartbeat } = open()
  await heartbeat.start()
  await clock.advance(BEAT_MS * 2)
  expect([seen.beats, seen.looks]).toEqual([Array.from({ length: 3 }, () => servers.own), 3])
  await heartbeat.stop()
  await clock.advance(BEAT_MS * 5)
  expect(seen.beats).toHaveLength(3)
})

test('one that no other server can hear is enough', async () => {
  const { clock, seen, heartbeat } = open({ every: null })
  await heartbeat.start()
  await clock.advance(BEAT_MS * 10)
  expect([seen.beats.length, seen.looks]).toEqual([1, 1])
})

test('a server that others took for dead lets its steps go, and goes on under another name', async () => {
  const alive = [true, false, true, true]
  const { clock, owners, logged, servers, seen, heartbeat } = open({
    heartbeat: () => Promise.resolve(alive.shift() ?? true),
  })
  const first = servers.own
  await heartbeat.start()
  await clock.advance(BEAT_MS)
  expect(servers.own).not.toBe(first)
  expect(owners).toEqual([first, servers.own])
  expect(seen.beats).toEqual([first, first, servers.own])
  expect([seen.abandoned.length, logged.length]).toEqual([1, 1])
  await heartbeat.stop()
})

test('a beat that the store does not take is told of, and the next one comes', async () => {
  const outcomes = [Promise.resolve(true)]
  const { clock, logged, seen, heartbeat } = open({
    heartbeat: () => outcomes.pop() ?? Promise.reject(unavailable('away')),
  })
  await heartbeat.start()
  await clock.advance(BEAT_MS * 2)
  expect(seen.beats).toHaveLength(3)
  expect(logged).toEqual(['the store did not take the heartbeat', 'the store did not take the heartbeat'])
  await heartbeat.stop()
})

test("at the start, a store that does not take it is the caller's matter", async () => {
  const { heartbeat } = open({ heartbeat: () => Promise.reject(unavailable('away')) })
  await expect(heartbeat.start()).rejects.toThrow('away')
})

test('every few beats, steps that do not run are looked after, and those that nobody leased are checked', async () => {
  const { clock, state, seen, heartbeat } = open()
  Object.assign(state, { leased: [1, 2, 3, 5], running: [2, 4], busy: [3], claimed: [5] })
  await heartbeat.start()
  await clock.advance(BEAT_MS)
  expect([seen.reconciled, seen.checked]).toEqual([[], []])
  await clock.advance(BEAT_MS)
  expect([seen.reconciled, seen.checked]).toEqual([[1], [4]])
  await clock.advance(BEAT_MS * 3)
  expect([seen.reconciled, seen.checked]).toEqual([
    [1, 1],
    [4, 4],
  ])
  await heartbeat.stop()
})

test('once the store was away, all are looked after at the next beat: it may have lost what ended them', async () => {
  const { clock, state, seen, heartbeat } = open()
  Object.assign(state, { leased: [1, 2, 3], running: [2], busy: [3] })
  await heartbeat.start()
  state.incarnation = 1
  await clock.advance(BEAT_MS)
  expect(seen.reconciled).toEqual([1, 2])
  await clock.advance(BEAT_MS)
  // The third beat, as ever.
  expect(seen.reconciled).toEqual([1, 2, 1])
  await heartbeat.stop()
})

test('stopping waits for the beat under way', async () => {
  const taken = held<boolean>()
  const beats = [Promise.resolve(true)]
  const { clock, seen, heartbeat } = open({ heartbeat: () => beats.pop() ?? taken.promise })
  await heartbeat.start()
  await clock.advance(BEAT_MS)
  const onStopped = vi.fn()
  const stopped = heartbeat.stop().finally(onStopped)
  await clock.advance(0)
  expect(onStopped).not.toHaveBeenCalled()
  taken.release(true)
  await stopped
  await clock.advance(BEAT_MS * 3)
  expect(seen.beats).toHaveLength(2)
})

test('another server lives until its last heartbeat is too long ago; who is not known is asked for', async () => {
  const clock = new SimulatedClock()
  const beats = new Map<string, number>([['other', clock.now() - BEAT_MS]])
  let reads = 0
  const store = emptyStore({
    servers() {
      reads += 1
      return Promise.resolve([...beats].map(([runId, beat]) => ({ runId, silentMs: clock.now() - beat })))
    },
  })
  const servers = new Servers({ store, clock, beat: BEAT_MS })
  const areOthers = () => Promise.all(['other', servers.own, ''].map((owner) => servers.isOther(owner)))
  expect(await areOthers()).toEqual([true, false, false])
  expect(await servers.isOther('late')).toBe(false)
  beats.set('late', clock.now())
  expect(await servers.isOther('late')).toBe(true)
  reads = 0
  await clock.advance((LEASE_BEATS - 1) * BEAT_MS - 1)
  expect([await servers.isOther('other'), reads]).toEqual([true, 0])
  await clock.advance(1)
  expect([await servers.isOther('other'), await servers.isOther('late')]).toEqual([false, true])
  beats.set('other', clock.now())
  expect(await servers.isOther('other')).toBe(true)
  expect(await new Servers({ store, clock, beat: null }).isOther('other')).toBe(false)
})
