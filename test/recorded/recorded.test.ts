// Holds the server against what an earlier one answered to random calls on random services. `npm run record` records
// anew, and shows what changes by that.
import { expect, test } from 'vitest'
import { CALLS, firstDifference, readAnswers, SEEDS } from './answers.ts'
import { runSeed } from './run.ts'

/** Milliseconds: some start processes for scripts. */
const TIMEOUT_MS = 60_000

const kept = await readAnswers()

test('as many answers are kept as calls are made', () => {
  expect([...kept].map(([seed, { length }]) => [seed, length])).toEqual(
    Array.from({ length: SEEDS }, (_, seed) => [seed, CALLS]),
  )
})

test.each([...kept.keys()])('seed %i is answered as it was', { timeout: TIMEOUT_MS }, async (seed) => {
  const difference = firstDifference(seed, kept.get(seed) ?? [], await runSeed(seed, CALLS))
  if (difference !== null) expect.fail(difference)
})
