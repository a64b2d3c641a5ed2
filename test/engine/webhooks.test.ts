// What a caller of a webhook is told when its time is up, and the store is silent.
import { expect, test } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { Waits } from '../../src/engine/waits/waits.ts'
import { CountBound } from '../../src/model/count-bound.ts'
import { webhooks } from '../../src/engine/webhooks/webhooks.ts'
import { openBench, partsOf } from '../support/engine.ts'
import { silent as log, SILENT_FEED } from '../support/silent.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { compiled, Hand, TERMINATE } from '../support/turns.ts'

const silent = () => new Promise<never>(() => {})

let given = 1

/** Takes the first commit, and says nothing from then on. */
const store: Store = {
  incarnation: 0,
  partitions: 1,
  trouble: () => null,
  notes: { module: '', place: null },
  standstill: () => Promise.resolve(null),
  reserveIds: ({ count }) => Promise.resolve({ first: (given += count) - count, count }),
  commit: () => Promise.resolve({ ok: true }),
  highestId: silent,
  load: silent,
  version: silent,
  readRow: silent,
  listRows: silent,
  countRows: silent,
  sweepRows: silent,
  count: silent,
  servers: silent,
  log: silent,
  select: silent,
  selectIds: silent,
  claimDue: silent,
  claimAbandoned: silent,
  leasedTo: silent,
  heartbeat: silent,
  purge: silent,
  close: () => Promise.resolve(),
}

const working = compiled(
  { states: [{ name: 'work', action: { type: 'invokeCode', className: 'A', methodName: 'b' } }] },
  'Work',
)

test('a silent store does not delay the answer that there is none in time', async () => {
  const clock = new SimulatedClock()
  const bench = await openBench(
    {
      'p/Long.flux': {
        webhooks: [{ urlPath: '/long', httpMethods: ['GET'] }],
        states: [{ name: 'act', action: { type: 'invokeFlux', name: 'Child', inputs: [], outputs: [] } }],
      },
      'p/Child.flux': {
        states: [{ name: 'wait', waiting: true, transitions: [{ event: 'go', to: 'end' }] }, { name: 'end' }],
      },
    },
    { clock },
  )
  const api = webhooks(partsOf({ ...bench.parts, store, others: { beat: 1000, feed: SILENT_FEED } }))
  const found = api.find('GET', ['long'])
  if (!found || !('endpoint' in found)) throw new Error('the webhook is not there')
  const answer = api.receive({
    endpoint: found.endpoint,
    request: { method: 'GET' },
    deliveryId: '019b76da-a800-7000-8000-000000000000',
    time: 0,
    idempotencyKey: null,
    replayOf: null,
    rawBody: new Uint8Array(),
    timeout: 2000,
    onStarted() {},
  })
  await clock.advance(1999)
  let answered = false
  void answer.finally(() => {
    answered = true
  })
  await clock.advance(1)
  expect(answered).toBe(true)
  expect((await answer).answer).toEqual({ kind: 'late', contextId: expect.any(Number) })
})

test('who has an answer leaves nothing behind: no timer, no look at the store, and nothing to end', async () => {
  const clock = new SimulatedClock()
  let looks = 0
  const listeners: ((id: number) => void)[] = []
  const notify = (id: number) => listeners.forEach((listener) => listener(id))
  const hand = new Hand([working])
  const { record } = hand.start(working).context
  const waits = new Waits({
    store: {
      ...store,
      version: async () => {
        looks += 1
        return record.version
      },
      load: () => Promise.reject(new Error('it has not changed')),
    },
    clock,
    log,
    feed: {
      ...SILENT_FEED,
      onNotified(listener) {
        listeners.push(listener)
      },
    },
    bound: new CountBound({ limit: 0, what: 'waits' }),
  })
  const expected = waits.expect(({ id, status }) => `${id} ${status}`)
  expected.of(record.id + 1)
  expected.of(record.id)
  waits.onCommit(record, [])
  const answered = expected.within(60_000)
  for (let second = 0; second < 3; second += 1) await clock.advance(1000)
  expect(looks).toBeGreaterThanOrEqual(3)
  waits.onCommit(hand.turn(record.id, [TERMINATE]).context.record, [])
  expect(await answered).toBe(`${record.id} TERMINATED`)
  await clock.advance(1000)
  expect(clock.pending).toEqual([])
  const before = looks
  notify(record.id)
  waits.endCallers()
  await clock.advance(60_000)
  expect(looks).toBe(before)
})

test('the answer is that of the first pause, though the context goes on before its caller waits', async () => {
  const clock = new SimulatedClock()
  const { record } = new Hand([working]).start(working).context
  const bound = new CountBound({ limit: 0, what: 'waits' })
  const waits = new Waits({ store, clock, log, feed: null, bound })
  const expected = waits.expect(({ version, paused }) => ({ version, paused }))
  expected.of(record.id)
  waits.onCommit({ ...record, paused: 'WAITING', version: 1 }, [])
  waits.onCommit({ ...record, status: 'COMPLETED', paused: 'WAITING', version: 2 }, [])
  expect(await expected.within(1000)).toEqual({ version: 1, paused: 'WAITING' })
  expect(clock.pending).toEqual([])
})
