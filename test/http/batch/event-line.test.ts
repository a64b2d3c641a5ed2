// Which lines of many must keep their order.
import { expect, test } from 'vitest'
import { orderingKeyOf } from '../../../src/http/batch/event-line.ts'

test('lines that name the same key of a service keep their order, also if some of them name its package', () => {
  const plain = orderingKeyOf({ key: 'k', fluxName: 'Order' })
  expect(plain).not.toBeNull()
  expect(orderingKeyOf({ key: 'k', fluxName: 'Order', package: 'p' })).toBe(plain)
  expect(orderingKeyOf({ key: 'k', package: 'p', orStart: { fluxName: 'Order' } })).toBe(plain)
  expect(orderingKeyOf({ key: 'k', orStart: { fluxName: 'Order', package: 'p' } })).toBe(plain)
})

test('others run side by side', () => {
  const plain = orderingKeyOf({ key: 'k', fluxName: 'Order' })
  expect(orderingKeyOf({ key: 'l', fluxName: 'Order' })).not.toBe(plain)
  expect(orderingKeyOf({ key: 'k', fluxName: 'Bill' })).not.toBe(plain)
  expect(orderingKeyOf({ contextId: 1 })).not.toBe(orderingKeyOf({ contextId: 2 }))
  expect(orderingKeyOf({})).toBeNull()
})
