// A context tells what it is at, and the log tells what failed.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openBench, type Bench } from '../support/engine.ts'

const code = (methodName: string, more: object = {}) => ({
  type: 'invokeCode',
  className: 'lib.Fn',
  methodName,
  ...more,
})
const RETRY = { maxAttempts: 4, delay: 1, factor: 2, maxDelay: 60 }

let bench: Bench
beforeAll(async () => {
  bench = await openBench(
    {
      'p/lib/Fn.ts': `
const gates = new Map()
export function hold(args, flux) { return new Promise((resolve) => gates.set(flux.contextId, resolve)) }
export function open({ id }) { gates.get(id)?.(null) }
export function fails(args, flux) { throw new RangeError('attempt ' + flux.attempt) }`,
      'p/Hold.flux': { states: [{ name: 'hold', action: code('hold', { timeout: 90, retry: RETRY }) }] },
      'p/Fails.flux': {
        states: [
          { name: 'try', action: code('fails', { retry: RETRY }), transitions: [{ to: 'end' }] },
          { name: 'end' },
        ],
      },
      'p/Script.flux': { states: [{ name: 'loop', action: { type: 'script', script: 'for (;;);', timeout: 120 } }] },
      'p/Parent.flux': { states: [{ name: 'ask', action: { type: 'invokeFlux', name: 'Child', timeout: 30 } }] },
      'p/Child.flux': {
        states: [{ name: 'w', waiting: true, transitions: [{ to: 'end', event: 'go' }] }, { name: 'end' }],
      },
      'p/Map.flux': {
        input: [{ name: 'any', type: 'any' }],
        output: [{ name: 'n', type: 'integer' }],
        states: [{ name: 'm', action: { type: 'map', lines: [{ from: ['any'], to: ['n'] }] } }],
      },
    },
    { stepConcurrency: 1 },
  )
}, 60_000)
afterAll(() => bench.close())

const linesOf = (contextId: number) =>
  bench.logged.filter(({ fields }) => fields && 'contextId' in fields && fields.contextId === contextId)

const stackOf = (number: number) =>
  expect.stringMatching(new RegExp(`^RangeError: attempt ${number}\\n    at fails \\(lib/Fn\\.ts:\\d+:\\d+\\)$`))

describe('a step', () => {
  test('is shown while it runs, and another one while it waits for a slot', async () => {
    const now = bench.clock.now()
    const [first, second] = [await bench.run('Hold'), await bench.run('Hold')]
    const view = await bench.getContext({ contextId: first })
    expect(view.step).toEqual({
      state: 'hold',
      kind: 'invokeCode',
      className: 'lib.Fn',
      methodName: 'hold',
      attempt: 1,
      maxAttempts: 4,
      startedAt: now,
      timeoutAt: now + 90_000,
      nextAttemptAt: null,
      stepKey: `${first}-1`,
      server: expect.stringMatching(/^[\da-f-]{36}$/),
      lastError: null,
    })
    expect((await bench.getContext({ contextId: second })).step).toMatchObject({
      startedAt: null,
      timeoutAt: null,
      nextAttemptAt: null,
      server: null,
    })
    await bench.advance(5000)
    await bench.terminate({ contextId: first })
    const begun = await bench.until(second, ({ step }) => step?.startedAt !== null)
    expect(begun.step).toMatchObject({
      startedAt: now + 5000,
      timeoutAt: now + 95_000,
      server: view.step?.server,
    })
    await bench.terminate({ contextId: second })
    expect((await bench.getContext({ contextId: second })).step).toBeNull()
  })

  test('that failed shows why, in its pause and while it is tried again; the log tells of each attempt, and of the end', async () => {
    const contextId = await bench.run('Fails')
    const first = await bench.until(contextId, ({ step }) => step?.attempt === 2 && step.nextAttemptAt !== null)
    const at = bench.clock.now()
    expect(first.nextRun).toBe(at + 1000)
    expect(first.step).toMatchObject({
      attempt: 2,
      startedAt: null,
      timeoutAt: null,
      nextAttemptAt: at + 1000,
      server: null,
      lastError: { type: 'RangeError', message: 'attempt 1', at, stack: stackOf(1) },
    })
    await bench.advance(1000)
    expect((await bench.until(contextId, ({ step }) => step?.attempt === 3)).step).toMatchObject({
      nextAttemptAt: at + 3000,
      lastError: { message: 'attempt 2', at: at + 1000 },
    })
    await bench.advance(2000)
    await bench.until(contextId, ({ step }) => step?.attempt === 4)
    await bench.advance(4000)
    expect(await bench.until(contextId, ({ status }) => status === 'FAILED')).toMatchObject({ step: null })
    const attempt = (level: string, number: number) => ({
      level,
      message: 'an attempt failed',
      fields: {
        contextId,
        fluxName: 'Fails',
        state: 'try',
        reason: `RangeError: attempt ${number}`,
        attempt: number,
        maxAttempts: 4,
        stack: stackOf(number),
      },
    })
    expect(linesOf(contextId)).toEqual([
      attempt('info', 1),
      attempt('info', 2),
      attempt('warn', 3),
      attempt('warn', 4),
      {
        level: 'warn',
        message: 'a context failed',
        fields: { contextId, fluxName: 'Fails', state: 'try', reason: 'RangeError: attempt 4', stack: stackOf(4) },
      },
    ])
  })

  test('keeps its last error over a restart, and its pause', async () => {
    const contextId = await bench.run('Fails')
    const { step } = await bench.until(contextId, (view) => view.step?.nextAttemptAt !== null)
    bench = await bench.restart()
    expect((await bench.getContext({ contextId })).step).toEqual(step)
    await bench.terminate({ contextId })
  })

  test('that is a script begins when a process has it, and is aborted as before', async () => {
    const contextId = await bench.run('Script')
    const { step } = await bench.until(contextId, (view) => view.step?.startedAt !== null)
    expect(step).toMatchObject({
      kind: 'script',
      className: null,
      methodName: null,
      startedAt: bench.clock.now(),
      timeoutAt: bench.clock.now() + 120_000,
    })
    await bench.terminate({ contextId })
  })

  test('that is a child begins at once, on no server, and ends when it times out', async () => {
    const contextId = await bench.run('Parent')
    const now = bench.clock.now()
    expect((await bench.getContext({ contextId })).step).toEqual({
      state: 'ask',
      kind: 'invokeFlux',
      className: null,
      methodName: null,
      attempt: 1,
      maxAttempts: 1,
      startedAt: now,
      timeoutAt: now + 30_000,
      nextAttemptAt: null,
      stepKey: `${contextId}-1`,
      server: null,
      lastError: null,
    })
    await bench.advance(30_000)
    await bench.until(contextId, ({ status }) => status === 'FAILED')
    expect(linesOf(contextId)).toMatchObject([
      {
        level: 'info',
        message: 'an attempt failed',
        fields: { reason: expect.stringMatching(/^TimeoutError/), attempt: 1, maxAttempts: 1 },
      },
      { level: 'warn', message: 'a context failed' },
    ])
  })

  test("isn't there where none is under way", async () => {
    const contextId = await bench.run('Child')
    expect((await bench.getContext({ contextId })).step).toBeNull()
  })
})

test('a context that fails without a step is in the log too', async () => {
  const contextId = await bench.run('Map', { any: 'no number' })
  await vi.waitFor(() =>
    expect(linesOf(contextId)).toMatchObject([
      { level: 'warn', message: 'a context failed', fields: { contextId, fluxName: 'Map', state: 'm' } },
    ]),
  )
})
