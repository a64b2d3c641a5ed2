// Moments that requests name.
import { expect, test } from 'vitest'
import { momentOf } from '../../src/api/fields.ts'

const NEW_YEAR = Date.UTC(2026, 0, 1)

test.each([
  [NEW_YEAR, NEW_YEAR],
  [String(NEW_YEAR), NEW_YEAR],
  ['0', 0],
  ['-1', -1],
  ['2026-01-01', NEW_YEAR],
  ['2026-01-01T00:00', NEW_YEAR],
  ['2026-01-01 00:00:00', NEW_YEAR],
  ['2026-01-01T00:00:00Z', NEW_YEAR],
  ['2026-01-01T00:00:00.5z', NEW_YEAR + 500],
  ['2026-01-01T00:00:00.123456789Z', NEW_YEAR + 123],
  ['2026-01-01T01:00:00+01:00', NEW_YEAR],
  // As a query has it that did not escape the plus.
  ['2026-01-01T01:00:00 01:00', NEW_YEAR],
  ['2025-12-31T19:30-0430', NEW_YEAR],
  ['2025-12-31T16:00-08', NEW_YEAR],
])('%j is %d', (given, time) => expect(momentOf(given)).toBe(time))

test.each([
  '',
  'now',
  '1.5',
  '1e3',
  ' 1',
  '99999999999999999',
  '9000000000000000',
  '2026-13-01',
  '2026-02-30',
  '2025-02-29',
  '2026-01-01T24:30',
  '2026-01-01T00:60',
  '2026-01-01T00:00:61',
  '2026-01-01T',
  '2026-01-01Z',
  '2026-01-01T00:00+1',
  '2026-01-01T00:00:00.Z',
  1.5,
  Number.NaN,
  Infinity,
  null,
  undefined,
  true,
  {},
  [1],
])('%j is none', (given) => expect(momentOf(given)).toBeNull())
