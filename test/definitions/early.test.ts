// How long events that come early are kept, as definitions say it.
import { expect, test } from 'vitest'
import { recompile } from '../../src/definitions/service.ts'
import { pinnedText } from '../../src/definitions/pinned/text.ts'
import type { JsonObject } from '../../src/model/json/value.ts'
import { compiled } from '../support/turns.ts'

const HOUR_MS = 3_600_000
const state = (name: string, ...transitions: JsonObject[]) => ({ name, waiting: true, transitions })
const earlyOf = (source: JsonObject) => Object.fromEntries(compiled(source).early)

test('the longest of the states counts, and the default of the root where a transition says nothing', () => {
  const a = state(
    'a',
    { to: 'b', event: 'one', early: '90s' },
    { to: 'b', event: 'two' },
    { to: 'b', event: 'off', early: 0 },
  )
  const b = state(
    'b',
    { to: 'a', event: 'one', early: '1.5m' },
    { to: 'a', event: 'two', early: 3 },
    { to: 'a', event: '$else' },
  )
  expect(earlyOf({ states: [a, b] })).toEqual({ one: 90_000, two: 3000 })
  expect(earlyOf({ early: '1h', states: [a, b] })).toEqual({ one: 90_000, two: HOUR_MS })
  expect(earlyOf({ early: '7d', states: [a, b] })['two']).toBe(7 * 24 * HOUR_MS)
  expect(earlyOf({ early: '0', states: [a, b] })).toEqual({ one: 90_000, two: 3000 })
})

test('a state that does not wait for events keeps none', () => {
  const work = {
    name: 'w',
    action: { type: 'map', lines: [] },
    transitions: [
      { to: 'a', event: 'x' },
      { to: 'a', event: '$else' },
    ],
  }
  expect(earlyOf({ early: 60, states: [work, state('a', { to: 'a', event: 'y' })] })).toEqual({ y: 60_000 })
})

test('a pinned definition with a fault in it keeps what is clear', () => {
  const states = [state('a', { to: 'a', event: 'one', early: '1h' }, { to: 'a', event: 'two', early: 'soon' })]
  const unit = { package: 'p', fluxName: 'S', source: { states }, models: new Map() }
  const flux = recompile(pinnedText(unit))
  expect(Object.fromEntries(flux.early)).toEqual({ one: HOUR_MS })
  expect(flux.faults).toHaveLength(1)
})
