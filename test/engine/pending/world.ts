// Servers that share a store, and the services of the tests of held events.
import { randomUUID } from 'node:crypto'
import type { Store } from '../../../src/ports/store.ts'
import { unavailable } from '../../../src/model/failure.ts'
import { openBench, outputs, type Bench, type BenchOptions, type Files } from '../../support/engine.ts'
import { SimulatedClock } from '../../../src/testing/simulated-clock.ts'
import { withVerbs } from '../../support/stores.ts'
import { SILENT_FEED } from '../../support/silent.ts'
import { openRedis } from '../../support/redis-store.ts'
import { BEAT_MS, SharedMemory } from '../../support/shared-memory.ts'

/** `open` waits for `paid`, and keeps what that brings. */
const order = (next: string) => ({
  output: [{ name: 'seen', type: 'integer', array: true, defaultValue: [] }],
  states: [
    {
      name: 'begin',
      waiting: true,
      transitions: [
        { to: 'open', event: 'go' },
        { to: 'done', event: 'end' },
      ],
    },
    {
      name: 'open',
      waiting: true,
      input: [{ name: 'by', type: 'integer', required: true, allowNull: false }],
      action: { type: 'map', lines: [{ type: 'set', expression: '[...seen, by]', evaluate: true, to: ['seen'] }] },
      transitions: [
        { to: next, event: 'paid' },
        { to: 'begin', event: 'back' },
      ],
    },
    { name: 'done' },
  ],
})

const FILES: Files = {
  'p/Order.flux': order('begin'),
  'p/Long.flux': order('open'),
  'p/Any.flux': {
    states: [
      { name: 'begin', waiting: true, transitions: [{ to: 'any', event: 'go' }] },
      { name: 'any', waiting: true, transitions: [{ to: 'done', event: '$else' }] },
      { name: 'done' },
    ],
  },
  'p/Secret.flux': {
    secured: true,
    states: [
      { name: 'begin', waiting: true, transitions: [{ to: 'open', event: 'go' }] },
      { name: 'open', waiting: true, transitions: [{ to: 'done', event: 'paid' }] },
      { name: 'done' },
    ],
  },
  'p/Parent.flux': {
    states: [
      { name: 'begin', waiting: true, transitions: [{ to: 'call', event: 'go' }] },
      { name: 'call', action: { type: 'invokeFlux', name: 'Child' }, transitions: [{ to: 'done' }] },
      { name: 'done' },
    ],
  },
  'p/Child.flux': {
    states: [{ name: 'open', waiting: true, transitions: [{ to: 'done', event: 'paid' }] }, { name: 'done' }],
  },
}

/** Waits for ten events in `open`. */
const WIDE: Files = {
  'p/Wide.flux': {
    states: [
      { name: 'begin', waiting: true, transitions: [{ to: 'open', event: 'go' }] },
      {
        name: 'open',
        waiting: true,
        transitions: Array.from({ length: 10 }, (_, n) => ({ to: n === 9 ? 'done' : 'begin', event: `e${n}` })),
      },
      { name: 'done' },
    ],
  },
}

/** More than a pause between two sweeps, and a lease, in steps. */
const SWEPT = { steps: 25, ms: 1_000 }

export interface World {
  readonly clock: SimulatedClock
  /** A server on the store. */
  open(options?: BenchOptions): Promise<Bench>
}

const worldOf = (clock: SimulatedClock, given: () => BenchOptions | Promise<BenchOptions>): World => ({
  clock,
  open: async (more = {}) => openBench({ ...FILES, ...WIDE }, { clock, ...(await given()), ...more }),
})

/** A store in memory, which servers share. */
export async function inMemory(partitions: number): Promise<World> {
  const shared = new SharedMemory(partitions)
  return worldOf(shared.clock, () => shared.server())
}

/** A real Redis, in a namespace of its own. */
export async function onRedis(partitions: number): Promise<World> {
  const options = { namespace: `test-${randomUUID()}`, partitions, deadAfterMs: 600_000 }
  const first = await openRedis(options)
  await first.close()
  return worldOf(new SimulatedClock(first.now()), async () => ({
    store: await openRedis(options),
    others: { beat: BEAT_MS, feed: SILENT_FEED },
  }))
}

/** The embedded store, for one server. */
export async function embedded(): Promise<World> {
  return worldOf(new SimulatedClock(), () => ({ onDisk: true }))
}

/** Has the store refuse all commits once so many were made: the server is as good as dead. */
export const cutOff =
  (left: () => number) =>
  (store: Store): Store =>
    withVerbs(store, {
      commit: (request) => (left() < 0 ? Promise.reject(unavailable('dead')) : store.commit(request)),
    })

/** Lets a lease and a sweep go by, on all servers. */
export async function pass({ clock }: World): Promise<void> {
  for (let step = 0; step < SWEPT.steps; step += 1) await clock.advance(SWEPT.ms)
}

/** What the context has taken. */
export async function seenBy(bench: Bench, contextId: number): Promise<unknown[]> {
  const { seen } = outputs(await bench.getContext({ contextId }))
  return Array.isArray(seen) ? seen : []
}

/** What all of them have taken. */
export const seenByAll = async (bench: Bench, ids: readonly number[]): Promise<unknown[]> =>
  (await Promise.all(ids.map((id) => seenBy(bench, id)))).flat()
