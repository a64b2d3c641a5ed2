// definitions/expressions: how values become texts, numbers and answers: JavaScript's rules for primitives, and rules
// of our own for lists and objects, since JavaScript's would call what stands under `toString` or `valueOf`, which is
// data here.
import type { Code, Evaluation, Value } from './evaluation.ts'
import { isList, MAX_MADE_CHARACTERS } from './evaluation.ts'
import { ExpressionError } from './expression.ts'

/** Steps to write a number as text, or to read one. */
const STEPS_OF_A_NUMBER = 8

/** JavaScript's text of a primitive; the JSON text of a list or an object. */
export function stringify(run: Evaluation, value: Value): string {
  if (typeof value === 'string') return value
  if (typeof value === 'object' && value !== null) return jsonOf(run, value)
  run.spend(STEPS_OF_A_NUMBER)
  return String(value)
}

/** As `textOf`, but nothing for what has no value: null, undefined, NaN and the infinities. */
export function plainText(run: Evaluation, value: Value): string {
  return value === null || value === undefined || (typeof value === 'number' && !Number.isFinite(value))
    ? ''
    : stringify(run, value)
}

/** Characters that are written as JSON in one step. */
const WRITTEN_AT_ONCE = 16

export function jsonOf(run: Evaluation, value: Value): string {
  run.measure(value)
  run.make(64)
  const text = JSON.stringify(value) ?? 'null'
  // Escapes make it longer than what was measured.
  run.make(text.length / 4)
  run.spend(text.length / WRITTEN_AT_ONCE)
  return text
}

/** A longer text isn't read as a number: that would take time in no proportion. */
export const MAX_TEXT_DIGITS = 1000

/** JavaScript's number of a primitive; NaN for a list or an object. */
export function numberOf(run: Evaluation, value: Value): number {
  if (typeof value === 'number') return value
  if (typeof value === 'object' && value !== null) return Number.NaN
  if (typeof value === 'string') {
    if (value.length > MAX_TEXT_DIGITS) return Number.NaN
    run.spend(STEPS_OF_A_NUMBER + value.length / 4)
  }
  return Number(value)
}

/** A position or count that a method is given; undefined stays so, which methods take as left out. */
export function indexArgument(run: Evaluation, value: Value): number | undefined {
  return value === undefined ? undefined : numberOf(run, value)
}

export function add(run: Evaluation, left: Value, right: Value): Value {
  if (typeof left === 'number' && typeof right === 'number') return left + right
  if (!joins(left) && !joins(right)) return numberOf(run, left) + numberOf(run, right)
  return joinElements(run, stringify(run, left), stringify(run, right))
}

const joins = (value: Value) => typeof value === 'string' || (typeof value === 'object' && value !== null)

/**
 * The engine joins texts without copying them, until one is looked into: most are never, so that a long text can be put
 * together bit by bit.
 */
const JOINED_AT_ONCE = 16

/**
 * Joins after which the engine is made to copy: what it has not copied it walks through, piece by piece, at each look.
 */
const COPIED_AFTER = 64

/** Whoever looks into the text need not pay for the copy that the engine makes then. */
export function joinElements(run: Evaluation, left: string, right: string): string {
  const length = left.length + right.length
  run.make(Math.min(left.length, right.length) + length / JOINED_AT_ONCE)
  run.scan(length)
  if (length > MAX_MADE_CHARACTERS) throw new ExpressionError(`a text is longer than ${MAX_MADE_CHARACTERS} characters`)
  const text = left + right
  run.joins += 1
  // To look into it makes the engine copy it, in one go and not piece by piece for everyone who looks.
  if (run.joins % COPIED_AFTER === 0) text.charCodeAt(0)
  return text
}

/** Makes one text: the parts' texts, as `write` has them, each between two of `texts`. */
export function joined(
  [start = '', ...texts]: readonly string[],
  parts: readonly Code[],
  write: typeof stringify,
): Code {
  const pairs = parts.map((part, index) => ({ part, after: texts[index] ?? '' }))
  return (run) => {
    let whole = start
    for (const { part, after } of pairs)
      whole = joinElements(run, joinElements(run, whole, write(run, part(run))), after)
    return whole
  }
}

/** Pays for comparing two texts: at most the shorter is looked at. */
export function spendOnComparing(run: Evaluation, left: Value, right: Value): void {
  if (typeof left === 'string' && typeof right === 'string') run.scan(Math.min(left.length, right.length))
}

/** `===`: texts of different lengths differ without a look. */
export function same(run: Evaluation, left: Value, right: Value): boolean {
  if (typeof left === 'string' && typeof right === 'string') {
    if (left.length !== right.length) return false
    run.scan(left.length)
  }
  return left === right
}

/** `==`: as JavaScript has it between primitives; a list or an object equals itself alone. */
export function looselyEqual(run: Evaluation, left: Value, right: Value): boolean {
  if (left === null || left === undefined) return right === null || right === undefined
  if (right === null || right === undefined) return false
  if (typeof left === typeof right) return same(run, left, right)
  return numberOf(run, left) === numberOf(run, right)
}

/** `<`: texts by their UTF-16 units, all else as numbers. */
export function less(run: Evaluation, left: Value, right: Value): boolean {
  spendOnComparing(run, left, right)
  return typeof left === 'string' && typeof right === 'string'
    ? left < right
    : numberOf(run, left) < numberOf(run, right)
}

/** `<=`. Not the opposite of `>`: NaN is neither. */
export function lessOrEqual(run: Evaluation, left: Value, right: Value): boolean {
  spendOnComparing(run, left, right)
  return typeof left === 'string' && typeof right === 'string'
    ? left <= right
    : numberOf(run, left) <= numberOf(run, right)
}

/** What a value is called in a message. */
export function typeNameOf(value: Value): string {
  switch (typeof value) {
    case 'string':
      return 'a text'
    case 'number':
      return 'a number'
    case 'boolean':
      return 'a boolean'
    case 'undefined':
      return 'null'
    default:
      return value === null ? 'null' : isList(value) ? 'a list' : 'an object'
  }
}
