import { WorkBudget } from '../../../src/definitions/work-budget.ts'
import { describe, expect, test } from 'vitest'
import { compileFlux } from '../../../src/definitions/service.ts'
import type { CompiledFlux } from '../../../src/definitions/flux.ts'
import { Report } from '../../../src/definitions/report.ts'
import { SYSTEM } from '../../../src/model/caller.ts'
import type { JsonObject } from '../../../src/model/json/value.ts'
import { type ContextRecord, UNOWNED } from '../../../src/model/context.ts'
import { initialRecordOf } from '../../../src/engine/turn/start-request.ts'
import { begin, blockOf, decide, lossOf } from '../../../src/engine/interpreter/decide.ts'
import type { Decision, Input, DecisionEnv } from '../../../src/engine/interpreter/decision.ts'

const set = (to: string, expression: string) => ({ type: 'set', expression, evaluate: true, to: [to] })
const given: DecisionEnv = {
  now: 1000,
  random: () => 0.5,
  uuid: () => 'u-1',
  owner: 'me',
  budget: new WorkBudget(Infinity),
  past: { historyOf: () => [] },
  tagLimits: { count: 64, bytes: 256 },
}

function compiled(source: JsonObject): CompiledFlux {
  const report = new Report('Test.flux')
  const flux = compileFlux({ package: 'p', fluxName: 'Test', source, models: new Map() }, report)
  if (!flux) throw new Error(JSON.stringify(report.faults))
  return flux
}

const flux = compiled({
  input: [{ name: 'n', type: 'integer', defaultValue: 0 }],
  output: [{ name: 'n', type: 'integer' }, { name: 'id' }],
  states: [
    {
      name: 'wait',
      waiting: true,
      action: { type: 'map', lines: [set('n', 'n + 1'), set('id', 'uuid()')] },
      transitions: [
        { to: 'wait', event: 'add' },
        { to: 'work', event: 'work' },
        { to: 'wait', wait: 'duration:5' },
      ],
    },
    {
      name: 'work',
      action: {
        type: 'invokeCode',
        className: 'A',
        methodName: 'b',
        inputs: [set('n', 'n')],
        outputs: [{ from: ['n'], to: ['n'] }],
        retry: { maxAttempts: 2, delay: 3 },
      },
      transitions: [{ to: 'end' }],
    },
    { name: 'end' },
  ],
})

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(freeze)
  }
  return value
}

function next(decision: Decision): Decision & { kind: 'next' } {
  if (decision.kind !== 'next') throw new Error(`expected a next record: ${JSON.stringify(decision)}`)
  return decision
}

function born(): ContextRecord {
  const birth = initialRecordOf({ flux, input: {}, untyped: false, unknown: 'refuse', tags: [], trigger: null }, given)
  return freeze(next(begin(flux, birth.checked()(1), given)).record)
}

const event = (name: string): Input => ({
  type: 'EVENT',
  name,
  eventId: 'e-1',
  input: {},
  untyped: false,
  tags: null,
  caller: SYSTEM,
})
const tell = (record: ContextRecord, input: Input, more: Partial<DecisionEnv> = {}) =>
  decide(flux, record, input, { ...given, ...more })
const working = () => freeze(next(tell(born(), event('work'))).record)

describe('a decision', () => {
  test('is pure: frozen data goes in, and the same comes out each time', () => {
    const record = born()
    expect(tell(record, event('add'))).toEqual(tell(record, event('add')))
    expect(next(tell(record, event('add'))).record).toMatchObject({
      output: { n: 1, id: 'u-1' },
      fluxEvent: null,
      moves: 2,
    })
  })

  test.each(['xstate.stop', 'xstate.init', '*', 'add.*', 'EVENT', 'WAKE', 'DONE', '__proto__', 'constructor'])(
    'takes %s for a name and nothing else',
    (name) => {
      expect(tell(born(), event(name))).toMatchObject({ kind: 'refused', failure: { kind: 'conflict' } })
    },
  )

  test('is never made early by a wake-up', () => {
    const record = born()
    expect(record.due).toBe(6000)
    expect(tell(record, { type: 'WAKE' }, { now: 5999 })).toEqual({ kind: 'noop' })
    expect(next(tell(record, { type: 'WAKE' }, { now: 6000 })).log).toMatchObject([
      { from: 'wait', to: 'wait', event: null, at: 6000 },
    ])
  })

  test('leases a step to this server and asks for it to be started, with its arguments', () => {
    const { record, step } = next(tell(born(), event('work')))
    expect(record).toMatchObject({ status: 'RUNNING', state: 1, lease: { owner: 'me', takeovers: 0 }, args: { n: 1 } })
    expect(step).toEqual({ id: 1, state: 1, epoch: 2, attempt: 1, owner: 'me' })
  })

  test('ignores answers to another entry or attempt', () => {
    const record = working()
    for (const [epoch, attempt] of [
      [1, 1],
      [3, 1],
      [2, 0],
      [2, 2],
    ] as const) {
      expect(tell(record, { type: 'DONE', epoch, attempt, result: {} })).toEqual({ kind: 'noop' })
      expect(
        tell(record, {
          type: 'FAIL',
          epoch,
          attempt,
          error: { message: '', type: '', className: '', realException: null },
        }),
      ).toEqual({ kind: 'noop' })
    }
    expect(next(tell(record, { type: 'DONE', epoch: 2, attempt: 1, result: { n: 9 } })).record).toMatchObject({
      status: 'COMPLETED',
      output: { n: 9 },
      lease: null,
      args: null,
    })
  })

  test('keeps arguments over attempts and takeovers; back-off has no lease', () => {
    const error = { message: 'no', type: 'Error', className: 'Error', realException: null }
    const backoff = next(tell(working(), { type: 'FAIL', epoch: 2, attempt: 1, error }))
    expect(backoff).toMatchObject({ step: null, record: { lease: null, due: 4000, status: 'RUNNING', args: { n: 1 } } })
    const again = next(tell(backoff.record, { type: 'WAKE' }, { now: 4000, owner: 'other' }))
    expect(again).toMatchObject({
      step: { attempt: 2, epoch: 2 },
      record: { args: { n: 1 }, lease: { owner: 'other', takeovers: 0 } },
    })
    const taken = next(tell(again.record, { type: 'TAKE_OVER', owner: 'other' }, { owner: 'third' }))
    expect(taken).toMatchObject({
      step: { attempt: 2, epoch: 2 },
      record: { args: { n: 1 }, lease: { owner: 'third', takeovers: 1 } },
    })
    expect(next(tell(taken.record, { type: 'FAIL', epoch: 2, attempt: 2, error })).record).toMatchObject({
      status: 'FAILED',
      error: { message: 'no' },
    })
  })

  test('takes a step over from the owner who left it, and from nobody else', () => {
    const taken = freeze(next(tell(working(), { type: 'TAKE_OVER', owner: 'me' }, { owner: 'second' })).record)
    expect(tell(taken, { type: 'TAKE_OVER', owner: 'me' }, { owner: 'third' })).toEqual({ kind: 'noop' })
    expect(tell(taken, { type: 'TAKE_OVER', owner: 'second' }, { owner: 'second' })).toEqual({ kind: 'noop' })
    expect(tell(born(), { type: 'TAKE_OVER', owner: 'me' }, { owner: 'third' })).toEqual({ kind: 'noop' })
  })

  test('gives a step back to nobody, unless another one was meant', () => {
    const record = working()
    for (const step of [
      { epoch: 1, attempt: 1 },
      { epoch: 2, attempt: 2 },
    ])
      expect(tell(record, { type: 'RELEASE', step })).toEqual({ kind: 'noop' })
    expect(tell(record, { type: 'RELEASE' }, { owner: 'other' })).toEqual({ kind: 'noop' })
    const released = next(tell(record, { type: 'RELEASE', step: { epoch: 2, attempt: 1 } }))
    expect(released).toMatchObject({ step: null, record: { lease: { owner: UNOWNED, takeovers: 0 } } })
  })

  test('gives up on a step after five takeovers; one that was given back is no takeover', () => {
    let record = working()
    for (let server = 1; server <= 5; server += 1) {
      const released = next(tell(record, { type: 'RELEASE' }, { owner: record.lease?.owner ?? '' })).record
      record = next(tell(released, { type: 'TAKE_OVER', owner: UNOWNED }, { owner: `calm-${server}` })).record
      record = next(tell(record, { type: 'TAKE_OVER', owner: `calm-${server}` }, { owner: `dead-${server}` })).record
    }
    expect(record.lease).toEqual({ owner: 'dead-5', takeovers: 5 })
    const lost = next(tell(record, { type: 'TAKE_OVER', owner: 'dead-5' }, { owner: 'last' }))
    // Counted first, and started no more: its attempt has failed.
    expect(lost).toMatchObject({ step: null, record: { lease: { owner: 'last', takeovers: 6 } } })
    const loss = lossOf(lost.record)
    if (!loss) throw new Error('nothing was lost')
    expect(next(tell(lost.record, loss, { owner: 'last' })).record).toMatchObject({
      due: 4000,
      lease: null,
      lastError: { type: 'LeaseLost', at: 1000 },
    })
    // If to decide that costs a server too, the context ends as it stands.
    const ended = next(tell(lost.record, { type: 'TAKE_OVER', owner: 'last' }, { owner: 'one more' })).record
    expect(ended).toMatchObject({
      status: 'FAILED',
      due: null,
      lease: null,
      error: { type: 'LeaseLost', fluxStackTrace: [{ stateName: 'work' }] },
      args: { n: 1 },
    })
    expect(tell(ended, event('add'))).toMatchObject({ kind: 'refused' })
  })

  test('fails the attempt that held up its server, by its retry, and counts no takeover for the others', () => {
    const standstill = { step: null, isCertain: true, message: 'held up', stack: 'at loop (fn.ts:1:2)' }
    const { stepKey, attempt } = { stepKey: `${working().id}-2`, attempt: 1 }
    const block = blockOf(working(), { ...standstill, step: { stepKey, attempt } })
    if (!block) throw new Error('it was this step')
    expect(next(tell(working(), block, { owner: 'second' }))).toMatchObject({
      step: null,
      record: {
        lease: null,
        due: 4000,
        lastError: { type: 'EventLoopBlocked', message: 'held up', stack: standstill.stack },
      },
    })
    for (const other of [null, { stepKey, attempt: 2 }, { stepKey: `${stepKey}0`, attempt }])
      expect(blockOf(working(), { ...standstill, step: other })).toBeNull()
    const takeOver = (isUncounted: boolean) =>
      next(tell(working(), { type: 'TAKE_OVER', owner: 'me', isUncounted }, { owner: 'second' }))
    expect(takeOver(true)).toMatchObject({ step: { attempt: 1 }, record: { lease: { owner: 'second', takeovers: 0 } } })
    expect(takeOver(false)).toMatchObject({ record: { lease: { takeovers: 1 } } })
  })

  test.each([
    [0, 1e300],
    [1, 1e300],
    [1e6, 1e9],
  ])('has a time for the next attempt, however a delay of %j s grows by %j', (delay, factor) => {
    const patient = compiled({
      states: [
        {
          name: 's',
          action: {
            type: 'invokeCode',
            className: 'A',
            methodName: 'b',
            retry: { maxAttempts: 2000, delay, factor, maxDelay: 1e7 },
          },
        },
      ],
    })
    const birth = initialRecordOf(
      { flux: patient, input: {}, untyped: false, unknown: 'refuse', tags: [], trigger: null },
      given,
    )
    const { record } = next(begin(patient, birth.checked()(1), given))
    const late = { ...record, position: { ...record.position, epoch: 1, attempt: 1500 } }
    const error = { message: 'no', type: 'Error', className: 'Error', realException: null }
    const { due } = next(decide(patient, late, { type: 'FAIL', epoch: 1, attempt: 1500, error }, given)).record
    expect(due).toBeGreaterThanOrEqual(1000)
    expect(due).toBeLessThan(8.64e15)
  })

  test('asks for the log when an exception needs its trace', () => {
    const record = { ...working(), moves: 5, tail: '' }
    const error = { message: 'no', type: 'Error', className: 'Error', realException: null }
    const last = { ...record, position: { ...record.position, epoch: 2, attempt: 2 } }
    const lacking = new Error('not at hand')
    const past = {
      historyOf: () => {
        throw lacking
      },
    }
    expect(() => tell(last, { type: 'FAIL', epoch: 2, attempt: 2, error }, { past })).toThrow(lacking)
  })
})

test.each([
  ['a function', { type: 'invokeCode', className: 'A', methodName: 'b' }, given.now],
  ['an isolated function', { type: 'invokeCode', className: 'A', methodName: 'b', isolate: true }, undefined],
  ['a script', { type: 'script', script: 'return 1' }, undefined],
])('that %s has begun is said for others only where no process must be free', (_, action, startedAt) => {
  const one = compiled({ states: [{ name: 'act', action }] })
  const birth = initialRecordOf(
    { flux: one, input: {}, untyped: false, unknown: 'refuse', tags: [], trigger: null },
    given,
  )
  const { record } = next(begin(one, birth.checked()(1), given))
  expect(record).toMatchObject({ status: 'RUNNING' })
  expect(record.stepStartedAt).toBe(startedAt)
  expect(
    next(decide(one, record, { type: 'TAKE_OVER', owner: 'me' }, { ...given, owner: 'other' })).record.stepStartedAt,
  ).toBe(startedAt)
})
