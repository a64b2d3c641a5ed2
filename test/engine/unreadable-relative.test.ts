// A child whose stored record is damaged holds up nobody.
import { expect, test } from 'vitest'
import { openBench, type Bench, type Files } from '../support/engine.ts'
import { withVerbs } from '../support/stores.ts'

const FILES: Files = {
  'p/Wait.flux': { states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'tick' }] }] },
  'p/Calls.flux': { states: [{ name: 'c', action: { type: 'invokeFlux', name: 'Wait', inputs: [], outputs: [] } }] },
}

let bench: Bench

test('its parent can be told and ended: the child is gone for it', async () => {
  let damaged = 0
  bench = await openBench(FILES, {
    wrap: (store) =>
      withVerbs(store, {
        async load(request) {
          const found = await store.load(request)
          return found && request.id === damaged ? { ...found, parts: { base: '{', head: '{' } } : found
        },
      }),
  })
  const contextId = await bench.run('Calls')
  damaged = (await bench.listContexts({ fluxName: 'Wait' }))[0]?.id ?? 0
  expect(damaged).toBeGreaterThan(contextId)
  bench = await bench.restart()
  const answers = await Promise.allSettled([
    bench.addTags({ contextId, tag: ['first'] }),
    bench.addTags({ contextId, tag: ['before'] }),
    bench.terminate({ contextId }),
    bench.addTags({ contextId, tag: ['after'] }),
  ])
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected'])
  expect(answers[3]).toMatchObject({ reason: { failure: { kind: 'conflict' } } })
  expect(await bench.getContext({ contextId })).toMatchObject({ status: 'TERMINATED', tags: ['first', 'before'] })
  expect(bench.logged.filter(({ message }) => message.includes(`context ${damaged}`))).toHaveLength(1)
})
