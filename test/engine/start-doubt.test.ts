// Starts whose id another context has: they are refused, and nothing is done twice. That the store knows a commit again
// whose answer was lost is its own affair.
import { expect, test } from 'vitest'
import type { CommitOutcome } from '../../src/ports/store.ts'
import { openBench, type Bench, type Files } from '../support/engine.ts'
import { withVerbs } from '../support/stores.ts'

const FILES: Files = {
  'p/Wait.flux': { states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'go' }] }] },
}

let bench: Bench

test('a start whose id another context has is refused', async () => {
  bench = await openBench(FILES, {
    wrap: (store) =>
      withVerbs(store, {
        async commit(request): Promise<CommitOutcome> {
          const id = request.writes[0]?.context.id ?? 0
          const [first] = (await store.select({ any: [[]], order: 'asc', limit: 1 })).contexts
          return first ? { ok: false, stale: id, current: { ...first, id } } : store.commit(request)
        },
      }),
  })
  await bench.run('Wait')
  await expect(bench.run('Wait')).rejects.toMatchObject({
    failure: { kind: 'unavailable', detail: expect.stringContaining('exists already') },
  })
})
