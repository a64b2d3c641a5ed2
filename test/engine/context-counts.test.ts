// Contexts are counted by the index alone.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ContextCounts } from '../../src/engine/context-counts.ts'
import type { Selection } from '../../src/ports/selection.ts'
import { openBench, type Bench } from '../support/engine.ts'

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
  const parts = {
    catalog: bench.parts.catalog,
    store: {
      async count({ any: [all = []] }: Selection) {
        return all.every((key) => key === 'status:WAITING' || key.startsWith('open:')) ? count : 0
      },
    },
  }
  const shown = (await new ContextCounts(parts).count())
    .filter(({ count: own }) => own > 0)
    .map((one) => [one.service?.fluxName, one.status, one.count])
  expect(shown).toEqual(count === 0 ? [] : [['Open', 'WAITING', count]])
})

test('in the embedded store, secured ones too', async () => {
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

test('secured ones of a name that several services have are of none, and ended ones are counted, too', async () => {
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
    [undefined, 'WAITING', 3],
  ])
  await twins.close()
})

test('what has no contexts of a status is not looked for there', async () => {
  const asked: string[][] = []
  const parts = {
    catalog: bench.parts.catalog,
    store: {
      async count({ any: [all = []] }: Selection) {
        asked.push([...all])
        return all.every((key) => key === 'status:WAITING' || key.startsWith('open:')) ? 7 : 0
      },
    },
  }
  await new ContextCounts(parts).count()
  // Each status once, and for each service its own sets.
  expect(asked.filter((all) => all.length > 1)).toEqual([['secured', expect.any(String), 'status:WAITING']])
})
