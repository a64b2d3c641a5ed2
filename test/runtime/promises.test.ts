// What an event and a start cost in promises: each is an object, and a place in the queue of microtasks.
import { createHook } from 'node:async_hooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBench, type Bench } from '../support/runtime.ts'

let bench: Bench
beforeAll(async () => {
  bench = await openBench({ 'p/Wait.flux': { states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'tick' }] }] } })
})
afterAll(() => bench.close())

/** Promises made from a call to its answer. */
async function promisesOf(call: () => Promise<unknown>): Promise<number> {
  let count = 0
  const hook = createHook({ init: (_, type) => { if (type === 'PROMISE') count += 1 } }).enable()
  try {
    await call()
  } finally {
    hook.disable()
  }
  return count
}

describe('promises', () => {
  test('of an event to a context in memory', async () => {
    const contextId = await bench.run('Wait')
    await bench.sendEvent({ contextId, event: 'tick' })
    expect(await promisesOf(() => bench.sendEvent({ contextId, event: 'tick' }))).toBeLessThanOrEqual(8)
  })

  test('of a start', async () => {
    await bench.run('Wait')
    expect(await promisesOf(() => bench.execute({ package: 'p', fluxName: 'Wait' }))).toBeLessThanOrEqual(10)
  })
})
