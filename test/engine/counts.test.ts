// Counts of contexts where the index of the store does not tell all: contexts that can't be read, definitions that were lost;
// and how many counts there may be at once.
import { expect, test } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { openBench } from '../support/engine.ts'
import { held } from '../support/held.ts'
import { withVerbs } from '../support/stores.ts'
import { contextOf } from '../store/contract-support.ts'

const FILES = {
  'p/Waiter.flux': {
    states: [{ name: 'rest', waiting: true, transitions: [{ event: 'go', to: 'end' }] }, { name: 'end' }],
  },
}

const damagedAt = (id: number) => contextOf(id, 1, { parts: { head: '{', base: '{' } })

/** Between those that are selected is one that can't be read. */
const damagedSelect = (store: Store): Store['select'] =>
  async function (query) {
    const { contexts, rest } = await store.select(query)
    return { contexts: [...contexts.slice(0, 1), damagedAt(90_000), ...contexts.slice(1)], rest }
  }

test('where a definition can not be read, its contexts are counted all the same', async () => {
  const bench = await openBench(FILES, {
    wrap: (store) =>
      withVerbs(store, { listRows: async (query) => (query.space === 'definitions' ? [] : store.listRows(query)) }),
  })
  await bench.run('Waiter')
  await bench.run('Waiter')
  expect(await bench.countContexts({ by: 'fluxName' })).toMatchObject({ total: 2, counts: { 'p/Waiter': 2 } })
  expect(await bench.countContexts({ by: 'currentState' })).toMatchObject({ total: 2, counts: { rest: 2 } })
})

test('a context that can not be read is left out of a count, and hides nothing', async () => {
  const bench = await openBench(FILES, { wrap: (store) => withVerbs(store, { select: damagedSelect(store) }) })
  await bench.run('Waiter')
  await bench.run('Waiter')
  for (const by of ['status', 'fluxName'] as const)
    expect((await bench.countContexts({ by, startedAfter: 1 })).total).toBe(2)
  expect(bench.logged.filter(({ level }) => level === 'error').length).toBeGreaterThan(0)
})

test('so many counts are made at once, others wait for their turn, and further ones are refused', async () => {
  const until = held<null>()
  let most = 0
  let underWay = 0
  const count =
    (store: Store): Store['count'] =>
    async (selection) => {
      underWay += 1
      most = Math.max(most, underWay)
      await until.promise
      underWay -= 1
      return store.count(selection)
    }
  const bench = await openBench(FILES, { wrap: (store) => withVerbs(store, { count: count(store) }) })
  const counts = Array.from({ length: 240 }, () => bench.countContexts({ by: 'status', status: 'WAITING' }))
  await expect(Promise.race(counts)).rejects.toMatchObject({ failure: { kind: 'overloaded' } })
  expect(most).toBe(16)
  until.release(null)
  const made = (await Promise.allSettled(counts)).filter(({ status }) => status === 'fulfilled')
  expect([made.length, most]).toEqual([216, 16])
  expect((await bench.countContexts({ by: 'status' })).total).toBe(0)
})
