// Who may start: so many at once of each kind, the others in order, and no more of them remembered than there is room.
import { expect, test } from 'vitest'
import { Slots } from '../../src/model/slots.ts'

const all = (slots: Slots) => {
  const ids: number[] = []
  for (let id = slots.next('code'); id !== null; id = slots.next('code')) ids.push(id)
  return ids
}

test('each kind has slots of its own, and tells when one is free again', () => {
  const slots = new Slots({ code: 2, isolated: 1 })
  const freed: string[] = []
  slots.onFree((kind) => freed.push(kind))
  expect([1, 2, 3].map(() => slots.tryTake('code'))).toEqual([true, true, false])
  expect([slots.tryTake('isolated'), slots.tryTake('isolated')]).toEqual([true, false])
  slots.release('code')
  expect([freed, slots.free('code'), slots.free('isolated')]).toEqual([['code'], 1, 0])
})

test('of those that wait a bounded number is remembered, in order; one that has waited already goes first', () => {
  const slots = new Slots({ code: 0, isolated: 1, maxWaiting: 3 })
  expect([1, 2, 3, 4].map((id) => slots.wait('code', id))).toEqual([true, true, true, false])
  expect(slots.wait('isolated', 5)).toBe(true)
  expect([slots.next('code'), slots.next('isolated')]).toEqual([null, 5])
  const roomy = new Slots({ code: 4, isolated: 1, maxWaiting: 3 })
  for (const id of [1, 2, 3]) roomy.wait('code', id)
  roomy.waitFirst('code', 8)
  expect(all(roomy)).toEqual([8, 1, 2, 3])
  for (let count = 0; count < 4; count += 1) roomy.release('code')
  for (const id of [4, 5, 6]) roomy.wait('code', id)
  roomy.waitLast('code', 7)
  expect(all(roomy)).toEqual([4, 5, 6, 7])
})

test('many come and go in order', () => {
  const slots = new Slots({ code: 1_000_000, isolated: 1 })
  const seen: number[] = []
  for (let id = 0; id < 9_000; id += 1) slots.wait('code', id)
  for (let id = 9_000; id < 50_000; id += 1) {
    seen.push(slots.next('code') ?? -1)
    slots.wait('code', id)
  }
  expect([...seen, ...all(slots)]).toEqual(Array.from({ length: 50_000 }, (_, id) => id))
})

test('once closed it gives out no slots, and remembers nobody', () => {
  const slots = new Slots({ code: 1, isolated: 1 })
  slots.wait('code', 1)
  slots.close()
  expect([slots.next('code'), slots.tryTake('code'), slots.wait('code', 2), slots.free('code')]).toEqual([
    null,
    false,
    false,
    0,
  ])
})
