// Requests that wait for a context that another server carries on: two engines on one store, and what they tell one
// another.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { CommitFeed } from '../../src/ports/feeds.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench } from '../support/engine.ts'
import { withVerbs } from '../support/stores.ts'
import { SILENT_FEED } from '../support/silent.ts'

const FILES = {
  'p/Order.flux': {
    states: [
      {
        name: 'open',
        waiting: true,
        transitions: [
          { event: 'rush', to: 'through' },
          { event: 'stay', to: 'open' },
          { event: 'end', to: 'done' },
        ],
      },
      { name: 'through', transitions: [{ to: 'open' }] },
      { name: 'done' },
    ],
  },
}

/** What each server tells all others, unless it is lost. */
class Network {
  readonly #notified: ((id: number) => void)[] = []
  readonly #watched: { readonly of: object; readonly listener: (ids: readonly number[]) => void }[] = []
  readonly told: string[] = []
  isLost = false

  feed(): CommitFeed {
    const feed: CommitFeed = {
      ...SILENT_FEED,
      notify: (id) => {
        this.told.push(`commit ${id}`)
        if (!this.isLost) for (const listener of this.#notified) listener(id)
      },
      onNotified: (listener) => {
        this.#notified.push(listener)
      },
      watch: (ids) => {
        this.told.push(`watch ${ids.join(' ')}`)
        if (!this.isLost) for (const { of, listener } of this.#watched) if (of !== feed) listener(ids)
      },
      onWatched: (listener) => {
        this.#watched.push({ of: feed, listener })
      },
    }
    return feed
  }
}

/** Two servers on one store, which the first one closes. `versions`: how often the second one asked for a version; `areLost`: in vain. */
async function openPair() {
  const network = new Network()
  const counted = { versions: 0, areLost: false }
  const shared: { store?: Store } = {}
  const first = await openBench(FILES, {
    others: { beat: 3_600_000, feed: network.feed() },
    wrap: (store) => {
      shared.store = store
      return store
    },
  })
  if (!shared.store) throw new Error('there is no store')
  const second = await openBench(FILES, {
    clock: first.clock,
    others: { beat: 3_600_000, feed: network.feed() },
    store: withVerbs(shared.store, {
      close: () => Promise.resolve(),
      version(request) {
        counted.versions += 1
        if (counted.areLost) return Promise.reject(new Error('nobody knows'))
        return shared.store?.version(request) ?? Promise.resolve(null)
      },
    }),
  })
  return { first, second, network, counted }
}

async function held(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await nextTurn()
}

test('without waits, nothing is told and nothing is asked for', async () => {
  const { first, second, network, counted } = await openPair()
  const id = await first.run('Order')
  await second.sendEvent({ contextId: id, event: 'stay' })
  counted.versions = 0
  await first.advance(60_000)
  expect([network.told, counted.versions]).toEqual([[], 0])
})

test('the other tells of the commits that are waited for, and of no others; states that were left count', async () => {
  const { first, second, network } = await openPair()
  const [id, other] = [await first.run('Order'), await first.run('Order')]
  const wait = second.waitFor({ contextId: id, state: ['through'] })
  await held()
  expect(network.told).toEqual([`watch ${id}`])
  await first.sendEvent({ contextId: other, event: 'rush' })
  for (let count = 0; count < 12; count += 1) await first.sendEvent({ contextId: id, event: 'stay' })
  // So many moves that they leave the record, and the log is read.
  await first.sendEvent({ contextId: id, event: 'rush' })
  for (let count = 0; count < 12; count += 1) await first.sendEvent({ contextId: id, event: 'stay' })
  expect(await wait).toMatchObject({ currentState: 'open' })
  expect(new Set(network.told)).toEqual(new Set([`watch ${id}`, `commit ${id}`]))
})

test('a commit of this server that follows one that was not heard finds what it missed', async () => {
  const { first, second, network } = await openPair()
  const id = await first.run('Order')
  network.isLost = true
  const wait = second.waitFor({ contextId: id, state: ['through'] })
  await held()
  await first.sendEvent({ contextId: id, event: 'rush' })
  await second.sendEvent({ contextId: id, event: 'stay' })
  expect(await wait).toMatchObject({ currentState: 'open' })
})

test('what is not heard is found within about a second', async () => {
  const { first, second, network } = await openPair()
  const id = await first.run('Order')
  network.isLost = true
  let ended = false
  const wait = second.waitFor({ contextId: id, status: ['COMPLETED'] }).finally(() => {
    ended = true
  })
  await held()
  await first.advance(3000)
  await first.sendEvent({ contextId: id, event: 'end' })
  await held()
  expect(ended).toBe(false)
  await first.advance(1100)
  expect(await wait).toMatchObject({ status: 'COMPLETED' })
})

test('what is not heard is found, though the store has failed to answer', async () => {
  const { first, second, network, counted } = await openPair()
  const id = await first.run('Order')
  network.isLost = true
  const wait = second.waitFor({ contextId: id, status: ['COMPLETED'] })
  await held()
  counted.areLost = true
  await first.advance(3000)
  counted.areLost = false
  await first.sendEvent({ contextId: id, event: 'end' })
  await first.advance(1100)
  expect(await wait).toMatchObject({ status: 'COMPLETED' })
})

test('the end of the time looks once more', async () => {
  const { first, second, network } = await openPair()
  const id = await first.run('Order')
  network.isLost = true
  const wait = second.waitFor({ contextId: id, state: ['through'], timeout: 1 })
  await held()
  await first.advance(995)
  await first.sendEvent({ contextId: id, event: 'rush' })
  await first.advance(5)
  expect(await wait).toMatchObject({ currentState: 'open' })
})

test('many are polled in shares, at most 500 in a second, and nobody when they have gone', async () => {
  const { first, second, counted } = await openPair()
  const ids = await Promise.all(Array.from({ length: 1000 }, () => first.run('Order')))
  const controller = new AbortController()
  const waits = ids.map((contextId) =>
    second.waitFor({ contextId, state: ['done'], timeout: 300 }, { signal: controller.signal }).catch(() => null),
  )
  await held()
  await first.advance(5000)
  counted.versions = 0
  const seconds: number[] = []
  for (let turn = 0; turn < 3; turn += 1) {
    const before = counted.versions
    await first.advance(1000)
    seconds.push(counted.versions - before)
  }
  for (const polled of seconds) {
    expect(polled).toBeGreaterThan(300)
    expect(polled).toBeLessThanOrEqual(500)
  }
  controller.abort(new Error('gone'))
  await Promise.all(waits)
  await first.advance(1000)
  counted.versions = 0
  await first.advance(10_000)
  expect(counted.versions).toBe(0)
})

test('what was asked for is asked for again, and forgotten by the other in the end', async () => {
  const { first, second, network } = await openPair()
  const id = await first.run('Order')
  const wait = second.waitFor({ contextId: id, state: ['through'], timeout: 60 }).catch(() => null)
  await held()
  network.told.length = 0
  await first.advance(20_000)
  expect(network.told.filter((told) => told === `watch ${id}`).length).toBeGreaterThanOrEqual(3)
  await first.sendEvent({ contextId: id, event: 'stay' })
  expect(network.told.at(-1)).toBe(`commit ${id}`)
  await first.sendEvent({ contextId: id, event: 'rush' })
  await wait
  await first.advance(46_000)
  network.told.length = 0
  await first.sendEvent({ contextId: id, event: 'stay' })
  expect(network.told).toEqual([])
})
