// Pages of the pending events: what a request looks at is bounded, and others are served meanwhile.
import { beforeEach, expect, test } from 'vitest'
import { pendingRowKey } from '../../src/model/pending.ts'
import type { StoredRow } from '../../src/model/rows.ts'
import { openBench, type Bench } from '../support/engine.ts'
import { withVerbs } from '../support/stores.ts'

/** Rows of contexts that keep an event each, with as many tags as there may be. */
const tags = Array.from({ length: 64 }, (_, n) => `${n}-`.padEnd(250, 'x'))
const rows = Array.from({ length: 3000 }, (_, n) => {
  const row = { eventId: 'e', contextId: n + 1, receivedAt: n, event: n % 1000 === 999 ? 'rare' : 'go', tags }
  const value = JSON.stringify({ ...row, package: 'p', fluxName: 'Any', expiresAt: null })
  return { partition: 0, key: pendingRowKey(row, null), value, expiresAt: null }
})

let bench: Bench
let damaged: StoredRow[]
let reads: { rows: number; turns: number }[]
let turns: number
beforeEach(async () => {
  reads = []
  damaged = []
  turns = 0
  bench = await openBench(
    { 'p/Any.flux': { states: [{ name: 'end' }] } },
    {
      wrap: (store) =>
        withVerbs(store, {
          listRows: (query) => {
            if (query.space !== 'pending') return store.listRows(query)
            const { after, limit } = query
            const found = [...damaged, ...rows]
              .filter(({ key }) => after === undefined || key > after.key)
              .slice(0, limit)
            reads.push({ rows: found.length, turns })
            return Promise.resolve(found)
          },
        }),
    },
  )
})

test('a page that finds little ends after so many characters, and the next one goes on there', async () => {
  const found: (number | null)[] = []
  let [after, pages]: [string | undefined, number] = [undefined, 0]
  do {
    const page = await bench.listPendingPage({ event: 'rare', ...(after !== undefined && { after }) })
    found.push(...page.events.map(({ contextId }) => contextId))
    after = page.next ?? undefined
    pages += 1
  } while (after !== undefined)
  expect(found).toEqual([1000, 2000, 3000])
  expect(pages).toBeGreaterThan(2)
})

test('others have their turn between two reads', async () => {
  let isOver = false
  const turn = () => {
    turns += 1
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  await bench.listPendingPage({ event: 'nothing' })
  isOver = true
  expect(reads.length).toBeGreaterThan(4)
  expect(new Set(reads.map((read) => read.turns)).size).toBe(reads.length)
})

test('rows that are damaged are left out, and logged once', async () => {
  damaged = ['garbage{', '{}', 'null'].map((value, nr) => ({ partition: 0, key: `00000${nr}`, value, expiresAt: null }))
  const first = async () => (await bench.listPending({ limit: 2 })).map(({ contextId }) => contextId)
  expect([await first(), await first()]).toEqual([
    [1, 2],
    [1, 2],
  ])
  expect(bench.logged.flatMap(({ level, message }) => (level === 'error' ? message : []))).toEqual(
    damaged.map(({ key }) => `the stored row '${key}' in 'pending' can't be read: it is left out`),
  )
})
