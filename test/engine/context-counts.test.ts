// Contexts are counted for metrics: by the index.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serviceCounts } from '../../src/engine/calls/service-counts.ts'
import { keyOfOpen } from '../../src/engine/record/index-keys.ts'
import type { Selection } from '../../src/ports/store.ts'
import { openBench, type Bench } from '../support/engine.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { emptyStore } from '../support/stores.ts'

const waiting = (more: object = {}) => ({
  states: [{ name: 'rest', waiting: true, transitions: [{ event: 'end', to: 'end' }] }, { name: 'end' }],
  ...more,
})

let bench: Bench
beforeAll(async () => {
  bench = await openBench({ 'p/Open.flux': waiting(), 'p/Secret.flux': waiting({ secured: true }) })
  await bench.run('Secret')
})
afterAll(() => bench.close())

test.each([0, 1, 100, 1_000_000])('of %d contexts', async (count) => {
  const { catalog } = bench.parts
  const store = emptyStore({
    async count({ any: [all = []] }: Selection) {
      return all.every((key) => key === 'status:WAITING' || key === keyOfOpen({ package: 'p', fluxName: 'Open' }))
        ? count
        : 0
    },
  })
  const counts = serviceCounts({ store, catalog, clock: new SimulatedClock(0) })
  const shown = (await counts.list())
    .filter(({ count: own }) => own > 0)
    .map((one) => [one.service?.fluxName, one.status, one.count])
  expect(shown).toEqual(count === 0 ? [] : [['Open', 'WAITING', count]])
})

test('as they are in the store, secured ones too', async () => {
  const ids = await Promise.all(Array.from({ length: 7 }, () => bench.run('Open')))
  for (const id of ids.slice(0, 3)) await bench.sendEvent({ contextId: id, event: 'end' })
  const counts = await bench.engine.countContexts()
  const shown = counts
    .filter(({ count }) => count > 0)
    .map(({ service, status, count }) => [service?.fluxName, status, count])
  expect(shown).toEqual([
    ['Open', 'WAITING', 4],
    ['Open', 'COMPLETED', 3],
    ['Secret', 'WAITING', 1],
  ])
})

test('those of services that are not loaded are told as well, and of many the last count for a while', async () => {
  const { catalog } = bench.parts
  let [now, asked, count] = [0, 0, 100_000]
  const store = emptyStore({
    async count({ any: [all = []] }: Selection) {
      asked += 1
      now += 1000
      return all.length === 1 && all[0] === 'status:FAILED' ? count : 0
    },
  })
  const counts = serviceCounts({ store, catalog, clock: Object.assign(new SimulatedClock(), { now: () => now }) })
  const failed = async () => (await counts.list()).flatMap(({ service, count: own }) => (service === null ? [own] : []))
  expect(await failed()).toEqual([100_000])
  const each = asked
  count = 200_000
  expect(await failed()).toEqual([100_000])
  expect(asked).toBe(each)
  now += each * 1000 * 20
  expect(await failed()).toEqual([200_000])
})

test('secured ones of a name that several services have are of each, and ended ones are counted, too', async () => {
  const twins = await openBench({
    'p/Twin.flux': waiting({ secured: true }),
    'q/Twin.flux': waiting({ secured: true }),
    'p/Lone.flux': waiting({ secured: true }),
  })
  for (const owner of ['p', 'p', 'q']) await twins.run('Twin', {}, { package: owner })
  const [ended] = [await twins.run('Lone'), await twins.run('Lone')]
  await twins.sendEvent({ contextId: ended, event: 'end' })
  const counts = await twins.engine.countContexts()
  const shown = counts
    .filter(({ count, service }) => count > 0 || service === null)
    .map(({ service, status, count }) => [service?.fluxName, status, count])
  expect(shown).toEqual([
    ['Lone', 'WAITING', 1],
    ['Lone', 'COMPLETED', 1],
    ['Twin', 'WAITING', 2],
    ['Twin', 'WAITING', 1],
  ])
})
