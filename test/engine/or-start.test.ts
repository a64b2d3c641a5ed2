// orStart: an event by key moves the context that has the key, or starts one that takes the event.
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { isReplayed } from '../support/answers.ts'
import type { EventRequest } from '../../src/api/events.ts'
import { ANONYMOUS } from '../../src/model/caller.ts'
import { openBench, outputs, type Bench, type Files } from '../support/engine.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { openRedis } from '../support/redis-store.ts'

const busy = {
  name: 'open',
  waiting: true,
  input: [{ name: 'n', type: 'integer', required: true }],
  action: { type: 'map', lines: [{ type: 'set', expression: 'seen + n + ","', evaluate: true, to: ['seen'] }] },
  transitions: [
    { to: 'open', event: 'add' },
    { to: 'done', event: 'finish' },
  ],
}
const seen = [{ name: 'seen', defaultValue: '' }]
const input = [{ name: 'of', required: true }]
const FILES: Files = {
  'p/Cart.flux': { output: seen, input, tags: ['cart'], states: [busy, { name: 'done' }] },
  'p/Later.flux': {
    output: seen,
    key: 'another-${of}',
    input,
    states: [{ name: 'idle', waiting: true, transitions: [{ to: 'open', event: 'go' }] }, busy, { name: 'done' }],
  },
  'p/Never.flux': { output: seen, keyReuse: 'never', states: [busy, { name: 'done' }] },
  'p/Short.flux': {
    output: seen,
    startState: 'done',
    states: [busy, { name: 'done' }],
  },
  'q/Cart.flux': { output: seen, secured: true, states: [busy, { name: 'done' }] },
}

const refusal = (kind: string, more: object = {}) => ({ failure: expect.objectContaining({ kind, ...more }) })

async function embedded(): Promise<[Bench, Bench]> {
  const bench = await openBench(FILES, { clock: new SimulatedClock(Date.now()), onDisk: true })
  return [bench, bench]
}

/** Two servers, three partitions. */
async function onRedis(): Promise<[Bench, Bench]> {
  const namespace = `test-${randomUUID()}`
  const clock = new SimulatedClock(Date.now())
  const open = async () => openBench(FILES, { store: await openRedis({ namespace, partitions: 3 }), clock })
  return [await open(), await open()]
}

const KEY = { package: 'p', fluxName: 'Cart', key: 'k' }
const add = (n: number, more: Partial<EventRequest> = {}): EventRequest => ({
  ...KEY,
  event: 'add',
  input: { n },
  orStart: { input: { of: 'Ada' } },
  ...more,
})

describe.each([
  ['an embedded store', embedded],
  ['two servers on Redis', onRedis],
])('on %s', (_, open) => {
  let bench: Bench
  let other: Bench
  beforeEach(async () => {
    ;[bench, other] = await open()
  })
  const seenBy = async (contextId: number) => outputs(await bench.getContext({ contextId }))['seen']

  test('starts one that takes it in its first commit, and moves that one from then on', async () => {
    const answer = await bench.sendEvent(add(1, { orStart: { input: { of: 'Ada' }, tags: ['t'] } }))
    const [{ contextId } = { contextId: 0 }] = answer.executions
    const stand = { contextId, state: 'open' }
    expect(answer).toMatchObject({
      message: `'add' started 'Cart' as context ${contextId}`,
      transitions: [stand],
      executions: [stand],
      pending: [],
      ignored: [],
    })
    expect(await bench.getContext({ contextId })).toMatchObject({ key: 'k', version: 1, tags: ['t', 'cart'] })
    expect(await other.sendEvent(add(2))).toMatchObject({ transitions: [stand], executions: [] })
    expect(await seenBy(contextId)).toBe('1,2,')
    await bench.sendEvent({ contextId, event: 'finish', input: { n: 0 } })
    const [again] = (await bench.sendEvent(add(3))).executions
    expect(again?.contextId).not.toBe(contextId)
  })

  test('wrong inputs of a start are refused also where there is a context already, and change nothing', async () => {
    const [{ contextId } = { contextId: 0 }] = (await bench.sendEvent(add(1))).executions
    for (const wrong of [{}, { of: 'Ada', more: 1 }])
      await expect(other.sendEvent(add(2, { orStart: { input: wrong }, eventId: 'e' }))).rejects.toMatchObject(
        refusal('invalid', {
          errors: [expect.objectContaining({ pointer: expect.stringMatching('^/orStart/input/') })],
        }),
      )
    expect(await seenBy(contextId)).toBe('1,')
    expect(await other.sendEvent(add(2, { eventId: 'e' }))).toMatchObject({ transitions: [{ contextId }] })
  })

  test('one that can not take it yet keeps it until it ends, whoever started it', async () => {
    const later = { fluxName: 'Later', package: 'p', event: 'add', orStart: { input: { of: 'x' } } }
    const answer = await bench.sendEvent({ ...later, key: 'k', input: { n: 1 }, eventId: 'one' })
    const [{ contextId } = { contextId: 0 }] = answer.executions
    expect(answer).toMatchObject({ transitions: [], pending: [{ contextId, expiresAt: null }] })
    expect(await bench.getContext({ contextId })).toMatchObject({ key: 'k', currentState: 'idle' })
    expect(await other.sendEvent({ ...later, key: 'k', input: { n: 2 } })).toMatchObject({
      transitions: [],
      executions: [],
      pending: [{ contextId, expiresAt: null }],
    })
    bench.clock.jump(8 * 86_400_000)
    await bench.advance(0)
    await bench.sendEvent({ contextId, event: 'go' })
    expect(await seenBy(contextId)).toBe('1,2,')
  })

  test('many senders at once: one start, and every event is taken', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (__, n) => (n % 2 === 0 ? bench : other).sendEvent(add(n, { eventId: `e${n}` }))),
    )
    const started = answers.flatMap(({ executions }) => executions)
    expect(started).toHaveLength(1)
    const contextId = started[0]?.contextId ?? 0
    expect(answers.flatMap(({ transitions }) => transitions).map((one) => one.contextId)).toEqual(
      answers.map(() => contextId),
    )
    const all = String(await seenBy(contextId))
      .split(',')
      .slice(0, -1)
      .map(Number)
    expect(all.toSorted((a, b) => a - b)).toEqual(answers.map((__, n) => n))
  })

  test('under an eventId, a repeat neither starts nor moves', async () => {
    const first = await bench.sendEvent(add(1, { eventId: 'e' }))
    const repeat = await other.sendEvent(add(1, { eventId: 'e' }))
    expect(repeat).toEqual(first)
    expect(isReplayed(repeat)).toBe(true)
    const [{ contextId } = { contextId: 0 }] = first.executions
    expect(await seenBy(contextId)).toBe('1,')
    const stand = { contextId, state: 'open', at: expect.any(Number) }
    expect(await other.getEvent({ eventId: 'e' })).toMatchObject({
      moved: [stand],
      started: [stand],
      pending: [],
      repeated: 1,
    })
    const differs = add(1, { eventId: 'e', orStart: { input: { of: 'Bob' } } })
    await expect(bench.sendEvent(differs)).rejects.toMatchObject(refusal('idempotencyMismatch'))
    await bench.terminate({ contextId })
    expect(isReplayed(await bench.sendEvent(add(1, { eventId: 'e' })))).toBe(true)
  })

  test('what is wrong is told, and nothing is started', async () => {
    await expect(bench.sendEvent(add(1, { orStart: {} }))).rejects.toMatchObject(
      refusal('invalid', { errors: [{ pointer: '/orStart/input/of', detail: 'is required' }] }),
    )
    await expect(bench.sendEvent(add(1, { orStart: { input: { of: 'x', more: 1 } } }))).rejects.toMatchObject(
      refusal('invalid'),
    )
    await expect(bench.sendEvent(add(1, { input: {} }))).rejects.toMatchObject(
      refusal('invalid', { errors: [{ pointer: '/input/n', detail: 'is required' }] }),
    )
    await expect(bench.sendEvent(add(1, { event: 'other' }))).rejects.toMatchObject(refusal('invalid'))
    const tags = Array.from({ length: 65 }, (__, n) => `t${n}`)
    await expect(bench.sendEvent(add(1, { orStart: { tags } }))).rejects.toMatchObject(refusal('invalid'))
    await expect(bench.sendEvent(add(1, { fluxName: 'None' }))).rejects.toMatchObject(refusal('notFound'))
    const large = add(1, { fluxName: 'Later', input: { n: 1, text: 'x'.repeat(65_536) } })
    await expect(bench.sendEvent(large)).rejects.toMatchObject(refusal('tooLarge'))
    expect(await bench.listContexts({ limit: 9 })).toEqual([])
    // It is for one that is there already: the same is wrong.
    await bench.sendEvent(add(1))
    await expect(bench.sendEvent(add(1, { event: 'other' }))).rejects.toMatchObject(refusal('invalid'))
  })

  test('one that ends without waiting for it tells so; a key that is never used again starts nothing', async () => {
    const short = await bench.sendEvent(add(1, { fluxName: 'Short', orStart: {} }))
    expect(short).toMatchObject({
      transitions: [],
      pending: [],
      executions: [{ state: 'done' }],
      ignored: [{ fluxName: 'Short', state: 'done', reason: 'the context ended' }],
    })
    const never = add(1, { fluxName: 'Never', orStart: {} })
    const [{ contextId } = { contextId: 0 }] = (await bench.sendEvent(never)).executions
    await bench.terminate({ contextId })
    await expect(bench.sendEvent(never)).rejects.toMatchObject(refusal('conflict'))
  })

  test('is for those who may start the service', async () => {
    const nobody = bench.engine.api(ANONYMOUS)
    await expect(nobody.sendEvent(add(1, { package: 'q', orStart: {} }))).rejects.toMatchObject(refusal('unauthorized'))
  })
})

test.each<[string, Partial<EventRequest>, string]>([
  ['without a key', { key: undefined, fluxName: undefined, package: undefined }, 'key'],
  ['by id', { key: undefined, fluxName: undefined, package: undefined, contextId: 1 }, 'key'],
  ['without a service', { fluxName: undefined, package: undefined }, 'fluxName'],
  ['with two services', { orStart: { fluxName: 'Later' } }, 'fluxName'],
  ['with two packages', { orStart: { package: 'q' } }, 'package'],
  ['with a time of its own', { ttl: 5 }, 'ttl'],
])('%s it is malformed', async (_, more, field) => {
  const [bench] = await embedded()
  await expect(bench.sendEvent(add(1, more))).rejects.toMatchObject(
    refusal('malformed', { errors: [expect.objectContaining({ pointer: `/${field}` })] }),
  )
})

test('may name the service alone; what it does not know is malformed', async () => {
  const [bench] = await embedded()
  const request = { event: 'add', key: 'k', input: { n: 1 } }
  const orStart = { fluxName: 'Cart', package: 'p', input: { of: 'x' } }
  expect((await bench.sendEvent({ ...request, orStart })).executions).toHaveLength(1)
  const unknown = { ...orStart, fluxname: 'Cart' }
  await expect(bench.sendEvent({ ...request, orStart: unknown })).rejects.toMatchObject(
    refusal('malformed', {
      errors: [{ pointer: '/orStart/fluxname', detail: "is not known; did you mean 'fluxName'?" }],
    }),
  )
})
