// definitions/expressions/builtins: case conversion, normalization and collation of texts, whose cost depends on
// sequences of characters.
import type { Evaluation } from '../evaluation.ts'

/** Characters whose case is converted in one step. */
const CHANGED_AT_ONCE = 2
/** Characters that are normalized or collated in one step. */
const FORMED_AT_ONCE = 1
/** Steps for each call, and for each sequence of combining marks. */
const STEPS_TO_CHANGE = 10
const STEPS_OF_A_RUN = 3
/** Pairs of combining marks that are ordered in one step. The work for a sequence of marks is quadratic in V8. */
const PAIRS_AT_ONCE = 128

const MARKS = /\p{M}+/gu

/** Converts a text to one of about the same length. */
export function changed(run: Evaluation, text: string, change: (text: string) => string): string {
  run.make(text.length)
  run.spend(STEPS_TO_CHANGE + text.length / CHANGED_AT_ONCE)
  return paid(run, text, change(text))
}

export function normalized(run: Evaluation, text: string, form: string): string {
  run.make(text.length)
  spendOnMarks(run, text)
  return paid(run, text, text.normalize(form))
}

/**
 * Compares two texts by the rules of English on all servers, so that an order does not depend on the server's locale.
 */
export function compareInEnglish(run: Evaluation, one: string, other: string): number {
  spendOnMarks(run, one)
  spendOnMarks(run, other)
  return one.localeCompare(other, 'en')
}

/** Charges the growth of a text once it is known. A character becomes at most 18. */
function paid(run: Evaluation, before: string, after: string): string {
  run.make(Math.max(0, after.length - before.length))
  return after
}

function spendOnMarks(run: Evaluation, text: string): void {
  run.spend(STEPS_TO_CHANGE + text.length / FORMED_AT_ONCE)
  for (const [marks] of text.matchAll(MARKS)) run.spend(STEPS_OF_A_RUN + marks.length ** 2 / PAIRS_AT_ONCE)
}
