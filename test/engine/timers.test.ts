// Due contexts are claimed and woken, some at a time, and one that takes long holds up no other.
import { expect, test } from 'vitest'
import { unavailable } from '../../src/model/failure.ts'
import type { Store } from '../../src/ports/store.ts'
import type { Input } from '../../src/engine/interpreter/decision.ts'
import type { MessageOutcome } from '../../src/engine/turn/message.ts'
import { wakeUpsOf } from '../../src/engine/cluster/redelivery.ts'
import { held, nextTurn } from '../support/held.ts'
import { openBench } from '../support/engine.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { emptyStore, withVerbs } from '../support/stores.ts'
import { compiled, Hand, outcomeOf } from '../support/turns.ts'
import { silent } from '../support/silent.ts'

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
  const [claims, posted]: [Parameters<Store['claimDue']>[0][], number[]] = [[], []]
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
  const delivered: number[] = []
  const mailboxes = {
    post(id: number, input: Input) {
      expect(input).toEqual({ type: 'WAKE' })
      posted.push(id)
      return post(id)
    },
  }
  const redelivery = {
    deliver(id: number) {
      delivered.push(id)
      return Promise.resolve(null)
    },
  }
  const wakeUp = wakeUpsOf({ store, clock, log: silent, mailboxes, redelivery })
  return { clock, claims, posted, delivered, wakeUp }
}

test('all that is due is woken, and the time of the next is told', async () => {
  const { clock, claims, posted, wakeUp } = open(600)
  expect(await wakeUp()).toBe(7_000_000)
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
  const { posted, wakeUp } = open(1000, (id) => {
    if (id % 10 !== 0) return Promise.resolve(outcome)
    return new Promise((resolve) => {
      releases.push(() => resolve(outcome))
      most = Math.max(most, releases.length)
    })
  })
  await wakeUp()
  expect(posted).toHaveLength(1000)
  expect(most).toBe(100)
  for (const release of releases) release()
})

test('when more than half of a claim takes long, those that follow wait for them', async () => {
  const releases: (() => void)[] = []
  const { posted, wakeUp } = open(
    1000,
    () =>
      new Promise((resolve) => {
        releases.push(() => resolve(outcome))
      }),
  )
  const dispatched = wakeUp()
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
  const { posted, wakeUp } = open(
    0,
    (id) => (id === 6 ? Promise.resolve(outcome) : slow.promise),
    () => claimed.shift() ?? [],
  )
  await wakeUp()
  expect([claimed, posted]).toEqual([[], [5, 6]])
  slow.release(outcome)
  await nextTurn()
  claimed.push([5])
  await wakeUp()
  expect(posted).toEqual([5, 6, 5])
})

test('those of a partition that is away keep no places, and one that throws is delivered again', async () => {
  const { posted, delivered, wakeUp } = open(1000, (id) =>
    id === 1000 ? Promise.reject(new TypeError('no function')) : Promise.reject(unavailable('out of reach')),
  )
  await wakeUp()
  await nextTurn()
  expect(posted).toHaveLength(1000)
  expect(delivered).toEqual([1000])
})

test('a wake-up that the store did not take is repeated when its claim is over', async () => {
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
  const contextId = await bench.run('Timed')
  isAway = true
  await bench.advance(5000)
  await expect
    .poll(() => bench.logged.map(({ message }) => message), { timeout: 10_000 })
    .toContain('a context could not be woken')
  expect(await bench.getContext({ contextId })).toMatchObject({ currentState: 'w' })
  isAway = false
  await bench.advance(10_000)
  await bench.until(contextId, ({ currentState }) => currentState === 'end')
})

test('a server that is alone has no timers but that of purges, unless there are unclaimed events', async () => {
  const states = [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'go' }] }]
  const bench = await openBench({ 'p/W.flux': { states } })
  await bench.run('W')
  await bench.advance(60_000)
  expect(bench.clock.pending).toHaveLength(1)
  await bench.sendEvent({ event: 'other', ttl: 60 })
  expect(bench.clock.pending).toHaveLength(2)
  await bench.advance(120_000)
  expect(bench.clock.pending).toHaveLength(1)
})

test('an engine that deletes nothing has no timer at all', async () => {
  const bench = await openBench({ 'p/E.flux': { states: [{ name: 'end' }] } }, { retention: Infinity })
  const contextId = await bench.run('E')
  await bench.advance(365 * 86_400_000)
  expect(bench.clock.pending).toEqual([])
  expect(await bench.getContext({ contextId })).toMatchObject({ status: 'COMPLETED' })
})
