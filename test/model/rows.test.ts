// Rows as a commit has them, and where what is known by a text lies.
import { expect, test } from 'vitest'
import { compareRows, partitionOf } from '../../src/model/rows.ts'

test('a text lies in one partition for ever', () => {
  // Whoever changes one of these loses what is kept there.
  expect(['', 'order-17', 'é😀', 'key:5'].map((text) => partitionOf(text, 16))).toEqual([5, 14, 12, 5])
  expect(partitionOf('order-17', 1)).toBe(0)
  const counts = Array.from({ length: 5 }, () => 0)
  for (let index = 0; index < 5000; index += 1) {
    const partition = partitionOf(`order-${index}`, 5)
    counts[partition] = (counts[partition] ?? 0) + 1
  }
  for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(200)
})

test('rows are in the order of the bytes of their keys, then of their partitions', () => {
  const rows = ['😀', '\uffff', 'a', 'B', 'a'].map((key, partition) => ({ key, partition }))
  expect(rows.sort(compareRows).map(({ partition }) => partition)).toEqual([3, 2, 4, 1, 0])
})
