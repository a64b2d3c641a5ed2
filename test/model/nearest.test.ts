import { expect, test } from 'vitest'
import { nearestName, suggestion } from '../../src/model/nearest.ts'

test.each([
  ['contextid', ['event', 'contextId'], 'contextId'],
  ['waitng', ['waiting', 'name'], 'waiting'],
  ['transition', ['transitions', 'name'], 'transitions'],
  ['tgas', ['tags', 'name'], null],
  ['tag', ['tags'], 'tags'],
  ['to', ['toString'], null],
  ['xy', ['ab'], null],
  ['name', ['nam', 'name'], null],
  ['', ['a'], null],
])('the name nearest to %j among %j is %j', (name, known, nearest) => {
  expect(nearestName(name, known)).toBe(nearest)
})

test('the nearest of several is taken', () => {
  expect(nearestName('fluxNames', ['fluxNam', 'fluxName'])).toBe('fluxName')
  expect(suggestion('fluxnam', ['fluxName'])).toBe("; did you mean 'fluxName'?")
  expect(suggestion('other', ['fluxName'])).toBe('')
})

/** Edits between two texts, without any bound. */
function editsOf(from: string, to: string): number {
  if (from === '' || to === '') return from.length + to.length
  const same = from[0] === to[0] ? 0 : 1
  const [one, other] = [from.slice(1), to.slice(1)]
  return Math.min(editsOf(one, other) + same, editsOf(one, to) + 1, editsOf(from, other) + 1)
}

test('of any two names the edits are counted rightly', () => {
  let state = 7
  const pick = (most: number) => (state = (state * 48_271) % 2_147_483_647) % most
  const word = (length: number) => Array.from({ length }, () => 'abc'[pick(3)]).join('')
  for (let round = 0; round < 500; round += 1) {
    const [name, other] = [word(6 + pick(2)), word(4 + pick(5))]
    const isNear = name !== other && editsOf(name, other) <= 2
    expect([name, other, nearestName(name, [other])]).toEqual([name, other, isNear ? other : null])
  }
})
