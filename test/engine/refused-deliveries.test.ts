// The deliveries that were refused to many endpoints: their order, and what it costs. One whose caller is refused after
// its context was stored is kept as any other.
import { describe, expect, test } from 'vitest'
import {
  Deliveries,
  newestFirst,
  type DeliveryFacts,
  type DeliveryTally,
} from '../../src/engine/deliveries/deliveries.ts'
import { NO_DELIVERIES } from '../../src/model/webhook.ts'
import { Memory } from '../../src/store/memory/memory.ts'
import { MemoryStore } from '../../src/store/memory/memory-store.ts'
import { openBench } from '../support/engine.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { withVerbs } from '../support/stores.ts'
import { silent } from '../support/silent.ts'

let compared = 0
/** An id that counts how often it is compared. */
const idOf = (n: number): string => {
  const id: unknown = {
    [Symbol.toPrimitive]() {
      compared += 1
      return String(n).padStart(8, '0')
    },
  }
  return id as string
}

const delivery = (deliveryId: string): DeliveryFacts => ({
  deliveryId,
  method: 'POST',
  time: 0,
  outcome: 'signature-invalid',
  status: 401,
  duration: 0,
  contextId: null,
  replayOf: null,
  reason: null,
})

const clock = new SimulatedClock()
const deps = {
  store: withVerbs(new MemoryStore(new Memory({ now: () => clock.now(), partitions: 1, silence: 1000 })), {
    listRows: () => Promise.resolve([]),
  }),
  log: silent,
}

/** As many endpoints, to which requests come in turn. */
function talliesOf(endpoints: number, each: number, id: (n: number) => string): DeliveryTally[] {
  const tallies = Array.from({ length: endpoints }, (_, index) => ({
    prefix: `${index}:`,
    counts: { ...NO_DELIVERIES },
    last: null,
    refused: [] as DeliveryFacts[],
    untrimmed: 0,
  }))
  for (let n = 0; n < endpoints * each; n += 1) tallies[n % endpoints]?.refused.push(delivery(id(n)))
  return tallies
}

async function taken(tallies: readonly DeliveryTally[], behind: string | null, count: number): Promise<string[]> {
  const ids: string[] = []
  for await (const { tally, facts } of newestFirst(deps, tallies, behind)) {
    ids.push(`${tally.prefix}${facts.deliveryId}`)
    if (ids.length === count) break
  }
  return ids
}

const plain = (n: number) => String(n).padStart(8, '0')

describe('refused deliveries', () => {
  test('come newest first, whichever endpoint they are of, also if answered in another order', async () => {
    const [one, other] = talliesOf(2, 0, plain)
    for (const n of [1, 4, 3, 7]) one?.refused.push(delivery(plain(n)))
    for (const n of [2, 6, 5]) other?.refused.push(delivery(plain(n)))
    const all = [one, other].filter((tally) => tally !== undefined)
    const order = ['0:7', '1:6', '1:5', '0:4', '0:3', '1:2', '0:1'].map((text) => text.replace(':', ':0000000'))
    expect(await taken(all, null, 99)).toEqual(order)
    expect(await taken(all, plain(5), 2)).toEqual(order.slice(3, 5))
    expect(await taken([], null, 1)).toEqual([])
  })

  test('of a thousand endpoints cost little where only some are asked for', async () => {
    const tallies = talliesOf(1000, 100, idOf)
    compared = 0
    expect((await taken(tallies, null, 30))[0]).toBe('999:00099999')
    // About two for each that is there, instead of those of sorting all.
    expect(compared).toBeLessThan(1_000_000)
  })
})

test('one whose context is stored, and whose caller was given up then, is told in its row, and is none of the refused', async () => {
  const bench = await openBench(
    { 'p/Hook.flux': { webhooks: [{ urlPath: '/hook', httpMethods: ['POST'] }], states: [{ name: 'only' }] } },
    { deliveries: 10 },
  )
  const { parts } = bench
  const deliveries = new Deliveries(parts)
  const found = parts.catalog.endpoints().find('POST', ['hook'])
  if (!found || !('endpoint' in found)) throw new Error('it is there')
  const { endpoint } = found
  const arrived = { ...deliveries.arrival(), endpoint, replayOf: null, rawBody: new Uint8Array() }
  const call = {
    ...arrived,
    request: { method: 'POST' },
    idempotencyKey: null,
    timeout: 1000,
    onStarted() {},
  }
  await parts.store.commit({ writes: [], rows: deliveries.rowsOf(call, { id: 7 }, null) })
  deliveries.settled({
    ...arrived,
    method: 'POST',
    path: '/hook',
    outcome: 'refused',
    status: 503,
    duration: 5,
    contextId: null,
    reason: null,
    request: null,
    rawBody: null,
  })
  await deliveries.flush()
  const kept: unknown[] = []
  for await (const { facts, stored } of newestFirst(parts, [deliveries.tallyOf(endpoint)], null))
    kept.push([facts.outcome, facts.status, facts.contextId, stored?.delivery.isStart])
  expect(kept).toEqual([['refused', 503, 7, true]])
  await deliveries.close()
})
