// The sweep over held events: what it passes over, and whom it has looked at.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { LookUps } from '../../../src/engine/pending/matching.ts'
import {
  homeRowsOf,
  unclaimedRowOf,
  type UnclaimedEvent,
  type UnclaimedRow,
} from '../../../src/engine/pending/unclaimed-store.ts'
import { keysOfHearers } from '../../../src/engine/record/index-keys.ts'
import type { StoredRow } from '../../../src/model/rows.ts'
import { SimulatedClock } from '../../../src/testing/simulated-clock.ts'
import { emptyStore } from '../../support/stores.ts'
import { silent } from '../../support/silent.ts'

const ROWS_AT_ONCE = 50
const EVENTS_AT_ONCE = 500
const CONTEXTS_AT_ONCE = 200
const EVENT: Omit<UnclaimedEvent, 'eventId' | 'event' | 'receivedAt'> = {
  input: {},
  untyped: false,
  tags: [],
  expiresAt: 1e15,
  receipt: null,
  roles: [],
  claim: null,
}

/** Rows of so many held events of that name. */
const rowsOf = (event: string, count: number, from: number): StoredRow[] =>
  Array.from({ length: count }, (_, nr) => {
    const [row] = homeRowsOf({ ...EVENT, eventId: `${event}-${nr}`, event, receivedAt: from + nr }, 1)
    return { partition: 0, key: row?.key ?? '', value: row?.value ?? '', expiresAt: null }
  })

/**
 * Passes over those events; `waiting`: who waits for which. `claimedFor`: passes in which another
 * one is about to take them. Gives the contexts that were looked at, what was logged, and how many passes began.
 */
async function swept(
  rows: readonly StoredRow[],
  {
    passes,
    waiting,
    claimedFor = 0,
  }: { passes: number; waiting: { readonly [event: string]: readonly number[] }; claimedFor?: number },
) {
  const clock = new SimulatedClock()
  const [looked, errors]: [Set<number>, string[]] = [new Set(), []]
  let begun = 0
  const log = { ...silent, error: (message: string) => void errors.push(message) }
  const store = emptyStore({
    countRows: () => Promise.resolve(rows.length),
    highestId: () => Promise.resolve(1e6),
    listRows({ after, limit }) {
      if (after === undefined) begun += 1
      return Promise.resolve(rows.filter(({ key }) => after === undefined || key > after.key).slice(0, limit))
    },
    selectIds: ({ any, after = 0, limit }) => {
      const keys = new Set(any.flat())
      const ids = Object.entries(waiting)
        .flatMap(([event, some]) => (keysOfHearers(event, []).some((key) => keys.has(key)) ? some : []))
        .filter((id) => id > after)
        .sort((one, other) => one - other)
      return Promise.resolve({
        ids: ids.slice(0, limit),
        rest: ids[limit] === undefined ? null : (ids[limit - 1] ?? null),
      })
    },
  })
  class Sweep extends LookUps {
    override request(id: number) {
      looked.add(id)
      return Promise.resolve()
    }
  }
  const unclaimed = { unclaimed: (row: UnclaimedRow) => Promise.resolve(begun <= claimedFor ? null : row) }
  const sweep = new Sweep({ beat: null, store, clock, log, unclaimed, offer: () => Promise.resolve('passed') })
  sweep.passes.within(0)
  for (let pass = 0; pass < passes; pass += 1) {
    await clock.advance(10_000)
    // Others are served between the pages of events.
    await sleep(20)
  }
  await sweep.passes.stop()
  return { looked, errors, begun }
}

test('those who wait for few events are looked at beside many who can not take theirs', async () => {
  const many = Array.from({ length: CONTEXTS_AT_ONCE + 50 }, (_, nr) => nr + 100)
  const rows = [...rowsOf('common', ROWS_AT_ONCE, 0), ...rowsOf('rare', ROWS_AT_ONCE, 1000)]
  const { looked } = await swept(rows, { passes: 4, waiting: { common: many, rare: [1, 2, 3] } })
  expect([...looked].sort((one, other) => one - other)).toEqual([1, 2, 3, ...many])
})

test('all are looked at where many can not take theirs, and events of one name are among several others', async () => {
  const many = Array.from({ length: 2 * CONTEXTS_AT_ONCE }, (_, nr) => 2 * nr + 2)
  const common = ROWS_AT_ONCE - 1
  const first = [...rowsOf('rare', 1, 0), ...rowsOf('common', common, 100)]
  const rows = [...first, ...rowsOf('common', common, 1000), ...rowsOf('other', 1, 2000)]
  const { looked } = await swept(rows, { passes: 12, waiting: { common: many, rare: [3 * CONTEXTS_AT_ONCE + 1] } })
  expect([...looked].sort((one, other) => one - other)).toEqual([
    ...many.filter((id) => id <= 3 * CONTEXTS_AT_ONCE),
    3 * CONTEXTS_AT_ONCE + 1,
    ...many.filter((id) => id > 3 * CONTEXTS_AT_ONCE),
  ])
})

test('events behind those that are read for one round have their turn in the next', async () => {
  const rows = [...rowsOf('common', EVENTS_AT_ONCE, 0), ...rowsOf('rare', 1, 1000)]
  const { looked } = await swept(rows, { passes: 3, waiting: { rare: [7] } })
  expect([...looked]).toEqual([7])
})

test.each(['garbage{', '{}', 'null'])('a row with %s holds up none behind it, and is logged once', async (value) => {
  const [damaged, ...others] = rowsOf('go', 3, 0)
  if (!damaged) throw new Error('there are rows')
  expect(() => unclaimedRowOf(value)).toThrow(Error)
  const { looked, errors } = await swept([{ ...damaged, value }, ...others], { passes: 3, waiting: { go: [7] } })
  expect([[...looked], errors]).toEqual([
    [7],
    [`the stored row '${damaged.key}' in 'held' can't be read: it is left out`],
  ])
})

test.each([
  [0, 1],
  [2, 3],
])('a server that is alone passes over events until none is claimed: %j', async (claimedFor, passes) => {
  const { looked, begun } = await swept(rowsOf('go', 3, 0), { passes: 6, waiting: { go: [7] }, claimedFor })
  expect([[...looked], begun]).toEqual([[7], passes])
})
