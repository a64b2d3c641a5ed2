// Lists by the time of the start: they are narrowed down by id, and have what a look at each context has, on every store.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { IdRange, Store } from '../../src/ports/store.ts'
import { openBench, type Bench } from '../support/engine.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { withVerbs } from '../support/stores.ts'
import { openRedis } from '../support/redis-store.ts'

const FILES = { 'p/Wait.flux': { states: [{ name: 'a', waiting: true, transitions: [{ event: 'go', to: 'a' }] }] } }
/** The store, which notes the ranges of ids in which pages are looked for. */
const noting = (windows: IdRange[], store: Store): Store =>
  withVerbs(store, {
    select: (query) => {
      if (query.limit > 1) windows.push(...(query.windows ?? []))
      return store.select(query)
    },
  })

const ROUNDS = 60
const AT_ONCE = 40
const ROUND_MS = 700

describe.each([
  ['the embedded store', null],
  ['Redis', 1],
  ['partitions in Redis', 3],
])('%s', (_name, partitions) => {
  let bench: Bench
  const windows: IdRange[] = []
  const started: { readonly id: number; readonly at: number }[] = []

  const wrap = (store: Store) => noting(windows, store)

  beforeAll(async () => {
    if (partitions === null) bench = await openBench(FILES, { wrap, onDisk: true })
    else {
      const store = await openRedis({ partitions })
      bench = await openBench(FILES, { store, wrap, clock: new SimulatedClock(Date.now()) })
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      const at = bench.clock.now()
      const ids = await Promise.all(Array.from({ length: AT_ONCE }, () => bench.run('Wait')))
      started.push(...ids.map((id) => ({ id, at })))
      await bench.advance(ROUND_MS)
    }
    started.sort((one, other) => one.id - other.id)
  }, 120_000)
  afterAll(() => bench.close())

  /** The ids of all pages. */
  async function listed(filters: { startedAfter?: number; startedBefore?: number }, order: 'asc' | 'desc') {
    const ids: number[] = []
    for (let place = {}; ;) {
      const page = { ...filters, ...place, order, limit: 500, view: 'summary' } as const
      const { contexts, next } = await bench.listPage(page)
      ids.push(...contexts.map(({ id }) => id))
      if (next === null) return ids
      place = order === 'asc' ? { after: next } : { before: next }
    }
  }

  test('has those that were started in the time, in both orders', async () => {
    const times = [...new Set(started.map(({ at }) => at))].sort((one, other) => one - other)
    const [first = 0, early = 0, late = 0, last = 0] = [0, 20, 40, ROUNDS - 1].map((place) => times[place])
    for (const [after, before] of [
      [first, undefined],
      [undefined, early],
      [early, late],
      [early - 1, early + 1],
      [late, early],
      [late + 1, undefined],
      [last, undefined],
      [undefined, first],
    ]) {
      const expected = started.filter(({ at }) => at > (after ?? -Infinity) && at < (before ?? Infinity))
      const ids = expected.map(({ id }) => id)
      const filters = {
        ...(after !== undefined && { startedAfter: after }),
        ...(before !== undefined && { startedBefore: before }),
      }
      expect(await listed(filters, 'asc')).toEqual(ids)
      expect(await listed(filters, 'desc')).toEqual(ids.toReversed())
      expect((await bench.countContexts(filters)).total).toBe(ids.length)
    }
    // Else nothing was narrowed down.
    expect(windows.some(({ after = 0 }) => after > 0)).toBe(true)
    expect(windows.some(({ before }) => before !== undefined)).toBe(true)
  }, 60_000)
})
