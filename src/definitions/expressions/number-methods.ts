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
