// Conflicts: another server was faster, and what was read for the turn counts no more.
import { beforeEach, expect, test } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { openBench, outputs, type Bench, type Files } from '../support/engine.ts'
import { withVerbs } from '../support/stores.ts'

const set = (to: string, expression: string) => ({ type: 'set', expression, evaluate: true, to: [to] })
const FILES: Files = {
  'p/Count.flux': {
    output: [{ name: 'n', type: 'integer', defaultValue: 0 }],
    states: [
      {
        name: 'w',
        waiting: true,
        action: { type: 'map', lines: [set('n', 'n + 1')] },
        transitions: [
          { to: 'w', event: 'tick' },
          { to: 'fails', event: 'fail' },
        ],
      },
      { name: 'fails', action: { type: 'map', lines: [set('n', 'parseJson("{")')] } },
    ],
  },
}

/** Commits that a message may take, after which it would be tried for ever. */
const MOST_COMMITS = 5
/** So many that some are no longer in the record. */
const TICKS = 12

let one: Bench
let other: Bench
let contextId: number
/** Before the next commit of the first server. */
let meanwhile: (() => Promise<unknown>) | null = null
let commits = 0

/** Two servers on one store; the first has nothing of the context in memory. */
beforeEach(async () => {
  let shared: Store | null = null
  const wrap = (store: Store): Store => {
    shared = store
    return withVerbs(store, {
      async commit(request) {
        commits += 1
        if (commits > MOST_COMMITS) throw new Error('it would be tried for ever')
        const before = meanwhile
        meanwhile = null
        await before?.()
        return store.commit(request)
      },
    })
  }
  const earlier = await openBench(FILES)
  contextId = await earlier.run('Count')
  for (let ticks = 0; ticks < TICKS; ticks += 1) await earlier.sendEvent({ contextId, event: 'tick' })
  await earlier.engine.close({ grace: 0 })
  one = await openBench(FILES, { folder: earlier.folder, clock: earlier.clock, wrap })
  if (!shared) throw new Error('the store is open')
  other = await openBench(FILES, { store: shared, clock: one.clock })
  commits = 0
})

test('the context is read again', async () => {
  meanwhile = () => other.sendEvent({ contextId, event: 'tick' })
  expect(await one.sendEvent({ contextId, event: 'tick' })).toMatchObject({ transitions: [{ state: 'w' }] })
  expect(commits).toBe(2)
  expect(outputs(await one.getContext({ contextId }))).toEqual({ n: TICKS + 2 })
})

test('so is its history, which the trace of an exception tells', async () => {
  meanwhile = () => other.sendEvent({ contextId, event: 'tick' })
  await one.sendEvent({ contextId, event: 'fail' })
  expect(commits).toBe(2)
  const { status, error } = await one.getContext({ contextId })
  expect(status).toBe('FAILED')
  // It began there, was moved on, and failed in the other state.
  expect(error?.fluxStackTrace.map(({ stateName }) => stateName)).toHaveLength(TICKS + 3)
})
