import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clockTime, durationText, isoOf, relativeText, When } from '../../../src/inspector/parts/time.tsx'
import { onPage } from '../on-page.ts'

const [S, MIN, H, D] = [1000, 60_000, 3_600_000, 86_400_000]

describe('a duration', () => {
  test.each([
    [-5, '0 ms'],
    [0, '0 ms'],
    [0.4, '0 ms'],
    [999, '999 ms'],
    [999.6, '1 s'],
    [S, '1 s'],
    [1234, '1.2 s'],
    [9960, '10 s'],
    [59_400, '59 s'],
    [59_600, '1 min'],
    [MIN, '1 min'],
    [MIN + 5 * S, '1 min 5 s'],
    [H - 1000, '59 min 59 s'],
    [H - 1, '1 h'],
    [23 * H + 41 * MIN, '23 h 41 min'],
    [D, '1 d'],
    [400 * D + 3 * H, '400 d 3 h'],
  ])('of %d ms is %s', (ms, text) => {
    expect(durationText(ms)).toBe(text)
  })

  test('has at most two units, of which none is full', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e14, noNaN: true }), (ms) => {
        const text = durationText(ms)
        expect(text).toMatch(/^\d+(?:\.\d)? (?:ms|s|min|h|d)(?: \d+ (?:s|min|h))?$/)
        expect(text).not.toMatch(/^(?:1000 ms|60 s|60 min|24 h)|\d (?:60 s|60 min|24 h)$/)
      }),
    )
  })
})

test('a time is told from now, before and after', () => {
  expect(relativeText(1000, 13_000)).toBe('12 s ago')
  expect(relativeText(17_000, 13_000)).toBe('in 4 s')
})

test('a time that no date can be is shown as it is', () => {
  expect(isoOf(0)).toBe('1970-01-01T00:00:00.000Z')
  expect(isoOf(1e300)).toBe('1e+300')
  expect(isoOf(NaN)).toBe('NaN')
})

test('the absolute time is always there', () => {
  const at = Date.UTC(2026, 1, 3, 4, 5, 6, 78)
  expect(onPage(When, { at }, at + 5000)).toBe(
    `<time datetime="2026-02-03T04:05:06.078Z" title="2026-02-03T04:05:06.078Z" data-at="${at}">5 s ago</time>`,
  )
  expect(clockTime(at).toString()).toContain('>04:05:06</time>')
  expect(clockTime(at, 'ms').toString()).toContain('>04:05:06.078</time>')
})
