// How many contexts services have: what is counted, how often, and how secured contexts of services of one name are told
// apart.
import { expect, test } from 'vitest'
import { serviceCounts } from '../../src/engine/calls/service-counts.ts'
import { startWindows } from '../../src/engine/operations/selection.ts'
import { openBench } from '../support/engine.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { emptyStore } from '../support/stores.ts'
import { contextOf } from '../store/contract-support.ts'

const waiting = (more: object = {}) => ({
  states: [
    {
      name: 'a',
      waiting: true,
      transitions: [
        { event: 'go', to: 'b' },
        { event: 'fail', to: 'c' },
      ],
    },
    { name: 'b' },
    {
      name: 'c',
      action: { lines: [{ type: 'set', expression: 'x', to: ['$fluxEvent'] }] },
      transitions: [{ event: 'y', to: 'b' }],
    },
  ],
  ...more,
})

/** A context whose record can't be read. */
const damagedAt = (id: number) => contextOf(id, 1, { parts: { head: '{', base: '{' } })

const FILES = {
  'p/Twin.flux': waiting({ secured: true }),
  'q/Twin.flux': waiting({ secured: true }),
  'p/Open.flux': waiting(),
  'p/Lone.flux': waiting({ secured: true }),
}

test('open and secured contexts are counted by service and status', async () => {
  const bench = await openBench(FILES)
  const start = async (owner: string, fluxName: string) => (await bench.execute({ package: owner, fluxName })).contextId
  const [first, second] = [await start('p', 'Twin'), await start('q', 'Twin')]
  for (const name of ['Open', 'Lone', 'Open', 'Lone', 'Open']) await start('p', name)
  await bench.sendEvent({ contextId: second, event: 'go' })
  await bench.sendEvent({ contextId: first + 6, event: 'fail' })
  const { catalog, store } = bench.parts
  const counts = serviceCounts({ store, catalog, clock: new SimulatedClock(0) })
  const shown = async (all: boolean) => {
    const of = await counts.get({ all })
    return Object.fromEntries(catalog.all().map((flux) => [`${flux.package}/${flux.fluxName}`, of(flux)]))
  }
  expect(await shown(true)).toEqual({
    'p/Lone': { WAITING: 2 },
    'p/Open': { WAITING: 2, FAILED: 1 },
    'p/Twin': { WAITING: 1 },
    'q/Twin': { COMPLETED: 1 },
  })
  expect(await shown(false)).toEqual({
    'p/Lone': {},
    'p/Open': { WAITING: 2, FAILED: 1 },
    'p/Twin': {},
    'q/Twin': {},
  })
})

/** A store in which each key has so many contexts, and a count takes a second. */
function countedStore(size: number) {
  let [now, asked] = [0, 0]
  const store = emptyStore({
    async count({ any: [all = []] }) {
      asked += 1
      now += 1000
      return all.some((key) => key.startsWith('secured')) ||
        !all.some((key) => key === 'status:WAITING' || key.startsWith('open:'))
        ? 0
        : size
    },
  })
  return {
    store,
    now: () => now,
    pass: (milliseconds: number) => {
      now += milliseconds
    },
    asked: () => {
      const before = asked
      asked = 0
      return before
    },
  }
}

test('one count at a time runs, and of many contexts it is answered again for a while', async () => {
  const bench = await openBench({ 'p/Open.flux': waiting() })
  const { catalog } = bench.parts
  const [flux] = catalog.all()
  if (flux === undefined) throw new Error('it is not loaded')
  for (const { size, isKept } of [
    { size: 10, isKept: false },
    { size: 1_000_000, isKept: true },
  ]) {
    const world = countedStore(size)
    const counts = serviceCounts({ store: world.store, catalog, clock: Object.assign(new SimulatedClock(), world) })
    const get = async () => (await counts.get({ all: false }))(flux)
    expect(await get()).toEqual({ WAITING: size })
    const each = world.asked()
    expect(each).toBe(8)
    // Those who ask while one runs share the next.
    expect(await Promise.all([get(), get(), get(), get()])).toEqual(
      Array.from({ length: 4 }, () => ({ WAITING: size })),
    )
    expect(world.asked()).toBe(isKept ? 0 : 2 * each)
    world.pass(each * 1000 * 20 + 1)
    await get()
    expect(world.asked()).toBe(each)
  }
})

test('a count that failed is not remembered', async () => {
  const bench = await openBench({ 'p/Open.flux': waiting() })
  let isAway = true
  const store = emptyStore({ count: () => (isAway ? Promise.reject(new Error('away')) : Promise.resolve(0)) })
  const counts = serviceCounts({ store, catalog: bench.parts.catalog, clock: new SimulatedClock(0) })
  const asked = [counts.get({ all: true }), counts.get({ all: true })]
  expect((await Promise.allSettled(asked)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  isAway = false
  await expect(counts.get({ all: true })).resolves.toBeTypeOf('function')
})

test('services that were loaded since are counted, however many contexts there are', async () => {
  const [one, other] = [
    await openBench({ 'p/Open.flux': waiting() }),
    await openBench({ 'p/Open.flux': waiting(), 'p/More.flux': waiting() }),
  ]
  let { catalog } = one.parts
  const { store, now } = countedStore(1_000_000)
  const counts = serviceCounts({
    store,
    get catalog() {
      return catalog
    },
    clock: Object.assign(new SimulatedClock(), { now }),
  })
  await counts.get({ all: true })
  catalog = other.parts.catalog
  const contextsOf = await counts.get({ all: true })
  expect(catalog.all().map((flux) => contextsOf(flux))).toEqual([{ WAITING: 1_000_000 }, { WAITING: 1_000_000 }])
})

test('who asks while a count runs that fails gets the next one', async () => {
  const bench = await openBench({ 'p/Open.flux': waiting() })
  let asked = 0
  const store = emptyStore({
    count: async () => {
      asked += 1
      if (asked === 1) throw new Error('away')
      return 0
    },
  })
  const counts = serviceCounts({ store, catalog: bench.parts.catalog, clock: new SimulatedClock(0) })
  const [first, second] = [counts.get({ all: true }), counts.get({ all: true })]
  await expect(first).rejects.toThrow('away')
  await expect(second).resolves.toBeTypeOf('function')
})

test('the search for the time of a start passes over damaged contexts', async () => {
  const [highest, startsAt] = [100_000, 10_000_000]
  const store = emptyStore({
    partitions: 1,
    highestId: () => Promise.resolve(highest),
    select({ after = 0 }) {
      const id = after + 1
      const sound = {
        ...damagedAt(id),
        parts: { head: '{}', base: JSON.stringify({ startedAt: startsAt + id * 1000 }) },
      }
      const contexts = id > highest ? [] : [id % 2 === 0 ? damagedAt(id) : sound]
      return Promise.resolve({ contexts, rest: null })
    },
  })
  const windows = await startWindows(store, { after: startsAt + 70_000_000 })
  const [{ after = 0 } = {}] = windows ?? []
  expect(after).toBeGreaterThan(69_000)
  expect(after).toBeLessThan(70_000)
})
