// Broadcasts under a key: whom they moved and started is there once, over repeats, crashes and two servers.
import { beforeEach, describe, expect, test } from 'vitest'
import { endOfAccepted, isReplayed } from '../support/answers.ts'
import { unavailable } from '../../src/model/failure.ts'
import type { CommitRequest } from '../../src/ports/store.ts'
import { openBench, outputs, type Bench, type Files } from '../support/engine.ts'
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
const CONTEXTS = 7
const once = Array.from({ length: CONTEXTS }, () => 1)
const startedOf = async (bench: Bench) => (await bench.listContexts({ fluxName: 'Started', limit: 9 })).length
const tick = (bench: Bench, more: object = {}) => bench.sendEvent({ event: 'tick', eventId: 'e', ...more })

describe.each(storesOf([3, 1]))('in a store of %i partitions, a broadcast under a key', (partitions) => {
  let shared: SharedMemory
  let clock: SimulatedClock
  let first: Bench
  let ids: number[]
  /** Commits that the servers may still make; then they are dead. */
  let left: number
  /** Commits that are sent twice: the answer to the second one comes. */
  let twice: (request: CommitRequest) => boolean

  const open = () =>
    openBench(FILES, {
      ...shared.server(),
      wrap: (store) =>
        withVerbs(store, {
          commit(request) {
            left -= 1
            if (left < 0) return Promise.reject(unavailable('dead'))
            return twice(request) ? store.commit(request).then(() => store.commit(request)) : store.commit(request)
          },
        }),
    })

  beforeEach(async () => {
    shared = new SharedMemory(partitions)
    ;({ clock } = shared)
    ;[left, twice] = [Infinity, () => false]
    first = await open()
    ids = []
    for (let at = 0; at < CONTEXTS; at += 1) ids.push(await first.run('Count'))
  })

  const countsOf = (bench: Bench) =>
    Promise.all(ids.map(async (contextId) => outputs(await bench.getContext({ contextId }))['n']))

  test('is answered again, and mismatched by another content', async () => {
    const bench = first
    const answer = await tick(bench)
    expect([answer.transitions.length, answer.executions.length, isReplayed(answer)]).toEqual([CONTEXTS, 1, false])
    const again = await tick(bench)
    expect([again, isReplayed(again)]).toEqual([answer, true])
    expect([await countsOf(bench), await startedOf(bench)]).toEqual([once, 1])
    await expect(tick(bench, { tags: ['x'] })).rejects.toMatchObject({ failure: { kind: 'idempotencyMismatch' } })
    await tick(bench, { eventId: 'other' })
    expect(await countsOf(bench)).toEqual(once.map(() => 2))
  })

  test('that meets nobody is remembered', async () => {
    const bench = first
    const nobody = () => bench.sendEvent({ event: 'nobody', eventId: 'e' })
    const answer = await nobody()
    expect(answer.transitions).toEqual([])
    expect(isReplayed(await nobody())).toBe(true)
  })

  test.each([{}, { respondAsync: true }])('whose beginning is written twice is no repeat: %j', async (more) => {
    const bench = first
    twice = ({ rows = [] }) => rows.some(({ space, value }) => space === 'idempotency' && value !== null)
    const answer = await tick(bench, more)
    await endOfAccepted(answer)
    expect(isReplayed(answer)).toBe(false)
    expect(await bench.getEvent({ eventId: 'e' })).toMatchObject({
      repeated: 0,
      done: true,
      counts: { moved: CONTEXTS },
    })
    expect([await countsOf(bench), await startedOf(bench)]).toEqual([once, 1])
  })

  test('is refused while the first is under way, on whichever server', async () => {
    const [one, two] = [first, await open()]
    const settled = await Promise.allSettled([tick(one), tick(one), tick(two)])
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    expect(settled.slice(1)).toMatchObject([
      { reason: { failure: { kind: 'idempotencyInProgress' } } },
      { reason: { failure: { kind: 'idempotencyInProgress' } } },
    ])
    expect(await countsOf(two)).toEqual(once)
  })

  test.each(Array.from({ length: CONTEXTS + 3 }, (_, at) => at))(
    'cut off after %i commits goes on under its key, and moves nobody twice',
    async (commits) => {
      left = commits
      // Once it has begun, it goes to all, and its sender is not told otherwise.
      const doubt = commits > 0 ? { inDoubt: true } : {}
      const detail = expect.stringMatching(commits > 0 ? /dead: this may have been done, or not/ : /^dead$/)
      const failure = { kind: 'unavailable', detail, retryAfter: 1, ...doubt }
      await expect(tick(first)).rejects.toHaveProperty('failure', failure)
      left = Infinity
      const bench = await open()
      await clock.advance(8 * BEAT_MS)
      // Once it has begun, it is carried on without a repeat.
      if (commits > 0) await expect.poll(() => countsOf(bench)).toEqual(once)
      if (commits > 0) await expect.poll(() => startedOf(bench)).toBe(1)
      const answer = await tick(bench).catch(() => tick(bench))
      const moved = answer.transitions.map(({ contextId }) => contextId).sort((a, b) => a - b)
      expect([moved, answer.executions.length]).toEqual([ids, 1])
      expect([await countsOf(bench), await startedOf(bench)]).toEqual([once, 1])
    },
  )
})
