// Broadcasts that are accepted before they are sent to all: they are done once, over crashes and servers, can be stopped,
// and their receipt tells how far they are.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { endOfAccepted, isReplayed, notedApi } from '../support/answers.ts'
import { ANONYMOUS } from '../../src/model/caller.ts'
import { inDoubt, unavailable } from '../../src/model/failure.ts'
import type { CommitRequest } from '../../src/ports/store.ts'
import { openBench, outputs, type Bench, type BenchOptions, type Files } from '../support/engine.ts'
import { held } from '../support/held.ts'
import { BEAT_MS, SharedMemory } from '../support/shared-memory.ts'
import type { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { withVerbs } from '../support/stores.ts'
import { COUNTER } from '../support/services.ts'
import { storesOf } from '../support/effort.ts'

const FILES: Files = {
  'p/Count.flux': COUNTER,
  'p/Started.flux': {
    triggers: ['tick'],
    states: [{ name: 's', waiting: true, transitions: [{ to: 's', event: 'never' }] }],
  },
}
const SECRET: Files = {
  'p/Secret.flux': {
    secured: true,
    states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'tick' }] }],
  },
}
const MANY = 1300
/** As many as are sent the event before it is stored how far it is. */
const STAGE = 1000

const startAll = (bench: Bench, count: number) => Promise.all(Array.from({ length: count }, () => bench.run('Count')))
const countsOf = async (bench: Bench, ids: readonly number[]) =>
  Promise.all(ids.map(async (contextId) => outputs(await bench.getContext({ contextId }))['n']))
const receiptOf = (bench: Bench, eventId: string) => bench.getEvent({ eventId })

const refuse = () => Promise.reject(unavailable('away'))
const isDone = (bench: Bench, eventId: string) =>
  expect.poll(async () => (await receiptOf(bench, eventId)).done, { timeout: 40_000, interval: 20 }).toBe(true)

describe.each(storesOf([3, 1]))('in a store of %i partitions, an event for many', (partitions) => {
  let shared: SharedMemory
  let clock: SimulatedClock
  /** Commits that the servers may still make; then the store is away. */
  let left: number
  /** Commits of contexts wait for it. */
  let gate: Promise<unknown>
  /** Whether the next commit that ends a broadcast gets no answer. */
  let losesEnd: boolean
  /** Whether the store is away as soon as a stop is asked for, and whether it is, for who asks who carries it on. */
  let losesStop: boolean
  let isAway: boolean
  /** What is done before the commit that holds an event, once. */
  let beforeHolding: (() => Promise<unknown>) | null

  const open = (options: BenchOptions = {}) =>
    openBench(
      { ...FILES, ...SECRET },
      {
        ...shared.server(),
        wrap: (store) =>
          withVerbs(store, {
            async readRow(row) {
              if (row.space === 'broadcasts' && isAway) throw unavailable('away')
              return store.readRow(row)
            },
            async commit(request: CommitRequest) {
              isAway = losesStop && request.rows?.some(({ value }) => value?.includes('"stops":true')) === true
              left -= 1
              if (left < 0) throw unavailable('away')
              if (request.writes.length > 0) await gate
              if (request.rows?.some(({ space, value }) => space === 'held' && value !== null)) {
                const first = beforeHolding
                beforeHolding = null
                await first?.()
              }
              const outcome = await store.commit(request)
              const ends = request.rows?.some(({ space, value }) => space === 'broadcasts' && value === null) === true
              if (!losesEnd || !ends) return outcome
              losesEnd = false
              throw inDoubt('the answer was lost')
            },
          }),
        bounds: { answeredBroadcast: 5 },
        ...options,
      },
    )
  beforeEach(() => {
    shared = new SharedMemory(partitions)
    ;({ clock } = shared)
    ;[left, gate, losesEnd, beforeHolding] = [Infinity, Promise.resolve(), false, null]
    ;[losesStop, isAway] = [false, false]
  })
  afterEach(() => {
    left = Infinity
  })

  test('is accepted above the bound, without a key too, and moves each once', async () => {
    const bench = await open()
    const ids = await startAll(bench, 6)
    const answer = await bench.sendEvent({ event: 'tick' })
    expect(answer).toMatchObject({ transitions: [], executions: [], ignored: [] })
    expect(endOfAccepted(answer)).not.toBeNull()
    await endOfAccepted(answer)
    expect(await countsOf(bench, ids)).toEqual(ids.map(() => 1))
    const receipt = await receiptOf(bench, answer.eventId)
    expect(receipt).toMatchObject({
      done: true,
      repeated: 0,
      progress: { matched: 6, done: 6, moved: 6, started: 1, ignored: 0 },
      counts: { moved: 6, started: 1, ignored: 0 },
    })
    expect(receipt.moved.map(({ contextId }) => contextId).sort((a, b) => a - b)).toEqual(ids)
    expect(await shared.store().countRows({ space: 'broadcasts' })).toBe(0)
    // Of what counts for the bound of keys its receipt is left, and the row of what it started.
    expect(await shared.store().countRows({ space: 'items' })).toBe(2)
  })

  test.each([{}, { eventId: 'e' }])('leaves room for keys when it is done: %j', async (more) => {
    const bench = await open({ idempotency: { max: 20 } })
    await startAll(bench, 600)
    const answer = await bench.sendEvent({ event: 'tick', ...more })
    await endOfAccepted(answer)
    await bench.advance(1000)
    const start = () => bench.run('Count', {}, { idempotencyKey: 'k' })
    // The number of rows is that of a second ago.
    await start().catch(() => {})
    await bench.advance(1000)
    expect(await start()).toBeGreaterThan(0)
    expect(await receiptOf(bench, answer.eventId)).toMatchObject({
      done: true,
      progress: { matched: 600, done: 600, moved: 600, started: 1, ignored: 0 },
    })
  })

  test('moves nobody twice where the server that began it was held up until it was done', async () => {
    let [isHeldUp, isSilent] = [false, false]
    const hold = held<void>()
    const one = await open({
      wrap: (store) =>
        withVerbs(store, {
          async commit(request) {
            if (isSilent && request.writes.length === 0) throw unavailable('away')
            if (isHeldUp && request.writes.length > 0) await hold.promise
            return store.commit(request)
          },
          heartbeat: (request) => (isSilent ? Promise.reject(unavailable('away')) : store.heartbeat(request)),
        }),
    })
    const ids = await startAll(one, 20)
    const two = await open()
    isHeldUp = true
    const { eventId } = await one.sendEvent({ event: 'tick' })
    isSilent = true
    await clock.advance(9 * BEAT_MS)
    await isDone(two, eventId)
    await expect.poll(() => countsOf(two, ids)).toEqual(ids.map(() => 1))
    hold.release()
    await one.advance(1000)
    await one.engine.close({ grace: 0 })
    expect(await countsOf(two, ids)).toEqual(ids.map(() => 1))
  })

  test('alone has progress in its receipt, and is told of one context in the singular', async () => {
    const bench = await open()
    await startAll(bench, 1)
    await bench.sendEvent({ event: 'tick', eventId: 'answered' })
    await bench.sendEvent({ event: 'tick', eventId: 'waited', respondAsync: true, respondWithin: 60 })
    const accepted = await bench.sendEvent({ event: 'tick', eventId: 'accepted', respondAsync: true })
    await endOfAccepted(accepted)
    expect(accepted.message).toContain("'tick' goes to 1 context;")
    const told = await Promise.all(['answered', 'waited', 'accepted'].map((eventId) => receiptOf(bench, eventId)))
    expect(told.map(({ progress }) => progress?.matched)).toEqual([undefined, undefined, 1])
    expect((await bench.sendEvent({ event: 'nobody', respondAsync: true })).message).toContain('goes to 0 contexts;')
  })

  test('is answered when it is done up to the bound, in process, and within the time that its sender waits', async () => {
    const bench = await open()
    const ids = await startAll(bench, 5)
    const few = await bench.sendEvent({ event: 'tick' })
    expect([endOfAccepted(few), few.transitions.length]).toEqual([null, 5])
    ids.push(...(await startAll(bench, 5)))
    const local = await bench.engine.local().sendEvent({ event: 'tick' })
    expect(local.transitions).toHaveLength(10)
    const waited = await bench.sendEvent({ event: 'tick', eventId: 'w', respondWithin: 60 })
    expect([endOfAccepted(waited), waited.transitions.length]).toEqual([null, 10])
    // A repeat has the first answer.
    const again = await bench.sendEvent({ event: 'tick', eventId: 'w' })
    expect([isReplayed(again), endOfAccepted(again), again]).toEqual([true, null, waited])
    const async = await bench.engine.local().sendEvent({ event: 'nobody', respondAsync: true })
    expect(async.message).toContain('its receipt tells how far it is')
  })

  test('counts no context that its sender may not move', async () => {
    const bench = await open()
    const ids = await startAll(bench, 5)
    await Promise.all(Array.from({ length: 7 }, () => bench.run('Secret')))
    const [stranger, known] = [
      notedApi(bench.engine.calls(ANONYMOUS)),
      bench.engine.api({ name: 'ann', roles: ['invoke'] }),
    ]
    const answer = await stranger.sendEvent({ event: 'tick', eventId: 'e', respondAsync: true })
    await endOfAccepted(answer)
    expect(answer.message).toContain('to 5 contexts')
    const { counts, progress } = await stranger.getEvent({ eventId: 'e' })
    expect([counts.moved, progress]).toEqual([5, { matched: 5, done: 5, moved: 5, started: 1, ignored: 0 }])
    // Nor does their number decide how it is answered.
    const small = await stranger.sendEvent({ event: 'tick' })
    expect([endOfAccepted(small), small.transitions.length]).toEqual([null, ids.length])
    expect((await known.sendEvent({ event: 'tick' })).message).toContain('to 12 contexts')
  })

  test('that is repeated gets the first answer, while it is under way and afterwards', async () => {
    const bench = await open()
    const ids = await startAll(bench, 8)
    const hold = held<void>()
    gate = hold.promise
    const send = () => bench.sendEvent({ event: 'tick', eventId: 'e' })
    const first = await send()
    const again = await send()
    expect([isReplayed(first), isReplayed(again), endOfAccepted(again) !== null]).toEqual([false, true, true])
    expect(again).toEqual(first)
    expect(await receiptOf(bench, 'e')).toMatchObject({ done: false, repeated: 1, progress: { matched: 8, done: 0 } })
    await expect(bench.sendEvent({ event: 'tick', eventId: 'e', tags: ['x'] })).rejects.toMatchObject({
      failure: { kind: 'idempotencyMismatch' },
    })
    hold.release()
    await isDone(bench, 'e')
    expect([await send(), await countsOf(bench, ids)]).toEqual([first, ids.map(() => 1)])
  })

  test('its sender waits for no longer than it said', async () => {
    const bench = await open()
    await startAll(bench, 8)
    const hold = held<void>()
    gate = hold.promise
    const sent = bench.sendEvent({ event: 'tick', eventId: 'e', respondWithin: 10 })
    await expect.poll(() => clock.pending.includes(clock.now() + 10_000)).toBe(true)
    await clock.advance(10_000)
    expect(endOfAccepted(await sent)).not.toBeNull()
    hold.release()
    await isDone(bench, 'e')
  })

  test('goes on while the store is away for a while, and nobody is passed over', async () => {
    const bench = await open()
    const ids = await startAll(bench, 20)
    const hold = held<void>()
    gate = hold.promise
    const { eventId } = await bench.sendEvent({ event: 'tick' })
    left = 7
    hold.release()
    for (let tries = 0; tries < 3; tries += 1) await bench.advance(1000)
    left = Infinity
    await bench.advance(10_000)
    await isDone(bench, eventId)
    expect(await countsOf(bench, ids)).toEqual(ids.map(() => 1))
    expect(await receiptOf(bench, eventId)).toMatchObject({ counts: { moved: 20, started: 1, ignored: 0 } })
  })

  test.each([1, STAGE / 2, STAGE - 150, MANY - 255])(
    'goes on where its server died, after %i commits more, and moves nobody twice',
    async (commits) => {
      const one = await open()
      const ids = await startAll(one, MANY)
      const hold = held<void>()
      gate = hold.promise
      const { eventId } = await one.sendEvent({ event: 'tick' })
      const two = await open()
      left = commits
      hold.release()
      await expect.poll(() => left < 0, { timeout: 40_000 }).toBe(true)
      // It says nothing any more, as if it were dead.
      one.engine.close({ grace: 0 }).catch(() => {})
      left = Infinity
      const before = await receiptOf(two, eventId)
      expect(before).toMatchObject({ done: false, progress: { matched: MANY } })
      expect(before.progress?.done).toBe(before.counts.moved)
      await clock.advance(9 * BEAT_MS)
      await isDone(two, eventId)
      expect(await countsOf(two, ids)).toEqual(ids.map(() => 1))
      const { counts, moved, progress } = await receiptOf(two, eventId)
      expect([counts, moved.length, progress]).toEqual([
        { moved: MANY, started: 1, ignored: 0, pending: 0, expired: 0, withdrawn: 0 },
        1000,
        { matched: MANY, done: MANY, moved: MANY, started: 1, ignored: 0 },
      ])
    },
    100_000,
  )

  test('is stopped by whichever server is asked, and those whom it did not reach stay', async () => {
    const [one, two] = [await open(), await open()]
    const ids = await startAll(one, MANY)
    const hold = held<void>()
    gate = hold.promise
    const { eventId } = await one.sendEvent({ event: 'tick' })
    const stopped = two.stopEvent({ eventId })
    await expect
      .poll(() => shared.store().listRows({ space: 'broadcasts', prefix: '', limit: 1 }))
      .toMatchObject([{ value: expect.stringContaining('"stops":true') }])
    hold.release()
    await isDone(two, eventId)
    await clock.advance(1000)
    const receipt = await stopped
    expect(receipt).toMatchObject({ done: true, progress: { matched: MANY, done: STAGE, moved: STAGE, started: 0 } })
    const counts = await countsOf(two, ids)
    expect([counts.filter((n) => n === 1).length, counts.filter((n) => n === 0).length]).toEqual([STAGE, MANY - STAGE])
    await expect(one.stopEvent({ eventId })).rejects.toMatchObject({ failure: { kind: 'conflict' } })
    await expect(one.stopEvent({ eventId: 'unknown' })).rejects.toMatchObject({ failure: { kind: 'notFound' } })
    // A repeat does not begin it again.
    await endOfAccepted(await one.sendEvent({ event: 'tick', eventId }))
    expect(await receiptOf(one, eventId)).toEqual({ ...receipt, repeated: 1 })
  })

  test('is stopped while the store is away for some of the contexts, and tells so', async () => {
    const source = shared.store()
    let firstAway = Infinity
    const away = (id: number) => id >= firstAway
    const bench = await open({
      others: null,
      store: withVerbs(source, {
        commit: (request) =>
          request.writes.some(({ context }) => away(context.id)) ? refuse() : source.commit(request),
        readRow: (row) =>
          row.space === 'items' && away(Number(row.key.split(':')[1])) ? refuse() : source.readRow(row),
      }),
    })
    const ids = await startAll(bench, 10)
    firstAway = ids[7] ?? 0
    const { eventId } = await bench.sendEvent({ event: 'tick' })
    for (let tries = 0; tries < 3; tries += 1) await bench.advance(1000)
    const stopped = bench.stopEvent({ eventId })
    for (let tries = 0; tries < 7; tries += 1) await bench.advance(1000)
    const progress = { matched: 10, done: 7, moved: 7, started: 0, ignored: 0 }
    expect(await stopped).toMatchObject({ done: true, progress })
    firstAway = Infinity
    expect(await countsOf(bench, ids)).toEqual(ids.map((_, nr) => (nr < 7 ? 1 : 0)))
    expect(
      bench.logged.filter(({ level, message }) => level === 'error' && !message.includes('did not reach')),
    ).toEqual([])
  })

  test('whose stop is stored is told to be under way still, or in doubt, where its end is not seen', async () => {
    const bench = await open()
    const ids = await startAll(bench, 6)
    const hold = held<void>()
    gate = hold.promise
    const { eventId } = await bench.sendEvent({ event: 'tick' })
    const stopped = bench.stopEvent({ eventId })
    for (let tries = 0; tries < 60; tries += 1) await bench.advance(100)
    expect(await stopped).toMatchObject({ done: false, progress: { matched: 6, done: 0 } })
    losesStop = true
    const failed = { failure: { kind: 'unavailable', inDoubt: true } }
    await expect(bench.stopEvent({ eventId })).rejects.toMatchObject(failed)
    hold.release()
    await isDone(bench, eventId)
    expect(await countsOf(bench, ids)).toEqual(ids.map(() => 1))
  })

  test('is left by a server that stops, and goes on at the next start at once', async () => {
    const one = await open()
    const ids = await startAll(one, MANY)
    const hold = held<void>()
    gate = hold.promise
    const { eventId } = await one.sendEvent({ event: 'tick' })
    const closed = one.engine.close({ grace: 0 })
    hold.release()
    await closed
    const two = await open()
    await isDone(two, eventId)
    expect(await countsOf(two, ids)).toEqual(ids.map(() => 1))
  })

  test('that was to be stopped when its server died is not sent to anybody else', async () => {
    const [one, two] = [await open(), await open()]
    const ids = await startAll(one, 20)
    const hold = held<void>()
    gate = hold.promise
    const { eventId } = await one.sendEvent({ event: 'tick' })
    left = 1
    two.stopEvent({ eventId }).catch(() => {})
    await expect.poll(() => left).toBe(0)
    hold.release()
    one.engine.close({ grace: 0 }).catch(() => {})
    left = Infinity
    for (let beats = 0; beats < 10; beats += 1) await two.advance(BEAT_MS)
    await isDone(two, eventId)
    const { counts, progress } = await receiptOf(two, eventId)
    expect([counts.started, progress?.matched]).toEqual([0, 20])
    expect((await countsOf(two, ids)).filter((n) => n === 1)).toHaveLength(counts.moved)
  })

  test('that was to be stopped when its server died, and reached nobody, is held for nobody', async () => {
    const [one, two] = [await open(), await open()]
    left = 1
    const { eventId } = await one.sendEvent({ event: 'nobody', respondAsync: true, ttl: 3600 })
    await expect.poll(() => left).toBeLessThan(0)
    one.engine.close({ grace: 0 }).catch(() => {})
    left = Infinity
    const stopped = two.stopEvent({ eventId })
    for (let beats = 0; beats < 10; beats += 1) await two.advance(BEAT_MS)
    await isDone(two, eventId)
    await stopped
    expect(await receiptOf(two, eventId)).toMatchObject({ pending: [], counts: { pending: 0 } })
    expect(await two.listPending({})).toEqual([])
  })

  test('that is to be stopped just when it ends is held for nobody', async () => {
    const [one, two] = [await open(), await open()]
    const store = shared.store()
    let stopped: Promise<unknown> = Promise.resolve()
    const wish = async () => {
      stopped = two.stopEvent({ eventId: 'e' })
      await expect
        .poll(() => store.listRows({ space: 'broadcasts', prefix: '', limit: 1 }))
        .toMatchObject([{ value: expect.stringContaining('"stops":true') }])
    }
    beforeHolding = wish
    await endOfAccepted(await one.sendEvent({ event: 'nobody', eventId: 'e', respondAsync: true, ttl: 3600 }))
    await clock.advance(1000)
    expect([beforeHolding, await stopped]).toMatchObject([null, { done: true, pending: [], counts: { pending: 0 } }])
    expect(await two.listPending({})).toEqual([])
    for (const space of ['held', 'lookups', 'broadcasts'] as const) expect(await store.countRows({ space })).toBe(0)
  })

  test('that reached nobody is held, and its receipt tells so', async () => {
    const bench = await open()
    const answer = await bench.sendEvent({ event: 'nobody', respondAsync: true, ttl: 3600 })
    await endOfAccepted(answer)
    const pending = [{ contextId: null, expiresAt: clock.now() + 3_600_000 }]
    expect(await receiptOf(bench, answer.eventId)).toMatchObject({ done: true, pending, counts: { pending: 1 } })
    expect(await bench.listPending({})).toMatchObject([{ eventId: answer.eventId }])
  })

  test('whose end got no answer is known to have ended, and its sender gets the whole answer', async () => {
    const bench = await open()
    const ids = await startAll(bench, 6)
    losesEnd = true
    const sent = bench.sendEvent({ event: 'tick', respondWithin: 60 })
    await expect.poll(() => losesEnd).toBe(false)
    for (let tries = 0; tries < 5; tries += 1) await bench.advance(1000)
    const answer = await sent
    expect([endOfAccepted(answer), answer.transitions.length]).toEqual([null, 6])
    expect(await countsOf(bench, ids)).toEqual(ids.map(() => 1))
  })

  test('that can not be held for anybody tells so in its receipt', async () => {
    const bench = await open()
    const input = { text: 'x'.repeat(65_536) }
    const answer = await bench.sendEvent({ event: 'nobody', input, respondAsync: true, ttl: 3600 })
    await endOfAccepted(answer)
    expect(await receiptOf(bench, answer.eventId)).toMatchObject({
      done: true,
      ignored: [{ contextId: null, reason: expect.stringContaining('65536 bytes') }],
      counts: { ignored: 1, pending: 0 },
    })
  })

  test('starts what it triggers as soon as the store is there again', async () => {
    const bench = await open()
    await startAll(bench, 1)
    // It is accepted, has moved that one, and says so.
    left = 3
    const { eventId } = await bench.sendEvent({ event: 'tick', respondAsync: true })
    await expect.poll(() => left).toBeLessThan(0)
    left = Infinity
    for (let tries = 0; tries < 5; tries += 1) await bench.advance(1000)
    await isDone(bench, eventId)
    expect(await receiptOf(bench, eventId)).toMatchObject({ counts: { moved: 1, started: 1, ignored: 0 } })
    expect(await bench.listContexts({ fluxName: 'Started' })).toHaveLength(1)
  })

  test('is refused beyond the bound of broadcasts, and nothing is kept of it', async () => {
    const bench = await open({ bounds: { answeredBroadcast: 5, broadcasts: 1 } })
    await startAll(bench, 70)
    const hold = held<void>()
    gate = hold.promise
    const { eventId } = await bench.sendEvent({ event: 'tick' })
    for (const more of [{}, { eventId: 'e' }])
      await expect(bench.sendEvent({ event: 'tick', ...more })).rejects.toMatchObject({
        failure: { kind: 'overloaded' },
      })
    await expect(receiptOf(bench, 'e')).rejects.toMatchObject({ failure: { kind: 'notFound' } })
    hold.release()
    await isDone(bench, eventId)
    await expect(bench.sendEvent({ event: 'tick', eventId: 'e' })).resolves.toMatchObject({ eventId: 'e' })
  })
})
