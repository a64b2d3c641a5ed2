// Messages that nobody would send again: delivered however long the store is away, and given up where the fault is
// ours.
import { describe, expect, test } from 'vitest'
import { conflict, notFound, unavailable } from '../../src/model/failure.ts'
import type { Input } from '../../src/engine/interpreter/decision.ts'
import type { MessageOutcome } from '../../src/engine/turn/message.ts'
import { Undecidable } from '../../src/engine/turn/turn.ts'
import { Redelivery } from '../../src/engine/cluster/redelivery.ts'
import { openBench } from '../support/engine.ts'
import { UNOWNED } from '../../src/model/context.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { withVerbs } from '../support/stores.ts'
import { compiled, Hand, outcomeOf, TERMINATE } from '../support/turns.ts'
import { silent } from '../support/silent.ts'

const flux = compiled({ states: [{ name: 'work', action: { type: 'invokeCode', className: 'A', methodName: 'b' } }] })
const WAKE: Input = { type: 'WAKE' }

/** A context at a step that `owner` has; or one that has ended. */
function outcomeFor({ owner = 'me', ended = false } = {}): MessageOutcome {
  const hand = new Hand()
  const started = hand.start(flux, { owner })
  return outcomeOf(ended ? hand.turn(started.context.record.id, [TERMINATE]) : started)
}

/** `answers`: what posting comes to, one after the other; the last one again and again. */
function open(...answers: (Error | MessageOutcome)[]) {
  const clock = new SimulatedClock()
  const end = new AbortController()
  const [posted, logged]: [Input[], string[]] = [[], []]
  const [running, claimed, ready, aborted, told, alarms]: [number[], number[], number[], number[], number[], number[]] =
    [[], [], [], [], [], []]
  const redelivery = new Redelivery({
    clock,
    ended: end.signal,
    servers: { own: 'me' },
    log: {
      ...silent,
      error: (message) => {
        logged.push(message)
      },
    },
    alarm: {
      start() {},
      set: (time) => {
        alarms.push(time)
      },
      close: () => Promise.resolve(),
    },
    steps: () => ({
      has: (step) => running.includes(step.id),
      abort: (id) => {
        aborted.push(id)
      },
    }),
    isClaimed: (id) => claimed.includes(id),
    onReady: ({ id }) => {
      ready.push(id)
    },
    onEnd: (id) => {
      told.push(id)
    },
    mailboxes: {
      async post(_, input) {
        posted.push(input)
        const answer = answers.length > 1 ? answers.shift() : answers[0]
        if (answer instanceof Error || answer === undefined) throw answer
        return answer
      },
    },
  })
  return { clock, end, posted, logged, running, claimed, ready, aborted, told, alarms, redelivery }
}

describe('a message', () => {
  test('is delivered once the store is back, however long that takes, after growing pauses', async () => {
    const outcome = outcomeFor()
    const { clock, posted, redelivery } = open(...Array.from({ length: 20 }, () => unavailable('away')), outcome)
    const delivered = redelivery.deliver(1, WAKE)
    const counts: number[] = []
    for (const pause of [0, 100, 200, 400, 800, 1600, 3200, 5000, 5000]) {
      await clock.advance(pause)
      counts.push(posted.length)
    }
    expect(counts).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    await clock.advance(60_000)
    expect(await delivered).toBe(outcome)
    expect(posted.every((input) => input === WAKE)).toBe(true)
  })

  test.each([
    ['a context that is gone', notFound('gone'), 0],
    ['one that refuses it', conflict('no'), 1],
  ])('to %s is given up at once', async (_, error, lines) => {
    const { posted, logged, redelivery } = open(error)
    expect(await redelivery.deliver(1, WAKE)).toBeNull()
    expect([posted.length, logged.length]).toEqual([1, lines])
  })

  test('that fails for no reason of ours ends the context after five times', async () => {
    const outcome = outcomeFor({ ended: true })
    const { clock, posted, logged, redelivery } = open(
      ...Array.from({ length: 5 }, () => new Undecidable(new TypeError('no function'))),
      outcome,
    )
    const delivered = redelivery.deliver(1, WAKE)
    await clock.advance(10_000)
    expect(await delivered).toBe(outcome)
    expect(posted.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => WAKE))
    expect(posted.slice(5)).toMatchObject([
      { type: 'OUTGROWN', error: { type: 'UndeliverableMessage', message: expect.stringContaining('type WAKE') } },
    ])
    expect(logged).toHaveLength(5)
  })

  test('that the store fails for an unknown reason is tried for minutes before it ends the context', async () => {
    const outcome = outcomeFor({ ended: true })
    const { clock, posted, redelivery } = open(...Array.from({ length: 100 }, () => new Error('EIO')), outcome)
    const delivered = redelivery.deliver(1, WAKE)
    await clock.advance(300_000)
    expect(posted.every((input) => input === WAKE)).toBe(true)
    await clock.advance(300_000)
    expect(await delivered).toBe(outcome)
    expect(posted).toHaveLength(101)
    expect(posted.at(-1)).toMatchObject({ type: 'OUTGROWN' })
  })

  test('is given up when even that fails', async () => {
    const { clock, posted, logged, redelivery } = open(new Undecidable(new TypeError('no function')))
    const delivered = redelivery.deliver(1, WAKE)
    await clock.advance(60_000)
    expect(await delivered).toBeNull()
    expect([posted.length, logged.length]).toEqual([6, 6])
  })

  test('is given up when the server stops', async () => {
    const { clock, end, posted, redelivery } = open(unavailable('away'))
    const delivered = redelivery.deliver(1, WAKE)
    await clock.advance(0)
    end.abort()
    await clock.advance(100)
    expect(await delivered).toBeNull()
    expect(posted).toHaveLength(1)
  })
})

describe('a commit whose outcome is unknown', () => {
  test('leased a step to this server, which has no slot for it: it is given back, to be claimed', async () => {
    const { posted, aborted, redelivery } = open(outcomeFor())
    await redelivery.reconcile(1)
    expect([posted, aborted]).toEqual([[WAKE, { type: 'RELEASE', step: { epoch: 1, attempt: 1 } }], []])
  })

  test.each(['running', 'claimed'] as const)('leased a step to this server that is %s: it goes on', async (how) => {
    const opened = open(outcomeFor())
    opened[how].push(1)
    await opened.redelivery.reconcile(1)
    expect(opened.posted).toEqual([WAKE])
  })

  test('left a step that is ready: it waits for a slot', async () => {
    const { posted, ready, redelivery } = open(outcomeFor({ owner: UNOWNED }))
    await redelivery.reconcile(1)
    expect([posted, ready]).toEqual([[WAKE], [1]])
  })

  test('left a step to another server: it is not started here', async () => {
    const { posted, ready, told, redelivery } = open(outcomeFor({ owner: 'other' }))
    await redelivery.reconcile(1)
    expect([posted, ready, told]).toEqual([[WAKE], [], []])
  })

  test('ended the context: its step is aborted, here and elsewhere', async () => {
    const { posted, aborted, told, redelivery } = open(outcomeFor({ ended: true }))
    await redelivery.reconcile(1)
    expect([posted, aborted, told]).toEqual([[WAKE], [1], [1]])
  })

  test('is found out once, however many ask', async () => {
    const { posted, redelivery } = open(outcomeFor({ owner: 'other' }))
    await Promise.all([redelivery.reconcile(1), redelivery.reconcile(1)])
    expect(posted).toHaveLength(1)
    await redelivery.reconcile(1)
    expect(posted).toHaveLength(2)
  })
})

/** The store fails to write what goes on with a context: it can write only its end. */
const FILES = {
  'p/Fn.ts': 'export function f() { return { n: 1 } }',
  'p/Step.flux': {
    states: [
      { name: 'w', waiting: true, transitions: [{ to: 's', event: 'go' }] },
      { name: 's', action: { type: 'invokeCode', className: 'Fn', methodName: 'f' }, transitions: [{ to: 'v' }] },
      { name: 'v', waiting: true, transitions: [{ to: 'v', event: 'go' }] },
    ],
  },
  'p/Timed.flux': {
    states: [
      { name: 'w', waiting: true, transitions: [{ to: 'v', wait: 'duration:5' }] },
      { name: 'v', waiting: true, transitions: [{ to: 'v', event: 'go' }] },
    ],
  },
}

test.each([
  ['Step', 'DONE', 0],
  ['Timed', 'WAKE', 5000],
])('a context of %s that no %s can be written for fails, with the reason', async (fluxName, type, wait) => {
  let [isBroken, refused] = [false, 0]
  const bench = await openBench(FILES, {
    wrap: (store) =>
      withVerbs(store, {
        commit(request) {
          // What an encoder says of a value that it can't write.
          const isRefused =
            isBroken && request.writes.some(({ context: { owner, endedAt } }) => owner === null && endedAt === null)
          if (!isRefused) return store.commit(request)
          refused += 1
          return Promise.reject(new RangeError('Data read, but end of buffer not reached'))
        },
      }),
  })
  const contextId = await bench.run(fluxName)
  isBroken = true
  if (fluxName === 'Step') await bench.sendEvent({ contextId, event: 'go' })
  let view = await bench.getContext({ contextId })
  for (let moments = 0; moments < 200 && view.status !== 'FAILED'; moments += 1) {
    await bench.advance(wait / 10 + 5000)
    view = await bench.getContext({ contextId })
  }
  expect(view.error).toMatchObject({ type: 'UndeliverableMessage', message: expect.stringContaining(`type ${type}`) })
  expect(refused).toBeGreaterThanOrEqual(100)
  expect(refused).toBeLessThanOrEqual(102)
  await bench.advance(60_000)
  expect(bench.logged.filter(({ message }) => message === 'a context could not be carried on')).toHaveLength(100)
  expect(refused).toBeLessThanOrEqual(102)
})
