// Contexts that are paused and retried, on the embedded store and on Redis: servers on one store, and functions that do
// what the test says.
import { randomUUID } from 'node:crypto'
import { onTestFinished } from 'vitest'
import type { ContextView } from '../../src/api/contexts.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench, type Bench, type BenchOptions, type Files } from '../support/engine.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { withVerbs } from '../support/stores.ts'
import { SILENT_FEED } from '../support/silent.ts'
import { openRedis } from '../support/redis-store.ts'
import { storesOf } from '../support/effort.ts'

export const STEERED_STORES = storesOf(['embedded', 'Redis'])
export type SteeredStore = (typeof STEERED_STORES)[number]

export const BEAT_MS = 1000
const HALF_A_DAY_MS = 43_200_000

const quiet = (): void => {}

/** What the functions of the services were called with, and what holds them up. */
interface Calls {
  readonly came: { key: string; attempt: number; args: { readonly [name: string]: unknown } }[]
  /** Whether the function fails. */
  fails: boolean
  /** Each call waits for this. */
  gate: Promise<void> | null
}

declare global {
  var steered: Map<string, Calls> | undefined
}

/** A function that notes its calls. `world` is the place of its notes. */
const functionsOf = (world: string): string => `
const calls = () => globalThis.steered.get('${world}')
export async function work(args, flux) {
  const mine = calls()
  mine.came.push({ key: flux.stepKey, attempt: flux.attempt, args })
  await mine.gate
  if (mine.fails) throw new RangeError('on purpose')
  return { done: mine.came.length }
}
`

export const call = (more: object = {}): object => ({
  type: 'invokeCode',
  className: 'Fn',
  methodName: 'work',
  ...more,
})
export const set = (to: string, expression: string): object => ({ type: 'set', expression, evaluate: true, to: [to] })

export interface Steered {
  readonly calls: Calls
  readonly clock: SimulatedClock
  readonly store: Store
  readonly bench: Bench
  /** Another server on the same store; on the embedded one, the first one must have stopped. */
  open(options?: BenchOptions): Promise<Bench>
  /** Writes the service anew; loaded when the catalog is reloaded. */
  readonly files: Files
}

/** Opens a server with those services of package `p`, closed at the end of the test. */
export async function openSteered(kind: SteeredStore, files: Files, options: BenchOptions = {}): Promise<Steered> {
  const world = randomUUID()
  const calls: Calls = { came: [], fails: false, gate: null }
  globalThis.steered ??= new Map()
  globalThis.steered.set(world, calls)
  // Redis goes by its own time, which is the real one: nothing is due, and no row over, before that.
  const clock = new SimulatedClock(Date.now() - HALF_A_DAY_MS)
  const all = { 'p/Fn.ts': functionsOf(world), ...files }
  const first: { store?: Store } = {}
  if (kind === 'Redis') first.store = await openRedis({ partitions: 3 })
  const keep = (store: Store): Store => {
    first.store = store
    return withVerbs(store, { close: () => Promise.resolve() })
  }
  const open = async (more: BenchOptions = {}): Promise<Bench> => {
    const others = kind === 'Redis' ? { beat: BEAT_MS, feed: SILENT_FEED } : null
    const given = {
      ...options,
      clock,
      onDisk: true,
      others,
      ...more,
      wrap: (store: Store) => more.wrap?.(keep(store)) ?? keep(store),
    }
    return openBench(all, first.store ? { ...given, store: first.store } : given)
  }
  onTestFinished(async () => {
    await first.store?.close()
    globalThis.steered?.delete(world)
  })
  const bench = await open()
  const { store } = first
  if (!store) throw new Error('the store is open')
  return { calls, clock, store, bench, open, files: all }
}

/** A promise that is resolved from outside. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = quiet
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

export const isIn = (state: string) => (view: ContextView) => view.currentState === state
export const has = (status: ContextView['status']) => (view: ContextView) => view.status === status

/** Waits, in real time, until it is true. */
export async function eventuallyTrue(bench: Bench, check: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 1000 && !check(); attempt += 1) await bench.advance(0)
  if (!check()) throw new Error('it did not come true')
}

/** Kind of the failure with which the call is refused; null: it is not. */
export const refusalOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => null,
    (error: unknown) => (error instanceof Object && 'failure' in error ? error.failure : error),
  )
