// A child whose step has cost too many servers ends in the commit that takes it over, and its parent goes on.
import { expect, test } from 'vitest'
import { unavailable } from '../../src/model/failure.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench, type Bench, type Files } from '../support/engine.ts'
import { withVerbs } from '../support/stores.ts'

const FILES: Files = {
  'p/Fn.ts': 'export function deaf() { return new Promise(() => {}) }',
  'p/Deaf.flux': {
    states: [{ name: 's', action: { type: 'invokeCode', className: 'Fn', methodName: 'deaf', timeout: 600 } }],
  },
  'p/Parent.flux': {
    states: [
      {
        name: 'call',
        action: { type: 'invokeFlux', name: 'Deaf' },
        transitions: [{ to: 'end' }, { to: 'caught', event: '$exception' }],
      },
      { name: 'end' },
      { name: 'caught' },
    ],
  },
}

let bench: Bench

test('the commit that ends a child when it is taken over notifies its parent', async () => {
  const notified: (readonly number[])[] = []
  let isDying = true
  const wrap = (store: Store) =>
    withVerbs(store, {
      async load(request) {
        const stored = await store.load(request)
        const head = stored?.parts['head']?.replace('"takeovers":0', '"takeovers":6')
        return stored && head !== undefined ? { ...stored, parts: { ...stored.parts, head } } : stored
      },
      commit(request) {
        // Nothing is given back at the end, as after a kill.
        if (isDying && request.writes.some(({ context, previous }) => previous > 0 && context.owner !== null))
          return Promise.reject(unavailable('dead'))
        for (const { context, notifies } of request.writes)
          if (context.parent !== null && context.endedAt !== null) notified.push(notifies)
        return store.commit(request)
      },
    })
  bench = await openBench(FILES, { wrap })
  const contextId = await bench.run('Parent')
  await bench.until(contextId, () => true)
  const [child] = await bench.listContexts({ fluxName: 'Deaf' })
  expect(child).toMatchObject({ status: 'RUNNING' })
  bench = await bench.restart()
  isDying = false
  expect(await bench.until(contextId, ({ status }) => status !== 'RUNNING')).toMatchObject({ currentState: 'caught' })
  expect(notified).toEqual([[contextId]])
})
