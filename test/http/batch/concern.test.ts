// Which lines of many must keep their order.
import { expect, test } from 'vitest'
import { concernOf } from '../../../src/http/batch/concern.ts'

test('lines that name the same key of a service keep their order, also if some of them name its package', () => {
  const plain = concernOf({ key: 'k', fluxName: 'Order' })
  expect(plain).not.toBeNull()
  expect(concernOf({ key: 'k', fluxName: 'Order', package: 'p' })).toBe(plain)
  expect(concernOf({ key: 'k', package: 'p', orStart: { fluxName: 'Order' } })).toBe(plain)
  expect(concernOf({ key: 'k', orStart: { fluxName: 'Order', package: 'p' } })).toBe(plain)
})

test('others run side by side', () => {
  const plain = concernOf({ key: 'k', fluxName: 'Order' })
  expect(concernOf({ key: 'l', fluxName: 'Order' })).not.toBe(plain)
  expect(concernOf({ key: 'k', fluxName: 'Bill' })).not.toBe(plain)
  expect(concernOf({ contextId: 1 })).not.toBe(concernOf({ contextId: 2 }))
  expect(concernOf({})).toBeNull()
})
