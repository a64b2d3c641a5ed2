// The search for contexts by the time of their start: what it leaves out, and that it leaves out nothing that is meant.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { startWindows } from '../../src/engine/operations/selection.ts'
import type { Selection, StoredContext } from '../../src/ports/store.ts'
import { emptyStore } from '../support/stores.ts'
import { contextOf } from '../store/contract-support.ts'

const BEGAN = 1_700_000_000_000

const contextAt = (id: number, startedAt: number) =>
  contextOf(id, 1, { parts: { head: '{}', base: JSON.stringify({ startedAt }) } })

const isIn = (id: number, partitions: number, { windows = [] }: Pick<Selection, 'windows'>): boolean => {
  const { after = 0, before = Infinity } = windows[id % partitions] ?? {}
  return id > after && id < before
}

const startOf = ({ parts }: StoredContext): number => Object(JSON.parse(parts['base'] ?? '')).startedAt

/** Ids are partly unused, and times of neighbours in some disorder, by less than is allowed for. */
const worlds = fc
  .record({
    partitions: fc.constantFrom(1, 4),
    count: fc.integer({ min: 1, max: 6000 }),
    gapMs: fc.constantFrom(1, 40, 3000),
    disorderMs: fc.constantFrom(0, 1900),
    used: fc.constantFrom(1, 3),
  })
  .map(({ partitions, count, gapMs, disorderMs, used }) => {
    const contexts = Array.from({ length: count }, (_, index) =>
      contextAt(index * used + 1, BEGAN + index * gapMs + ((index * 7919) % (disorderMs + 1))),
    )
    return { partitions, contexts, gapMs, used }
  })

function storeOf(partitions: number, contexts: readonly StoredContext[], highest: number) {
  return emptyStore({
    partitions,
    highestId: () => Promise.resolve(highest),
    select({ partition = 0, after = 0, limit }) {
      const found = contexts.filter(({ id }) => id > after && id % partitions === partition).slice(0, limit)
      return Promise.resolve({ contexts: found, rest: found.at(-1)?.id ?? null })
    },
  })
}

test('no context that is meant is left out, and few others are kept', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, fc.integer({ min: -100, max: 1100 }), fc.nat(2000), async (world, at, more) => {
      const { partitions, contexts, gapMs, used } = world
      const last = contexts.at(-1)?.id ?? 0
      const time = Math.round(BEGAN + (at / 1000) * contexts.length * gapMs)
      const store = storeOf(partitions, contexts, last + more)
      for (const range of [{ after: time }, { before: time }, { after: time, before: time + 20 * gapMs }]) {
        const { after = -Infinity, before = Infinity } = range
        const windows = (await startWindows(store, range)) ?? []
        const kept = contexts.filter(({ id }) => isIn(id, partitions, { windows }))
        const meant = contexts.filter((context) => startOf(context) > after && startOf(context) < before)
        expect(meant.filter((context) => !kept.includes(context))).toEqual([])
        // At each bound: the slack of ids, that of time, and where the search ends.
        const slack = (256 * partitions + 64 * partitions) / used + 4000 / gapMs + partitions
        expect(kept.length).toBeLessThanOrEqual(meant.length + 2 * slack)
      }
    }),
    { numRuns: 60 },
  )
})

test('what starts later is in no partition left out, whatever has started before', async () => {
  const contexts = Array.from({ length: 2000 }, (_, index) => contextAt(index + 1, BEGAN + index))
  const store = storeOf(4, contexts, 2000)
  const windows = await startWindows(store, { after: BEGAN, before: BEGAN + 1e9 })
  expect(windows?.map(({ before }) => before)).toEqual([undefined, undefined, undefined, undefined])
  expect(await startWindows(store, {})).toBeUndefined()
})
