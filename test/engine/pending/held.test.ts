// Events with a time to live that nobody takes when they come: the first context that comes to wait takes them, once.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openBench, outputs, type Bench, type Files } from '../../support/engine.ts'
import { Memory } from '../../simulation/memory.ts'
import { MemoryStore } from '../../simulation/memory-store.ts'
import { SimulatedClock } from '../../support/simulated-clock.ts'

const FILES: Files = {
  'p/Order.flux': {
    output: [
      { name: 'n', type: 'integer', defaultValue: 0 },
      { name: 'seen', type: 'integer', array: true, defaultValue: [] },
    ],
    states: [
      { name: 'begin', waiting: true, transitions: [{ to: 'open', event: 'go' }, { to: 'done', event: 'end' }] },
      {
        name: 'open',
        waiting: true,
        input: [{ name: 'by', type: 'integer', required: true, allowNull: false }],
        transitions: [{ to: 'paid', event: 'paid' }],
      },
      {
        name: 'paid',
        action: {
          type: 'map',
          lines: [
            { type: 'set', expression: 'n + 1', evaluate: true, to: ['n'] },
          ],
        },
        transitions: [{ to: 'begin' }],
      },
      { name: 'done' },
    ],
  },
}
const TTL = { ttl: 60 }

describe.each([1, 3])('in a store of %i partitions, an event with a ttl', (partitions) => {
  let clock: SimulatedClock
  let memory: Memory
  let bench: Bench
  beforeEach(async () => {
    clock = new SimulatedClock(Date.UTC(2026, 0, 1))
    memory = new Memory({ now: () => clock.now(), silence: null, partitions })
    bench = await openBench(FILES, { clock, store: new MemoryStore(memory) })
  })
  afterEach(() => bench.close())

  test('is pending, and is taken by the first that comes to wait', async () => {
    const ids = [await bench.run('Order'), await bench.run('Order'), await bench.run('Order')]
    const answer = await bench.sendEvent({ event: 'paid', input: { by: 1 }, ...TTL })
    expect(answer.pending).toEqual([{ contextId: null, expiresAt: clock.now() + 60_000 }])
    for (const contextId of ids) await bench.sendEvent({ contextId, event: 'go' })
    const [first = 0] = ids
    const view = await bench.until(first, ({ currentState }) => currentState === 'begin')
    expect(outputs(view)['n']).toBe(1)
  })
})
