import { expect, test } from 'vitest'
import { ByteBudget } from '../../src/model/byte-budget.ts'

test('what passes the bound is refused, and fits again when others gave theirs back', () => {
  const budget = new ByteBudget({ bytes: 100, what: 'requests' })
  const give = budget.take(60)
  budget.take(40)
  expect(() => budget.take(1)).toThrow(
    expect.objectContaining({
      failure: { kind: 'overloaded', detail: 'the server holds too much of requests at present', retryAfter: 1 },
    }),
  )
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

test('who waits is served in order, as soon as it fits, and nobody overtakes', async () => {
  const budget = new ByteBudget({ bytes: 100, what: 'steps' })
  const served: string[] = []
  const first = await budget.wait(80)
  const large = budget.wait(90).then((release) => {
    served.push('large')
    return release
  })
  const small = budget.wait(10).then((release) => {
    served.push('small')
    return release
  })
  await Promise.resolve()
  expect(served).toEqual([])
  first()
  ;(await large)()
  await small
  expect(served).toEqual(['large', 'small'])
  expect(budget.held).toBe(10)
})

test('a share grows and shrinks, and its own bytes are no reason to refuse it more', () => {
  const budget = new ByteBudget({ bytes: 100, what: 'requests' })
  const hold = budget.hold()
  hold.resize(60)
  hold.resize(500)
  expect(() => budget.take(1)).toThrow()
  hold.resize(20)
  const other = budget.take(80)
  expect(() => hold.resize(21)).toThrow(
    expect.objectContaining({ failure: expect.objectContaining({ kind: 'overloaded' }) }),
  )
  expect(budget.held).toBe(100)
  other()
  hold.release()
  hold.release()
  expect(budget.held).toBe(0)
})
