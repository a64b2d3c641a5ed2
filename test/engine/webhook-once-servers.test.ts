// Requests to webhooks under keys at several servers: one effect, whoever gets the repeats, whichever server makes the
// answer, and wherever a server dies.
import { beforeEach, describe, expect, test } from 'vitest'
import { inDoubt, unavailable } from '../../src/model/failure.ts'
import type { CommitRequest, Store } from '../../src/ports/store.ts'
import { openBench, type Bench } from '../support/engine.ts'
import { MemoryStore } from '../simulation/memory-store.ts'
import { Memory } from '../simulation/memory.ts'
import { withVerbs } from '../support/stores.ts'
import { deliver } from '../support/webhook-calls.ts'
import {
  BEAT_MS,
  clock,
  closing,
  contextsOf,
  count,
  feed,
  FILES,
  go,
  idOf,
  opener,
  running,
} from '../support/webhook-once.ts'

const K = { idempotencyKey: 'k' }
const LEASE_MS = 7 * BEAT_MS

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
    ['/paid', 'Paid', true],
    ['/keyed', 'Keyed', false],
    ['/keyed', 'Keyed', true],
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

  test('deliveries of one key for contexts of other keys start one', async () => {
    for (let id = 1; id <= 10; id += 1) {
      const calls = [1, 2, 3, 4].flatMap((n) =>
        both().map((server) => deliver(server, { path: '/keyed', body: { id, n: id * 10 + n } })),
      )
      const state = { isOver: false }
      const all = Promise.allSettled(calls).finally(() => {
        state.isOver = true
      })
      // Those that meet the claim of another server look again.
      while (!state.isOver) await clock.advance(250)
      const settled = await all
      expect(settled.filter(({ status }) => status === 'rejected')).toEqual([])
      const replies = settled.flatMap((reply) => (reply.status === 'fulfilled' ? [reply.value] : []))
      expect(replies.filter(({ replayed }) => !replayed)).toHaveLength(1)
      expect(new Set(replies.map(idOf)).size).toBe(1)
      expect(await count(one, 'Keyed')).toBe(id)
    }
  })

  test('a refused delivery leaves the key to another server, and to a context of another key', async () => {
    await deliver(one, { path: '/keyed', body: { id: 'other', n: 1 } })
    for (const server of [...both(), ...both()])
      await expect(deliver(server, { path: '/keyed', body: { id: 1, n: 1 } })).rejects.toMatchObject({
        failure: { kind: 'conflict' },
      })
    for (const n of [2, 3, 4])
      expect(await deliver(two, { path: '/keyed', body: { id: 1, n } })).toMatchObject({ replayed: n > 2 })
    expect(await deliver(one, { path: '/keyed', body: { id: 1, n: 9 } })).toMatchObject({ replayed: true })
    expect(await count(one, 'Keyed')).toBe(2)
  })

  test('the answer is made by another server than that which holds the first', async () => {
    const first = deliver(one, { path: '/long', body: { id: 1 }, ...K })
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
  let memory: Memory
  /** Before the second server reads a context. */
  let beforeLoad: () => Promise<unknown>
  /** What becomes of the commits of the first server. */
  let fate: (commit: () => ReturnType<Store['commit']>, request: CommitRequest) => ReturnType<Store['commit']>
  let one: Bench
  let two: Bench

  async function openOn(partitions: number): Promise<void> {
    memory = new Memory({ now: () => clock.now(), partitions, silence: LEASE_MS })
    fate = (commit) => commit()
    const shared = new MemoryStore(memory)
    const store = withVerbs(shared, { commit: (request) => fate(() => shared.commit(request), request) })
    const others = { beat: BEAT_MS, feed }
    one = await openBench(FILES, { clock, store, others })
    beforeLoad = () => Promise.resolve()
    const other = new MemoryStore(memory)
    const observed = withVerbs(other, {
      async load(request) {
        await beforeLoad()
        return other.load(request)
      },
    })
    two = await openBench(FILES, { clock, store: observed, others })
    closing.push(
      () => one.close(),
      () => two.close(),
    )
  }
  /** From now on nothing of it reaches the store. */
  const kill = () => {
    fate = () => Promise.reject(unavailable('dead'))
  }
  beforeEach(() => openOn(1))

  const LONG = { path: '/long', body: { id: null }, timeout: 60_000, ...K }

  test('holds its request while it lives, and no longer than its lease after that', async () => {
    void deliver(one, LONG)
    const contextId = await running(two)
    for (let beats = 0; beats < 20; beats += 1) {
      await expect(deliver(two, LONG)).rejects.toMatchObject({
        failure: { kind: 'idempotencyInProgress', retryAfter: 1, contextId },
      })
      await clock.advance(BEAT_MS)
    }
    kill()
    await clock.advance(LEASE_MS)
    const taken = deliver(two, LONG)
    await expect
      .poll(() => deliver(two, LONG).catch((error: unknown) => error))
      .toMatchObject({
        failure: { kind: 'idempotencyInProgress', contextId },
      })
    await go(two)
    await clock.advance(1000)
    expect(await taken).toMatchObject({ answer: { kind: 'response', contextId }, replayed: true })
  })

  test('after its timeout the repeat is late, too, and not held', async () => {
    void deliver(one, { ...LONG, timeout: 3000 })
    const contextId = await running(two)
    kill()
    await clock.advance(3000)
    expect(await deliver(two, LONG)).toMatchObject({ answer: { kind: 'late', contextId }, replayed: true })
    const other = deliver(two, { ...LONG, body: { id: '' } })
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

  test('writes an answer once, however often the context changes after that', async () => {
    let written = 0
    fate = (commit, { rows = [] }) => {
      written += rows.filter(({ space }) => space === 'idempotency').length
      return commit()
    }
    const contextId = idOf(await deliver(one, { path: '/keyed', body: { id: 1, n: 1 }, ...K }))
    expect(written).toBe(2)
    for (const event of ['go', 'go', 'stop']) await one.sendEvent({ contextId, event })
    expect(written).toBe(2)
  })

  test('says that it holds requests as long as it does', async () => {
    let said = 0
    fate = (commit, { rows = [] }) => {
      if (rows.some(({ key }) => key.startsWith('webhooks@'))) said += 1
      return commit()
    }
    const first = deliver(one, LONG)
    await running(one)
    await clock.advance(5 * BEAT_MS)
    expect(said).toBeGreaterThan(3)
    await go(one)
    await first
    const before = said
    await clock.advance(20 * BEAT_MS)
    expect(said - before).toBeLessThanOrEqual(1)
  })

  test('who takes its request over is answered in time, whatever happens', async () => {
    void deliver(one, LONG)
    const contextId = await running(two)
    kill()
    await clock.advance(LEASE_MS)
    const taken = deliver(two, { ...LONG, timeout: 2000 })
    await expect.poll(() => clock.pending.some((at) => at <= clock.now() + 2000)).toBe(true)
    await clock.advance(3000)
    expect(await taken).toMatchObject({ answer: { kind: 'late', contextId }, replayed: true })
  })

  test.each([1, 4])('before the commit: the next delivery has its effect, over %d partitions', async (partitions) => {
    await openOn(partitions)
    kill()
    const asked = { path: '/keyed', body: { id: 1, n: 1 }, ...K }
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
    const asked = { path: '/keyed', body: { id: 1, n: 1 }, ...K }
    const first = await deliver(one, asked)
    // It has found its own row, so it is no repeat.
    expect(first).toMatchObject({ replayed: false, answer: { kind: 'paused' } })
    expect(await deliver(two, asked)).toEqual({ ...first, replayed: true })
    expect(await count(two, 'Keyed')).toBe(1)
  })

  test.each([1, 2, 3, 4, 5, 6])('before its effect %i, and perhaps after a claim: the key is free soon', async (n) => {
    await openOn(4)
    let claims = 0
    fate = (commit, { writes }) => {
      if (writes.length === 0) claims += 1
      return writes.length > 0 || claims > 1 ? Promise.reject(unavailable('dead')) : commit()
    }
    const cutOff = deliver(one, { path: '/keyed', body: { id: 1, n } })
    await expect(cutOff).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
    kill()
    const next = deliver(two, { path: '/keyed', body: { id: 1, n: n + 10 } })
    await clock.advance(LEASE_MS + 1000)
    expect(await next).toMatchObject({ replayed: false })
    expect(await contextsOf(two, 'Keyed')).toHaveLength(1)
  })
})
