import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { characterAt, positionOf, scanJson } from '../../../src/model/json/scan.ts'

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const piece = fc.constantFrom(
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '"a"',
  '"\\u00e9"',
  '"\\u00g0"',
  '"\\x"',
  '\\',
  '1',
  '-',
  '0',
  '01',
  '1.',
  '.5',
  '1e5',
  '1e',
  'true',
  'tru',
  'null',
  ' ',
  '\n',
  '\t',
  '\u00a0',
  '\u0000',
  '"\n"',
  'é',
  '😀',
)

describe('following a JSON text', () => {
  test('agrees with the parser on what is JSON', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
          fc.json(),
          fc.json({ depthSize: 'large' }).map((text) => text.slice(1)),
        ),
        (text) => {
          expect(scanJson(text) === -1, text).toBe(isJson(text))
        },
      ),
      { numRuns: 5000 },
    )
  })

  test('what is cut short goes wrong at its end', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), (text, cut) => {
        const start = text.slice(0, cut % (text.length + 1))
        const at = scanJson(start)
        // It goes wrong at its end, or in the word, number or escape that is cut.
        if (at >= 0) expect(start.slice(at)).toMatch(/^[-+.\w]{0,30}$/)
      }),
    )
  })

  test.each([
    ['{"a": 1,\n}', 2, 1, '"}"'],
    ['[1, 2', 1, 6, null],
    ['{"a"\r\n  "b"}', 2, 3, '"\\""'],
    ['{\r"a": tru}', 2, 6, '"t"'],
    ['"\u0001"', 1, 2, '"\\u0001"'],
    ['{} 😀', 1, 4, '"😀"'],
    ['', 1, 1, null],
    ['{a: 1}', 1, 2, '"a"'],
    ["{'a': 1}", 1, 2, '"\'"'],
  ])('%j goes wrong at line %i, column %i', (text, line, column, character) => {
    const at = scanJson(text)
    expect(positionOf(text, at)).toEqual({ line, column })
    expect(characterAt(text, at)).toBe(character)
  })

  test('takes time in proportion to the text', () => {
    const cpu = process.cpuUsage()
    for (const text of [
      '['.repeat(1 << 20),
      '{"a":'.repeat(1 << 18),
      '"' + 'a'.repeat(1 << 20),
      '"' + '\\"'.repeat(1 << 19),
      '1'.repeat(1 << 20) + 'x',
      ' '.repeat(1 << 20),
      '[' + '"a",'.repeat(1 << 18),
    ])
      expect(scanJson(text)).toBeGreaterThanOrEqual(0)
    expect(process.cpuUsage(cpu).user / 1000).toBeLessThan(2000)
  })

  test('counts lines without a text for each', () => {
    const text = '\n'.repeat(1 << 20)
    const cpu = process.cpuUsage()
    for (let round = 0; round < 20; round += 1)
      expect(positionOf(text, text.length)).toEqual({ line: text.length + 1, column: 1 })
    const { user, system } = process.cpuUsage(cpu)
    expect((user + system) / 1000).toBeLessThan(400)
  })
})
