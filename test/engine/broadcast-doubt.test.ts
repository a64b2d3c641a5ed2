// A broadcast that reached nobody for sure: its sender is told whether anyone may have moved all the same.
import { expect, test } from 'vitest'
import { inDoubt, unavailable } from '../../src/model/failure.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench, type Bench, type Files } from '../support/engine.ts'

const FILES: Files = {
  'p/Wait.flux': { states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'tick' }] }] },
}

/** What becomes of the commits to come, one after the other: refused, or made and unanswered. */
const fates: ('refused' | 'unanswered')[] = []

function unreliable(store: Store): Store {
  return new Proxy(store, {
    get(target, verb: keyof Store) {
      const method = target[verb]
      if (typeof method !== 'function') return method
      return async (request: never) => {
        const fate = verb === 'commit' ? fates.shift() : undefined
        if (fate === 'refused') throw unavailable('the store is out of reach')
        const outcome: unknown = await Reflect.apply(method, target, [request])
        if (fate === 'unanswered') throw inDoubt('the store did not answer')
        return outcome
      }
    },
  })
}

let bench: Bench

test.each([
  ['refused', 'unanswered'],
  ['unanswered', 'refused'],
] as const)('one %s, one %s: it is in doubt', async (first, second) => {
  bench = await openBench(FILES, { wrap: unreliable })
  const ids = [await bench.run('Wait'), await bench.run('Wait')]
  fates.push(first, second)
  await expect(bench.sendEvent({ event: 'tick' })).rejects.toMatchObject({
    failure: { kind: 'unavailable', inDoubt: true },
  })
  const moves = await Promise.all(
    ids.map(async (contextId) => (await bench.getContext({ contextId })).executionHistory.length),
  )
  expect(moves.toSorted()).toEqual([1, 2])
})

test('both refused: nothing was done', async () => {
  bench = await openBench(FILES, { wrap: unreliable })
  await bench.run('Wait')
  await bench.run('Wait')
  fates.push('refused', 'refused')
  const sent = bench.sendEvent({ event: 'tick' })
  await expect(sent).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
  await expect(sent).rejects.not.toMatchObject({ failure: { inDoubt: true } })
})
