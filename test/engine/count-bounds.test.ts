// Counts that read contexts: they end when nobody waits for them, and keep nobody from those of the index.
import { expect, test, vi } from 'vitest'
import { openBench } from '../support/engine.ts'
import { held } from '../support/held.ts'
import { withVerbs } from '../support/stores.ts'

const FILES = {
  'p/Door.flux': { states: [{ name: 'open', waiting: true, transitions: [{ event: 'close', to: 'open' }] }] },
}

test('a count that reads ends with its caller, and others are made beside it', async () => {
  const reading = held<undefined>()
  let reads = 0
  const bench = await openBench(FILES, {
    wrap: (store) =>
      withVerbs(store, {
        async select(query) {
          if (query.limit === 1) return store.select(query)
          reads += 1
          await reading.promise
          const page = await store.select(query)
          // As if there were more.
          return { ...page, rest: 1 }
        },
      }),
  })
  for (let n = 0; n < 3; n += 1) await bench.execute({ fluxName: 'Door' })
  const gone = new Error('gone')
  const controller = new AbortController()
  const count = () => bench.countContexts({ by: 'status', startedAfter: 1 }, { signal: controller.signal })
  const outcomes: unknown[] = []
  const counts = Array.from({ length: 210 }, () => count().catch((error: unknown) => outcomes.push(error)))
  // 8 read, 200 wait, the others are refused; counts of the index are made meanwhile.
  await vi.waitFor(() => expect(reads).toBe(8))
  const refused = expect.objectContaining({ failure: expect.objectContaining({ kind: 'overloaded' }) })
  expect(outcomes).toEqual([refused, refused])
  expect(await bench.countContexts({ by: 'status' })).toMatchObject({ total: 3 })
  controller.abort(gone)
  reading.release(undefined)
  await Promise.all(counts)
  expect(reads).toBe(8)
  expect(outcomes.filter((error) => error === gone).length).toBe(208)
})
