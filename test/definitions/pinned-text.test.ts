// The text that a definition is stored as: what version 0.1 wrote keeps its hash, and what a later version writes is
// known for that.
import { expect, test } from 'vitest'
import { recompile } from '../../src/definitions/compile/service.ts'
import { hashOf, pinnedText, readPinned, type FluxUnit } from '../../src/definitions/pinned/text.ts'
import type { JsonObject } from '../../src/model/json/value.ts'
import { readCorpus } from './pinned/corpus.ts'

const unit: FluxUnit = {
  package: 'p',
  fluxName: 'S',
  source: { states: [{ name: 'end' }] },
  models: new Map([['M', { type: 'model' }]]),
}

test('the first format is not named, so that the hash of an unchanged service is what it was', () => {
  expect(pinnedText(unit, 1)).toBe(
    '{"package":"p","fluxName":"S","source":{"states":[{"name":"end"}]},"models":{"M":{"type":"model"}}}',
  )
  expect(pinnedText(unit)).toBe(pinnedText(unit, 1))
  expect(pinnedText(unit, 2)).toBe(`{"format":2,${pinnedText(unit, 1).slice(1)}`)
})

test.each<[string, JsonObject]>([
  ['a key', { key: 'k' }],
  ['the reuse of keys', { keyReuse: 'never' }],
  ['a default for early events', { early: '1h' }],
  ['an early event', { states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'e', early: 5 }] }] }],
  ['a trigger with a key', { triggers: ['a', { event: 'go', key: 'k' }] }],
])('a service with %s is written in the second format, which tells that it is meant', (_, keys) => {
  const keyed = { ...unit, source: { ...unit.source, ...keys } }
  expect(pinnedText(keyed)).toBe(pinnedText(keyed, 2))
  expect(recompile(pinnedText(keyed))).toMatchObject({ isNewer: false, faults: [] })
})

test('in a text of the first format the words for keys mean nothing', () => {
  const source = { ...unit.source, key: 3, keyReuse: 'never', early: 'never' }
  expect(recompile(pinnedText({ ...unit, source }, 1))).toMatchObject({ key: null, keyReuse: 'ended', faults: [] })
  const meant = { ...unit.source, key: '', keyReuse: 'never' }
  expect(recompile(pinnedText({ ...unit, source: meant }, 2))).toMatchObject({
    keyReuse: 'never',
    faults: ['/key: must not be empty'],
  })
})

test('what version 0.1 wrote is written anew with the same hash', async () => {
  const { definitions } = await readCorpus('0.1')
  expect(definitions.length).toBeGreaterThan(0)
  for (const { hash, text } of definitions) {
    const stored = readPinned(text)
    expect(stored).toMatchObject({ isNewer: false })
    expect(stored && hashOf(pinnedText(stored))).toBe(hash)
    expect(recompile(text)).toMatchObject({ hash, faults: [], isNewer: false })
  }
})

test('a text of a later format is read as far as it can be', () => {
  expect(readPinned(pinnedText(unit, 99))).toEqual({ ...unit, isNewer: true })
  expect(recompile(pinnedText(unit, 99))).toMatchObject({ isNewer: true, states: [{ name: 'end' }] })
})

test.each([
  '',
  'null',
  '[]',
  '{}',
  '{"package":"p","fluxName":"S","source":[]}',
  '{"format":"x","package":"p","fluxName":"S","source":{}}',
])('%s is no definition', (text) => {
  expect(readPinned(text)).toBeNull()
  expect(() => recompile(text)).toThrow('what is stored is no definition')
})
