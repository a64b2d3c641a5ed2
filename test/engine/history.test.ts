// The history of a context that moves on while it is read: each view is of one version.
import { expect, test } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { openBench, type Bench } from '../support/engine.ts'

const FILES = { 'p/Loop.flux': { states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'tick' }] }] } }

let bench: Bench
/** What happens between the reading of a record and that of its log. */
let meanwhile: (() => Promise<unknown>) | null = null

const slow = (store: Store): Store =>
  new Proxy(store, {
    get(target, verb: keyof Store) {
      const method = target[verb]
      if (typeof method !== 'function') return method
      return async (request: never) => {
        const before = meanwhile
        if (verb === 'log' && before) {
          meanwhile = null
          await before()
        }
        return Reflect.apply(method, target, [request])
      }
    },
  })

test.each([25, 50, 1600])('shows each of %i moves once, and none that was made since', async (moves) => {
  bench = await openBench(FILES, { wrap: slow })
  const contextId = await bench.run('Loop')
  const tick = async (times: number) => {
    for (let turn = 0; turn < times; turn += 1) await bench.sendEvent({ contextId, event: 'tick' })
  }
  await tick(moves - 1)
  for (let offset = 0; offset < 10; offset += 1) {
    const made = moves + offset * 21
    meanwhile = () => tick(20)
    const { version, executionHistory, stateContexts } = await bench.getContext({ contextId })
    meanwhile = null
    expect(version).toBe(made)
    const kept = executionHistory.length
    if (made <= 1000) expect(kept).toBe(made)
    else expect(kept).toBeGreaterThan(950)
    expect(stateContexts[0]?.transitionContexts).toHaveLength(made <= 1000 ? made - 1 : kept)
    await tick(1)
  }
})
