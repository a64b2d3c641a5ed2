// What is written in pieces is what would be written at once.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FORMATS, JSON_FORMAT } from '../../src/http/formats/codecs.ts'
import { jsonPieces } from '../../src/http/formats/json/encode.ts'
import type { TextPieces } from '../../src/http/formats/json/pieces.ts'
import { character } from '../support/character.ts'

function all(pieces: TextPieces): string[] {
  const texts: string[] = []
  for (let next = pieces.next(); !next.done; next = pieces.next()) texts.push(next.value)
  return texts
}

const LARGE: [string, unknown][] = [
  [
    'a list of many',
    Array.from({ length: 30_000 }, (_, index) =>
      index % 3 === 0 ? { index, none: undefined, list: [null, undefined, ''] } : index,
    ),
  ],
  [
    'an object of many',
    Object.fromEntries(
      Array.from({ length: 15_000 }, (_, index) => [`key "${index}"`, index % 2 === 0 ? undefined : [index, {}]]),
    ),
  ],
  [
    'long texts',
    {
      a: 'x'.repeat(300_000),
      b: ['"\\\n\u0000\ud800\r&<>'.repeat(40_000), '😀'.repeat(100_000)],
      'é "': `a${'😀'.repeat(100_000)}`,
    },
  ],
  ['long texts alone', '\\\u0001é'.repeat(100_000)],
  [
    'what nests',
    Array.from({ length: 190 }).reduce(
      (value: unknown, _, level) => (level % 2 === 0 ? [value, 'x'.repeat(2000)] : { value, text: 'y'.repeat(2000) }),
      1,
    ),
  ],
]

describe('JSON', () => {
  test.each(LARGE)('of %s is what JSON.stringify makes, in pieces that are small', (_, value) => {
    const pieces = all(jsonPieces(value))
    expect(pieces.join('') === JSON.stringify(value)).toBe(true)
    expect(pieces.length).toBeGreaterThan(4)
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(300_000)
  })

  test('of anything is what JSON.stringify makes', () => {
    const value = fc.oneof(
      { weight: 3, arbitrary: fc.jsonValue() },
      fc.array(fc.record({ a: fc.string({ maxLength: 30_000, size: 'max', unit: character }), b: fc.jsonValue() }), {
        maxLength: 5,
      }),
    )
    fc.assert(
      fc.property(value, (data) => {
        expect(all(jsonPieces(data)).join('')).toBe(JSON.stringify(data))
      }),
      { numRuns: 300 },
    )
    expect(all(jsonPieces(undefined))).toEqual(['null'])
  })
})

describe.each(FORMATS.map((format) => [format.type, format] as const))('%s', (_, format) => {
  test.each(LARGE)('of %s is the same as at once', async (__, value) => {
    const pieces = all(format.pieces(value, 'response'))
    expect(
      JSON.stringify(await format.decode(pieces.join(''), { maxDepth: 999, maxValues: 1e7 })) === JSON.stringify(value),
    ).toBe(true)
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(300_000)
  })

  test.each([[[]], [[1]], [[{ a: 1 }, [], 'x', null]]])(
    'of the list %j is its elements and what stands around them',
    (list) => {
      const { start, between, end, empty } = format.list('contexts')
      const text =
        list.length === 0
          ? empty
          : start + list.map((item: unknown) => all(format.itemPieces(item)).join('')).join(between) + end
      expect(text).toBe(all(format.pieces(list, 'contexts')).join(''))
    },
  )

  test('escapes a long text as a whole, and splits no pair of surrogates', async () => {
    const text = `${'😀'.repeat(50_000)}${'a'.repeat(40_000)}\u0000\\`
    const decoded = format.decode(all(format.pieces({ text }, 'request')).join(''), { maxDepth: 9, maxValues: 100_000 })
    expect(await decoded).toEqual({ text })
    if (format !== JSON_FORMAT)
      expect(all(format.pieces({ text }, 'request')).join('')).toContain('<text escaped="text">')
  })
})
