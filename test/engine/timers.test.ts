// Due contexts are claimed and woken, some at a time, and one that takes long holds up no other.
import { expect, test } from 'vitest'
import { unavailable } from '../../src/model/failure.ts'
import type { Store } from '../../src/ports/store.ts'
import type { MessageOutcome } from '../../src/engine/turn/message.ts'
import { Timers } from '../../src/engine/cluster/redelivery.ts'
import { held, nextTurn } from '../support/held.ts'
import { openBench } from '../support/engine.ts'
import { SimulatedClock } from '../support/simulated-clock.ts'
import { emptyStore, withVerbs } from '../support/stores.ts'
import { compiled, Hand, outcomeOf } from '../support/turns.ts'

const outcome = outcomeOf(
  new Hand().start(compiled({ states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'go' }] }] })),
)

/** With so many contexts that are due; or with those that `claim` gives. */
function open(
  due: number,
  post: (id: number) => Promise<MessageOutcome> = () => Promise.resolve(outcome),
  claim?: () => number[],
) {
  const clock = new SimulatedClock()
  const [claims, posted, delivered, alarms, logged]: [
    Parameters<Store['claimDue']>[0][],
    number[],
    number[],
    number[],
    string[],
  ] = [[], [], [], [], []]
  let claimed = 0
  const store = emptyStore({
    claimDue(request) {
      claims.push(request)
      const ids =
        claim?.() ?? Array.from({ length: Math.min(request.limit, due - claimed) }, (_, index) => claimed + index + 1)
      claimed += ids.length
      return Promise.resolve({ ids, next: ids.length === 0 ? 7_000_000 : null })
    },
  })
  const tell = (message: string) => {
    logged.push(message)
  }
  const timers = new Timers({
    store,
    clock,
    log: { trace() {}, debug() {}, info() {}, warn: tell, error: tell },
    alarm: {
      start() {},
      set: (time) => {
        alarms.push(time)
      },
      close: () => Promise.resolve(),
    },
    mailboxes: {
      post(id, input) {
        expect(input).toEqual({ type: 'WAKE' })
        posted.push(id)
        return post(id)
      },
    },
    redelivery: {
      deliver: (id) => {
        delivered.push(id)
        return Promise.resolve(null)
      },
    },
  })
  return { clock, claims, posted, delivered, alarms, logged, timers }
}

test('all that is due is woken, and the time of the next is told', async () => {
  const { clock, claims, posted, timers } = open(600)
  expect(await timers.dispatchDue()).toBe(7_000_000)
  expect(posted).toEqual(Array.from({ length: 600 }, (_, index) => index + 1))
  expect(claims.length).toBeLessThan(8)
  for (const { now, limit } of claims) {
    expect(now).toBe(clock.now())
    expect(limit).toBeLessThanOrEqual(256)
  }
})

test("hundreds are woken while a hundred others take long, and no more than a claim's worth at once", async () => {
  const releases: (() => void)[] = []
  let most = 0
  const { posted, timers } = open(1000, (id) => {
    if (id % 10 !== 0) return Promise.resolve(outcome)
    return new Promise((resolve) => {
      releases.push(() => resolve(outcome))
      most = Math.max(most, releases.length)
    })
  })
  await timers.dispatchDue()
  expect(posted).toHaveLength(1000)
  expect(most).toBe(100)
  for (const release of releases) release()
})

test('when more than half of a claim takes long, those that follow wait for them', async () => {
  const releases: (() => void)[] = []
  const { posted, timers } = open(
    1000,
    () =>
      new Promise((resolve) => {
        releases.push(() => resolve(outcome))
      }),
  )
  const dispatched = timers.dispatchDue()
  await nextTurn()
  expect(posted).toHaveLength(256)
  for (const release of releases.splice(0, 127)) release()
  await nextTurn()
  expect(posted).toHaveLength(256)
  for (const release of releases.splice(0, 1)) release()
  await nextTurn()
  expect(posted).toHaveLength(256 + 128)
  while (posted.length < 1000) {
    for (const release of releases.splice(0)) release()
    await nextTurn()
  }
  for (const release of releases) release()
  await dispatched
})

test('one whose claim is over while it is still being woken is not woken twice', async () => {
  const slow = held<MessageOutcome>()
  const claimed = [[5], [5, 6]]
  const { posted, timers } = open(
    0,
    (id) => (id === 6 ? Promise.resolve(outcome) : slow.promise),
    () => claimed.shift() ?? [],
  )
  await timers.dispatchDue()
  expect([claimed, posted]).toEqual([[], [5, 6]])
  slow.release(outcome)
  await nextTurn()
  claimed.push([5])
  await timers.dispatchDue()
  expect(posted).toEqual([5, 6, 5])
})

test('a wake-up that the store refuses is left to the next claim, and one that throws is delivered again', async () => {
  const errors = [unavailable('out of reach'), new TypeError('no function')]
  const { delivered, logged, timers } = open(2, () => Promise.reject(errors.shift() ?? new Error('no more')))
  await timers.dispatchDue()
  await nextTurn()
  expect(delivered).toEqual([2])
  expect(logged).toEqual(['a context could not be woken'])
})

test('a parent that could not be notified of an end is notified again a second later', async () => {
  const faults: Error[] = [unavailable('out of reach')]
  const { clock, posted, alarms, logged, timers } = open(0, () => {
    const fault = faults.pop()
    return fault ? Promise.reject(fault) : Promise.resolve(outcome)
  })
  timers.notifyParent(3)
  await nextTurn()
  expect([posted, alarms, logged]).toEqual([
    [3],
    [clock.now() + 1000],
    ['a parent could not be notified of an end; it will be notified again'],
  ])
  timers.notifyParent(4)
  await nextTurn()
  expect(alarms).toHaveLength(1)
})

test('a wake-up that the store did not take is repeated after ten seconds, when its claim is over', async () => {
  let isAway = false
  const bench = await openBench(
    {
      'p/Timed.flux': {
        states: [{ name: 'w', waiting: true, transitions: [{ to: 'end', wait: 'duration:5' }] }, { name: 'end' }],
      },
    },
    {
      wrap: (store) =>
        withVerbs(store, {
          commit: (request) => (isAway ? Promise.reject(unavailable('out of reach')) : store.commit(request)),
        }),
    },
  )
  try {
    const contextId = await bench.run('Timed')
    isAway = true
    await bench.advance(5000)
    await expect
      .poll(() => bench.logged.map(({ message }) => message), { timeout: 10_000 })
      .toContain('a context could not be woken')
    isAway = false
    await bench.advance(9999)
    expect(await bench.getContext({ contextId })).toMatchObject({ currentState: 'w' })
    await bench.advance(1)
    await bench.until(contextId, ({ currentState }) => currentState === 'end')
  } finally {
    await bench.close()
  }
})
