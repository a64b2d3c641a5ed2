// Requests to webhooks under keys at several servers: one effect, whoever gets the repeats, whichever server makes the
// answer, and wherever a server dies.
import { beforeEach, describe, expect, test } from 'vitest'
import { inDoubt, unavailable } from '../../src/model/failure.ts'
import type { CommitRequest, Store } from '../../src/ports/store.ts'
import { openBench, type Bench } from '../support/engine.ts'
import { withVerbs } from '../support/stores.ts'
import { deliver } from '../support/webhook-calls.ts'
import { BEAT_MS, LEASE_MS, SharedMemory } from '../support/shared-memory.ts'
import { clock, count, FILES, go, idOf, opener, running } from '../support/webhook-once.ts'

const K = { idempotencyKey: 'k' }

describe.each(['Redis', 'Redis with 4 partitions'] as const)('two servers on %s', (where) => {
  let one: Bench
  let two: Bench
  beforeEach(async () => {
    const open = await opener(where)
    one = await open()
    two = await open()
  })
  const both = () => [one, two]

  test.each([
    ['/paid', 'Paid', false],
    ['/plain', 'Paid', true],
    ['/keyed', 'Keyed', false],
    ['/keyed2', 'Keyed', true],
  ])(
    'a delivery to %s of %s that comes to both at once starts one context, a header given: %s',
    async (path, name, hasHeader) => {
      for (let id = 1; id <= 10; id += 1) {
        const asked = { path, body: { id, n: id }, ...(hasHeader && { idempotencyKey: `k${id}` }) }
        const replies = await Promise.all([...both(), ...both()].map((server) => deliver(server, asked)))
        expect(replies.filter(({ replayed }) => !replayed)).toHaveLength(1)
        expect(new Set(replies.map(idOf)).size).toBe(1)
        expect(await count(one, name)).toBe(id)
        for (const server of both()) expect(await deliver(server, asked)).toMatchObject({ replayed: true })
      }
    },
  )

  test('deliveries of one key start one context of each key, however many come', async () => {
    for (let id = 1; id <= 10; id += 1) {
      const calls = [1, 2, 3, 4].flatMap((n) =>
        both().map((server) => deliver(server, { path: '/keyed', body: { id, n: id * 10 + n } })),
      )
      const replies = await Promise.all(calls)
      expect(replies.filter(({ replayed }) => !replayed)).toHaveLength(4)
      expect(new Set(replies.map(idOf)).size).toBe(4)
      expect(await count(one, 'Keyed')).toBe(4 * id)
    }
  })

  test('a refused delivery leaves the key to another server', async () => {
    const first = await deliver(one, { path: '/keyed', body: { id: 'other', n: 1 } })
    const asked = { path: '/keyed', body: { id: 1, n: 1 } }
    for (const server of [...both(), ...both()])
      await expect(deliver(server, asked)).rejects.toMatchObject({ failure: { kind: 'conflict' } })
    await one.sendEvent({ contextId: idOf(first), event: 'stop' })
    expect(await deliver(two, asked)).toMatchObject({ replayed: false })
    for (const server of both()) expect(await deliver(server, asked)).toMatchObject({ replayed: true })
    expect(await count(one, 'Keyed')).toBe(2)
  })

  test('the answer is made by another server than that which holds the first', async () => {
    const first = deliver(one, { path: '/long', body: { id: 1 } })
    const contextId = await running(one)
    expect(await deliver(two, { path: '/long', body: { id: 1 } })).toMatchObject({
      answer: { kind: 'running', contextId },
      replayed: true,
    })
    await go(two)
    await two.until(contextId, ({ status }) => status === 'COMPLETED')
    const replay = await deliver(two, { path: '/long', body: { id: 1 } })
    expect(replay).toMatchObject({ answer: { kind: 'response', contextId }, replayed: true })
    await clock.advance(1000)
    expect((await first).answer).toEqual(replay.answer)
  })
})

describe('a server that dies', () => {
  let shared: SharedMemory
  /** Before the second server reads a context. */
  let beforeLoad: () => Promise<unknown>
  /** What becomes of the commits of the first server. */
  let fate: (commit: () => ReturnType<Store['commit']>, request: CommitRequest) => ReturnType<Store['commit']>
  let one: Bench
  let two: Bench

  async function openOn(partitions: number): Promise<void> {
    shared = new SharedMemory(partitions, clock)
    fate = (commit) => commit()
    const unreliable = (store: Store) =>
      withVerbs(store, { commit: (request) => fate(() => store.commit(request), request) })
    one = await openBench(FILES, { ...shared.server(), wrap: unreliable })
    beforeLoad = () => Promise.resolve()
    const observed = (store: Store) =>
      withVerbs(store, {
        async load(request) {
          await beforeLoad()
          return store.load(request)
        },
      })
    two = await openBench(FILES, { ...shared.server(), wrap: observed })
  }
  /** From now on nothing of it reaches the store. */
  const kill = () => {
    fate = () => Promise.reject(unavailable('dead'))
  }
  beforeEach(() => openOn(1))

  const LONG = { path: '/long2', timeout: 600_000, ...K }

  test('leaves its request to the repeats, which wait for the same answer, at most as long as they may', async () => {
    void deliver(one, LONG)
    const contextId = await running(two)
    const told: unknown[] = []
    const short = deliver(two, { ...LONG, timeout: 2000 }).finally(() => told.push('now'))
    const long = deliver(two, LONG)
    kill()
    const passed = async () => {
      await clock.advance(1000)
      return told.length
    }
    await expect.poll(passed).toBe(1)
    expect(await short).toMatchObject({ answer: { kind: 'running', contextId }, replayed: true })
    await go(two)
    await clock.advance(1000)
    const { answer } = await long
    expect(answer).toMatchObject({ kind: 'response', contextId })
    expect(await deliver(two, LONG)).toMatchObject({ answer, replayed: true })
  })

  test('after its timeout the repeat is late, too, and not held', async () => {
    void deliver(one, { ...LONG, timeout: 3000 })
    const contextId = await running(two)
    kill()
    await clock.advance(3000)
    expect(await deliver(two, LONG)).toMatchObject({ answer: { kind: 'late', contextId }, replayed: true })
    const other = deliver(two, { ...LONG, body: { other: 1 } })
    await expect(other).rejects.toMatchObject({ failure: { kind: 'idempotencyMismatch' } })
  })

  test('who takes its request over has the answer that was given just before', async () => {
    void deliver(one, LONG)
    const contextId = await running(two)
    const alive = fate
    kill()
    await clock.advance(LEASE_MS)
    fate = alive
    beforeLoad = async () => {
      beforeLoad = () => Promise.resolve()
      await go(one)
      await one.until(contextId, ({ status }) => status === 'COMPLETED')
    }
    const taken = deliver(two, LONG)
    await expect
      .poll(async () => {
        await clock.advance(BEAT_MS)
        return (await one.getContext({ contextId })).status
      })
      .toBe('COMPLETED')
    await clock.advance(LONG.timeout)
    expect(await taken).toMatchObject({ answer: { kind: 'response', contextId }, replayed: true })
  })

  test('whose reply was lost is told that it is late, as any first one', async () => {
    fate = async (commit, { writes }) => {
      const outcome = await commit()
      if (writes.length === 0) return outcome
      throw inDoubt('the reply was lost')
    }
    let answered = 0
    const first = deliver(one, { ...LONG, timeout: 3000 }).finally(() => (answered += 1))
    const passed = async () => {
      await clock.advance(1000)
      return answered
    }
    await expect.poll(passed).toBe(1)
    expect(await first).toMatchObject({ replayed: false, answer: { kind: 'late' } })
  })

  test('writes an answer once, however often the context changes after that', async () => {
    let written = 0
    fate = (commit, { rows = [] }) => {
      written += rows.filter(({ space }) => space === 'idempotency').length
      return commit()
    }
    const contextId = idOf(await deliver(one, { path: '/keyed', body: { id: 1, n: 1 } }))
    expect(written).toBe(1)
    for (const event of ['go', 'go', 'stop']) await one.sendEvent({ contextId, event })
    expect(written).toBe(1)
  })

  test.each([1, 4])('before the commit: the next delivery has its effect, over %d partitions', async (partitions) => {
    await openOn(partitions)
    kill()
    const asked = { path: '/keyed2', body: { id: 1, n: 1 }, ...K }
    await expect(deliver(one, asked)).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
    expect(await deliver(two, asked)).toMatchObject({ replayed: false })
    expect(await deliver(two, asked)).toMatchObject({ replayed: true })
  })

  test.each([1, 4])('after the commit, and before the answer, over %d partitions', async (partitions) => {
    await openOn(partitions)
    fate = async (commit, { writes }) => {
      const outcome = await commit()
      if (writes.length === 0) return outcome
      kill()
      throw inDoubt('the answer was lost')
    }
    const asked = { path: '/keyed2', body: { id: 1, n: 1 }, ...K }
    const first = await deliver(one, asked)
    // It has found its own row, so it is no repeat.
    expect(first).toMatchObject({ replayed: false, answer: { kind: 'paused' } })
    expect(await deliver(two, asked)).toEqual({ ...first, replayed: true })
    expect(await count(two, 'Keyed')).toBe(1)
  })
})
