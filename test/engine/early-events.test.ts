// Events that come early: a context keeps them until it waits for them, on every store and over a new start.
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { isReplayed } from '../support/answers.ts'
import type { EventRequest } from '../../src/api/events.ts'
import { unavailable } from '../../src/model/failure.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench, outputs, writeFiles, type Bench, type Files } from '../support/engine.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { withVerbs } from '../support/stores.ts'
import { openRedis } from '../support/redis-store.ts'
import { storesOf } from '../support/effort.ts'

const HOUR_MS = 3_600_000
const append = { type: 'map', lines: [{ type: 'set', expression: 'seen + n + ","', evaluate: true, to: ['seen'] }] }
const busy = (early?: unknown) => ({
  name: 'busy',
  waiting: true,
  input: [{ name: 'n', type: 'integer', required: true }],
  action: append,
  transitions: [
    { to: 'busy', event: 'tick', ...(early !== undefined && { early }) },
    { to: 'done', event: 'stop' },
  ],
})
const seen = [{ name: 'seen', defaultValue: '' }]
const idle = (more: object[] = []) => ({
  name: 'idle',
  waiting: true,
  transitions: [{ to: 'busy', event: 'go' }, ...more],
})
const FILES: Files = {
  'p/Early.flux': {
    output: seen,
    key: '${id}',
    input: [{ name: 'id', defaultValue: '' }],
    states: [idle(), busy('1h'), { name: 'done' }],
  },
  'p/Plain.flux': { output: seen, states: [idle(), busy(), { name: 'done' }] },
  'p/Root.flux': {
    early: '2h',
    output: seen,
    states: [
      {
        name: 'idle',
        waiting: true,
        transitions: [
          { to: 'both', event: 'go' },
          { to: 'idle', event: 'off', early: 0 },
        ],
      },
      {
        name: 'both',
        waiting: true,
        transitions: [
          { to: 'taken', event: 'paid' },
          { to: 'late', wait: 'date:2020-01-01' },
          { to: 'late', event: 'off', early: 0 },
        ],
      },
      { name: 'taken' },
      { name: 'late' },
    ],
  },
  'p/Else.flux': {
    states: [
      { name: 'any', waiting: true, transitions: [{ to: 'end', event: '$else' }] },
      { name: 'second', waiting: true, transitions: [{ to: 'end', event: 'tick', early: '1h' }] },
      { name: 'end' },
    ],
  },
  'p/Heavy.flux': {
    output: [{ name: 'n', type: 'integer', defaultValue: 0 }],
    states: [
      idle(),
      {
        name: 'busy',
        waiting: true,
        action: {
          type: 'map',
          lines: [
            {
              type: 'set',
              expression: 'n + ("x".repeat(9000).split("").map(c => c + c).map(c => c + c).length > 0 ? 1 : 0)',
              evaluate: true,
              to: ['n'],
            },
          ],
        },
        transitions: [{ to: 'busy', event: 'heavy', early: '1d' }],
      },
    ],
  },
  'p/Order.flux': {
    triggers: [{ event: 'order', key: '${id}' }],
    input: [{ name: 'id' }],
    output: seen,
    states: [idle(), { ...busy(), transitions: [{ to: 'busy', event: 'order', early: '1h' }] }],
  },
  'p/Late.flux': {
    triggers: [{ event: 'tick', unlessMoved: true }],
    states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'never' }] }],
  },
  'p/fn.ts': `import { access } from 'node:fs/promises'
export async function work({ file }) {
  while (await access(file).then(() => false, () => true)) await new Promise((resolve) => setTimeout(resolve, 5))
}`,
  'p/Step.flux': {
    output: seen,
    input: [{ name: 'file' }],
    states: [
      {
        name: 'work',
        action: { type: 'invokeCode', className: 'fn', methodName: 'work', inputs: [{ from: ['file'], to: ['file'] }] },
        transitions: [{ to: 'busy' }],
      },
      busy('1h'),
      { name: 'done' },
    ],
  },
  'p/Parent.flux': {
    output: seen,
    states: [
      { name: 'child', action: { type: 'invokeFlux', name: 'Child' }, transitions: [{ to: 'busy' }] },
      busy('1h'),
      { name: 'done' },
    ],
  },
  'p/Child.flux': { output: seen, states: [idle(), busy('1h'), { name: 'done' }] },
}

const refusal = (kind: string, more: object = {}) => ({ failure: expect.objectContaining({ kind, ...more }) })

/** Commits that are still made; then the store is out of reach, as for a server that is killed. */
let left = Infinity
const wrap = (store: Store): Store =>
  withVerbs(store, {
    commit(request) {
      left -= 1
      return left < 0 ? Promise.reject(unavailable('away')) : store.commit(request)
    },
  })

type Open = () => Promise<{ readonly bench: Bench; readonly again: () => Promise<Bench> }>

/** `again`: starts once more, on the same data. */
const embedded: Open = async () => {
  const bench = await openBench(FILES, { clock: new SimulatedClock(Date.now()), onDisk: true, wrap })
  let latest = bench
  const again = async () => {
    latest = await latest.restart()
    return latest
  }
  return { bench, again }
}

/** Another server goes on, as after a crash of the first. */
const onRedis: Open = async () => {
  const namespace = `test-${randomUUID()}`
  const clock = new SimulatedClock(Date.now())
  const open = async () => openBench(FILES, { store: await openRedis({ namespace, partitions: 3 }), clock, wrap })
  return { bench: await open(), again: open }
}

describe.each(
  storesOf([
    ['an embedded store', embedded],
    ['Redis', onRedis],
  ]),
)('on %s', (_, open) => {
  let bench: Bench
  let again: () => Promise<Bench>
  beforeEach(async () => {
    left = Infinity
    ;({ bench, again } = await open())
  })

  const send = (contextId: number, event: string, more: Partial<EventRequest> = {}) =>
    bench.sendEvent({ contextId, event, ...more })
  const tick = (contextId: number, n: number, more: Partial<EventRequest> = {}) =>
    send(contextId, 'tick', { input: { n }, ...more })
  const seenBy = async (contextId: number, on = bench) => outputs(await on.getContext({ contextId }))['seen']

  test('are taken in the order in which they came, in the commit in which the context comes to wait', async () => {
    const contextId = await bench.run('Early')
    for (const n of [1, 2, 3]) {
      const answer = await tick(contextId, n)
      expect(answer).toMatchObject({
        message: `'tick' is kept for context ${contextId}`,
        transitions: [],
        ignored: [],
        pending: [{ contextId, expiresAt: bench.clock.now() + HOUR_MS }],
      })
      await bench.advance(1)
    }
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'WAITING', currentState: 'idle', version: 4 })
    await send(contextId, 'go', { input: { n: 0 } })
    expect(await seenBy(contextId)).toBe('1,2,3,')
    expect((await bench.getContext({ contextId })).version).toBe(5)
    // Once, and never again.
    await tick(contextId, 4)
    expect(await seenBy(contextId)).toBe('1,2,3,4,')
  })

  test('are kept over a new start', async () => {
    const contextId = await bench.run('Early')
    await tick(contextId, 1, { eventId: 'one' })
    await tick(contextId, 2)
    const other = await again()
    expect(await other.getEvent({ eventId: 'one' })).toMatchObject({ pending: [{ contextId }], moved: [] })
    await other.sendEvent({ contextId, event: 'go' })
    expect(await seenBy(contextId, other)).toBe('1,2,')
    expect(await other.getEvent({ eventId: 'one' })).toMatchObject({
      pending: [],
      moved: [{ contextId, state: 'busy', at: expect.any(Number) }],
      counts: { moved: 1, pending: 0 },
    })
  })

  test('are refused as before where neither the definition nor the sender wants them kept', async () => {
    const contextId = await bench.run('Plain')
    await expect(tick(contextId, 1)).rejects.toMatchObject(refusal('conflict'))
    await expect(send(contextId, 'unknown')).rejects.toMatchObject(refusal('conflict'))
    const off = await bench.run('Root')
    await expect(send(off, 'unknown')).rejects.toMatchObject(refusal('conflict'))
    expect((await bench.getContext({ contextId })).version).toBe(1)
  })

  test('ttl: its sender wants it kept, whatever the definition says, and it is never taken after its time', async () => {
    const contextId = await bench.run('Plain')
    const early = await bench.run('Early')
    const answer = await tick(contextId, 1, { ttl: 60, eventId: 'short' })
    expect(answer.pending).toEqual([{ contextId, expiresAt: bench.clock.now() + 60_000 }])
    expect((await tick(early, 1, { ttl: 5 })).pending).toEqual([
      { contextId: early, expiresAt: bench.clock.now() + 5000 },
    ])
    await tick(contextId, 2, { ttl: 61 })
    await bench.advance(60_000)
    expect(await bench.getEvent({ eventId: 'short' })).toMatchObject({
      pending: [],
      expired: [{ contextId, reason: 'its time was over' }],
      counts: { pending: 0, expired: 1 },
    })
    await send(contextId, 'go')
    expect(await seenBy(contextId)).toBe('2,')
    expect(await bench.getEvent({ eventId: 'short' })).toMatchObject({ moved: [], expired: [{ contextId }] })
  })

  test.each([0, -1, 1.5, 604_801])('ttl: %d is refused, and keeps nothing', async (ttl) => {
    const contextId = await bench.run('Plain')
    await expect(tick(contextId, 1, { ttl })).rejects.toMatchObject(refusal('invalid'))
    expect((await bench.getContext({ contextId })).version).toBe(1)
  })

  test('by key', async () => {
    const contextId = await bench.run('Early', { id: 'k' })
    const byKey = { key: 'k', fluxName: 'Early', event: 'tick' }
    await bench.sendEvent({ ...byKey, input: { n: 1 } })
    await bench.sendEvent({ ...byKey, input: { n: 2 }, ttl: 60 })
    await bench.sendEvent({ ...byKey, event: 'go' })
    expect(await seenBy(contextId)).toBe('1,2,')
  })

  test('to all: each that keeps it has its own copy, chosen by the tags that it has when it comes', async () => {
    const [tagged, other, untagged] = [
      await bench.run('Early', {}, { tags: ['t'] }),
      await bench.run('Early', {}, { tags: ['u'] }),
      await bench.run('Early'),
    ]
    await bench.run('Plain', {}, { tags: ['t'] })
    const answer = await bench.sendEvent({ event: 'tick', tags: ['t'], input: { n: 7 } })
    expect(answer).toMatchObject({ transitions: [], executions: [], ignored: [], pending: [{ contextId: tagged }] })
    expect(answer.message).toContain('kept for 1')
    await bench.removeTags({ contextId: tagged, tag: ['t'] })
    await bench.addTags({ contextId: other, tag: ['t'] })
    for (const contextId of [tagged, other, untagged]) await send(contextId, 'go')
    expect(await Promise.all([tagged, other, untagged].map((id) => seenBy(id)))).toEqual(['7,', '', ''])
    // The tag that it has now counts.
    const later = await bench.sendEvent({ event: 'tick', tags: ['t'], input: { n: 8 } })
    expect(later.transitions).toEqual([{ contextId: other, state: 'busy' }])
  })

  test('to all: who keeps it counts as moved for a trigger', async () => {
    const contextId = await bench.run('Early')
    expect(await bench.sendEvent({ event: 'tick', input: { n: 1 } })).toMatchObject({
      executions: [],
      pending: [{ contextId }],
    })
    await send(contextId, 'go')
    await send(contextId, 'stop', { input: { n: 0 } })
    expect((await bench.sendEvent({ event: 'tick', input: { n: 1 } })).executions).toHaveLength(1)
  })

  test('under a key, a repeat keeps nothing a second time', async () => {
    const contextId = await bench.run('Early')
    const all = { event: 'tick', input: { n: 1 }, eventId: 'all' }
    const one = { ...all, contextId, eventId: 'one' }
    for (const request of [all, one]) {
      const first = await bench.sendEvent(request)
      expect(first.pending).toHaveLength(1)
      const repeat = await bench.sendEvent(request)
      expect(repeat).toEqual(first)
      expect(isReplayed(repeat)).toBe(true)
      await expect(bench.sendEvent({ ...request, ttl: 9 })).rejects.toMatchObject(refusal('idempotencyMismatch'))
    }
    await send(contextId, 'go')
    expect(await seenBy(contextId)).toBe('1,1,')
    for (const eventId of ['all', 'one'])
      expect(await bench.getEvent({ eventId })).toMatchObject({ moved: [{ contextId, state: 'busy' }], pending: [] })
    expect(await bench.sendEvent(all)).toMatchObject({ pending: [{ contextId }] })
    expect(await seenBy(contextId)).toBe('1,1,')
  })

  test.each([0, 1, 2, 3, 4])('to all, cut off after %d commits: each keeps it once', async (commits) => {
    const ids = [await bench.run('Early'), await bench.run('Early'), await bench.run('Early')]
    const all = { event: 'tick', input: { n: 1 }, eventId: 'all' }
    left = commits
    // Nobody knows what became of those that were not reached; the answer to the others may be lost.
    await bench.sendEvent(all).catch((error: unknown) => expect(error).toMatchObject(refusal('unavailable')))
    left = Infinity
    const other = await again()
    const repeated = async () => (await other.sendEvent(all)).pending.map(({ contextId }) => contextId).toSorted()
    await expect.poll(() => repeated().catch(() => [])).toEqual(ids.toSorted())
    for (const contextId of ids) await other.sendEvent({ contextId, event: 'go' })
    expect(await Promise.all(ids.map((id) => seenBy(id, other)))).toEqual(['1,', '1,', '1,'])
    const { moved, pending } = await other.getEvent({ eventId: 'all' })
    expect([moved.length, pending.length]).toEqual([3, 0])
  })

  test('of a trigger, the context that has its key keeps it, once, whatever its tags', async () => {
    const first = await bench.sendEvent({ event: 'order', input: { id: 'o' }, tags: ['t'] })
    const [{ contextId } = { contextId: 0 }] = first.executions
    for (const tags of [[], ['t']])
      expect(await bench.sendEvent({ event: 'order', input: { id: 'o', n: 7 }, tags })).toMatchObject({
        transitions: [],
        executions: [],
        ignored: [],
        pending: [{ contextId }],
      })
    await send(contextId, 'go')
    expect(await seenBy(contextId)).toBe('7,7,')
  })

  test('are bounded: a hundred, 64 KB of inputs, and none that is larger alone', async () => {
    const [many, large] = [await bench.run('Early'), await bench.run('Early')]
    await Promise.all(Array.from({ length: 100 }, (__, n) => tick(many, n)))
    await expect(tick(many, 100)).rejects.toMatchObject(refusal('busy'))
    await expect(tick(large, 1, { input: { text: 'x'.repeat(65_536) } })).rejects.toMatchObject(refusal('tooLarge'))
    const half = { input: { n: 1, text: 'é'.repeat(16_000) } }
    await tick(large, 1, half)
    await tick(large, 1, { ...half, ttl: 10 })
    await expect(tick(large, 1, half)).rejects.toMatchObject(refusal('busy'))
    expect(await bench.sendEvent({ event: 'tick', ...half })).toMatchObject({
      pending: [],
      ignored: [
        { contextId: many, fluxName: 'Early', state: 'idle' },
        { contextId: large, fluxName: 'Early', state: 'idle' },
      ],
    })
    // One that is over does not count.
    await bench.advance(10_000)
    expect((await tick(large, 1, half)).pending).toHaveLength(1)
    await send(many, 'go')
    expect(await seenBy(many)).toBe(Array.from({ length: 100 }, (__, n) => `${n},`).join(''))
  })

  test('are bounded by 64 KB of names and tags', async () => {
    const contextId = await bench.run('Early')
    const tags = Array.from({ length: 64 }, (__, n) => `${n}-`.padEnd(250, 'x'))
    for (let n = 0; n < 4; n += 1) expect((await tick(contextId, n, { tags })).pending).toHaveLength(1)
    await expect(tick(contextId, 4, { tags })).rejects.toMatchObject(refusal('busy'))
    expect((await tick(contextId, 4)).pending).toHaveLength(1)
    await send(contextId, 'go')
    expect(await seenBy(contextId)).toBe('0,1,2,3,4,')
  })

  test('the end of the context ends them', async () => {
    const contextId = await bench.run('Early', { id: 'again' })
    await tick(contextId, 1, { eventId: 'terminated' })
    await bench.terminate({ contextId })
    const expired = [{ contextId, at: bench.clock.now(), reason: 'the context ended' }]
    expect(await bench.getEvent({ eventId: 'terminated' })).toMatchObject({ pending: [], expired })
    // Another has the key now, and starts in the commit that ends that one.
    const one = await bench.run('Early', { id: 'again' })
    await tick(one, 1, { eventId: 'replaced' })
    const two = await bench.run('Early', { id: 'again' }, { existing: 'replace' })
    expect(await bench.getEvent({ eventId: 'replaced' })).toMatchObject({ expired: [{ contextId: one }] })
    await send(two, 'go')
    expect(await seenBy(two)).toBe('')
  })

  test('the end of the context does not end what was over before', async () => {
    const contextId = await bench.run('Plain')
    const { pending } = await tick(contextId, 1, { ttl: 60, eventId: 'over' })
    await bench.advance(60_000)
    await bench.terminate({ contextId })
    const expired = [{ contextId, at: pending[0]?.expiresAt, reason: 'its time was over' }]
    expect(await bench.getEvent({ eventId: 'over' })).toMatchObject({ pending: [], expired, counts: { expired: 1 } })
  })

  test('one with an invalid input is dropped when it is taken, and logged', async () => {
    const contextId = await bench.run('Early')
    await send(contextId, 'tick', { input: { n: 'none' }, eventId: 'bad' })
    await tick(contextId, 2)
    await send(contextId, 'go')
    expect(await seenBy(contextId)).toBe('2,')
    expect(await bench.getEvent({ eventId: 'bad' })).toMatchObject({
      moved: [],
      pending: [],
      expired: [{ contextId, reason: expect.stringContaining('/input/n') }],
    })
    expect(bench.logged.filter(({ message }) => message.includes('came early'))).toMatchObject([
      { level: 'warn', fields: { contextId, event: 'tick', eventId: 'bad' } },
    ])
    await expect(send(contextId, 'tick', { input: { n: 'none' } })).rejects.toMatchObject(refusal('invalid'))
  })

  test.each([1, 3, Infinity])('a hundred heavy ones go on after %d commits more and a crash', async (commits) => {
    const contextId = await bench.run('Heavy')
    await Promise.all(Array.from({ length: 100 }, (__, n) => send(contextId, 'heavy', { eventId: `h${n}` })))
    left = commits
    await send(contextId, 'go')
    const begun = outputs(await bench.getContext({ contextId }))['n']
    expect(begun).toBeGreaterThan(0)
    // A turn takes some of them; the next may have begun.
    if (commits === 1) expect(begun).toBeLessThan(100)
    if (commits < Infinity) await expect.poll(() => left).toBeLessThan(0)
    const other = commits < Infinity ? await again().finally(() => (left = Infinity)) : bench
    const all = await other.until(contextId, (view) => outputs(view)['n'] === 100)
    expect(all.status).toBe('WAITING')
    const receipts = await Promise.all([0, 50, 99].map((n) => other.getEvent({ eventId: `h${n}` })))
    expect(receipts).toMatchObject(receipts.map(() => ({ counts: { moved: 1, pending: 0 } })))
    expect(await other.sendEvent({ contextId, event: 'heavy' })).toMatchObject({ transitions: [{ contextId }] })
  })

  test('come before a timed transition that is due already; 0 turns the default of the root off', async () => {
    const contextId = await bench.run('Root')
    expect((await send(contextId, 'paid')).pending).toEqual([{ contextId, expiresAt: bench.clock.now() + 2 * HOUR_MS }])
    await send(contextId, 'go')
    expect((await bench.until(contextId, ({ status }) => status === 'COMPLETED')).currentState).toBe('taken')
    const without = await bench.run('Root')
    await send(without, 'go')
    expect((await bench.until(without, ({ status }) => status === 'COMPLETED')).currentState).toBe('late')
  })

  test('$else takes it at once, and keeps nothing', async () => {
    const contextId = await bench.run('Else')
    expect(await send(contextId, 'tick')).toMatchObject({ transitions: [{ contextId, state: 'end' }], pending: [] })
  })

  test('wait for the step and the child of a context, and go to the child by its own id', async () => {
    const file = `${bench.folder}/gate`
    const step = await bench.run('Step', { file })
    await tick(step, 1)
    const parent = await bench.run('Parent')
    const [{ id: child } = { id: 0 }] = await bench.listContexts({ fluxName: 'Child' })
    await tick(parent, 2)
    await tick(child, 3)
    await writeFiles(bench.folder, { gate: 'open' })
    await bench.until(step, ({ currentState }) => currentState === 'busy')
    expect(await seenBy(step)).toBe('1,')
    await send(child, 'go')
    expect(await seenBy(child)).toBe('3,')
    await send(child, 'stop', { input: { n: 0 } })
    await bench.until(parent, ({ currentState }) => currentState === 'busy')
    expect(await seenBy(parent)).toBe('2,')
  })
})

test('the definition with which a context was started decides', async () => {
  const bench = await openBench(FILES)
  const [early, plain] = [await bench.run('Early'), await bench.run('Plain')]
  await writeFiles(`${bench.folder}/actors`, {
    'p/Early.flux': FILES['p/Plain.flux'],
    'p/Plain.flux': FILES['p/Early.flux'],
  })
  const later = await bench.restart()
  const tick = (contextId: number) => later.sendEvent({ contextId, event: 'tick', input: { n: 1 } })
  expect((await tick(early)).pending).toHaveLength(1)
  await expect(tick(plain)).rejects.toMatchObject(refusal('conflict'))
  const answer = await later.sendEvent({ event: 'tick', input: { n: 1 } })
  expect(answer.pending.map(({ contextId }) => contextId)).toEqual([early])
})

test('ttl: of an event that nobody knows, the answer tells so', async () => {
  const bench = await openBench({ 'p/Plain.flux': FILES['p/Plain.flux'] })
  const contextId = await bench.run('Plain')
  expect(await bench.sendEvent({ contextId, event: 'tock', ttl: 60 })).toMatchObject({
    pending: [{ contextId }],
    hint: expect.stringContaining("knows the event 'tock'"),
  })
  expect(await bench.sendEvent({ contextId, event: 'stop', ttl: 60 })).not.toHaveProperty('hint')
})

test.each([
  [60, 7200],
  [7200, 60],
])('of one id, from two senders, the one that is left can be withdrawn: %i and %i seconds', async (...ttls) => {
  const bench = await openBench(FILES)
  const contextId = await bench.run('Plain')
  const senders = ['ann', 'bob'].map((name) => bench.engine.api({ name, roles: ['invoke'] }))
  for (const [place, sender] of senders.entries())
    await sender.sendEvent({ contextId, event: 'tick', input: { n: 1 }, eventId: 'same', ttl: ttls[place] })
  await bench.advance(HOUR_MS)
  expect(await bench.listPending({ contextId })).toMatchObject([{ eventId: 'same' }])
  await bench.withdraw({ eventId: 'same' })
  expect(await bench.listPending({ contextId })).toEqual([])
})

test('rows list what is pending, and nothing is left of them when it is taken or ends', async () => {
  let shared: Store | null = null
  const bench = await openBench(FILES, {
    wrap(store) {
      shared = store
      return withVerbs(store, {})
    },
  })
  const counts = async () => Promise.all((['pending', 'copies'] as const).map((space) => shared?.countRows({ space })))
  const [one, two] = [await bench.run('Early'), await bench.run('Early')]
  await bench.sendEvent({ event: 'tick', input: { n: 1 }, eventId: 'both' })
  await bench.sendEvent({ contextId: one, event: 'tick', input: { n: 2 } })
  expect(await counts()).toEqual([3, 3])
  await bench.sendEvent({ contextId: one, event: 'go' })
  expect(await counts()).toEqual([1, 1])
  await bench.terminate({ contextId: two })
  expect(await counts()).toEqual([0, 0])
})
