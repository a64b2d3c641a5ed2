// A request to a webhook has its effect once under the key that `dedupe` computes of it, and under its header
// `Idempotency-Key`: its repeats get the first answer, also after a restart, and for as long as keys are kept.
import { beforeEach, describe, expect, test } from 'vitest'
import { openBench, type Bench, type BenchOptions } from '../support/engine.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { deliver, type Delivered } from '../support/webhook-calls.ts'
import { clock, contextsOf, count, FILES, go, hook, idOf, MINUTE_MS, opener, running } from '../support/webhook-once.ts'
import { storesOf } from '../support/effort.ts'

describe.each(storesOf(['embedded', 'Redis', 'Redis with 4 partitions']))('on %s', (where) => {
  let open: (options?: BenchOptions) => Promise<Bench>
  let bench: Bench
  beforeEach(async () => {
    open = await opener(where)
    bench = await open()
  })
  const post = (given: Delivered, at = bench) => deliver(at, given)

  describe('dedupe', () => {
    test('starts one context for fifty deliveries at once, and answers all', async () => {
      const body = { id: 'evt_1' }
      const replies = await Promise.all(Array.from({ length: 50 }, () => post({ path: '/paid', body })))
      expect(await count(bench, 'Paid')).toBe(1)
      expect(replies.filter(({ replayed }) => !replayed)).toHaveLength(1)
      expect(new Set(replies.map(({ answer }) => JSON.stringify(answer))).size).toBe(1)
      expect(replies[0]?.answer).toMatchObject({ kind: 'outputs' })
    })

    test('gives the first answer to other content, another method and in another form of the key', async () => {
      const first = await post({ path: '/paid', body: { id: 7 } })
      expect(first).toMatchObject({ replayed: false, remark: null, answer: { kind: 'outputs' } })
      for (const other of [{ body: { id: 7, n: 2 } }, { body: { id: '7' } }, { body: { id: 7 }, method: 'PUT' }])
        expect(await post({ path: '/paid', ...other })).toEqual({ ...first, replayed: true })
      expect(await post({ path: '/paid2', body: { id: 7 } })).toMatchObject({ replayed: false })
      expect(await post({ path: '/paid', body: { id: 'x'.repeat(10_000) } })).toMatchObject({ replayed: false })
      expect(await post({ path: '/paid', body: { id: 'x'.repeat(10_000) } })).toMatchObject({ replayed: true })
      expect(await post({ path: '/paid', body: { id: 'x'.repeat(9_999) } })).toMatchObject({ replayed: false })
    })

    test.each([{}, { id: null }, { id: '' }])('says so when the key of %j comes out empty', async (body) => {
      for (const _ of [1, 2])
        expect(await post({ path: '/paid', body })).toMatchObject({
          replayed: false,
          remark: expect.stringContaining('empty'),
        })
      expect(await count(bench, 'Paid')).toBe(2)
    })

    test.each([{ id: false }, { id: 0 }])('takes %j for a key', async (body) => {
      await post({ path: '/paid', body })
      expect(await post({ path: '/paid', body })).toMatchObject({ replayed: true, remark: null })
    })

    test.each([
      ['/paid', { id: { a: 1 } }],
      ['/paid', { id: [1] }],
      // Rounded by the parser: that of another delivery may look the same.
      ['/paid', { id: 2 ** 53 }],
      ['/odd', { id: 1 }],
    ])('refuses %s whose key of %j is none', async (path, body) => {
      await expect(post({ path, body })).rejects.toMatchObject({ failure: { kind: 'malformed' } })
    })

    test('tells of the context while it runs, and the whole answer then, also when the context is gone', async () => {
      const first = post({ path: '/long', body: { id: 1 } })
      const contextId = await running(bench)
      const whileRunning = { answer: { kind: 'running', contextId }, replayed: true, remark: null }
      expect(await post({ path: '/long', body: { id: 1 } })).toEqual(whileRunning)
      await go(bench)
      const { answer } = await first
      expect(answer).toMatchObject({
        kind: 'response',
        response: { responseCode: 201, headers: { 'X-A': 'a' }, cookies: [{ name: 'sid', value: 'abc' }] },
      })
      expect(await post({ path: '/long', body: { id: 1 } })).toEqual({ answer, replayed: true, remark: null })
    })

    test('tells those that come after a timeout of the context, and later of its answer', async () => {
      const first = post({ path: '/long', body: { id: 1 }, timeout: 5000 })
      const contextId = await running(bench)
      await clock.advance(5000)
      await clock.advance(1000)
      expect(await first).toMatchObject({ answer: { kind: 'late', contextId } })
      expect(await post({ path: '/long', body: { id: 1 } })).toMatchObject({ answer: { kind: 'running', contextId } })
      await go(bench)
      await bench.until(contextId, ({ status }) => status === 'COMPLETED')
      expect(await post({ path: '/long', body: { id: 1 } })).toMatchObject({
        answer: { kind: 'response', contextId },
        replayed: true,
      })
    })

    test('remembers how the context paused, whatever becomes of it', async () => {
      const first = await post({ path: '/keyed', body: { id: 1, n: 1 } })
      expect(first).toMatchObject({ answer: { kind: 'paused', status: 'WAITING' }, replayed: false })
      await bench.sendEvent({ contextId: idOf(first), event: 'stop' })
      expect(await bench.getContext({ contextId: idOf(first) })).toMatchObject({ status: 'COMPLETED' })
      expect(await post({ path: '/keyed', body: { id: 1, n: 1 } })).toEqual({ ...first, replayed: true })
      // For a context of another key it is another one.
      expect(await post({ path: '/keyed', body: { id: 1, n: 2 } })).toMatchObject({ replayed: false })
    })

    test('remembers that the workflow failed', async () => {
      const first = await post({ path: '/failing', body: { id: 1 } })
      expect(first).toMatchObject({ answer: { kind: 'failed' }, replayed: false })
      expect(await post({ path: '/failing', body: { id: 1 } })).toEqual({ ...first, replayed: true })
    })

    test('does not remember what was refused: the next one runs itself', async () => {
      const refused = { failure: { kind: 'invalid' } }
      await expect(post({ path: '/paid', body: { id: 1, n: 'x' } })).rejects.toMatchObject(refused)
      const bad = Array.from({ length: 10 }, () => post({ path: '/paid', body: { id: 1, n: 'x' } }))
      const good = [1, 2, 3].map((n) => post({ path: '/paid', body: { id: 1, n } }))
      expect((await Promise.allSettled(bad)).filter(({ status }) => status === 'rejected')).toHaveLength(10)
      expect((await Promise.all(good)).filter(({ replayed }) => replayed)).toHaveLength(2)
      // A kept answer wins over what is refused.
      expect(await post({ path: '/paid', body: { id: 1, n: 'x' } })).toMatchObject({ replayed: true })
      expect(await count(bench, 'Paid')).toBe(1)
    })

    test('is passed by what an operator sends again', async () => {
      await post({ path: '/paid', body: { id: 1 }, idempotencyKey: 'k' })
      const again = { path: '/paid', body: { id: 1 }, idempotencyKey: 'k', replayOf: 'd' }
      expect(await post(again)).toMatchObject({ replayed: false })
      expect(await count(bench, 'Paid')).toBe(2)
    })
  })

  test('what an operator sends again is remembered, where nothing was: its sender may still repeat it', async () => {
    await expect(post({ path: '/paid', body: { id: 1, n: 'x' } })).rejects.toMatchObject({
      failure: { kind: 'invalid' },
    })
    const again = { path: '/paid', body: { id: 1 }, replayOf: 'd' }
    const first = await post(again)
    expect(first).toMatchObject({ replayed: false })
    expect(await post({ path: '/paid', body: { id: 1 } })).toEqual({ ...first, replayed: true })
    expect(await count(bench, 'Paid')).toBe(1)
    expect(await post(again)).toMatchObject({ replayed: false })
    expect(await count(bench, 'Paid')).toBe(2)
    // Whose key can't be computed passes, too.
    expect(await post({ path: '/paid', body: { id: [1] }, replayOf: 'd' })).toMatchObject({ replayed: false })
  })

  describe('Idempotency-Key', () => {
    const K = { idempotencyKey: 'k' }

    test('gives the first answer, and refuses another method, query or body', async () => {
      const asked = { path: '/plain', body: { n: 1 }, query: '?a=1', ...K }
      const first = await post(asked)
      expect(first).toMatchObject({ replayed: false })
      expect(await post(asked)).toEqual({ ...first, replayed: true })
      const mismatch = { failure: { kind: 'idempotencyMismatch' } }
      await expect(post({ ...asked, query: '?a=2' })).rejects.toMatchObject(mismatch)
      await expect(post({ ...asked, body: { n: 2 } })).rejects.toMatchObject(mismatch)
      // Another call.
      expect(await post({ ...asked, method: 'PUT' })).toMatchObject({ replayed: false })
    })

    test('holds a repeat while the first is held, for the same answer, and refuses another body', async () => {
      const long = { path: '/long2', ...K }
      const first = post(long)
      const contextId = await running(bench)
      const repeats = [post(long), post(long)]
      await expect(post({ ...long, body: { id: '' } })).rejects.toMatchObject({
        failure: { kind: 'idempotencyMismatch' },
      })
      await go(bench)
      await bench.until(contextId, ({ status }) => status === 'COMPLETED')
      await clock.advance(1000)
      const { answer } = await first
      expect(answer).toMatchObject({ kind: 'response', contextId })
      for (const repeat of [...repeats, post(long)]) expect(await repeat).toMatchObject({ answer, replayed: true })
    })

    test('tells a repeat of the context, when its own time is over', async () => {
      void post({ path: '/long2', timeout: 600_000, ...K })
      const contextId = await running(bench)
      const told: unknown[] = []
      const repeat = post({ path: '/long2', timeout: 5000, ...K }).finally(() => told.push('now'))
      const passed = async () => {
        await clock.advance(1000)
        return told.length
      }
      await expect.poll(passed).toBe(1)
      expect(await repeat).toMatchObject({ answer: { kind: 'running', contextId }, replayed: true })
      await go(bench)
    })

    test('remembers that the first was late, until there is an answer', async () => {
      const long = { path: '/long2', timeout: 5000, ...K }
      const first = post(long)
      const contextId = await running(bench)
      await clock.advance(5000)
      await clock.advance(1000)
      expect((await first).answer.kind).toBe('late')
      expect(await post(long)).toMatchObject({ answer: { kind: 'late', contextId }, replayed: true })
      await go(bench)
      await bench.until(contextId, ({ status }) => status === 'COMPLETED')
      expect(await post(long)).toMatchObject({ answer: { kind: 'response', contextId }, replayed: true })
    })

    test('does not remember what was refused', async () => {
      const asked = { path: '/plain', body: { n: 'x' }, ...K }
      for (const _ of [1, 2]) await expect(post(asked)).rejects.toMatchObject({ failure: { kind: 'invalid' } })
      expect(await post({ ...asked, body: { n: 1 } })).toMatchObject({ replayed: false })
    })
  })

  test('an endpoint with dedupe goes by that key alone', async () => {
    const K = { idempotencyKey: 'k' }
    const first = await post({ path: '/paid', body: { id: 1 }, ...K })
    expect(await post({ path: '/paid', body: { id: 1, n: 2 } })).toEqual({ ...first, replayed: true })
    expect(await post({ path: '/paid', body: { id: 2 }, ...K })).toMatchObject({ replayed: false })
    for (const _ of [1, 2]) expect(await post({ path: '/paid', body: {}, ...K })).toMatchObject({ replayed: false })
    expect(await count(bench, 'Paid')).toBe(4)
  })

  test('answers outlive a context that is purged', async () => {
    const short = await open({ retention: MINUTE_MS, folder: `${bench.folder}-2` })
    const asked = { path: '/paid', body: { id: 1 } }
    const first = await post(asked, short)
    const passed = async () => {
      await short.advance(MINUTE_MS)
      return count(short, 'Paid')
    }
    await expect.poll(passed).toBe(0)
    expect(await post(asked, short)).toEqual({ ...first, replayed: true })
  })

  test('no more keys are kept than may be, and repeats are answered all the same', async () => {
    const small = await open({ idempotency: { max: 2 }, folder: `${bench.folder}-3` })
    const first = await post({ path: '/paid', body: { id: 1 } }, small)
    await post({ path: '/paid', body: { id: 2 } }, small)
    await small.advance(2000)
    const replies = await Promise.allSettled([3, 4, 5, 6].map((id) => post({ path: '/paid', body: { id } }, small)))
    expect(replies.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(2)
    expect(await post({ path: '/paid', body: { id: 1 } }, small)).toEqual({ ...first, replayed: true })
  })
})

describe('over a restart of the embedded store', () => {
  test('first answers are there, and a running one gets its answer', async () => {
    const bench = await openBench(FILES, { clock, onDisk: true })
    const done = await deliver(bench, { path: '/paid', body: { id: 1 } })
    const long = { path: '/long', body: { id: 1 } }
    // Nobody is left who could answer it.
    void deliver(bench, long)
    const contextId = await running(bench)
    const again = await bench.restart()
    expect(await deliver(again, { path: '/paid', body: { id: 1 } })).toEqual({
      ...done,
      replayed: true,
    })
    expect(await deliver(again, { path: '/long', body: { id: 1 } })).toMatchObject({
      answer: { kind: 'running', contextId },
    })
    await go(again)
    await again.until(contextId, ({ status }) => status === 'COMPLETED')
    expect(await deliver(again, long)).toMatchObject({ answer: { kind: 'response', contextId }, replayed: true })
  })

  test('who asks again under a header is held for the answer', async () => {
    const bench = await openBench(FILES, { clock, onDisk: true })
    const long = { path: '/long2', idempotencyKey: 'b', timeout: 30_000 }
    // Nobody is left who could answer it.
    void deliver(bench, long)
    const contextId = await running(bench)
    const again = await bench.restart()
    const repeats = [deliver(again, long), deliver(again, long)]
    await go(again)
    for (const repeat of repeats)
      expect(await repeat).toMatchObject({ answer: { kind: 'response', contextId }, replayed: true })
  })
})

/** There, keys are kept for a minute. */
async function openMinute(): Promise<Bench> {
  const bench = await openBench(
    {
      ...FILES,
      'p/Long.flux': { ...Object(FILES['p/Long.flux']), ...hook('/long', { dedupe: { key: '1', keep: '60s' } }) },
    },
    { clock: new SimulatedClock() },
  )
  return bench
}

describe('retention', () => {
  test.each([
    ['/short', {}, 90_000],
    ['/paid', {}, 7 * 86_400_000],
    ['/plain', { idempotencyKey: 'k' }, 7 * 86_400_000],
  ])('the key of %s is free after its time', async (path, more, keptMs) => {
    const bench = await openBench(FILES, { clock: new SimulatedClock(), retention: 60 * 86_400_000 })
    const asked = { path, body: { id: 1 }, ...more }
    await deliver(bench, asked)
    bench.clock.jump(keptMs - 1)
    expect(await deliver(bench, asked)).toMatchObject({ replayed: true })
    bench.clock.jump(1)
    expect(await deliver(bench, asked)).toMatchObject({ replayed: false })
    expect(await deliver(bench, asked)).toMatchObject({ replayed: true })
  })

  // By the clock of another server, the key may be free by then, and that of another context.
  test.each([
    [53_000, 'response'],
    [55_000, 'running'],
  ])('an answer that comes after %d of 60,000 ms is kept as %s', async (ms, kind) => {
    const bench = await openMinute()
    const first = deliver(bench, { path: '/long', timeout: 1_000_000 })
    const contextId = await running(bench)
    bench.clock.jump(ms)
    await go(bench)
    expect((await first).answer.kind).toBe('response')
    expect(await deliver(bench, { path: '/long' })).toMatchObject({ answer: { kind, contextId }, replayed: true })
  })

  test('a context that outruns its key leaves that of the next alone', async () => {
    const bench = await openMinute()
    const first = deliver(bench, { path: '/long', timeout: 1_000_000 })
    const contextId = await running(bench)
    bench.clock.jump(MINUTE_MS)
    const second = deliver(bench, { path: '/long', timeout: 1_000_000 })
    await expect.poll(() => count(bench, 'Long')).toBe(2)
    const [oldest = 0] = await contextsOf(bench, 'Child')
    await bench.sendEvent({ contextId: oldest, event: 'go' })
    expect(idOf(await first)).toBe(contextId)
    const repeat = await deliver(bench, { path: '/long' })
    expect(repeat).toMatchObject({ answer: { kind: 'running' } })
    expect(idOf(repeat)).not.toBe(contextId)
    await bench.sendEvent({ event: 'go' })
    await second
  })
})
