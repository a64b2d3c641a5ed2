// An answer that can't be processed ends the context that waits for it, and no other visit of a state.
import { expect, test } from 'vitest'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { compiled, Hand, outcomeOf } from '../support/turns.ts'
import type { Input } from '../../src/engine/interpreter/decision.ts'
import { Redelivery } from '../../src/engine/cluster/redelivery.ts'
import { Undecidable } from '../../src/engine/turn/turn.ts'
import { silent } from '../support/silent.ts'

const FLUX = compiled({
  states: [
    {
      name: 'act',
      action: { type: 'script', script: '1' },
      transitions: [
        { to: 'act', event: '$else' },
        { to: 'act', event: '$exception' },
      ],
    },
  ],
})

/** Delivers it to a context that stands at its first step, or has moved on while that failed; gives what became of it. */
async function delivered(input: Input, { moves }: { readonly moves: boolean }) {
  const [hand, clock] = [new Hand(), new SimulatedClock(1000)]
  const { record } = hand.start(FLUX).context
  const { epoch, attempt } = record.position
  if (moves) hand.turn(record.id, [{ type: 'DONE', epoch, attempt, owner: 'me', result: null }])
  let faults = 0
  const redelivery = new Redelivery({
    mailboxes: {
      async post(id, message) {
        faults += 1
        if (faults <= 5) throw new Undecidable(new TypeError('no function'))
        return outcomeOf(hand.turn(id, [message]))
      },
    },
    steps: () => ({ has: () => false, abort: () => undefined }),
    isClaimed: () => false,
    onReady: () => undefined,
    alarm: { set: () => undefined, start: () => undefined, close: () => Promise.resolve() },
    clock,
    log: silent,
    servers: { own: 'me' },
    ended: new AbortController().signal,
    onEnd: () => undefined,
  })
  const outcome = redelivery.deliver(record.id, input)
  await clock.advance(10_000)
  await outcome
  return hand.context(record.id)?.record
}

const error = { message: 'no', type: 'Error', className: 'Error', realException: null }
const ANSWERS: readonly Input[] = [
  { type: 'DONE', epoch: 1, attempt: 1, owner: 'me', result: null },
  { type: 'FAIL', epoch: 1, attempt: 1, owner: 'me', error },
]

test.each(ANSWERS)('$type: the context that waits for it fails', async (answer) => {
  expect(await delivered(answer, { moves: false })).toMatchObject({
    status: 'FAILED',
    error: { type: 'UndeliverableMessage' },
  })
})

test.each(ANSWERS)('$type: a context that has moved on meanwhile goes on', async (answer) => {
  expect(await delivered(answer, { moves: true })).toMatchObject({ status: 'RUNNING', position: { epoch: 2 } })
})

test('an answer to a server that has lost the step to another ends nothing', async () => {
  const [answer] = ANSWERS
  if (answer?.type !== 'DONE') throw new Error('it is one')
  expect(await delivered({ ...answer, owner: 'before' }, { moves: false })).toMatchObject({ status: 'RUNNING' })
})
