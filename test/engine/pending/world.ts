// Servers that share a store, and the services of the tests of held events.
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import type { Store } from '../../../src/ports/store.ts'
import { unavailable } from '../../../src/model/failure.ts'
import { explore } from '../../../src/store/redis/connection.ts'
import { openRedisStore } from '../../../src/store/redis/store.ts'
import { inject } from 'vitest'
import { Memory } from '../../../src/store/memory/memory.ts'
import { MemoryStore } from '../../../src/store/memory/memory-store.ts'
import { openBench, outputs, type Bench, type BenchOptions, type Files } from '../../support/engine.ts'
import { SimulatedClock } from '../../support/simulated-clock.ts'
import { withVerbs } from '../../support/stores.ts'

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

const quiet = (): void => {}
const log = { trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet }
export const BEAT_MS = 1000
/** More than a pause between two sweeps, and a lease, in steps. */
const SWEPT = { steps: 25, ms: 1_000 }

export interface World {
  readonly clock: SimulatedClock
  /** A server on the store. */
  open(options?: BenchOptions): Promise<Bench>
  close(): Promise<void>
}

type Opener = () => Promise<{ store: Store; clock?: SimulatedClock }>

async function worldOf(openStore: Opener, isAlone: boolean): Promise<World> {
  const first = await openStore()
  const clock = first.clock ?? new SimulatedClock()
  let given: Store | null = first.store
  const closing: (() => Promise<unknown>)[] = []
  return {
    clock,
    async open(options = {}) {
      const store = given ?? (await openStore()).store
      given = null
      const bench = await openBench(
        { ...FILES, ...WIDE },
        { clock, store, ...(!isAlone && { others: others() }), ...options },
      )
      closing.push(async () => {
        await bench.engine.close({ grace: 0 }).catch(quiet)
        await rm(bench.folder, { recursive: true, force: true })
      })
      return bench
    },
    async close() {
      for (const close of closing.toReversed()) await close()
    },
  }
}

const others = (): NonNullable<BenchOptions['others']> => ({
  beat: BEAT_MS,
  feed: {
    notify: quiet,
    onNotified: quiet,
    notifyReady: quiet,
    onReady: quiet,
    watch: quiet,
    onWatched: quiet,
    close: () => Promise.resolve(),
  },
})

/** A store in memory, which servers share. */
export function inMemory(partitions: number): Promise<World> {
  const clock = new SimulatedClock()
  const memory = new Memory({ now: () => clock.now(), silence: 7 * BEAT_MS, partitions })
  return worldOf(async () => ({ store: new MemoryStore(memory), clock }), false)
}

/** A real Redis, in a namespace of its own. */
export async function onRedis(partitions: number): Promise<World> {
  const [address, namespace] = [await explore(inject('redisUrl')), `test-${randomUUID()}`]
  return worldOf(async () => {
    const store = await openRedisStore({ address, namespace, partitions, deadAfterMs: 600_000, log })
    return { store, clock: new SimulatedClock(store.now()) }
  }, false)
}

/** The embedded store, for one server. */
export function embedded(): Promise<World> {
  const clock = new SimulatedClock()
  const benches: Bench[] = []
  return Promise.resolve({
    clock,
    async open(options = {}) {
      const bench = await openBench({ ...FILES, ...WIDE }, { clock, onDisk: true, ...options })
      benches.push(bench)
      return bench
    },
    async close() {
      for (const bench of benches) await bench.close()
    },
  })
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
