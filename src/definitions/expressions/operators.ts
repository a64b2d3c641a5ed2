// definitions/expressions: what the operators compute. Primitives follow JavaScript's rules; a list or an object is
// equal only to itself.
import type { Code, Evaluation, Value } from './evaluation.ts'
import { joinElements, numberOf, stringify } from './values.ts'

const joins = (value: Value) => typeof value === 'string' || (typeof value === 'object' && value !== null)

function add(run: Evaluation, left: Value, right: Value) {
  if (typeof left === 'number' && typeof right === 'number') return left + right
  if (!joins(left) && !joins(right)) return numberOf(run, left) + numberOf(run, right)
  return joinElements(run, stringify(run, left), stringify(run, right))
}

/** `===`. Texts of different lengths differ and are not compared. */
function same(run: Evaluation, left: Value, right: Value) {
  if (typeof left === 'string' && typeof right === 'string') {
    if (left.length !== right.length) return false
    run.scan(left.length)
  }
  return left === right
}

function looselyEqual(run: Evaluation, left: Value, right: Value) {
  if (left === null || left === undefined) return right === null || right === undefined
  if (right === null || right === undefined) return false
  if (typeof left === typeof right) return same(run, left, right)
  return numberOf(run, left) === numberOf(run, right)
}

/**
 * Compares two values for the operators of order: negative, 0 or positive; NaN: neither is less. Texts are compared by
 * UTF-16 units, everything else as numbers.
 */
function compare(run: Evaluation, left: Value, right: Value) {
  if (typeof left === 'string' && typeof right === 'string') {
    run.scan(Math.min(left.length, right.length))
    return left < right ? -1 : Number(left > right)
  }
  const one = numberOf(run, left)
  const other = numberOf(run, right)
  return one === other ? 0 : one - other
}

/**
 * The operators with two operands. Each builds code of its own, since a call through a common one takes longer than
 * most operations.
 */
export const binaryOperators = new Map(
  Object.entries<(left: Code, right: Code) => Code>({
    '+': (left, right) => (run) => add(run, left(run), right(run)),
    '-': (left, right) => (run) => numberOf(run, left(run)) - numberOf(run, right(run)),
    '*': (left, right) => (run) => numberOf(run, left(run)) * numberOf(run, right(run)),
    '/': (left, right) => (run) => numberOf(run, left(run)) / numberOf(run, right(run)),
    '%': (left, right) => (run) => numberOf(run, left(run)) % numberOf(run, right(run)),
    '**': (left, right) => (run) => numberOf(run, left(run)) ** numberOf(run, right(run)),
    '===': (left, right) => (run) => same(run, left(run), right(run)),
    '!==': (left, right) => (run) => !same(run, left(run), right(run)),
    '==': (left, right) => (run) => looselyEqual(run, left(run), right(run)),
    '!=': (left, right) => (run) => !looselyEqual(run, left(run), right(run)),
    '<': (left, right) => (run) => compare(run, left(run), right(run)) < 0,
    '<=': (left, right) => (run) => compare(run, left(run), right(run)) <= 0,
    '>': (left, right) => (run) => compare(run, left(run), right(run)) > 0,
    '>=': (left, right) => (run) => compare(run, left(run), right(run)) >= 0,
    '&&': (left, right) => (run) => left(run) && right(run),
    '||': (left, right) => (run) => left(run) || right(run),
    '??': (left, right) => (run) => left(run) ?? right(run),
  }),
)

export const unaryOperators = new Map(
  Object.entries<(operand: Code) => Code>({
    '!': (operand) => (run) => !operand(run),
    '-': (operand) => (run) => -numberOf(run, operand(run)),
    '+': (operand) => (run) => numberOf(run, operand(run)),
  }),
)
