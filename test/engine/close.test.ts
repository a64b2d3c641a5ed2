// A server that stops waits for what is under way in the store before it lets go of the store.
import { expect, test, vi } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { held, nextTurn } from '../support/held.ts'
import { openBench } from '../support/engine.ts'
import { SILENT_FEED } from '../support/silent.ts'
import { withVerbs } from '../support/stores.ts'

const FILES = {
  'p/Timed.flux': {
    states: [{ name: 'w', waiting: true, transitions: [{ to: 'end', wait: 'duration:5' }] }, { name: 'end' }],
  },
}

/** Holds the calls of one verb back, once told to. */
function holding(verb: 'purge' | 'heartbeat' | 'claimDue') {
  const state = { held: 0, isHolding: false, isClosed: false, until: held<void>() }
  const hold = async () => {
    if (!state.isHolding) return
    state.held += 1
    await state.until.promise
    expect(state.isClosed).toBe(false)
  }
  const wrap = (store: Store): Store => {
    const verbs: Pick<Store, typeof verb> = {
      purge: async (request) => {
        await hold()
        return store.purge(request)
      },
      heartbeat: async (request) => {
        await hold()
        return store.heartbeat(request)
      },
      claimDue: async (request) => {
        await hold()
        return store.claimDue(request)
      },
    }
    return withVerbs(store, {
      [verb]: verbs[verb],
      close: () => {
        state.isClosed = true
        return store.close()
      },
    })
  }
  return { state, wrap }
}

test.each(['purge', 'heartbeat', 'claimDue'] as const)('it waits for a %s under way', async (verb) => {
  const { state, wrap } = holding(verb)
  const others =
    verb === 'heartbeat'
      ? {
          beat: 1000,
          feed: SILENT_FEED,
        }
      : null
  const bench = await openBench(FILES, { wrap, others })
  await bench.run('Timed')
  state.isHolding = true
  for (let minutes = 0; minutes < 50 && state.held === 0; minutes += 1) await bench.advance(60_000)
  expect(state.held).toBe(1)
  const onClosed = vi.fn()
  const closed = bench.close().finally(onClosed)
  for (let turns = 0; turns < 20; turns += 1) await nextTurn()
  expect(onClosed).not.toHaveBeenCalled()
  expect(state.isClosed).toBe(false)
  state.until.release()
  await closed
  expect(state.isClosed).toBe(true)
})
