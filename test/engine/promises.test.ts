// What events and starts cost in promises: each is an object, and a place in the queue of microtasks. Many come at
// once: the group in which they are written makes a dozen of its own, however many share it.
import { createHook } from 'node:async_hooks'
import { EventEmitter, once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SYSTEM } from '../../src/model/caller.ts'
import { openBench, type Bench } from '../support/engine.ts'

const CALLS = 64

let bench: Bench
beforeAll(async () => {
  const waiting = { states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'tick' }] }] }
  bench = await openBench({ 'p/Wait.flux': waiting }, { onDisk: true })
})
afterAll(() => bench.close())

/** Of the test itself: of its own `then`, and of the watch on the commit. */
const OWN = 2

/** Promises made for each of so many calls, from the call to its answer; without those of the test itself. */
async function promisesPerCall(call: (index: number) => Promise<unknown>): Promise<number> {
  let [count, answered] = [0, 0]
  const allAnswered = new EventEmitter()
  const promise = once(allAnswered, 'end')
  const hook = createHook({
    init: (_, type) => {
      if (type === 'PROMISE') count += 1
    },
  }).enable()
  const answer = () => {
    answered += 1
    return answered === CALLS && allAnswered.emit('end')
  }
  for (let index = 0; index < CALLS; index += 1) void call(index).then(answer)
  await promise
  hook.disable()
  return count / CALLS - OWN
}

test('an event to a context in memory makes at most 8', async () => {
  const ids = await Promise.all(Array.from({ length: CALLS }, () => bench.run('Wait')))
  const api = bench.engine.api(SYSTEM)
  const send = (index: number) => api.sendEvent({ contextId: ids[index] ?? 0, event: 'tick' })
  await promisesPerCall(send)
  expect(await promisesPerCall(send)).toBeLessThanOrEqual(8)
})

test('a start makes at most 10', async () => {
  expect(
    await promisesPerCall(() => bench.engine.api(SYSTEM).execute({ package: 'p', fluxName: 'Wait' })),
  ).toBeLessThanOrEqual(10)
})
