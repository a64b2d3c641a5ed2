// Steps of servers that died: taken over few at a time, each counted before anything of it is looked at.
import { expect, test, vi } from 'vitest'
import { unavailable, unreadable } from '../../src/model/failure.ts'
import type { Store, StoredContext } from '../../src/ports/store.ts'
import { decodeHead } from '../../src/engine/record/decode.ts'
import { openBench, type Bench, type Files } from '../support/engine.ts'
import { feedOf } from '../support/moves.ts'
import { withVerbs } from '../support/stores.ts'
import { nextTurn } from '../support/held.ts'

const FILES: Files = {
  'p/Fn.ts': 'export function deaf() { return new Promise(() => {}) }',
  'p/Deaf.flux': {
    input: [{ name: 'text' }],
    states: [
      {
        name: 's',
        action: { type: 'invokeCode', className: 'Fn', methodName: 'deaf', timeout: 600 },
        transitions: [{ to: 'end' }, { to: 'caught', event: '$exception' }],
      },
      { name: 'end' },
      { name: 'caught' },
    ],
  },
}

/** Names of the contexts whose data can't be parsed. What is read of them and what is committed is noted. */
interface Faults {
  readonly poisoned: Set<number>
  readonly loader: number[]
  inLoad: number
  most: number
}

const POISON = '{"text":'
const healed = (parts: StoredContext['parts']) =>
  parts['input'] === POISON ? { ...parts, input: '{"text":"x"}' } : parts

/** A server on it dies without giving anything back. */
const deadly =
  (faults: Faults) =>
  (store: Store): Store =>
    new Proxy(store, {
      get(target, verb: keyof Store) {
        if (verb === 'commit')
          return ({ writes, ...request }: Parameters<Store['commit']>[0]) =>
            writes.some(({ context, previous }) => context.owner?.startsWith('nobody') === true && previous > 0)
              ? Promise.reject(unavailable('dead'))
              : target.commit({
                  ...request,
                  writes: writes.map((write) => ({
                    ...write,
                    context: { ...write.context, parts: healed(write.context.parts) },
                  })),
                })
        if (verb === 'load')
          return async ({ id }: { id: number }): Promise<StoredContext | null> => {
            faults.loader.push(id)
            faults.inLoad += 1
            faults.most = Math.max(faults.most, faults.inLoad)
            const stored = await target.load({ id })
            await nextTurn()
            faults.inLoad -= 1
            return stored && faults.poisoned.has(id) ? { ...stored, parts: { ...stored.parts, input: POISON } } : stored
          }
        const method = target[verb]
        return typeof method === 'function' ? (request: never) => Reflect.apply(method, target, [request]) : method
      },
    })

let bench: Bench

test("a context whose data can't even be looked at is counted at each start, and at last fails; the server starts and serves each time", async () => {
  const faults: Faults = { poisoned: new Set(), loader: [], inLoad: 0, most: 0 }
  const { feed, moves } = feedOf(true)
  bench = await openBench(FILES, { wrap: deadly(faults), moves: feed })
  const contextId = await bench.run('Deaf', { text: 'x' })
  await bench.sendEvent({ contextId, event: 'later', ttl: 86_400 })
  expect(await bench.listPending({})).toHaveLength(1)
  const { version } = await bench.getContext({ contextId })
  faults.poisoned.add(contextId)
  for (let start = 1; start <= 7; start += 1) {
    bench = await bench.restart()
    expect(await bench.run('Deaf', { text: 'y' })).toBeGreaterThan(contextId)
    await vi.waitFor(
      () =>
        expect(
          bench.logged.some(
            ({ message, fields }) =>
              message.includes(`context ${contextId} can't be read`) ||
              (message === 'a context failed' && fields && 'contextId' in fields && fields.contextId === contextId),
          ),
        ).toBe(true),
      { timeout: 10_000 },
    )
    faults.poisoned.delete(contextId)
    expect(await bench.getContext({ contextId })).toMatchObject({
      version: version + start,
      status: start < 7 ? 'RUNNING' : 'FAILED',
    })
    faults.poisoned.add(contextId)
  }
  expect(bench.logged).toContainEqual({
    level: 'warn',
    message: 'a context failed',
    fields: { contextId, fluxName: 'Deaf', state: 's', reason: expect.stringMatching(/^LeaseLost: 6 servers/) },
  })
  faults.poisoned.clear()
  const view = await bench.getContext({ contextId })
  expect(view).toMatchObject({
    status: 'FAILED',
    currentState: 's',
    nextRun: null,
    step: null,
    error: { type: 'LeaseLost' },
  })
  expect(view.input.gloopProperties).toMatchObject([{ name: 'text', value: 'x' }])
  // What it has kept is given up.
  expect(await bench.listPending({})).toEqual([])
  expect(moves.findLast(({ message }) => message.contextId === contextId)).toMatchObject({
    message: { kind: 'end', version: view.version },
  })
})

test('a step that costs six servers has failed, and its $exception transition is taken', async () => {
  bench = await openBench(FILES, { wrap: deadly({ poisoned: new Set(), loader: [], inLoad: 0, most: 0 }) })
  const contextId = await bench.run('Deaf')
  for (let start = 1; start <= 5; start += 1) {
    bench = await bench.restart()
    await bench.until(contextId, ({ step }) => step?.startedAt === bench.clock.now())
  }
  bench = await bench.restart()
  expect(await bench.until(contextId, ({ status }) => status !== 'RUNNING')).toMatchObject({
    status: 'COMPLETED',
    currentState: 'caught',
  })
})

test('many are taken over few at a time, and no more than begin', async () => {
  const faults: Faults = { poisoned: new Set(), loader: [], inLoad: 0, most: 0 }
  bench = await openBench(FILES, { wrap: deadly(faults), stepConcurrency: 100 })
  const ids = await Promise.all(Array.from({ length: 300 }, () => bench.run('Deaf')))
  faults.loader.length = 0
  bench = await bench.restart()
  faults.most = 0
  const taken = () => new Set(faults.loader).size
  await vi.waitFor(() => expect(taken()).toBe(100), { timeout: 20_000 })
  expect(faults.most).toBeLessThanOrEqual(32)
  for (const contextId of [...new Set(faults.loader)].slice(0, 50)) await bench.terminate({ contextId })
  await vi.waitFor(() => expect(taken()).toBe(150), { timeout: 20_000 })
  // Those that wait for their turn are still the dead server's: should this one die too, they count it not at all.
  const views = await Promise.all(ids.map((contextId) => bench.getContext({ contextId })))
  expect(views.filter(({ version }) => version === 1)).toHaveLength(300 - 150)
})

test('one whose record is damaged is told of once, whether its step waits for a slot or is to be taken over, and holds up no other', async () => {
  const damaged = new Set<number>()
  const faults: Faults = { poisoned: new Set(), loader: [], inLoad: 0, most: 0 }
  const wrap = (store: Store): Store =>
    new Proxy(deadly(faults)(store), {
      get: (target, verb: keyof Store) =>
        verb === 'load'
          ? (request: { id: number }) =>
              damaged.has(request.id) ? Promise.reject(unreadable(request.id)) : target.load(request)
          : target[verb],
    })
  const told = (contextId: number) =>
    bench.logged.filter(
      ({ level, message, fields }) =>
        level === 'error' &&
        (message.includes(`context ${contextId} `) ||
          (fields && 'contextId' in fields && fields.contextId === contextId)),
    )
  bench = await openBench(FILES, { wrap, stepConcurrency: 1, memory: { cache: 0 } })
  const first = await bench.run('Deaf')
  const [bad, good] = [await bench.run('Deaf'), await bench.run('Deaf')]
  damaged.add(bad)
  await bench.terminate({ contextId: first })
  await bench.until(good, ({ step }) => step?.startedAt !== null)
  for (let seconds = 0; seconds < 5; seconds += 1) await bench.advance(1000)
  expect(told(bad)).toHaveLength(1)

  bench = await bench.restart()
  // What a gone server was running goes first, and the one that is ready when it has ended.
  await bench.until(good, ({ step }) => step?.startedAt === bench.clock.now())
  await bench.terminate({ contextId: good })
  await vi.waitFor(() => expect(told(bad)).toHaveLength(1))
  for (let times = 0; times < 3; times += 1) await bench.advance(5000)
  expect(told(bad)).toHaveLength(1)
})

test.each([
  [0, true],
  [1, false],
])(
  '%i takeovers are counted when it is certain (%s) that another step held the server up',
  async (count, isCertain) => {
    const stores: Store[] = []
    const wrap = (store: Store): Store => {
      stores.push(store)
      return withVerbs(deadly({ poisoned: new Set(), loader: [], inLoad: 0, most: 0 })(store), {
        standstill: () => Promise.resolve({ step: null, isCertain, message: 'held up', stack: '' }),
      })
    }
    bench = await openBench(FILES, { wrap })
    const contextId = await bench.run('Deaf')
    const { version } = await bench.getContext({ contextId })
    bench = await bench.restart()
    await bench.until(contextId, (view) => view.version > version)
    const stored = await stores.at(-1)?.load({ id: contextId })
    expect(stored && decodeHead(stored).lease).toMatchObject({ takeovers: count })
  },
)

test.each([
  ['caught', 'by the server that had it', null],
  ['s', 'by one that had it before another', 'before'],
])('a step is in %j once it was held up %s', async (state, _, owner) => {
  let stepKey: string | undefined
  bench = await openBench(FILES, {
    wrap: (store) =>
      new Proxy(deadly({ poisoned: new Set(), loader: [], inLoad: 0, most: 0 })(store), {
        get(target, verb: keyof Store) {
          if (verb === 'standstill')
            return () =>
              Promise.resolve(
                stepKey === undefined
                  ? null
                  : { step: { stepKey, attempt: 1 }, isCertain: true, message: 'held up', stack: '' },
              )
          if (verb === 'claimAbandoned')
            return async (request: Parameters<Store['claimAbandoned']>[0]) =>
              (await target.claimAbandoned(request)).map((lease) => ({ ...lease, owner: owner ?? lease.owner }))
          return target[verb]
        },
      }),
  })
  const contextId = await bench.run('Deaf')
  const view = await bench.getContext({ contextId })
  stepKey = view.step?.stepKey
  expect(stepKey).toEqual(expect.any(String))
  bench = await bench.restart()
  await vi.waitFor(() =>
    expect(bench.logged).toContainEqual(
      expect.objectContaining({ message: 'steps that another server left are taken over' }),
    ),
  )
  if (owner === null) await bench.until(contextId, ({ status }) => status !== 'RUNNING')
  else await bench.advance(100)
  expect(await bench.getContext({ contextId })).toMatchObject({ currentState: state })
})
