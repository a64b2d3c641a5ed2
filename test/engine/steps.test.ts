import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openBench, outputs, type Bench } from '../support/engine.ts'

const set = (to: string, expression: string) => ({ type: 'set', expression, evaluate: true, to: [to] })
const code = (methodName: string, more: object = {}) => ({ type: 'invokeCode', className: 'Fn', methodName, ...more })
const FN = `
const calls = new Map()
export const seen = []
export function echo(args, flux) { return { ...args, name: flux.fluxName, state: flux.stateName, id: flux.contextId } }
export function flaky(args, flux) {
  seen.push([flux.stepKey, flux.attempt])
  const n = (calls.get(flux.stepKey) ?? 0) + 1
  calls.set(flux.stepKey, n)
  if (n < args.works) { const e = new RangeError('attempt ' + n); e.code = 'E' + n; throw e }
  return { n, keys: seen.filter(([key]) => key === flux.stepKey).map(([, attempt]) => attempt), now: args.now }
}
export async function slow(args, flux) {
  flux.log.info('slow has begun', { key: flux.stepKey })
  flux.signal.addEventListener('abort', () => flux.log.info('slow is aborted', { key: flux.stepKey, why: flux.signal.reason.message }))
  await new Promise((resolve, reject) => flux.signal.addEventListener('abort', () => reject(flux.signal.reason)))
}
export function logsFields(args, flux) {
  flux.log.info('mine', { level: 'high', time: 'noon', msg: 'x', pid: 0, contextId: 'theirs', fluxName: 1, stateName: 2, n: 3 })
}
export function deaf() { return new Promise(() => {}) }
export function odd() { return { date: new Date(5), map: new Map([['a', 1n]]), none: undefined, nan: NaN, list: new Set([1]) } }
export function text() { return 'plain' }
export function cyclic() { const a = {}; a.a = a; return a }
export function throwsText() { throw 'just text' }
export async function sends(args, flux) {
  const { contextId } = await flux.execute({ fluxName: 'Echo', input: { word: 'from inside' } })
  return { contextId, own: await flux.sendEvent({ contextId: flux.contextId, event: 'x' }).catch((error) => error.failure.kind) }
}
export function large() { return { kept: 1, text: 'x'.repeat(2 ** 20) } }
export function throwsMuch() { throw Object.assign(new Error('x'.repeat(2e6)), { kept: 1, list: new Array(1e6).fill(1) }) }
export function elsewhere(args, flux) { return { pid: process.pid, key: flux.stepKey } }
export const endless = () => { for (;;); }
export function mutates(args) { args.word = 'changed'; args.deep.x = 2; return {} }
`

let bench: Bench
beforeAll(async () => {
  bench = await openBench({
    'p/Fn.ts': FN,
    'p/Echo.flux': {
      input: [{ name: 'word' }],
      output: [{ name: 'word' }, { name: 'all', type: 'any' }],
      states: [
        {
          name: 's',
          action: code('echo', {
            inputs: [set('word', 'word'), set('n', '1 + 1')],
            outputs: [
              { from: ['word'], to: ['word'] },
              { from: ['$result'], to: ['all'] },
            ],
          }),
        },
      ],
    },
    'p/LogsFields.flux': { states: [{ name: 's', action: code('logsFields') }] },
    'p/Flaky.flux': {
      input: [
        { name: 'works', type: 'integer' },
        { name: 'max', type: 'integer' },
      ],
      output: [
        { name: 'n', type: 'integer' },
        { name: 'keys', type: 'any' },
        { name: 'error', type: 'any' },
        { name: 'now', type: 'date' },
      ],
      states: [
        {
          name: 's',
          action: code('flaky', {
            inputs: [set('works', 'works'), set('now', 'now()')],
            outputs: [
              { from: ['n'], to: ['n'] },
              { from: ['keys'], to: ['keys'] },
              { from: ['now'], to: ['now'] },
            ],
            retry: { maxAttempts: 3, delay: 1, factor: 2, maxDelay: 60 },
          }),
          transitions: [
            { to: 'end' },
            { to: 'caught', event: '$exception', lines: [{ from: ['$fluxException'], to: ['e'] }] },
          ],
        },
        { name: 'end' },
        {
          name: 'caught',
          input: [{ name: 'e', type: 'any' }],
          action: { type: 'map', lines: [{ from: ['e'], to: ['error'] }] },
        },
      ],
    },
    'p/Elsewhere.flux': {
      output: [{ name: 'all', type: 'any' }],
      states: [
        { name: 's', action: code('elsewhere', { isolate: true, outputs: [{ from: ['$result'], to: ['all'] }] }) },
      ],
    },
    'p/Endless.flux': {
      states: [{ name: 's', action: code('endless', { isolate: true, timeout: 0.3, retry: { maxAttempts: 2 } }) }],
    },
    'p/Slow.flux': { states: [{ name: 's', action: code('slow', { timeout: 2.5 }) }] },
    'p/Deaf.flux': { states: [{ name: 's', action: code('deaf') }] },
    ...Object.fromEntries(
      ['odd', 'text', 'cyclic', 'large', 'throwsMuch', 'throwsText', 'sends', 'mutates'].map((name) => [
        `p/${name}.flux`,
        {
          input: [{ name: 'word' }, { name: 'deep', type: 'any' }],
          output: [{ name: 'all', type: 'any' }, { name: 'word' }, { name: 'deep', type: 'any' }],
          states: [
            {
              name: 's',
              action: code(name, {
                inputs: [set('word', 'word'), set('deep', 'deep')],
                outputs: [{ from: ['$result'], to: ['all'] }, set('word', 'word'), set('deep', 'deep')],
              }),
            },
          ],
        },
      ]),
    ),
    'p/Throws.flux': {
      states: [
        {
          name: 's',
          action: {
            type: 'invokeCode',
            className: 'io.toro.martini.GloopMethods',
            methodName: 'throwException',
            inputs: [{ type: 'set', expression: 'on purpose', to: ['message'] }],
          },
        },
      ],
    },
    'p/lib/luck.mjs': `function inner() {
  throw new TypeError('out of luck')
}
export function unlucky() {
  inner()
}
export function odd() {
  throw { message: 'odd', stack: new Error('odd').stack }
}`,
    'p/Unlucky.flux': {
      states: [
        {
          name: 's',
          action: { type: 'invokeCode', className: 'lib.luck', methodName: 'unlucky', inputs: [], outputs: [] },
        },
      ],
    },
    'p/Odd.flux': {
      states: [
        {
          name: 's',
          action: { type: 'invokeCode', className: 'lib.luck', methodName: 'odd', inputs: [], outputs: [] },
        },
      ],
    },
    'p/Script.flux': {
      states: [
        { name: 's', action: { type: 'script', script: 'function f() {\n  throw Error("no")\n}\nf()', outputs: [] } },
      ],
    },
    'p/Logs.flux': {
      states: [
        {
          name: 's',
          action: {
            type: 'invokeCode',
            className: 'Logger',
            methodName: 'warn',
            inputs: [{ type: 'set', expression: 'a word', to: ['message'] }],
          },
        },
      ],
    },
  })
})
afterAll(() => bench.close())

const done = ({ status }: { status: string }) => status !== 'RUNNING' && !status.startsWith('WAITING')

describe('a step', () => {
  test('is called with what its inputs set; its outputs see the result, and the start is answered before it ends', async () => {
    const contextId = await bench.run('Echo', { word: 'hi' })
    const view = await bench.until(contextId, done)
    expect(outputs(view)).toEqual({ word: 'hi', all: { word: 'hi', n: 2, name: 'Echo', state: 's', id: contextId } })
    expect(view.status).toBe('COMPLETED')
  })

  test('logs fields that are named like those of the line beside them', async () => {
    const contextId = await bench.run('LogsFields')
    await bench.until(contextId, done)
    expect(bench.logged.find(({ message }) => message === 'mine')?.fields).toEqual({
      level_: 'high',
      time_: 'noon',
      msg_: 'x',
      pid_: 0,
      contextId_: 'theirs',
      fluxName_: 1,
      stateName_: 2,
      n: 3,
      contextId,
      fluxName: 'LogsFields',
      stateName: 's',
    })
  })

  test('is tried again after growing pauses, with one key and the same arguments', async () => {
    const start = bench.clock.now()
    const contextId = await bench.run('Flaky', { works: 3 })
    const retrying = await bench.until(contextId, ({ nextRun }) => nextRun !== null)
    expect(retrying).toMatchObject({ status: 'RUNNING', waiting: false, nextRun: start + 1000 })
    await bench.advance(1000)
    await bench.until(contextId, ({ nextRun }) => nextRun === start + 3000)
    await bench.advance(2000)
    const view = await bench.until(contextId, done)
    expect(outputs(view)).toEqual({ n: 3, keys: [1, 2, 3], error: null, now: start })
  })

  test('fails after its last attempt, and its $exception transition sees the error', async () => {
    const contextId = await bench.run('Flaky', { works: 9 })
    for (const pause of [1000, 2000]) {
      await bench.until(contextId, ({ nextRun }) => (nextRun ?? 0) > bench.clock.now())
      await bench.advance(pause)
    }
    const view = await bench.until(contextId, done)
    expect(view.status).toBe('COMPLETED')
    expect(outputs(view)['error']).toEqual({
      message: 'attempt 3',
      type: 'RangeError',
      className: 'RangeError',
      realException: {
        name: 'RangeError',
        message: 'attempt 3',
        code: 'E3',
        stack: expect.stringMatching(/^RangeError: attempt 3\n {4}at flaky \(Fn\.ts:9:\d+\)$/),
      },
      fluxStackTrace: [{ fluxName: 'Flaky', stateName: 's', transition: null, stateIndex: 0 }],
    })
  })

  test('tells where in its source it failed, and nothing of the server', async () => {
    const failed = await bench.until(await bench.run('Unlucky'), done)
    const stack = 'TypeError: out of luck\n    at inner (lib/luck.mjs:2:9)\n    at unlucky (lib/luck.mjs:5:3)'
    expect(failed.error).toMatchObject({ message: 'out of luck', stack, realException: { name: 'TypeError', stack } })
    expect((await bench.until(await bench.run('Script'), done)).error).toMatchObject({
      stack: 'Error: no\n    at f (script:2:14)\n    at script:4:2',
    })
    const odd = (await bench.until(await bench.run('Odd'), done)).error
    expect(odd).toMatchObject({ realException: { message: 'odd' } })
    expect(JSON.stringify([failed, odd])).not.toContain(bench.folder)
    expect(odd).not.toHaveProperty('stack')
    expect((await bench.until(await bench.run('Throws'), done)).error).not.toHaveProperty('stack')
  })

  test('is aborted when its time is over', async () => {
    const contextId = await bench.run('Slow')
    await bench.advance(2499)
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'RUNNING' })
    await bench.advance(1)
    expect(await bench.until(contextId, done)).toMatchObject({ status: 'FAILED', error: { type: 'TimeoutError' } })
  })

  test('has 60 seconds unless it says otherwise, whether it listens or not', async () => {
    const contextId = await bench.run('Deaf')
    await bench.advance(59_999)
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'RUNNING' })
    await bench.advance(1)
    expect(await bench.until(contextId, done)).toMatchObject({ status: 'FAILED', error: { type: 'TimeoutError' } })
  })

  test('is aborted when its context is terminated', async () => {
    const contextId = await bench.run('Slow')
    const told = (word: string) =>
      bench.logged
        .filter(
          ({ message, fields }) => message === `slow ${word}` && JSON.stringify(fields).includes(`"${contextId}-1"`),
        )
        .map(({ fields }) => fields)
    await vi.waitFor(() => expect(told('has begun')).toHaveLength(1), 5000)
    expect(told('is aborted')).toEqual([])
    await bench.terminate({ contextId })
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'TERMINATED' })
    // Well before its time is over: the clock stands still.
    await vi.waitFor(() => expect(told('is aborted')).toMatchObject([{ why: 'the context has ended' }]), 5000)
    await expect(bench.terminate({ contextId })).rejects.toMatchObject({ failure: { kind: 'conflict' } })
  })

  test.each([
    ['odd', { date: 5, map: { a: 1 }, nan: null, list: [1] }],
    ['text', 'plain'],
  ])('gives data, whatever the function %s returned', async (name, all) => {
    expect(outputs(await bench.until(await bench.run(name), done))['all']).toEqual(all)
  })

  test.each([
    ['cyclic', 'TypeError', /cyclic/],
    ['throwsText', 'Error', /just text/],
  ])('that is %s fails clearly', async (name, type, message) => {
    expect(await bench.until(await bench.run(name), done)).toMatchObject({
      status: 'FAILED',
      error: { type, message: expect.stringMatching(message) },
    })
  })

  test('whose result is too large fails, and leaves nothing of it', async () => {
    const view = await bench.until(await bench.run('large'), done)
    expect(view).toMatchObject({
      status: 'FAILED',
      error: { type: 'ResultTooLarge', message: 'the result has more than 1048576 bytes as JSON' },
    })
    expect(JSON.stringify(view).length).toBeLessThan(10_000)
  })

  test('keeps of a large error what explains it', async () => {
    const view = await bench.until(await bench.run('throwsMuch'), done)
    expect(view.error?.message).toBe('x'.repeat(10_000))
    expect(JSON.stringify(view).length).toBeLessThan(100_000)
  })

  test('that is isolated runs in another process, and its timeout ends it whatever it does', async () => {
    const view = await bench.until(await bench.run('Elsewhere'), done)
    expect(outputs(view)['all']).toEqual({ pid: expect.any(Number), key: `${view.id}-1` })
    expect(outputs(view)['all']).not.toMatchObject({ pid: process.pid })
    expect(await bench.until(await bench.run('Endless'), done)).toMatchObject({
      status: 'FAILED',
      error: { type: 'TimeoutError', message: 'no result within 0.3 s' },
    })
  })

  test('can use the nine calls, its own package first', async () => {
    const view = await bench.until(await bench.run('sends'), done)
    expect(outputs(view)['all']).toMatchObject({ contextId: expect.any(Number), own: 'conflict' })
  })

  test("can't change the data of its context through its arguments", async () => {
    expect(
      outputs(await bench.until(await bench.run('mutates', { word: 'mine', deep: { x: 1 } }), done)),
    ).toMatchObject({ word: 'mine', deep: { x: 1 } })
  })

  test('may be a built-in one', async () => {
    expect(await bench.until(await bench.run('Throws'), done)).toMatchObject({
      status: 'FAILED',
      error: { message: 'on purpose' },
    })
    await bench.until(await bench.run('Logs'), done)
    expect(bench.logged.some(({ level, message }) => level === 'warn' && message.includes('a word'))).toBe(true)
  })

  test('runs again after a restart, with the same key, and its attempts are not counted', async () => {
    const contextId = await bench.run('Slow')
    const { version } = await bench.getContext({ contextId })
    bench = await bench.restart()
    // One commit gave the step back, one took it over.
    expect(await bench.until(contextId, (view) => view.version === version + 2)).toMatchObject({ status: 'RUNNING' })
    await bench.advance(0)
    await bench.advance(2500)
    expect(await bench.until(contextId, done)).toMatchObject({ status: 'FAILED', error: { type: 'TimeoutError' } })
  })
})

const throwing = (body: string, more: object = {}) => ({
  'p/Fn.ts': `export function f(args, flux) { ${body} }`,
  'p/Throws.flux': {
    output: [{ name: 'n', type: 'integer' }],
    states: [{ name: 's', action: { type: 'invokeCode', className: 'Fn', methodName: 'f', ...more } }],
  },
})

describe('a function that misbehaves', () => {
  test.each([
    [
      "an error whose message can't be read",
      'const e = new Error(); Object.defineProperty(e, "message", { get() { throw 1 } }); throw e',
    ],
    ['an error whose message is no text', 'throw Object.assign(new Error(), { message: 5n })'],
    ['a cycle without a prototype', 'const o = Object.create(null); o.o = o; throw o'],
    ['nothing at all', 'throw undefined'],
  ])('fails its action with %s', async (_, body) => {
    const odd = await openBench(throwing(body))
    const view = await odd.until(await odd.run('Throws'), done)
    expect(view).toMatchObject({ status: 'FAILED', error: { message: expect.any(String), type: expect.any(String) } })
  })

  test("can't change what all contexts share", async () => {
    const odd = await openBench(
      throwing('return flux.getDefinition({ fluxName: "Throws" }).then((d) => { d.states.push({ name: "more" }) })'),
    )
    expect(await odd.until(await odd.run('Throws'), done)).toMatchObject({
      status: 'FAILED',
      error: { type: 'TypeError' },
    })
    expect((await odd.getDefinition({ fluxName: 'Throws' }))['states']).toHaveLength(1)
  })
})

test('scripts that compute or wait keep no function waiting', async () => {
  const busy = await openBench(
    {
      'p/Endless.flux': { states: [{ name: 's', action: { type: 'script', script: 'for (;;);' } }] },
      'p/Fn.ts': FN,
      'p/Text.flux': { states: [{ name: 's', action: code('text') }] },
    },
    { stepConcurrency: 1 },
  )
  const endless = await Promise.all(Array.from({ length: 12 }, () => busy.run('Endless')))
  const id = await busy.run('Text')
  expect(await busy.until(id, done)).toMatchObject({ status: 'COMPLETED' })
  for (const contextId of endless) {
    expect(await busy.getContext({ contextId })).toMatchObject({ status: 'RUNNING' })
    await busy.terminate({ contextId })
  }
})
