import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { breathe } from '../../src/model/texts.ts'

test('who acts on a large text waits for one reader at most, however many there are', async () => {
  const order: string[] = []
  const readers = Array.from({ length: 50 }, () => breathe(Infinity)?.then(() => void order.push('reads')))
  const acts = [1, 2].map(() => breathe(Infinity, 'acting')?.then(() => void order.push('acts')))
  await Promise.all([...readers, ...acts])
  expect(order.indexOf('acts')).toBeLessThanOrEqual(1)
  expect(order.lastIndexOf('acts')).toBeLessThanOrEqual(3)
  expect(order).toHaveLength(52)
})

test('one large text is dealt with in a turn, whatever it is for', async () => {
  const done: string[] = []
  const works = ['acting', 'reading', 'acting', 'reading', 'acting', 'reading'] as const
  const all = works.map((work) => breathe(Infinity, work)?.then(() => void done.push(work)))
  for (const [turns] of works.entries()) {
    await nextTurn()
    expect(done.length).toBeLessThanOrEqual(turns + 1)
  }
  await Promise.all(all)
  expect(done).toHaveLength(works.length)
})

test('a small text does not wait for the large ones', async () => {
  const order: string[] = []
  const large = Array.from({ length: 50 }, () => breathe(Infinity, 'acting')?.then(() => void order.push('large')))
  const small = Promise.resolve(breathe(10)).then(() => void order.push('small'))
  await Promise.all([...large, small])
  expect(order.indexOf('small')).toBeLessThanOrEqual(1)
})
