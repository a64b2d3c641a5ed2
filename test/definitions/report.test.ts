// Parts of a definition have faults of their own: one is not told of what is around it, nor of what is inside.
import { expect, test } from 'vitest'
import { Report } from '../../src/definitions/report.ts'

test('a part has its own first fault, and what is around it keeps its own', () => {
  const report = new Report('a.flux')
  const inner = (reason: string | null) => () =>
    report.part(() => {
      if (reason !== null) report.fault('/inner', reason)
    }).fault
  const outer = report.part(() => {
    const first = inner('one')()
    report.fault('/outer', 'two')
    report.fault('/outer', 'three')
    return [first, inner(null)(), inner('four')()]
  })
  expect(outer).toEqual({ value: ['/inner: one', null, '/inner: four'], fault: '/outer: two' })
  const whole = report.part(inner('five'))
  expect(whole).toEqual({ value: '/inner: five', fault: null })
  expect(report.part(() => 1)).toEqual({ value: 1, fault: null })
  expect(report.faults.map(({ reason }) => reason)).toEqual(['one', 'two', 'three', 'four', 'five'])
})
