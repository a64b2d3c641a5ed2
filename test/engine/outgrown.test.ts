// A context that would outgrow what the store takes fails by itself, and stays as it was.
import { expect, test } from 'vitest'
import { compileFlux } from '../../src/definitions/service.ts'
import { Report } from '../../src/definitions/report.ts'
import type { Json } from '../../src/model/json/value.ts'
import { initialRecordOf } from '../../src/engine/turn/start-request.ts'
import { RecordTooLarge, writeOf } from '../../src/engine/record/encode.ts'
import { openBench, outputs, type Bench, type Files } from '../support/engine.ts'

const KIB = 1024
const set = (to: string, expression: string) => ({ type: 'set', expression, evaluate: true, to: [to] })
const FILES: Files = {
  'p/Grow.flux': {
    input: [{ name: 'seed' }],
    output: [
      { name: 'text', type: 'any' },
      { name: 'n', type: 'integer', defaultValue: 0 },
    ],
    states: [
      {
        name: 'grow',
        waiting: true,
        input: [{ name: 'more' }],
        action: { type: 'map', lines: [set('text', '(text ?? "") + more'), set('n', 'n + 1')] },
        transitions: [{ to: 'grow', event: 'add' }],
      },
    ],
  },
  'p/Twice.flux': {
    output: [
      { name: 'list', type: 'any', defaultValue: 'x' },
      { name: 'n', type: 'integer', defaultValue: 0 },
    ],
    states: [
      { name: 'wait', waiting: true, transitions: [{ to: 'double', event: 'go' }] },
      {
        name: 'double',
        action: {
          type: 'map',
          lines: [set('list', '[list, list]'), set('n', 'n + 1'), set('$fluxEvent', 'n < 18 ? "again" : "enough"')],
        },
        transitions: [
          { to: 'double', event: 'again' },
          { to: 'end', event: 'enough' },
        ],
      },
      { name: 'end' },
    ],
  },
  'p/Fn.ts': 'export function large({ length }) { return { text: "x".repeat(length) } }',
  'p/Step.flux': {
    input: [{ name: 'length', type: 'integer' }],
    output: [{ name: 'text' }, { name: 'kept' }],
    states: [
      { name: 'note', action: { type: 'map', lines: [set('kept', '"before"')] }, transitions: [{ to: 'make' }] },
      {
        name: 'make',
        action: {
          type: 'invokeCode',
          className: 'Fn',
          methodName: 'large',
          inputs: [{ from: ['length'], to: ['length'] }],
          outputs: [{ from: ['text'], to: ['text'] }],
        },
      },
    ],
  },
  'p/Parent.flux': {
    input: [{ name: 'length', type: 'integer' }],
    output: [{ name: 'all', type: 'any' }],
    states: [
      {
        name: 'ask',
        action: {
          type: 'invokeFlux',
          name: 'Step',
          inputs: [{ from: ['length'], to: ['length'] }],
          outputs: [{ from: ['text'], to: ['all'] }],
        },
      },
    ],
  },
}

let bench: Bench
const open = async () => {
  bench = await openBench(FILES, { memory: { record: 100 * KIB } })
}
const done = ({ status }: { status: string }) => ['COMPLETED', 'FAILED', 'TERMINATED'].includes(status)

test('by events: the one that is too much fails it, those before and beside it count, and those after are refused', async () => {
  await open()
  const contextId = await bench.run('Grow')
  const other = await bench.run('Grow')
  const add = (id: number) => bench.sendEvent({ contextId: id, event: 'add', input: { more: 'x'.repeat(20 * KIB) } })
  const outcomes = await Promise.allSettled([...Array.from({ length: 8 }, () => add(contextId)), add(other)])
  const view = await bench.getContext({ contextId })
  expect(view).toMatchObject({
    status: 'FAILED',
    currentState: 'grow',
    error: { type: 'RecordTooLarge', message: expect.stringContaining(String(100 * KIB)) },
  })
  const taken = Number(outputs(view)['n'])
  expect(taken).toBeGreaterThan(1)
  expect(String(outputs(view)['text'])).toHaveLength(taken * 20 * KIB)
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(taken + 2)
  expect(
    outcomes
      .filter(({ status }) => status === 'rejected')
      .every((outcome) => 'reason' in outcome && outcome.reason.failure.kind === 'conflict'),
  ).toBe(true)
  expect(await bench.getContext({ contextId: other })).toMatchObject({ status: 'WAITING' })
  expect(bench.logged.filter(({ level }) => level === 'error')).toEqual([])
})

test('several events at once for one that takes most of the room that turns share: none waits for ever', async () => {
  bench = await openBench(FILES, { memory: { record: 200 * KIB, steps: 256 * KIB } })
  const contextId = await bench.run('Grow')
  const add = (length: number) =>
    bench.sendEvent({ contextId, event: 'add', input: { more: 'x'.repeat(length * KIB) } })
  await add(80)
  const outcomes = await Promise.allSettled([1, 1, 60, 90].map(add))
  expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => 'fulfilled'))
  expect(await bench.getContext({ contextId })).toMatchObject({ status: 'FAILED', error: { type: 'RecordTooLarge' } })
})

test('by what lines put into itself', async () => {
  await open()
  const contextId = await bench.run('Twice')
  await bench.sendEvent({ contextId, event: 'go' })
  expect(await bench.getContext({ contextId })).toMatchObject({
    status: 'FAILED',
    currentState: 'wait',
    error: { type: 'RecordTooLarge' },
  })
})

test('of what holds itself many times over, nobody makes a text to know that', () => {
  const report = new Report('Test.flux')
  const flux = compileFlux(
    {
      package: 'p',
      fluxName: 'Test',
      source: {
        output: [{ name: 'list', type: 'any' }],
        states: [{ name: 's', waiting: true, transitions: [{ to: 's', event: 'e' }] }],
      },
      models: new Map(),
    },
    report,
  )
  const given = {
    now: 1,
    random: () => 0,
    uuid: () => 'u',
    owner: 'me',
    history: [],
    tagLimits: { count: 1, bytes: 1 },
  }
  const born =
    flux && initialRecordOf({ flux, input: {}, untyped: false, unknown: 'refuse', tags: [], trigger: null }, given)
  if (!flux || !born) throw new Error(JSON.stringify(report.faults))
  let list: Json = 'x'
  for (let times = 0; times < 60; times += 1) list = [list, list]
  const next = { ...born.checked()(1), output: { list } }
  expect(() =>
    writeOf({
      before: null,
      texts: {},
      next,
      flux,
      log: [],
      notifies: [],
      answersNotification: true,
      maxRecord: 100 * KIB,
    }),
  ).toThrow(RecordTooLarge)
})

test("by what a step gives: it isn't given again for ever", async () => {
  await open()
  const contextId = await bench.run('Step', { length: 200 * KIB })
  const view = await bench.until(contextId, done)
  expect(view).toMatchObject({ status: 'FAILED', currentState: 'make', error: { type: 'RecordTooLarge' } })
  expect(outputs(view)).toEqual({ text: null, kept: 'before' })
  expect((await bench.until(await bench.run('Step', { length: 5 }), done)).status).toBe('COMPLETED')
})

test("a parent hears of its child's failure", async () => {
  await open()
  const view = await bench.until(await bench.run('Parent', { length: 200 * KIB }), done)
  expect(view).toMatchObject({
    status: 'FAILED',
    error: { type: 'ServiceFailed', realException: { type: 'RecordTooLarge' } },
  })
})

test('one that would be too large from the start is refused', async () => {
  await open()
  await expect(bench.run('Grow', { seed: 'x'.repeat(200 * KIB) })).rejects.toMatchObject({
    failure: { kind: 'tooLarge' },
  })
})
