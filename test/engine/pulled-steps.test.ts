// A step that finds no free slot is ready: it has no lease, so it is lost with no server, and whichever has a slot runs
// it.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, inject, test, vi } from 'vitest'
import { createRuntime, type FluxRuntime } from '../../src/main.ts'
import { unavailable } from '../../src/model/failure.ts'
import type { CommitFeed } from '../../src/ports/feeds.ts'
import type { Store } from '../../src/ports/store.ts'
import { decodeHead } from '../../src/engine/record/decode.ts'
import { Slots } from '../../src/model/slots.ts'
import { openLmdbStore } from '../../src/store/lmdb/store.ts'
import { openBench, writeFiles, type Bench, type BenchOptions, type Files } from '../support/engine.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { withVerbs } from '../support/stores.ts'
import { silent as quiet, SILENT_FEED } from '../support/silent.ts'
import { atEndOfTest, newFolder } from '../support/at-end.ts'

const code = (methodName: string, more: object = {}) => ({
  action: { type: 'invokeCode', className: 'Fn', methodName, timeout: 600, ...more },
})
const FILES: Files = {
  'p/Fn.ts': `
export const deaf = () => new Promise(() => {})
export async function slow(args, flux) {
  flux.log.info('begun')
  await new Promise((resolve) => flux.signal.addEventListener('abort', resolve))
}
export const quick = (args, flux) => flux.log.info('begun')`,
  'p/Deaf.flux': {
    states: [
      { name: 's', ...code('deaf'), transitions: [{ to: 'end' }, { to: 'lost', event: '$exception' }] },
      { name: 'end' },
      { name: 'lost' },
    ],
  },
  'p/Slow.flux': { states: [{ name: 's', ...code('slow') }] },
  'p/Quick.flux': { states: [{ name: 's', ...code('quick') }] },
  'p/Event.flux': {
    states: [
      { name: 'w', waiting: true, transitions: [{ to: 's', event: 'go' }] },
      { name: 's', ...code('quick') },
    ],
  },
}

type Logged = { readonly message: string; readonly fields: object | undefined }
/** The contexts whose functions have begun, in that order. */
const begun = (logged: readonly Logged[]): number[] =>
  logged.flatMap(({ message, fields }) =>
    message === 'begun' && fields && 'contextId' in fields && typeof fields.contextId === 'number'
      ? fields.contextId
      : [],
  )
const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 10_000, interval: 5 })
const many = (count: number, bench: Bench, fluxName: string) =>
  Promise.all(Array.from({ length: count }, () => bench.run(fluxName)))

const open = (options: BenchOptions) => openBench(FILES, options)

test('of a step that runs and fifty that wait, only the one that runs is lost with its server', async () => {
  let current: Store | null = null
  // Nothing is given back at the end, as after a kill.
  const deadly = (store: Store) => {
    current = store
    return withVerbs(store, {
      commit: (request) =>
        request.writes.some(({ context, previous }) => context.owner?.startsWith('nobody') === true && previous > 0)
          ? Promise.reject(unavailable('dead'))
          : store.commit(request),
    })
  }
  let bench = await openBench(FILES, { wrap: deadly, stepConcurrency: 1 })
  const [running = 0, ...waiting] = await many(51, bench, 'Deaf')
  const takeovers = async (id: number) => {
    const stored = await current?.load({ id })
    return stored ? (decodeHead(stored).lease?.takeovers ?? null) : undefined
  }
  for (let kills = 1; kills <= 5; kills += 1) {
    bench = await bench.restart()
    await eventually(async () => expect(await takeovers(running)).toBe(kills))
    expect(await Promise.all(waiting.map(takeovers))).toEqual(waiting.map(() => 0))
  }
  for (let kills = 6; kills <= 7; kills += 1) {
    bench = await bench.restart()
    expect(await bench.until(running, ({ status }) => status !== 'RUNNING')).toMatchObject({ currentState: 'lost' })
    // The next one in order runs now, and is lost with the next kill.
    await bench.until(waiting[0] ?? 0, ({ step }) => step?.startedAt !== null)
  }
  const expected = waiting.map((_, place) => (place === 0 ? 1 : 0))
  await eventually(async () => expect(await Promise.all(waiting.map(takeovers))).toEqual(expected))
})

test('steps begin in the order of their commits, and more wait than are remembered', async () => {
  for (const maxWaiting of [1000, 3]) {
    const bench = await open({ slots: new Slots({ code: 1, isolated: 1, maxWaiting }) })
    const first = await bench.run('Slow')
    const ids: number[] = []
    for (let count = 0; count < 20; count += 1) ids.push(await bench.run('Quick'))
    await bench.terminate({ contextId: first })
    await eventually(() => expect(begun(bench.logged)).toEqual([first, ...ids]))
  }
})

test('a step that is ready when its context ends never runs', async () => {
  const bench = await open({ stepConcurrency: 1 })
  const [first, second, third] = [await bench.run('Slow'), await bench.run('Slow'), await bench.run('Slow')]
  expect((await bench.getContext({ contextId: second })).step).toMatchObject({ startedAt: null, server: null })
  await bench.terminate({ contextId: second })
  await bench.terminate({ contextId: first })
  await eventually(() => expect(begun(bench.logged)).toEqual([first, third]))
  expect(await bench.getContext({ contextId: second })).toMatchObject({ status: 'TERMINATED' })
})

test('a commit that fails, or that another server was faster than, gives its slot back', async () => {
  const slots = new Slots({ code: 4, isolated: 1 })
  let [conflicts, failures] = [1000, 0]
  const bench = await open({
    slots,
    wrap: (store) =>
      withVerbs(store, {
        commit: async (request) => {
          const [write] = request.writes
          if (!write || write.previous === 0 || (conflicts === 0 && failures === 0)) return store.commit(request)
          expect(slots.free('code')).toBeLessThan(4)
          if (failures > 0) throw unavailable(`away ${(failures -= 1)}`)
          conflicts -= 1
          return { ok: false, stale: write.context.id }
        },
      }),
  })
  const [contextId, other] = [await bench.run('Event'), await bench.run('Event')]
  await bench.sendEvent({ contextId, event: 'go' })
  await bench.until(contextId, ({ status }) => status === 'COMPLETED')
  expect([conflicts, slots.free('code')]).toEqual([0, 4])
  failures = 100
  for (let times = 0; times < 100; times += 1)
    await expect(bench.sendEvent({ contextId: other, event: 'go' })).rejects.toMatchObject({
      failure: { kind: 'unavailable' },
    })
  expect([failures, slots.free('code')]).toEqual([0, 4])
  await bench.sendEvent({ contextId: other, event: 'go' })
  await bench.until(other, ({ status }) => status === 'COMPLETED')
})

test('what can be claimed only after a while is claimed then, and its slot is not lost', async () => {
  const slots = new Slots({ code: 1, isolated: 1 })
  let isAway = false
  const bench = await open({
    slots,
    wrap: (store) =>
      withVerbs(store, {
        commit: (request) => (isAway ? Promise.reject(unavailable('away')) : store.commit(request)),
      }),
  })
  const first = await bench.run('Slow')
  const ids = await many(20, bench, 'Quick')
  isAway = true
  await expect(bench.terminate({ contextId: first })).rejects.toThrow('away')
  await bench.advance(600_000)
  await bench.advance(10_000)
  isAway = false
  for (let seconds = 0; seconds < 30; seconds += 1) await bench.advance(1_000)
  await eventually(() => expect(begun(bench.logged).toSorted((a, b) => a - b)).toEqual([first, ...ids]))
  expect(slots.free('code')).toBe(1)
})

describe('of two servers on one store', () => {
  const BEAT_MS = 1000

  async function openBoth({ isDeaf = false } = {}) {
    const clock = new SimulatedClock()
    const folder = await newFolder()
    const [listeners, hints]: [(() => void)[], number[]] = [[], []]
    const feed: CommitFeed = {
      ...SILENT_FEED,
      notifyReady() {
        hints.push(clock.now())
        if (!isDeaf) for (const listener of listeners) listener()
      },
      onReady: (listener) => listeners.push(listener),
    }
    const store = await openLmdbStore({ folder: join(folder, 'data'), log: quiet, clock })
    atEndOfTest(() => store.close())
    const shared = withVerbs(store, {
      // To this store, whoever else has a lease is dead.
      claimAbandoned: async (request) =>
        (await store.claimAbandoned(request)).filter(({ owner }) => owner.startsWith('nobody')),
      close: () => Promise.resolve(),
    })
    const others = { beat: BEAT_MS, feed }
    const start = (stepConcurrency: number) =>
      openBench(FILES, { folder, clock, store: shared, others, stepConcurrency })
    return { one: await start(1), other: await start(3), hints, clock }
  }

  test.each([
    ['at once, told by the one', false],
    ['at its next heartbeat', true],
  ])('the other runs what the one has no slots for, %s', async (_, isDeaf) => {
    const { one, other } = await openBoth({ isDeaf })
    const [first = 0, ...ids] = await many(5, one, 'Slow')
    if (isDeaf) await one.advance(BEAT_MS)
    await eventually(() => expect([begun(one.logged), begun(other.logged).length]).toEqual([[first], 3]))
    expect(ids).toEqual(expect.arrayContaining(begun(other.logged)))
    for (const contextId of begun(other.logged)) await other.terminate({ contextId })
    await eventually(() => expect(begun(other.logged).toSorted((a, b) => a - b)).toEqual(ids))
  })

  test('few hints are given for many steps', async () => {
    const { one, hints } = await openBoth()
    await many(300, one, 'Slow')
    await one.advance(1_000)
    expect(hints.length).toBeGreaterThan(0)
    expect(hints.length).toBeLessThan(5)
  })

  test('one that stops leaves to the other what waits, and what it was running', async () => {
    const { one, other } = await openBoth({ isDeaf: true })
    const [first = 0, second = 0, third = 0] = await many(3, one, 'Slow')
    await eventually(() => expect(begun(one.logged)).toEqual([first]))
    await one.engine.close({ grace: 0 })
    await other.advance(BEAT_MS)
    await eventually(() => expect(begun(other.logged).toSorted((a, b) => a - b)).toEqual([first, second, third]))
    expect(begun(one.logged)).toEqual([first])
  })
})

test('the same on Redis', async () => {
  const folder = await newFolder()
  await writeFiles(folder, FILES)
  const namespace = randomUUID()
  const open = async (stepConcurrency: number): Promise<{ server: FluxRuntime; logged: Logged[] }> => {
    const logged: Logged[] = []
    const info = (message: string, fields?: object) => {
      logged.push({ message, fields })
    }
    const redisUrl = inject('redisUrl')
    const log = { ...quiet, info }
    const server = await createRuntime({ actors: [folder], redisUrl, namespace, log, stepConcurrency })
    atEndOfTest(() => server.close({ grace: 0 }))
    return { server, logged }
  }
  const one = await open(1)
  const start = async () => (await one.server.execute({ package: 'p', fluxName: 'Slow' })).contextId
  const [first, second, third] = [await start(), await start(), await start()]
  await eventually(() => expect(begun(one.logged)).toEqual([first]))
  expect((await one.server.getContext({ contextId: second })).step).toMatchObject({ startedAt: null, server: null })
  // It claims at its start what is there, in the order of the commits, and hears of what comes later. It has one slot: of
  // steps that get theirs at once, any may begin first.
  const other = await open(1)
  await eventually(() => expect(begun(other.logged)).toEqual([second]))
  const fourth = await start()
  await other.server.terminate({ contextId: second })
  await eventually(() => expect(begun(other.logged)).toEqual([second, third]))
  await other.server.terminate({ contextId: third })
  await eventually(() => expect(begun(other.logged)).toEqual([second, third, fourth]))
  await one.server.close({ grace: 0 })
  await other.server.terminate({ contextId: fourth })
  await eventually(() => expect(begun(other.logged)).toEqual([second, third, fourth, first]))
})
