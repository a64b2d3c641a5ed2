// definitions/expressions/builtins: the methods of numbers. A date is a number, its epoch milliseconds, so the methods
// of dates are here. All use UTC, whatever the time zone of the server.
import type { Evaluation, Method } from '../evaluation.ts'
import { indexArgument } from '../values.ts'

const PARTS = ['FullYear', 'Month', 'Date', 'Day', 'Hours', 'Minutes', 'Seconds', 'Milliseconds'] as const

/** Maximum number of steps to write a number: one near 0 has a thousand binary digits. */
const STEPS_TO_WRITE = 200
const STEPS_OF_A_DATE = 16

const written =
  (write: (number: number, digits: number | undefined) => string): Method<number> =>
  (run, number, [digits]) => {
    run.spend(STEPS_TO_WRITE)
    return write(number, indexArgument(run, digits))
  }

function dateOf(run: Evaluation, number: number) {
  run.spend(STEPS_OF_A_DATE)
  return new Date(number)
}

export const numberMethods = new Map(
  Object.entries<Method<number>>({
    toFixed: written((number, digits) => number.toFixed(digits)),
    toPrecision: written((number, digits) => number.toPrecision(digits)),
    toString: written((number, radix) => number.toString(radix)),
    toISOString: (run, number) => dateOf(run, number).toISOString(),
    getTime: (_, number) => number,
  }),
)
for (const part of PARTS) {
  const method: Method<number> = (run, number) => dateOf(run, number)[`getUTC${part}`]()
  numberMethods.set(`get${part}`, method).set(`getUTC${part}`, method)
}
