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
