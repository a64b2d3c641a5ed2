// The text that a definition is stored as, with its format.
import { expect, test } from 'vitest'
import { recompile } from '../../src/definitions/service.ts'
import { hashOf, pinnedText, readPinned, type FluxUnit } from '../../src/definitions/pinned/text.ts'
import { FORMAT } from '../../src/model/format.ts'

const unit: FluxUnit = {
  package: 'p',
  fluxName: 'S',
  source: { states: [{ name: 'end' }] },
  models: new Map([['M', { type: 'model' }]]),
}

test('begins with its format', () => {
  const text = pinnedText(unit)
  expect(text).toBe(
    `{"format":${FORMAT},"package":"p","fluxName":"S","source":{"states":[{"name":"end"}]},"models":{"M":{"type":"model"}}}`,
  )
  expect(readPinned(text)).toEqual(unit)
  expect(recompile(text)).toMatchObject({ hash: hashOf(text), faults: [], isForeign: false })
})

test.each([FORMAT - 1, FORMAT + 1])('of format %i is refused in a line that says so', (format) => {
  const text = JSON.stringify({ ...JSON.parse(pinnedText(unit)), format })
  expect(readPinned(text)).toBeNull()
  expect(() => recompile(text)).toThrow(
    expect.objectContaining({
      message: `the definition ${hashOf(text)} has format ${format}, and this version of actorflux reads format ${FORMAT} alone: use the version that wrote it`,
      isForeign: true,
    }),
  )
})

test.each([
  '',
  'null',
  '[]',
  '{}',
  `{"format":${FORMAT},"package":"p","fluxName":"S","source":[]}`,
  '{"package":"p","fluxName":"S","source":{}}',
  '{"format":"x","package":"p","fluxName":"S","source":{}}',
])('%s is no definition', (text) => {
  expect(readPinned(text)).toBeNull()
  expect(() => recompile(text)).toThrow('what is stored is no definition')
})
