// definitions/expressions: the methods of numbers. A date is the number of its epoch milliseconds, so the methods of dates are here; all tell the
// time in UTC, whichever zone a server stands in.
import type { Method } from './text-methods.ts'
import { positionOf } from './values.ts'

const dateParts: readonly (readonly [name: string, part: (date: Date) => number])[] = [
  ['FullYear', (date) => date.getUTCFullYear()],
  ['Month', (date) => date.getUTCMonth()],
  ['Date', (date) => date.getUTCDate()],
  ['Day', (date) => date.getUTCDay()],
  ['Hours', (date) => date.getUTCHours()],
  ['Minutes', (date) => date.getUTCMinutes()],
  ['Seconds', (date) => date.getUTCSeconds()],
  ['Milliseconds', (date) => date.getUTCMilliseconds()],
]

export const numberMethods: ReadonlyMap<string, Method<number>> = new Map<string, Method<number>>([
  ['toFixed', (_, number, [digits]) => number.toFixed(positionOf(digits))],
  ['toPrecision', (_, number, [digits]) => number.toPrecision(positionOf(digits))],
  ['toString', (_, number, [radix]) => number.toString(positionOf(radix))],
  ['toISOString', (_, number) => new Date(number).toISOString()],
  ['getTime', (_, number) => number],
  ...dateParts.flatMap(([name, part]): [string, Method<number>][] => {
    const method: Method<number> = (_, number) => part(new Date(number))
    return [[`get${name}`, method], [`getUTC${name}`, method]]
  }),
])

/** Years of four digits, or six with a sign; from the month on everything may be left out. */
const ISO = /^(?:\d{4}|[+-]\d{6})(?:-\d\d(?:-\d\d)?)?(T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/
const DIGITS = /^-?\d{5,16}$/

/** Epoch milliseconds of ISO 8601 text, which means UTC unless it names a zone, or of milliseconds as text; NaN for any other. */
export function parseDate(text: string): number {
  const trimmed = text.length <= 64 ? text.trim() : text
  if (DIGITS.test(trimmed)) return new Date(Number(trimmed)).getTime()
  const [whole, time, zone] = ISO.exec(trimmed) ?? []
  if (whole === undefined) return Number.NaN
  return Date.parse(whole + (time !== undefined && zone === undefined ? 'Z' : ''))
}
