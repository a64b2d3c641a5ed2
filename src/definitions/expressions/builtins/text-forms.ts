// definitions/expressions/builtins: other forms of a text, and its order in a language: work that depends on which
// characters stand together.
import type { Evaluation } from '../evaluation.ts'

/** Characters that are changed one by one in one step. */
const CHANGED_AT_ONCE = 2
/** Characters that are brought into a normal form, or compared as a language has it, in one step. */
const FORMED_AT_ONCE = 1
/** Steps for each call, and for each run of marks. */
const STEPS_TO_CHANGE = 10
const STEPS_OF_A_RUN = 3
/** Pairs of marks on one letter that are put in order in one step: the engine's way with a run of them is quadratic. */
const PAIRS_AT_ONCE = 128

const MARKS = /\p{M}+/gu

/** A text of about the same length. */
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

/** One language for all servers, so that an order doesn't depend on where it was made. */
export function compareInEnglish(run: Evaluation, one: string, other: string): number {
  spendOnMarks(run, one)
  spendOnMarks(run, other)
  return one.localeCompare(other, 'en')
}

/** What is longer than it was is paid for when that is known: a character becomes 18 at most. */
function paid(run: Evaluation, before: string, after: string): string {
  run.make(Math.max(0, after.length - before.length))
  return after
}

function spendOnMarks(run: Evaluation, text: string): void {
  run.spend(STEPS_TO_CHANGE + text.length / FORMED_AT_ONCE)
  for (const [marks] of text.matchAll(MARKS)) run.spend(STEPS_OF_A_RUN + marks.length ** 2 / PAIRS_AT_ONCE)
}
