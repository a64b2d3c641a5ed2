import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeFiles, openBench, outputs, type Bench } from '../support/engine.ts'
import { nextTurn } from '../support/held.ts'

const set = (to: string, expression: string) => ({ type: 'set', expression, evaluate: true, to: [to] })
const greet = {
  comment: 'kept',
  input: [
    { name: 'who', required: true, label: 'unknown key' },
    { name: 'n', type: 'integer', defaultValue: 3 },
  ],
  output: [{ name: 'text' }],
  states: [
    {
      name: 'greet',
      action: { type: 'map', lines: [set('text', '"hello " + who')] },
      transitions: [{ to: 'wait' }],
      x: 10,
    },
    { name: 'wait', waiting: true, transitions: [{ to: 'greet', event: 'again' }] },
  ],
}

let bench: Bench
beforeAll(async () => {
  bench = await openBench({
    'p/Greet.flux': greet,
    'p/sub/Greet.flux': greet,
    'p/Twice.flux': greet,
    'q/Twice.flux': greet,
    'p/Open.flux': {
      allowExtraProperties: true,
      output: [{ name: 'got', type: 'any' }],
      states: [{ name: 's', action: { type: 'map', lines: [set('got', 'anything')] } }],
    },
    'p/Secret.flux': {
      secured: true,
      triggers: ['secret'],
      states: [{ name: 's', waiting: true, transitions: [{ to: 's', event: 'secret' }] }],
    },
  })
})
afterAll(() => bench.close())

describe('execute', () => {
  test('answers after the commit with the id; later contexts have higher ids', async () => {
    const answer = await bench.execute({ package: 'p', fluxName: 'Greet', input: { who: 'you' }, tags: ['t'] })
    expect(answer).toEqual({ message: expect.any(String), contextId: expect.any(Number), started: true })
    const view = await bench.getContext({ contextId: answer.contextId })
    expect(view).toMatchObject({
      package: 'p',
      fluxName: 'Greet',
      startState: 'greet',
      currentState: 'wait',
      tags: ['t'],
      debugged: false,
      version: 1,
    })
    expect(view.input).toEqual({
      name: 'input',
      type: 'model',
      allowExtraProperties: false,
      gloopProperties: [
        { name: 'who', type: 'string', required: true, label: 'unknown key', value: 'you' },
        { name: 'n', type: 'integer', defaultValue: 3, value: 3 },
      ],
    })
    expect(await bench.run('sub.Greet', { who: 'x' })).toBeGreaterThan(answer.contextId)
  })

  test.each([
    ['a missing input', { fluxName: 'Greet' }, 'invalid'],
    ['an input that is not declared', { fluxName: 'Greet', input: { who: 'x', more: 1 } }, 'invalid'],
    ['a state that is not there', { fluxName: 'Greet', input: { who: 'x' }, startState: 'nope' }, 'invalid'],
    ['a service that is not there', { fluxName: 'greet', input: { who: 'x' } }, 'notFound'],
    ['a name of Object.prototype', { fluxName: 'constructor' }, 'notFound'],
  ])('refuses %s and starts nothing', async (_, request, kind) => {
    const before = (await bench.listContexts({ limit: 1000 })).length
    await expect(bench.execute({ package: 'p', ...request })).rejects.toMatchObject({ failure: { kind } })
    expect(await bench.listContexts({ limit: 1000 })).toHaveLength(before)
  })

  test('begins in another state if asked', async () => {
    const contextId = await bench.run('Greet', { who: 'x' }, { startState: 'wait' })
    expect(await bench.getContext({ contextId })).toMatchObject({
      startState: 'wait',
      currentState: 'wait',
      executionHistory: [{ stateName: 'wait', stateIndex: 1 }],
    })
  })

  test('takes what is not declared if the service says so', async () => {
    expect(
      outputs(await bench.getContext({ contextId: await bench.run('Open', { anything: [1, { __proto__: 1 }] }) })),
    ).toEqual({ got: [1, {}] })
  })
})

describe('views', () => {
  test('show a state that was never visited with empty values, and none that is not there', async () => {
    const contextId = await bench.run('Greet', { who: 'x' }, { startState: 'wait' })
    expect(await bench.getStateContext({ contextId, stateName: 'greet' })).toEqual({
      name: 'greet',
      input: { name: 'input', type: 'model', allowExtraProperties: false, gloopProperties: [] },
      output: { name: 'output', type: 'model', allowExtraProperties: false, gloopProperties: [] },
      transitionContexts: [],
    })
    await expect(bench.getStateContext({ contextId, stateName: 'nope' })).rejects.toMatchObject({
      failure: { kind: 'notFound' },
    })
  })

  test("give the persisted snapshot on demand, with the user's data by its names", async () => {
    const contextId = await bench.run('Greet', { who: 'x' })
    expect(await bench.getContext({ contextId })).not.toHaveProperty('snapshot')
    expect((await bench.getContext({ contextId, snapshot: true })).snapshot).toEqual({
      status: 'active',
      value: { wait: 'waiting' },
      historyValue: {},
      children: {},
      context: {
        input: { who: 'x', n: 3 },
        output: { text: 'hello x' },
        fluxEvent: null,
        trackerId: expect.any(String),
        states: { greet: { input: {}, output: {} }, wait: { input: {}, output: {} } },
        epoch: 2,
        attempt: 1,
        due: null,
        moves: 0,
      },
    })
  })

  test('list by ascending id, in pages and by filters', async () => {
    const ids: number[] = []
    for (let index = 0; index < 7; index += 1)
      ids.push(await bench.run('Twice', { who: 'x' }, { tags: ['page', `n${index % 2}`] }))
    const list = async (more: object) => (await bench.listContexts({ tag: ['page'], ...more })).map(({ id }) => id)
    expect(await list({})).toEqual(ids)
    expect(await list({ limit: 3 })).toEqual(ids.slice(0, 3))
    expect(await list({ limit: 3, page: 2 })).toEqual(ids.slice(6))
    expect(await list({ limit: 3, page: 3 })).toEqual([])
    expect(await list({ limit: 3, after: ids[2] })).toEqual(ids.slice(3, 6))
    expect(await list({ tag: ['page', 'n1'] })).toEqual(ids.filter((_, index) => index % 2 === 1))
    expect(await list({ fluxName: 'Twice', startState: 'greet', currentState: 'wait', status: 'WAITING' })).toEqual(ids)
    expect(await list({ currentState: 'greet' })).toEqual([])
    await bench.terminate({ contextId: ids[0] ?? 0 })
    expect(await list({})).toEqual(ids.slice(1))
    expect(await list({ status: 'TERMINATED' })).toEqual(ids.slice(0, 1))
    await expect(bench.listContexts({ limit: 0 })).rejects.toMatchObject({ failure: { kind: 'malformed' } })
  })
})

describe('definitions', () => {
  test('are returned as their files have them, also those of a name in two packages by context', async () => {
    expect(await bench.getDefinition({ fluxName: 'Greet' })).toEqual(greet)
    await expect(bench.getDefinition({ fluxName: 'Twice' })).rejects.toMatchObject({
      failure: { kind: 'conflict', detail: expect.stringMatching(/'p'.*'q'/) },
    })
    await expect(bench.getDefinition({ fluxName: 'None' })).rejects.toMatchObject({ failure: { kind: 'notFound' } })
    expect(await bench.getDefinition({ fluxName: 'None', contextId: await bench.run('Twice', { who: 'x' }) })).toEqual(
      greet,
    )
  })

  test('stay with the contexts that were started with them when the file changes', async () => {
    const contextId = await bench.run('Greet', { who: 'me' })
    const hash = (await bench.getContext({ contextId })).definition
    await writeFiles(bench.folder, { 'actors/p/Greet.flux': { ...greet, states: [{ name: 'changed' }] } })
    bench = await bench.restart()
    expect(await bench.getContext({ contextId })).toMatchObject({ currentState: 'wait', definition: hash })
    expect(await bench.getDefinition({ contextId })).toEqual(greet)
    await expect(bench.sendEvent({ contextId, event: 'again' })).resolves.toMatchObject({
      transitions: [{ state: 'wait' }],
    })
    const fresh = await bench.getContext({ contextId: await bench.run('Greet', { who: 'me' }) })
    expect(fresh).toMatchObject({ currentState: 'changed', status: 'COMPLETED' })
    expect(fresh.definition).not.toBe(hash)
  })
})

test('a secured service is closed to callers without privilege, in every call', async () => {
  const contextId = await bench.run('Secret')
  const anonymous = bench.engine.api({ roles: [] })
  const reader = bench.engine.api({ roles: ['read'] })
  const denied = { failure: { kind: 'unauthorized' } }
  await expect(anonymous.execute({ package: 'p', fluxName: 'Secret' })).rejects.toMatchObject(denied)
  await expect(anonymous.getContext({ contextId })).rejects.toMatchObject(denied)
  await expect(anonymous.getStateContext({ contextId, stateName: 's' })).rejects.toMatchObject(denied)
  await expect(anonymous.getDefinition({ fluxName: 'Secret' })).rejects.toMatchObject(denied)
  await expect(anonymous.getDefinition({ contextId })).rejects.toMatchObject(denied)
  await expect(anonymous.sendEvent({ contextId, event: 'secret' })).rejects.toMatchObject(denied)
  await expect(anonymous.terminate({ contextId })).rejects.toMatchObject(denied)
  await expect(anonymous.addTags({ contextId, tag: ['x'] })).rejects.toMatchObject(denied)
  expect(await anonymous.sendEvent({ event: 'secret' })).toMatchObject({ transitions: [], executions: [], ignored: [] })
  expect(await anonymous.listContexts({ fluxName: 'Secret' })).toEqual([])
  expect(await reader.listContexts({ fluxName: 'Secret' })).toHaveLength(1)
  await expect(reader.terminate({ contextId })).rejects.toMatchObject({ failure: { kind: 'forbidden' } })
  expect(await bench.sendEvent({ event: 'secret' })).toMatchObject({
    transitions: [{ contextId }],
    executions: [{ state: 's' }],
  })
})

test('finished contexts stay readable for the retention, then are purged', async () => {
  const short = await openBench({ 'p/Ends.flux': { states: [{ name: 's' }] } }, { retention: 60_000 })
  const contextId = await short.run('Ends')
  await short.advance(59_999)
  expect(await short.getContext({ contextId })).toMatchObject({ status: 'COMPLETED' })
  await short.advance(10_000)
  await expect
    .poll(() =>
      short.getContext({ contextId }).then(
        () => 'there',
        ({ failure }) => failure.kind,
      ),
    )
    .toBe('notFound')
  expect(await short.listContexts({ status: 'COMPLETED' })).toEqual([])
})

test('a call refuses what it does not know, in process as well', async () => {
  const misspelt: object = { event: 'ping', contextid: 1 }
  await expect(bench.sendEvent({ event: 'ping', ...misspelt })).rejects.toMatchObject({
    failure: {
      kind: 'malformed',
      errors: [{ pointer: '/contextid', detail: "is not known; did you mean 'contextId'?" }],
    },
  })
  const more: object = { tags: ['x'] }
  const startState: object = { startstate: 'a' }
  await expect(bench.listContexts({ ...more })).rejects.toMatchObject({
    failure: { kind: 'malformed', errors: [{ pointer: '/tags' }] },
  })
  await expect(
    bench.execute({ package: 'p', fluxName: 'Greet', input: { who: 'x' }, ...startState }),
  ).rejects.toMatchObject({ failure: { kind: 'malformed', errors: [{ pointer: '/startstate' }] } })
  const started = await bench.execute({ package: 'p', fluxName: 'Greet', input: { who: 'x' } })
  expect(await bench.getContext(started)).toMatchObject({ id: started.contextId })
})

test.each(['listServices', 'getServiceSchema', 'getMachine', 'getContextEvents', 'countContexts'] as const)(
  '%s takes one object, whose fields have their types',
  async (name) => {
    const call = (text: string) => bench[name](JSON.parse(text))
    await expect(call('5')).rejects.toMatchObject({ failure: { kind: 'malformed' } })
    if (name === 'listServices') return
    await expect(call('{"fluxName":7}')).rejects.toMatchObject({
      failure: {
        kind: 'malformed',
        errors: expect.arrayContaining([expect.objectContaining({ pointer: '/fluxName' })]),
      },
    })
  },
)

test('a call with a large input lets others be served before it goes on', async () => {
  const input = { anything: Array.from({ length: 10_000 }, () => ({})) }
  for (const [given, order] of [
    [input, ['other', 'call']],
    [{ anything: 1 }, ['call', 'other']],
  ] as const) {
    const done: string[] = []
    setImmediate(() => done.push('other'))
    await bench
      .sendEvent({ contextId: 999_999, event: 'e', input: JSON.parse(JSON.stringify(given)) })
      .catch(() => done.push('call'))
    await nextTurn()
    expect(done[0]).toBe(order[0])
  }
})
