// Scenarios: files that say what happens to a service, and what is to be seen then.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { openSuite, type ScenarioResult } from '../../src/testing/scenario/suite.ts'
import { scenarioSchema, STEPS } from '../../src/testing/scenario/schema.ts'
import { mismatchesOf } from '../../src/testing/scenario/match.ts'
import { folderOf, type Files } from '../definitions/catalog-files.ts'
import { ACTORS, PACKAGE } from '../examples/examples.ts'

const DOOR = {
  key: '${room}',
  input: [{ name: 'room' }],
  output: [{ name: 'by' }],
  states: [
    {
      name: 'Open',
      waiting: true,
      input: [{ name: 'by' }],
      action: { lines: [{ from: ['by'], to: ['by'] }] },
      transitions: [
        { event: 'close', to: 'Closed' },
        { event: 'look', to: 'Open' },
        { wait: 'duration:3600', to: 'Late' },
      ],
    },
    { name: 'Closed' },
    { name: 'Late' },
  ],
}

async function resultsOf(files: Files, filter = ''): Promise<ScenarioResult[]> {
  const suite = await openSuite({ folders: [await folderOf(files)], within: null, filter })
  try {
    const results: ScenarioResult[] = []
    for await (const result of suite.run()) results.push(result)
    return results
  } finally {
    suite.close()
  }
}

const scenario = ({
  steps = [],
  ...more
}: {
  readonly steps?: readonly object[]
  readonly [key: string]: unknown
}) => ({
  service: 'Door',
  name: 'a door',
  start: {},
  ...more,
  [STEPS]: steps,
})

async function failureOf(more: Parameters<typeof scenario>[0]): Promise<ScenarioResult['failure']> {
  const results = await resultsOf({ 'p/Door.flux': DOOR, 'p/Door.scenario.json': scenario(more) })
  expect(results).toHaveLength(1)
  return results[0]?.failure ?? null
}

test('all that can be done is done', async () => {
  const steps = [
    { expect: { state: 'Open', key: 'r-1', tags: [], nextRun: '2026-05-01T01:00:00.000Z', paused: false } },
    { pause: true },
    { send: 'look' },
    { expect: { paused: true, states: ['Open'], error: null } },
    { resume: true },
    { expect: { states: ['Open', 'Open'] } },
    { crash: true },
    { send: 'look', key: 'r-1' },
    { terminate: true },
    { expect: { status: 'TERMINATED' } },
    { retry: true, state: 'Open', input: { by: 'me' } },
    { send: 'close', all: true, input: { by: 'Ada' } },
    { expect: { status: 'COMPLETED', output: { by: { $matches: '^A' } } } },
    { send: 'close', refused: { $any: true } },
    { send: 'close', tags: ['none'] },
    { advance: 1000 },
  ]
  expect(await failureOf({ now: '2026-05-01', start: { input: { room: 'r-1' } }, steps })).toBeNull()
})

test('the answer of a webhook may come in a later step', async () => {
  const retry = { maxAttempts: 2, delay: 5 }
  const states = [{ name: 'A', action: { type: 'invokeCode', className: 'doors', methodName: 'open', retry } }]
  const webhooks = [{ urlPath: '/door', httpMethods: ['POST'] }]
  const steps = [
    { expect: { answer: null } },
    { advance: '5s' },
    { expect: { status: 'COMPLETED', answer: { status: 204 } } },
  ]
  const results = await resultsOf({
    'p/Door.flux': { webhooks, states },
    'p/doors.mjs': 'export const open = () => true',
    'p/a.scenario.json': scenario({
      functions: { 'doors.open': [{ error: { message: 'no' } }, { result: 1 }] },
      start: { webhook: { path: '/door' } },
      steps,
    }),
  })
  expect(results.map(({ failure }) => failure)).toEqual([null])
})

test('a failure tells the step, what was expected and seen, and the way', async () => {
  const file = JSON.stringify(
    scenario({
      steps: [{ send: 'look' }, { expect: { state: 'Closed', status: 'WAITING_UNTIL', output: { by: 'Eve' } } }],
    }),
    null,
    2,
  )
  const [result] = await resultsOf({ 'p/Door.flux': DOOR, 'p/a.scenario.json': file })
  expect(result).toMatchObject({ scenario: 'a door', service: 'p/Door', ok: false, milliseconds: expect.any(Number) })
  expect(result?.file.endsWith(join('p', 'a.scenario.json'))).toBe(true)
  expect(result?.failure).toEqual({
    pointer: '/then/1',
    line: 9,
    column: 5,
    message: 'context 1 is not as expected',
    mismatches: [
      { pointer: '/expect/state', expected: 'Closed', seen: 'Open' },
      { pointer: '/expect/output/by', expected: 'Eve', seen: null },
    ],
    way: ['p/Door: Open', 'p/Door: Open → Open (look)'],
  })
})

test.each([
  ['a refused call', { steps: [{ send: 'fly' }] }, /^the call was refused: /],
  ['a refused start', { start: { input: { roon: 1 } }, steps: [] }, /^the call was refused: .*roon/],
  ['a call that is not refused', { steps: [{ send: 'look', refused: { $any: true } }] }, /^the call was not refused/],
  ['a context that is missing', { start: undefined, steps: [{ terminate: true }] }, /^there is no context$/],
  ['no context to look at', { start: undefined, steps: [{ expect: { state: 'Open' } }] }, /^there is no context$/],
])('%s is a failure', async (_, more, message) => {
  expect((await failureOf(more))?.message).toMatch(message)
})

test.each([
  [{ steps: [{ expct: {} }] }, '/then/0/expct', /unknown key "expct"; did you mean "expect"/],
  [{ steps: [{ expect: { stat: 'Open' } }] }, '/then/0/expect/stat', /unknown key "stat"; did you mean "state"/],
  [{ service: 'Dor', steps: [] }, '/service', /unknown service "Dor"; did you mean "Door"/],
  [{ steps: [{ expect: {}, service: 'Dor' }] }, '/then/0', /unknown service "Dor"/],
  [{ functions: { 'a.b': {} }, steps: [] }, '/functions', /no service calls a function "a\.b"/],
  [{ functions: { 'a.b': [{ reslt: 1 }] }, steps: [] }, '/functions/a.b/0/reslt', /unknown key "reslt"/],
  [{ steps: [{ expect: { calls: { 'a.b': 1 } } }] }, '/then/0', /no service calls a function "a\.b"/],
  [{ steps: [{}] }, '/then/0', /must have one of expect, send/],
  [{ steps: [{ crash: true, advance: '1s' }] }, '/then/0/crash', /has no meaning beside advance/],
  [{ steps: [{ expect: {}, input: {} }] }, '/then/0/input', /has no meaning beside expect/],
  [{ steps: [{ terminate: true, tags: ['a'] }] }, '/then/0/tags', /has no meaning beside terminate/],
  [{ steps: [{ advance: 1, all: true }] }, '/then/0/all', /has no meaning beside advance/],
  [{ steps: [{ send: 'look', state: 'Open' }] }, '/then/0/state', /has no meaning beside send/],
  [{ steps: [{ send: 'look', tags: ['a'], key: 'b' }] }, '/then/0/key', /has no meaning beside tags/],
  [{ start: { webhook: { path: '/a' }, tags: ['a'] }, steps: [] }, '/start/tags', /has no meaning beside webhook/],
  [
    { functions: { 'a.b': { result: 1, error: {} } }, steps: [] },
    '/functions/a.b/error',
    /has no meaning beside result/,
  ],
  [{ http: { a: [{ error: 'EPIPE', body: 1 }] }, steps: [] }, '/http/a/0/body', /has no meaning beside error/],
  [{ steps: [{ advance: '1 week' }] }, '/then/0/advance', /must be milliseconds, or a text such as 90s/],
  [{ now: 'soon', steps: [] }, '/now', /must be a time in ISO 8601/],
  [{ steps: [{ expect: { key: { $any: false } } }] }, '/then/0', /\/expect\/key: a matcher is/],
  [{ steps: [{ expect: { key: { $matches: '(a)\\1' } } }] }, '/then/0', /pattern|regular/i],
])('a faulty file is a failure with its place: %j', async (more, pointer, message) => {
  const failure = await failureOf(more)
  expect(failure).toMatchObject({ pointer, line: 1, column: expect.any(Number) })
  expect(failure?.message).toMatch(message)
})

test('a file that is no JSON is a failure with its place', async () => {
  const [result] = await resultsOf({ 'p/Door.flux': DOOR, 'p/a.scenario.json': '{\n  "service" }' })
  expect(result).toMatchObject({
    scenario: 'p/a.scenario.json',
    service: null,
    ok: false,
    failure: { line: 2, column: 13, message: expect.stringContaining('not valid JSON') },
  })
})

test('the schema for editors takes what is read, and no other keys', async () => {
  const ajv = new Ajv2020({ strict: false })
  const fits = ajv.compile(scenarioSchema())
  const folder = join(ACTORS, PACKAGE)
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.scenario.json'))
  expect(files.length).toBeGreaterThan(20)
  for (const file of files) expect(fits(JSON.parse(await readFile(join(folder, file), 'utf8'))), file).toBe(true)
  for (const steps of [[{ expct: {} }], [{ expect: { stat: 1 } }], [{ crash: false }], [{}, { crash: 1 }]])
    expect(fits(scenario({ steps }))).toBe(false)
})

test('scenarios are chosen by their name, service or file', async () => {
  const files = {
    'p/Door.flux': DOOR,
    'q/Gate.flux': DOOR,
    'p/one.scenario.json': scenario({ steps: [] }),
    'q/two.scenario.json': { ...scenario({ steps: [] }), service: 'Gate', name: 'a gate' },
    'q/three.scenario.json': { ...scenario({ steps: [] }), service: 'p/Door', name: 'the door of another package' },
    'q/node_modules/four.scenario.json': '{',
  }
  const chosen = async (filter: string) =>
    (await resultsOf(files, filter)).map(({ file }) => file.split(/[/\\]/).at(-1))
  expect(await chosen('')).toEqual(['one.scenario.json', 'three.scenario.json', 'two.scenario.json'])
  expect(await chosen('gate')).toEqual(['two.scenario.json'])
  expect(await chosen('p/Door')).toEqual(['one.scenario.json', 'three.scenario.json'])
  expect(await chosen('three')).toEqual(['three.scenario.json'])
})

/** A thousand take about four seconds; the core runs a tenth. */
const MANY = 1000 * Number(process.env['LOAD'] ?? 1)

test('very many scenarios of ten steps run, each on an engine of its own', async () => {
  const steps = [
    { expect: { state: 'Open', status: 'WAITING_UNTIL' } },
    { send: 'look', input: { by: 'Ada' } },
    { expect: { output: { by: 'Ada' }, sent: 0 } },
    { advance: '30m' },
    { send: 'look', input: { by: 'Bob' } },
    { expect: { output: { by: 'Bob' }, states: ['Open', 'Open', 'Open'] } },
    { advance: '59m' },
    { expect: { status: 'WAITING_UNTIL' } },
    { send: 'close', input: { by: 'Eve' } },
    { expect: { status: 'COMPLETED', output: { by: 'Eve' } } },
  ]
  const many = Array.from(
    { length: MANY },
    (_, n) => [`p/d${n}.scenario.json`, scenario({ name: `door ${n}`, steps })] as const,
  )
  const results = await resultsOf({ 'p/Door.flux': DOOR, ...Object.fromEntries(many) })
  expect(results).toHaveLength(MANY)
  expect(results.filter(({ ok }) => !ok)).toEqual([])
})

describe('what is expected is compared', () => {
  test.each([
    [1, 1],
    ['a', 'a'],
    [null, null],
    [{ a: 1 }, { a: 1, b: 2 }],
    [{ a: { b: [1] } }, { a: { b: [1], c: 1 } }],
    [[{ a: 1 }], [{ a: 1, b: 2 }]],
    [
      { matches: 1, any: [], $ref: '#' },
      { matches: 1, any: [], $ref: '#' },
    ],
    [{ $any: true }, 0],
    [{ $matches: '^ch_' }, 'ch_1'],
  ])('%j with %j', (expected, seen) => expect(mismatchesOf(expected, seen)).toEqual([]))

  test.each([
    [1, 2, ''],
    [{ a: 1 }, {}, '/a'],
    [{ 'a/b': { c: 1 } }, { 'a/b': { c: 2 } }, '/a~1b/c'],
    [[1], [1, 2], ''],
    [[1, 2], [1, 3], '/1'],
    [1, ['a', 'b'], ''],
    [{ $any: true }, null, ''],
    [{ $matches: '^ch_' }, 7, ''],
    [{ $matches: '^ch_' }, 'x', ''],
    [{}, [], ''],
    [2, ['a', 'b'], ''],
    [{ a: null }, {}, '/a'],
    [{ a: { $any: true } }, {}, '/a'],
  ])('%j differs from %j at %j', (expected, seen, pointer) =>
    expect(mismatchesOf(expected, seen).map((each) => each.pointer)).toEqual([pointer]),
  )

  test.each([{ $any: 'true' }, { $any: false }, { $any: true, a: 1 }, { $any: true, $matches: '' }, { $matches: 1 }])(
    'never with %j, which is no matcher',
    (matcher) =>
      expect(() => mismatchesOf({ a: matcher }, { a: null })).toThrow(
        '/a: a matcher is {"$any": true} or {"$matches": "a pattern"}, alone in its object',
      ),
  )

  test('in time that grows with the text alone', () => {
    expect(mismatchesOf({ $matches: '^(a+)+$' }, `${'a'.repeat(10_000)}b`)).toHaveLength(1)
  })
})
