import { describe, expect, test } from 'vitest'
import { isBroken, reportLines, reportSummary } from '../../src/cli/report.ts'
import type { Fault } from '../../src/definitions/report.ts'

const fault = (file: string, pointer: string, reason: string): Fault => ({ severity: 'fault', file, pointer, reason })
const warning = (file: string, pointer: string, reason: string): Fault => ({
  severity: 'warning',
  file,
  pointer,
  reason,
})

describe('the report', () => {
  const report = [
    warning('a.flux', '/states/1', 'never reached'),
    fault('b.flux', '', 'not JSON:\n  line 2'),
    fault('a.flux', '/states/2', 'y'),
    fault('a.flux', '/states/10', 'x'),
    fault('a.flux', '/states/10', 'w'),
  ]

  test('is a line each, sorted, faults before warnings', () => {
    expect(reportLines(report)).toEqual([
      'a.flux#/states/2: y',
      'a.flux#/states/10: w',
      'a.flux#/states/10: x',
      'b.flux#: not JSON: line 2',
      'a.flux#/states/1: warning: never reached',
    ])
  })

  test('is summed up', () => {
    expect(reportSummary(report)).toBe('4 faults, 1 warning')
    expect(reportSummary([])).toBe('0 faults, 0 warnings')
  })

  test('is broken by faults only', () => {
    expect(isBroken(report)).toBe(true)
    expect(isBroken(report.slice(0, 1))).toBe(false)
  })
})
