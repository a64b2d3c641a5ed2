// definitions/expressions: conversion of values. Primitives follow JavaScript's rules. Lists and objects
// have rules of their own, since JavaScript would call their `toString` or `valueOf`, which are data here.
import type { Code, Evaluation, Value } from './evaluation.ts'
import { isList, MAX_MADE_CHARACTERS } from './evaluation.ts'
import { ExpressionError } from './expression.ts'

/** Steps to convert a number to text, or text to a number. */
const STEPS_OF_A_NUMBER = 8

/** JavaScript's text of a primitive; the JSON text of a list or an object. */
export function stringify(run: Evaluation, value: Value): string {
  if (typeof value === 'string') return value
  if (typeof value === 'object' && value !== null) return jsonOf(run, value)
  run.spend(STEPS_OF_A_NUMBER)
  return String(value)
}

/** As `stringify`, but empty for null, undefined, NaN and the infinities. */
export function plainText(run: Evaluation, value: Value): string {
  return value === null || value === undefined || (typeof value === 'number' && !Number.isFinite(value))
    ? ''
    : stringify(run, value)
}

/** Characters that are written as JSON in one step. */
const WRITTEN_PER_STEP = 16

export function jsonOf(run: Evaluation, value: Value): string {
  run.measure(value)
  run.make(64)
  const text = JSON.stringify(value) ?? 'null'
  // Escapes make the text longer than the measured value.
  run.make(text.length / 4)
  run.spend(text.length / WRITTEN_PER_STEP)
  return text
}

/** Maximum length of a text that is converted to a number. The time of the conversion is not linear in the length. */
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

/** Converts a position or count argument of a method to a number. undefined stays undefined, which counts as absent. */
export function indexArgument(run: Evaluation, value: Value): number | undefined {
  return value === undefined ? undefined : numberOf(run, value)
}

/**
 * Characters that are joined in one step. V8 joins texts without copying them until one is read. Most intermediate
 * texts are never read, so a long text can be composed piece by piece.
 */
const JOINED_PER_STEP = 16

/**
 * Number of joins after which V8 is made to copy the text. It traverses a text that it has not copied piece by piece
 * each time the text is read.
 */
const JOINS_BEFORE_COPY = 64

/** Joins two texts. The charge includes the copy that V8 makes when the text is first read. */
export function joinElements(run: Evaluation, left: string, right: string): string {
  const length = left.length + right.length
  run.make(Math.min(left.length, right.length) + length / JOINED_PER_STEP)
  run.scan(length)
  if (length > MAX_MADE_CHARACTERS) throw new ExpressionError(`a text is longer than ${MAX_MADE_CHARACTERS} characters`)
  const text = left + right
  run.joins += 1
  // Reading a character makes V8 copy the text once, so that later reads do not traverse its pieces.
  if (run.joins % JOINS_BEFORE_COPY === 0) text.charCodeAt(0)
  return text
}

/** Compiles a template: the texts of the parts, as `write` returns them, alternate with the literal texts. */
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

/** Name of a value's type for messages. */
export function typeNameOf(value: Value): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'string') return 'a text'
  if (typeof value !== 'object') return `a ${typeof value}`
  return isList(value) ? 'a list' : 'an object'
}
