// The sentence that names the errors of an input.
import { expect, test } from 'vitest'
import { invalidInput } from '../../src/engine/interpreter/describe.ts'

const errorsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ pointer: `/input/${index}`, detail: 'is required' }))

test('names each of a few', () => {
  expect(invalidInput(errorsOf(2)).failure.detail).toBe('invalid input: /input/0 is required; /input/1 is required')
})

test('is no longer than a client can read, and says how many it leaves out', () => {
  const text = invalidInput(errorsOf(5000)).failure.detail
  expect(text.length).toBeLessThan(1100)
  const named = text.split('; ').length - 1
  expect(text).toMatch(/; and \d+ more$/)
  expect(Number(/and (\d+) more/.exec(text)?.[1])).toBe(5000 - named)
})
