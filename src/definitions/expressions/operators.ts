// definitions/expressions: the operators. Each builds its code from the code of its operands.
import type { Code } from './evaluation.ts'
import { add, less, lessOrEqual, looselyEqual, numberOf, same } from './values.ts'

export const binaryOperators: ReadonlyMap<string, (left: Code, right: Code) => Code> = new Map<
  string,
  (left: Code, right: Code) => Code
>([
  ['+', (left, right) => (run) => add(run, left(run), right(run))],
  ['-', (left, right) => (run) => numberOf(run, left(run)) - numberOf(run, right(run))],
  ['*', (left, right) => (run) => numberOf(run, left(run)) * numberOf(run, right(run))],
  ['/', (left, right) => (run) => numberOf(run, left(run)) / numberOf(run, right(run))],
  ['%', (left, right) => (run) => numberOf(run, left(run)) % numberOf(run, right(run))],
  ['**', (left, right) => (run) => numberOf(run, left(run)) ** numberOf(run, right(run))],
  ['===', (left, right) => (run) => same(run, left(run), right(run))],
  ['!==', (left, right) => (run) => !same(run, left(run), right(run))],
  ['==', (left, right) => (run) => looselyEqual(run, left(run), right(run))],
  ['!=', (left, right) => (run) => !looselyEqual(run, left(run), right(run))],
  ['<', (left, right) => (run) => less(run, left(run), right(run))],
  ['<=', (left, right) => (run) => lessOrEqual(run, left(run), right(run))],
  // `>` is `<` with the operands exchanged, but the left operand is still evaluated first.
  [
    '>',
    (left, right) => (run) => {
      const first = left(run)
      return less(run, right(run), first)
    },
  ],
  [
    '>=',
    (left, right) => (run) => {
      const first = left(run)
      return lessOrEqual(run, right(run), first)
    },
  ],
  ['&&', (left, right) => (run) => left(run) && right(run)],
  ['||', (left, right) => (run) => left(run) || right(run)],
  ['??', (left, right) => (run) => left(run) ?? right(run)],
])

export const unaryOperators: ReadonlyMap<string, (operand: Code) => Code> = new Map<string, (operand: Code) => Code>([
  ['!', (operand) => (run) => !operand(run)],
  ['-', (operand) => (run) => -numberOf(run, operand(run))],
  ['+', (operand) => (run) => numberOf(run, operand(run))],
])
