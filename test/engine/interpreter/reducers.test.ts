// What reducers leave in the record: arguments go with their action, entries are counted.
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/model/json/value.ts'
import type { Input } from '../../../src/engine/interpreter/decision.ts'
import { hasPhase } from '../../../src/engine/interpreter/nodes.ts'
import { compiled, event, Hand } from '../../support/turns.ts'

const error = { message: 'no', type: 'Error', className: 'Error', realException: null }
const DONE: Input = { type: 'DONE', epoch: 1, attempt: 1, result: {} }
const FAIL: Input = { type: 'FAIL', epoch: 1, attempt: 1, error }

const set = (expression: string) => ({ type: 'set', expression, evaluate: true, to: ['n'] })
const act = {
  name: 'act',
  action: {
    type: 'invokeCode',
    className: 'A',
    methodName: 'b',
    inputs: [set('1')],
  },
}
const end = { name: 'end' }
const delayed = (event: JsonObject): JsonObject => ({
  states: [{ ...act, transitions: [{ ...event, to: 'end', wait: 'duration:5' }] }, end],
})

describe('the arguments of a step are no longer kept once it', () => {
  test.each([
    ['ended well, and its state is the last', { states: [act] }, DONE, 'COMPLETED'],
    ['failed, and no transition takes that', { states: [act] }, FAIL, 'FAILED'],
    ['ended well, and a delay follows', delayed({}), DONE, 'WAITING_UNTIL'],
    ['failed, and a delay follows', delayed({ event: '$exception' }), FAIL, 'WAITING_UNTIL'],
  ])('%s', (_, source, answer, status) => {
    const hand = new Hand()
    const { record } = hand.start(compiled(source)).context
    expect(record).toMatchObject({ status: 'RUNNING', args: { n: 1 }, position: { epoch: 1 } })
    expect(hand.turn(record.id, [answer]).context.record).toMatchObject({ status, args: null })
  })
})

test('each state that is entered is counted, those in which nothing takes time, too', () => {
  const flux = compiled({
    states: [
      { name: 'a', transitions: [{ to: 'b' }] },
      { name: 'b', transitions: [{ to: 'act' }] },
      { ...act, transitions: [{ to: 'end' }] },
      end,
    ],
  })
  const hand = new Hand()
  const { record } = hand.start(flux).context
  expect(record).toMatchObject({ moves: 3, position: { epoch: 3 } })
  expect(hand.turn(record.id, [{ ...DONE, epoch: 3 }]).context.record).toMatchObject({
    moves: 4,
    position: { epoch: 4 },
  })
})

test('outputs of an action that fails are no answer to a webhook', () => {
  const flux = compiled({
    output: [{ name: 'n', type: 'any' }],
    states: [
      {
        name: 'w',
        waiting: true,
        action: { type: 'map', lines: [set('1'), set('parseJson("{")')] },
        transitions: [{ to: 'w', event: 'go' }],
      },
    ],
  })
  const hand = new Hand()
  const { record, texts } = hand.start(flux).context
  hand.contexts.set(record.id, { record: { ...record, request: {} }, flux, texts })
  expect(hand.turn(record.id, [event('go')]).context.record).toMatchObject({
    status: 'FAILED',
    output: record.output,
    answer: record.answer,
  })
})

test('a state has a place for another attempt only where there is one', () => {
  const flux = compiled({
    states: [act, { ...act, name: 'again', action: { ...act.action, retry: { maxAttempts: 2 } } }],
  })
  const places = (index: number) =>
    (['waiting', 'acting', 'backoff', 'delayed'] as const).filter((phase) => hasPhase(flux, phase, index))
  expect([places(0), places(1), places(2)]).toEqual([['acting'], ['acting', 'backoff'], []])
})
