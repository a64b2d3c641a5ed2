// The deliveries that were refused to many endpoints: their order, and what it costs.
import { describe, expect, test } from 'vitest'
import { DeliveryTally, factsOf } from '../../src/engine/deliveries/delivery-tally.ts'
import { RefusedDeliveries } from '../../src/engine/deliveries/refused-deliveries.ts'
import type { Delivery } from '../../src/model/webhook.ts'

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

const delivery = (deliveryId: string): Delivery => ({
  deliveryId,
  endpoint: { package: 'p', fluxName: 'F', urlPath: '/', timeout: null, verify: null },
  method: 'POST',
  path: '/',
  time: 0,
  outcome: 'signature-invalid',
  status: 401,
  duration: 0,
  contextId: null,
  replayOf: null,
  reason: null,
  request: null,
  rawBody: null,
})

/** As many endpoints, to which requests come in turn. */
function talliesOf(endpoints: number, each: number, id: (n: number) => string): DeliveryTally[] {
  const tallies = Array.from({ length: endpoints }, (_, index) => new DeliveryTally(`${index}:`))
  for (let n = 0; n < endpoints * each; n += 1) tallies[n % endpoints]?.refuse(factsOf(delivery(id(n))))
  return tallies
}

function taken(refused: RefusedDeliveries, count: number): string[] {
  const ids: string[] = []
  for (let one = refused.newest; one !== undefined && ids.length < count; one = refused.newest) {
    ids.push(`${one.prefix}${one.facts.deliveryId}`)
    refused.drop()
  }
  return ids
}

const plain = (n: number) => String(n).padStart(8, '0')

describe('refused deliveries', () => {
  test('come newest first, whichever endpoint they are of, also if answered in another order', () => {
    const [one, other] = talliesOf(2, 0, plain)
    for (const n of [1, 4, 3, 7]) one?.refuse(factsOf(delivery(plain(n))))
    for (const n of [2, 6, 5]) other?.refuse(factsOf(delivery(plain(n))))
    const all = [one, other].filter((tally) => tally !== undefined)
    const order = ['0:7', '1:6', '1:5', '0:4', '0:3', '1:2', '0:1'].map((text) => text.replace(':', ':0000000'))
    expect(taken(new RefusedDeliveries(all, null), 99)).toEqual(order)
    expect(taken(new RefusedDeliveries(all, plain(5)), 2)).toEqual(order.slice(3, 5))
    expect(taken(new RefusedDeliveries([], null), 1)).toEqual([])
  })

  test('of a thousand endpoints cost little where only some are asked for', () => {
    const tallies = talliesOf(1000, 100, idOf)
    compared = 0
    const refused = new RefusedDeliveries(tallies, null)
    expect(taken(refused, 30)[0]).toBe('999:00099999')
    // About two for each that is there, instead of those of sorting all.
    expect(compared).toBeLessThan(1_000_000)
  })
})
