// definitions/expressions/builtins: the methods of numbers. A date is a number, its epoch milliseconds, so the methods
// of dates are here. All use UTC, whatever the time zone of the server.
import type { Evaluation, Value } from '../evaluation.ts'
import type { TextMethod } from './text-methods.ts'
import { indexArgument } from '../values.ts'

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

/** Maximum number of steps to write a number: one near 0 has a thousand binary digits. */
const STEPS_TO_WRITE = 200
const STEPS_OF_A_DATE = 16

function written(run: Evaluation, digits: Value, write: (digits: number | undefined) => string): string {
  run.spend(STEPS_TO_WRITE)
  return write(indexArgument(run, digits))
}

function dateOf(run: Evaluation, number: number): Date {
  run.spend(STEPS_OF_A_DATE)
  return new Date(number)
}

export const numberMethods: ReadonlyMap<string, TextMethod<number>> = new Map<string, TextMethod<number>>([
  ['toFixed', (run, number, [digits]) => written(run, digits, (count) => number.toFixed(count))],
  ['toPrecision', (run, number, [digits]) => written(run, digits, (count) => number.toPrecision(count))],
  ['toString', (run, number, [radix]) => written(run, radix, (base) => number.toString(base))],
  ['toISOString', (run, number) => dateOf(run, number).toISOString()],
  ['getTime', (_, number) => number],
  ...dateParts.flatMap(([name, part]): [string, TextMethod<number>][] => {
    const method: TextMethod<number> = (run, number) => part(dateOf(run, number))
    return [
      [`get${name}`, method],
      [`getUTC${name}`, method],
    ]
  }),
])
