// One turn: how much it takes on, and how much one message may do.
import { expect, test } from 'vitest'
import { MAX_TURN_STEPS } from '../../src/definitions/work-budget.ts'
import { SYSTEM } from '../../src/model/caller.ts'
import type { JsonObject } from '../../src/model/json/value.ts'
import { UNOWNED } from '../../src/model/context.ts'
import { compiled, event, freeSlot, Hand, type Decided } from '../support/turns.ts'

/** Steps of work after which a turn takes no more messages, and those that each costs besides its work. */
const [TURN_STEPS, STEPS_A_MESSAGE] = [300_000, 1_000]

const set = (to: string, expression: string) => ({ type: 'set', expression, evaluate: true, to: [to] })
/** Each event squares a list of so many elements, so many times. */
const squaring = (elements: number, times: number): JsonObject => ({
  output: [{ name: 'n', type: 'integer', defaultValue: 0 }],
  states: [
    {
      name: 'w',
      waiting: true,
      output: [
        { name: 'list', type: 'any', defaultValue: Array.from({ length: elements }, (_, index) => index) },
        { name: 'sum', type: 'integer' },
      ],
      action: {
        type: 'map',
        lines: [
          set('n', 'n + 1'),
          ...Array.from({ length: times }, () => set('sum', 'list.map(x => list.map(y => x + y).length).length')),
        ],
      },
      transitions: [{ to: 'w', event: 'go' }],
    },
  ],
})

function started(elements: number, times = 1) {
  const hand = new Hand()
  return { hand, id: hand.start(compiled(squaring(elements, times))).context.record.id }
}

function turnOf(elements: number, times: number): Decided {
  const { hand, id } = started(elements, times)
  return hand.turn(id, [event('go')])
}

test('a turn takes no more messages once they have been much work, and each counts', () => {
  const { hand, id } = started(100)
  const spent = hand.turn(id, [event('go')]).work.steps - STEPS_A_MESSAGE
  expect(spent).toBeGreaterThan(20_000)
  expect(spent).toBeLessThan(TURN_STEPS / 2)
  const { results, context } = hand.turn(
    id,
    Array.from({ length: 100 }, () => event('go')),
  )
  const fits = Math.ceil(TURN_STEPS / (spent + STEPS_A_MESSAGE))
  expect(Math.abs(results.length - fits)).toBeLessThanOrEqual(1)
  expect(context.record.output).toEqual({ n: 1 + results.length })
})

test('messages that are hardly any work are counted, too', () => {
  const hand = new Hand()
  const { id } = hand.start(
    compiled({ states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'go' }] }] }),
  ).context.record
  const { results } = hand.turn(
    id,
    Array.from({ length: 1000 }, () => event('unknown')),
  )
  expect(results).toHaveLength(TURN_STEPS / STEPS_A_MESSAGE)
})

test('one message may do more than that, up to a limit of its own, beyond which the context fails', () => {
  const [spent, fits] = [turnOf(300, 1).work.steps - STEPS_A_MESSAGE, 3_000_000]
  expect(MAX_TURN_STEPS).toBe(fits)
  expect(spent).toBeGreaterThan(TURN_STEPS)
  expect(turnOf(300, Math.floor(fits / spent) - 1).context.record).toMatchObject({
    status: 'WAITING',
    output: { n: 1 },
  })
  expect(turnOf(300, Math.ceil(fits / spent) + 1).context.record).toMatchObject({
    status: 'FAILED',
    error: { type: 'TooMuchWork' },
  })
})

test('what goes wrong when all messages are decided is the fault of none of them', () => {
  const { hand, id } = started(1)
  const known = hand.context(id)
  if (!known) throw new Error('it was started')
  const texts = new Proxy(known.texts, {
    get() {
      throw new Error('a text that breaks')
    },
  })
  hand.contexts.set(id, { ...known, texts })
  expect(() => hand.turn(id, [event('go'), event('go')])).toThrow('a text that breaks')
})

test('a context that has grown too large ends where it stands, whatever it is due for', () => {
  const hand = new Hand()
  const { id } = hand.start(
    compiled({
      states: [
        { name: 'w', waiting: true, transitions: [{ to: 'next', wait: 'duration:5' }] },
        { name: 'next', waiting: true, transitions: [{ to: 'w', event: 'go' }] },
      ],
    }),
  ).context.record
  const error = { message: 'too large', type: 'RecordTooLarge', className: 'RecordTooLarge', realException: null }
  const { record } = hand.turn(id, [{ type: 'OUTGROWN', error }], { now: 6000 }).context
  expect(record).toMatchObject({ status: 'FAILED', state: 0, moves: 1 })
})

const call = (name: string, service: string, to: string) => ({
  name,
  action: { type: 'invokeFlux', name: service },
  transitions: [{ to }],
})
const answers = ({ writes, context: { record } }: Decided) =>
  writes.filter(({ context }) => context.id === record.id).map((write) => write.answersNotification)

test('a turn answers the notification of a child that has ended, also when it starts another child', () => {
  const hand = new Hand([
    compiled({ states: [{ name: 'end' }] }, 'Quick'),
    compiled({ states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'go' }] }] }, 'Slow'),
  ])
  const parent = compiled({
    states: [call('first', 'Quick', 'second'), call('second', 'Slow', 'end'), { name: 'end' }],
  })

  const start = hand.start(parent)
  const { id } = start.context.record
  expect([start.context.record.child, answers(start)]).toEqual([2, [true]])
  const next = hand.turn(id, [{ type: 'WAKE' }])
  expect([next.context.record.child, answers(next)]).toEqual([3, [true]])
  // It still waits for that child, whose end may have come meanwhile.
  const tagged = hand.turn(id, [{ type: 'TAG', add: ['a'], remove: [], caller: SYSTEM }])
  expect([tagged.context.record.child, answers(tagged)]).toEqual([3, [false]])
})

test('a step for whose data there is no memory gives its slot back at once, and is ready', () => {
  const flux = compiled({ states: [{ name: 's', action: { type: 'script', script: 'return 1' } }] })
  const released: string[] = []
  const admit = () => ({ ...freeSlot('script'), fits: () => false, release: () => void released.push('script') })
  const { context } = new Hand().start(flux, { admit })
  expect([context.record.lease?.owner, context.slot, released]).toEqual([UNOWNED, null, ['script']])
})
