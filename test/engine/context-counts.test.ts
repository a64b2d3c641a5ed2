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
