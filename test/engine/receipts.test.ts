// Receipts: what became of an event that was sent under a key, with an eventId, or with `receipt: true`.
import { beforeEach, expect, test } from 'vitest'
import { unavailable } from '../../src/model/failure.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench, type Bench, type Files } from '../support/engine.ts'
import { withVerbs } from '../support/stores.ts'

const FILES: Files = {
  'p/Wait.flux': {
    states: [
      { name: 'a', waiting: true, transitions: [{ to: 'b', event: 'go' }] },
      { name: 'b', waiting: true, transitions: [{ to: 'a', event: 'back' }] },
    ],
  },
  'p/Started.flux': {
    triggers: ['go'],
    states: [{ name: 's', waiting: true, transitions: [{ to: 's', event: 'never' }] }],
  },
  'p/Refuses.flux': {
    triggers: ['go'],
    input: [{ name: 'needed', type: 'string', required: true }],
    states: [{ name: 's', waiting: true, transitions: [{ to: 's', event: 'never' }] }],
  },
}
const PICKY: Files = {
  'p/Picky.flux': {
    states: [
      {
        name: 'w',
        waiting: true,
        input: [{ name: 'needed', required: true }],
        transitions: [{ to: 'w', event: 'vain' }],
      },
    ],
  },
}
const NOW = Date.UTC(2026, 0, 1)
const NONE = { ignored: [], pending: [], expired: [], withdrawn: [] }

let bench: Bench
/** Commits that are still made. */
let left: number
/** Characters of the largest row that was written. */
let largest: number
const wrap = (store: Store): Store =>
  withVerbs(store, {
    commit(request) {
      left -= 1
      largest = Math.max(largest, ...(request.rows ?? []).map(({ value }) => value?.length ?? 0))
      return left < 0 ? Promise.reject(unavailable('away')) : store.commit(request)
    },
  })
beforeEach(async () => {
  left = Infinity
  largest = 0
  bench = await openBench({ ...FILES, ...PICKY }, { wrap })
})

test('of an event to one context: whom it moved, when, and how often it was repeated', async () => {
  const contextId = await bench.run('Wait')
  await bench.sendEvent({ contextId, event: 'go', eventId: 'e' })
  const receipt = {
    eventId: 'e',
    event: 'go',
    receivedAt: NOW,
    repeated: 0,
    moved: [{ contextId, state: 'b', at: NOW }],
    started: [],
    ...NONE,
    counts: { moved: 1, started: 0, ignored: 0, pending: 0, expired: 0, withdrawn: 0 },
    done: true,
  }
  expect(await bench.getEvent({ eventId: 'e' })).toEqual(receipt)
  await bench.sendEvent({ contextId, event: 'go', eventId: 'e' })
  await bench.sendEvent({ contextId, event: 'go', idempotencyKey: 'e' })
  expect(await bench.getEvent({ eventId: 'e' })).toEqual({ ...receipt, repeated: 2 })
})

test('of a broadcast: whom it moved and started, and who could not take it', async () => {
  const ids = [await bench.run('Wait'), await bench.run('Wait')]
  const { eventId } = await bench.sendEvent({ event: 'go', receipt: true })
  const receipt = await bench.getEvent({ eventId })
  expect(receipt).toMatchObject({ eventId, event: 'go', receivedAt: NOW, repeated: 0, done: true })
  expect(receipt.moved).toEqual(ids.map((contextId) => ({ contextId, state: 'b', at: NOW })))
  expect(receipt.started).toMatchObject([{ state: 's', at: NOW }])
  expect(receipt.ignored).toMatchObject([{ contextId: null, fluxName: 'Refuses', state: null }])
  expect(receipt.counts).toMatchObject({ moved: 2, started: 1, ignored: 1 })
})

test('of a broadcast that was cut off: whom it moved so far, and all of them once it was carried on', async () => {
  const ids = [await bench.run('Wait'), await bench.run('Wait')]
  left = 2
  await expect(bench.sendEvent({ event: 'go', eventId: 'e' })).rejects.toMatchObject({
    failure: { kind: 'unavailable' },
  })
  left = Infinity
  const before = await bench.getEvent({ eventId: 'e' })
  expect([before.done, before.counts.moved]).toEqual([false, 1])
  bench = await bench.restart()
  await expect.poll(async () => (await bench.getEvent({ eventId: 'e' })).done).toBe(true)
  const { moved, counts } = await bench.getEvent({ eventId: 'e' })
  expect(moved.map(({ contextId }) => contextId).sort((a, b) => a - b)).toEqual(ids)
  expect(counts).toMatchObject({ moved: 2, started: 1 })
})

test('is not there of an event that was refused, or was sent without a key', async () => {
  const contextId = await bench.run('Wait')
  await expect(bench.sendEvent({ contextId, event: 'back', eventId: 'e' })).rejects.toMatchObject({
    failure: { kind: 'conflict' },
  })
  await expect(bench.getEvent({ eventId: 'e' })).rejects.toMatchObject({ failure: { kind: 'notFound' } })
  const { eventId } = await bench.sendEvent({ contextId, event: 'go' })
  await expect(bench.getEvent({ eventId })).rejects.toMatchObject({ failure: { kind: 'notFound' } })
  // One that met nobody has one.
  await bench.sendEvent({ event: 'unheard', eventId: 'u' })
  expect(await bench.getEvent({ eventId: 'u' })).toMatchObject({ moved: [], started: [], done: true })
})

test('is that of the one who asks; admins may ask for that of another', async () => {
  const contextId = await bench.run('Wait')
  const [ann, bob] = [
    bench.engine.api({ name: 'ann', roles: ['invoke'] }),
    bench.engine.api({ name: 'bob', roles: ['invoke'] }),
  ]
  await ann.sendEvent({ contextId, event: 'go', eventId: 'e' })
  expect((await ann.getEvent({ eventId: 'e' })).counts.moved).toBe(1)
  await expect(bob.getEvent({ eventId: 'e' })).rejects.toMatchObject({ failure: { kind: 'notFound' } })
  await expect(bob.getEvent({ eventId: 'e', scope: 'ann' })).rejects.toMatchObject({ failure: { kind: 'forbidden' } })
  expect((await bench.getEvent({ eventId: 'e', scope: 'ann' })).counts.moved).toBe(1)
})

test('of those who ignored a broadcast, what is stored is bounded, and all are counted', async () => {
  const ids = await Promise.all(Array.from({ length: 1200 }, () => bench.run('Picky')))
  const answer = await bench.sendEvent({ event: 'vain', eventId: 'e' })
  expect(largest).toBeLessThan(20_000)
  expect(answer.message).toContain('ignored by 1200')
  const { ignored, counts } = await bench.getEvent({ eventId: 'e' })
  expect(counts.ignored).toBe(1200)
  expect(ignored.length).toBeGreaterThan(100)
  expect(ignored.map(({ contextId }) => contextId)).toEqual(ids.toSorted((a, b) => a - b).slice(-ignored.length))
  expect(ignored[0]?.reason).toContain('/input/needed is required')
  expect(answer.ignored).toEqual(ignored)
  expect(await bench.sendEvent({ event: 'vain', eventId: 'e' })).toEqual(answer)
  // Nothing is stored of one without a key: its answer has all.
  expect((await bench.sendEvent({ event: 'vain' })).ignored).toHaveLength(1200)
})
