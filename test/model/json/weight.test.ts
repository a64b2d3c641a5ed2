import { expect, test } from 'vitest'
import { bytesOf, parsedBytes } from '../../../src/model/json/weight.ts'

const MANY = `[${'{},'.repeat(100_000)}{}]`

test('a text of many small values weighs as much as they take, a long text little more than its length', () => {
  expect(parsedBytes(MANY)).toBeGreaterThan(20 * MANY.length)
  expect(parsedBytes(Buffer.from(MANY))).toBe(parsedBytes(MANY))
  expect(parsedBytes(JSON.stringify({ text: 'é'.repeat(100_000) }))).toBeLessThan(101_000)
})

test('data weighs about what its text is said to, and counting ends beyond the limit', () => {
  const said = parsedBytes(MANY)
  expect(bytesOf(JSON.parse(MANY), Infinity)).toBeGreaterThan(said / 3)
  let looks = 0
  const item = {
    get key() {
      looks += 1
      return 'x'.repeat(100)
    },
  }
  expect(
    bytesOf(
      Array.from({ length: 1000 }, () => item),
      2000,
    ),
  ).toBeGreaterThan(2000)
  expect(looks).toBeLessThan(20)
})
