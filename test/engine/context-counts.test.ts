// Contexts are counted by a few looks at places of lists, whatever the numbers were the last time.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ContextCounts } from '../../src/engine/context-counts.ts'
import type { StoredContext } from '../../src/ports/store.ts'
import { openBench, type Bench } from '../support/engine.ts'

const waiting = (more: object = {}) => ({
  states: [{ name: 'rest', waiting: true, transitions: [{ event: 'end', to: 'end' }] }, { name: 'end' }],
  ...more,
})

let bench: Bench
let someone: StoredContext
beforeAll(async () => {
  bench = await openBench({ 'p/Open.flux': waiting(), 'p/Secret.flux': waiting({ secured: true }) })
  const stored = await bench.parts.store.load({ id: await bench.run('Secret') })
  if (stored === null) throw new Error('it is not there')
  someone = stored
})
afterAll(() => bench.close())

test.each([0, 1, 2, 3, 100, 99, 101, 1, 1_000_000, 1_000_001, 999_000, 0])('of %d contexts', async (count) => {
  let looks = 0
  const parts = {
    catalog: bench.parts.catalog,
    store: {
      list({ all, skip = 0 }: { readonly all: readonly string[]; readonly skip?: number | undefined }) {
        looks += 1
        const isOpen = all.every((key) => key === 'status:WAITING' || key.startsWith('open:'))
        return Promise.resolve(isOpen && skip < count ? [someone] : [])
      },
    },
  }
  const counts = new ContextCounts(parts)
  const shown = async () =>
    (await counts.count())
      .filter(({ count: own }) => own > 0)
      .map((one) => [one.service?.fluxName, one.status, one.count])
  const expected = count === 0 ? [] : [['Open', 'WAITING', count]]
  expect(await shown()).toEqual(expected)
  const before = looks
  expect(await shown()).toEqual(expected)
  expect(looks - before).toBeLessThan(25)
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
