// Two servers and one key: whoever commits first has it, on every store and in every partition.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { partitionOfKey } from '../../src/engine/record/index-keys.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench, type Bench, type Files } from '../support/engine.ts'
import { openRedis } from '../support/redis-store.ts'
import { withVerbs } from '../support/stores.ts'
import { PINGED } from '../support/services.ts'

const FILES: Files = { 'p/Thing.flux': { states: PINGED } }
const STARTS = 8

/** On one embedded store. */
async function sharing(): Promise<[Bench, Bench]> {
  let shared: Store | null = null
  const wrap = (store: Store): Store => {
    shared = store
    return store
  }
  const one = await openBench(FILES, { wrap, onDisk: true })
  if (shared === null) throw new Error('the store is open')
  const store = withVerbs(shared, { close: () => Promise.resolve() })
  return [one, await openBench(FILES, { store, clock: one.clock })]
}

/** On Redis, in three partitions. */
async function onRedis(): Promise<[Bench, Bench]> {
  const namespace = `test-${randomUUID()}`
  const open = async () => openBench(FILES, { store: await openRedis({ namespace, partitions: 3 }) })
  return [await open(), await open()]
}

const request = (key: string, existing: 'refuse' | 'use' | 'replace') => ({ fluxName: 'Thing', key, existing })

describe.each([
  ['an embedded store', sharing],
  ['Redis', onRedis],
])('on %s', (_, open) => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f']

  test('one of many starts at once has the key, and the others are told which', async () => {
    const servers = await open()
    for (const key of names) {
      const starts = Array.from({ length: STARTS }, (__, place) =>
        servers[place % 2 === 0 ? 0 : 1].execute(request(key, 'use')),
      )
      const answers = await Promise.all(starts)
      expect(answers.filter(({ started }) => started)).toHaveLength(1)
      expect(new Set(answers.map(({ contextId }) => contextId)).size).toBe(1)
      const refused = await Promise.allSettled(servers.map((server) => server.execute(request(key, 'refuse'))))
      expect(refused).toMatchObject(refused.map(() => ({ reason: { failure: { contextId: answers[0]?.contextId } } })))
    }
    expect(await servers[1].listContexts({ fluxName: 'Thing' })).toHaveLength(names.length)
  })

  test('of many who replace one another each ends one, and the last one stays', async () => {
    const servers = await open()
    const answers = await Promise.all(
      Array.from({ length: STARTS }, (__, place) => servers[place % 2 === 0 ? 0 : 1].execute(request('k', 'replace'))),
    )
    const replaced = answers.flatMap(({ replaced: id }) => id ?? [])
    expect(new Set(replaced).size).toBe(STARTS - 1)
    const [left, ...others] = await servers[0].listContexts({ fluxName: 'Thing' })
    expect(others).toEqual([])
    expect(replaced).not.toContain(left?.id)
    expect(await servers[1].getContext({ key: 'k', fluxName: 'Thing' })).toMatchObject({ id: left?.id })
  })

  test('events race with a replacement: each moves one context, or none', async () => {
    const servers = await open()
    await servers[0].execute(request('k', 'refuse'))
    const [, ...events] = await Promise.all([
      servers[0].execute(request('k', 'replace')),
      ...Array.from({ length: STARTS }, () => servers[1].sendEvent({ key: 'k', fluxName: 'Thing', event: 'ping' })),
    ])
    expect(events.flatMap(({ transitions }) => transitions)).toHaveLength(STARTS)
    const all = [
      ...(await servers[0].listContexts({ key: 'k' })),
      ...(await servers[0].listContexts({ key: 'k', status: 'TERMINATED' })),
    ]
    expect(all.reduce((sum, { executionHistory }) => sum + executionHistory.length - 1, 0)).toBe(STARTS)
  })
})

test('the contexts of a key lie in the partition of the key', async () => {
  const [one] = await onRedis()
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
    const partition = partitionOfKey({ package: 'p', fluxName: 'Thing', key }, 3)
    for (let times = 0; times < 2; times += 1) {
      const { contextId } = await one.execute({ fluxName: 'Thing', key, existing: 'replace' })
      expect(contextId % 3).toBe(partition)
    }
  }
})

test('a key outlives the server that used it', async () => {
  const first = await openBench(FILES)
  const { contextId } = await first.execute({ fluxName: 'Thing', key: 'k' })
  const second = await first.restart()
  expect(await second.execute({ fluxName: 'Thing', key: 'k', existing: 'use' })).toMatchObject({
    contextId,
    started: false,
  })
  expect(await second.getContext({ key: 'k', fluxName: 'Thing' })).toMatchObject({ id: contextId, key: 'k' })
})
