// definitions/expressions: how values become texts, numbers and answers: JavaScript's rules for primitives, and rules of our own for lists and
// objects, since JavaScript's would call what stands under `toString` or `valueOf`, which is data here.
import type { Evaluation, Value } from './evaluation.ts'
import { isList, MAX_MADE } from './evaluation.ts'
import { ExpressionError } from './expression.ts'

/** JavaScript's text of a primitive; the JSON text of a list or an object. */
export function textOf(run: Evaluation, value: Value): string {
  if (typeof value === 'string') return value
  if (typeof value === 'object' && value !== null) return jsonOf(run, value)
  return String(value)
}

/** As `textOf`, but nothing for what has no value: null, undefined, NaN and the infinities. */
export function plainText(run: Evaluation, value: Value): string {
  return value === null || value === undefined || (typeof value === 'number' && !Number.isFinite(value)) ? '' : textOf(run, value)
}

export function jsonOf(run: Evaluation, value: Value): string {
  run.measure(value)
  run.make(64)
  return JSON.stringify(value) ?? 'null'
}

/** A longer text isn't read as a number: that would take time in no proportion. */
export const MAX_DIGITS = 1000

/** JavaScript's number of a primitive; NaN for a list or an object. */
export function numberOf(value: Value): number {
  if (typeof value === 'number') return value
  if (typeof value === 'string' && value.length > MAX_DIGITS) return Number.NaN
  return typeof value === 'object' && value !== null ? Number.NaN : Number(value)
}

/** A position or count that a method is given; undefined stays so, which methods take as left out. */
export function positionOf(value: Value): number | undefined {
  return value === undefined ? undefined : numberOf(value)
}

export function add(run: Evaluation, left: Value, right: Value): Value {
  if (typeof left === 'number' && typeof right === 'number') return left + right
  if (!joins(left) && !joins(right)) return numberOf(left) + numberOf(right)
  return join(run, textOf(run, left), textOf(run, right))
}

const joins = (value: Value) => typeof value === 'string' || (typeof value === 'object' && value !== null)

/** The engine joins texts without copying them, until one is looked into: most are never, so that a long text can be put together bit by bit. */
const JOINED_AT_ONCE = 16

export function join(run: Evaluation, left: string, right: string): string {
  run.make(Math.min(left.length, right.length) + (left.length + right.length) / JOINED_AT_ONCE)
  if (left.length + right.length > MAX_MADE) throw new ExpressionError(`a text is longer than ${MAX_MADE} characters`)
  return left + right
}

/** `==`: as JavaScript has it between primitives; a list or an object equals itself alone. */
export function looselyEqual(left: Value, right: Value): boolean {
  if (left === null || left === undefined) return right === null || right === undefined
  if (right === null || right === undefined) return false
  if (typeof left === typeof right) return left === right
  return numberOf(left) === numberOf(right)
}

/** `<`: texts by their UTF-16 units, all else as numbers. */
export function less(left: Value, right: Value): boolean {
  return typeof left === 'string' && typeof right === 'string' ? left < right : numberOf(left) < numberOf(right)
}

/** `<=`. Not the opposite of `>`: NaN is neither. */
export function lessOrEqual(left: Value, right: Value): boolean {
  return typeof left === 'string' && typeof right === 'string' ? left <= right : numberOf(left) <= numberOf(right)
}

/** What a value is called in a message. */
export function kindOf(value: Value): string {
  switch (typeof value) {
    case 'string': return 'a text'
    case 'number': return 'a number'
    case 'boolean': return 'a boolean'
    case 'undefined': return 'null'
    default: return value === null ? 'null' : isList(value) ? 'a list' : 'an object'
  }
}
