// A bound on how many there may be, of which a scope has at most half.
import { expect, test } from 'vitest'
import { CountBound } from '../../src/model/count-bound.ts'
import { FluxError } from '../../src/model/failure.ts'

test.each([
  [5, 3],
  [4, 2],
  [1, 1],
])('of %i, one scope has %i at most', (limit, most) => {
  const bound = new CountBound({ limit, what: 'streams' })
  for (let taken = 0; taken < most; taken += 1) bound.take('one')
  expect(() => bound.take('one')).toThrow(FluxError)
  for (let taken = most; taken < limit; taken += 1) bound.take('other')
  expect(bound.isFull).toBe(true)
  bound.release('one')
  bound.take('one')
})
