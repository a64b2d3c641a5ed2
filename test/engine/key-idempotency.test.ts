// Calls under an idempotency key that name their context by its key: both hold, in one partition and in several.
import { beforeEach, describe, expect, test } from 'vitest'
import { isReplayed } from '../support/answers.ts'
import { openBench, type Bench, type Files } from '../support/engine.ts'
import { PINGED as states } from '../support/services.ts'
import { SharedMemory } from '../support/shared-memory.ts'

const FILES: Files = {
  'p/Plain.flux': { states },
  'p/Random.flux': { states, key: 'r-${random()}' },
  'p/Order.flux': { states, triggers: [{ event: 'ordered', key: 'o-${orderId}' }], input: [{ name: 'orderId' }] },
}

const named = (key: string) => ({ key, fluxName: 'Plain', package: 'p' })

describe.each([1, 5])('with %i partitions', (partitions) => {
  let bench: Bench
  beforeEach(async () => {
    bench = await openBench(FILES, { ...new SharedMemory(partitions).server(), others: null })
  })

  const start = (key: string, idempotencyKey: string, more: object = {}) =>
    bench.execute({ package: 'p', fluxName: 'Plain', key, idempotencyKey, ...more })
  /** Contexts that have not ended. */
  const unfinished = async () => (await bench.listContexts({ limit: 100 })).length

  test.each([undefined, 'refuse', 'use', 'replace'] as const)(
    'a start (existing: %s) is done once',
    async (existing) => {
      for (const key of ['a', 'b', 'c', 'd']) {
        const first = await start(key, `i-${key}`, { existing })
        const again = await start(key, `i-${key}`, { existing })
        expect([again, isReplayed(first), isReplayed(again)]).toEqual([first, false, true])
      }
      expect(await unfinished()).toBe(4)
    },
  )

  test('another idempotency key meets the key in use', async () => {
    const { contextId } = await start('a', 'one')
    await expect(start('a', 'two')).rejects.toMatchObject({ failure: { kind: 'conflict', contextId } })
    const replaced = await start('a', 'two', { existing: 'replace' })
    expect(replaced).toMatchObject({ started: true, replaced: contextId })
    expect(await start('a', 'two', { existing: 'replace' })).toEqual(replaced)
    expect(await unfinished()).toBe(1)
    await expect(start('a', 'two', { tags: ['x'] })).rejects.toMatchObject({ failure: { kind: 'idempotencyMismatch' } })
  })

  test('that a context was used is remembered', async () => {
    const { contextId } = await start('a', 'one')
    const used = await start('a', 'two', { existing: 'use' })
    expect(used).toMatchObject({ contextId, started: false })
    await bench.terminate({ contextId })
    const again = await start('a', 'two', { existing: 'use' })
    expect([again, isReplayed(again), await unfinished()]).toEqual([used, true, 0])
  })

  test('a service whose keys are made by chance starts once', async () => {
    const request = { package: 'p', fluxName: 'Random', idempotencyKey: 'k' }
    const first = await bench.execute(request)
    for (let n = 0; n < 5; n += 1) expect(await bench.execute(request)).toEqual(first)
    expect(await unfinished()).toBe(1)
  })

  test('an event to a key is taken once, and not by the next context of the key', async () => {
    const { contextId } = await start('a', 'one')
    const sent = { ...named('a'), event: 'finish', eventId: 'e' }
    const first = await bench.sendEvent(sent)
    expect(first.transitions).toEqual([{ contextId, state: 'done' }])
    const again = await bench.sendEvent(sent)
    expect([again, isReplayed(again)]).toEqual([first, true])
    const next = await start('a', 'two')
    expect(await bench.sendEvent(sent)).toEqual(first)
    expect(await bench.getContext(next)).toMatchObject({ status: 'WAITING' })
    expect(await bench.getEvent({ eventId: 'e' })).toMatchObject({ repeated: 2, counts: { moved: 1 } })
    await expect(bench.sendEvent({ ...sent, event: 'ping' })).rejects.toMatchObject({
      failure: { kind: 'idempotencyMismatch' },
    })
  })

  test('tags and an end by key are done once', async () => {
    const { contextId } = await start('a', 'one')
    const tagged = await bench.addTags({ ...named('a'), tag: ['x'], idempotencyKey: 't' })
    expect(tagged).toEqual({ message: `added 'x' to context ${contextId}` })
    const ended = await bench.terminate({ ...named('a'), idempotencyKey: 'e' })
    const next = await start('a', 'two')
    expect(await bench.addTags({ ...named('a'), tag: ['x'], idempotencyKey: 't' })).toEqual(tagged)
    expect(await bench.terminate({ ...named('a'), idempotencyKey: 'e' })).toEqual(ended)
    expect(await bench.getContext(next)).toMatchObject({ status: 'WAITING', tags: [] })
  })

  test('a broadcast under a key starts by the key of the trigger, once', async () => {
    const sent = { event: 'ordered', input: { orderId: '1' }, eventId: 'e' }
    const first = await bench.sendEvent(sent)
    expect(first.executions).toHaveLength(1)
    expect(await bench.sendEvent(sent)).toEqual(first)
    expect(await unfinished()).toBe(1)
    expect(await bench.getEvent({ eventId: 'e' })).toMatchObject({ counts: { started: 1 }, done: true })
  })
})
