import { expect, test } from 'vitest'
import { ByteBudget } from '../../src/model/byte-budget.ts'

test('what passes the bound is refused, and fits again when others gave theirs back', () => {
  const budget = new ByteBudget({ bytes: 100, what: 'requests' })
  const give = budget.take(60)
  budget.take(40)
  expect(() => budget.take(1)).toThrow(expect.objectContaining({ failure: { kind: 'overloaded', detail: 'the server holds too much of requests at present', retryAfter: 1 } }))
  give()
  give()
  expect(budget.held).toBe(40)
  expect(budget.fits(60)).toBe(true)
  expect(budget.fits(61)).toBe(false)
})

test('what alone is larger than the whole is taken while nothing else is held', () => {
  const budget = new ByteBudget({ bytes: 100, what: 'requests' })
  const give = budget.take(500)
  expect(() => budget.take(1)).toThrow()
  give()
  expect(budget.held).toBe(0)
})
