// definitions/expressions/builtins: the methods of texts: those of JavaScript, without regular expressions. Their
// results are charged before they are created.
import type { Evaluation, List, Method, Value } from '../evaluation.ts'
import { indexArgument, joinElements, numberOf, stringify } from '../values.ts'

/** Creates a method whose arguments are positions in the text. */
const placed =
  (method: (text: string, first: number | undefined, second: number | undefined) => Value): Method<string> =>
  (run, text, [first, second]) =>
    method(text, indexArgument(run, first), indexArgument(run, second))

/** The text that is compared with the beginning or the end. */
function compared(run: Evaluation, value: Value) {
  const wanted = stringify(run, value)
  run.scan(wanted.length)
  return wanted
}

/** Characters that are checked for white space in one step. */
const TRIMMED_AT_ONCE = 16

const trimmed =
  (trim: (text: string) => string): Method<string> =>
  (run, text) => {
    run.make(text.length / TRIMMED_AT_ONCE)
    run.spend(text.length / TRIMMED_AT_ONCE)
    return trim(text)
  }

/** A whole number of characters; 0 for what is no number. */
const countOf = (run: Evaluation, value: Value) => Math.trunc(numberOf(run, value)) || 0

function padded(run: Evaluation, [length, filler]: List): [number, string] {
  const target = countOf(run, length)
  run.make(Math.max(0, target))
  return [target, filler === undefined ? ' ' : stringify(run, filler)]
}

/** Characters whose case is converted in one step. */
const CHANGED_AT_ONCE = 2
/** Steps for each call, and for each sequence of combining marks. */
const STEPS_TO_CHANGE = 10
const STEPS_OF_A_RUN = 3
/** Pairs of combining marks that are ordered in one step. The work for a sequence of marks is quadratic in V8. */
const PAIRS_AT_ONCE = 128

const MARKS = /\p{M}+/gu

/** Charges a text that is normalized or collated: a step for each character, and more for combining marks. */
function spendOnMarks(run: Evaluation, text: string) {
  run.spend(STEPS_TO_CHANGE + text.length)
  for (const [marks] of text.matchAll(MARKS)) run.spend(STEPS_OF_A_RUN + marks.length ** 2 / PAIRS_AT_ONCE)
}

/** Charges a text, and its growth once that is known. A character becomes at most 18. */
function changed(run: Evaluation, text: string, change: () => string) {
  run.make(text.length)
  run.spend(STEPS_TO_CHANGE + text.length / CHANGED_AT_ONCE)
  const result = change()
  run.make(Math.max(0, result.length - text.length))
  return result
}

function normalize(run: Evaluation, text: string, [form]: List) {
  spendOnMarks(run, text)
  return changed(run, text, () => text.normalize(form === undefined ? 'NFC' : stringify(run, form)))
}

/** Compares by the rules of English on all servers, so that an order does not depend on the server's locale. */
function localeCompare(run: Evaluation, text: string, [value]: List) {
  const other = stringify(run, value)
  spendOnMarks(run, text)
  spendOnMarks(run, other)
  return text.localeCompare(other, 'en')
}

/** Characters that V8's search compares in one step, in its worst case, which is the product of the lengths. */
const COMPARED_AT_ONCE = 32
const STEPS_TO_SEARCH = 6
/** Steps for a match and the part of the text that is cut out for it. */
const STEPS_TO_FIND = 3

/** Converts what is searched for to text, and charges the search. */
function sought(run: Evaluation, text: string, value: Value) {
  const wanted = stringify(run, value)
  const compared = wanted.length < 2 ? 0 : Math.max(0, text.length - wanted.length) * (wanted.length + 2)
  run.spend(STEPS_TO_SEARCH + compared / COMPARED_AT_ONCE)
  run.scan(text.length)
  return wanted
}

const indexOf = (run: Evaluation, text: string, [wanted, from]: List) =>
  text.indexOf(sought(run, text, wanted), indexArgument(run, from))

/** The parts of the text before, between and after the occurrences of what is searched for, which is not empty. */
function partsOf(run: Evaluation, text: string, wanted: string) {
  const parts: string[] = []
  let start = 0
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, start)) {
    run.make(1)
    run.spend(STEPS_TO_FIND)
    parts.push(text.slice(start, at))
    start = at + wanted.length
  }
  return [...parts, text.slice(start)]
}

function split(run: Evaluation, text: string, [separator, limit]: List) {
  if (separator === undefined) return run.own([text])
  const wanted = sought(run, text, separator)
  const most = indexArgument(run, limit)
  if (wanted === '') {
    run.makeElements(text.length)
    return run.own(text.split('', most))
  }
  const parts = partsOf(run, text, wanted)
  return run.own(most === undefined ? parts : parts.slice(0, most >>> 0))
}

/** The replacement is literal: `$&` in it has no special meaning. */
function replace(run: Evaluation, text: string, [pattern, replacement]: List) {
  const wanted = sought(run, text, pattern)
  const put = stringify(run, replacement)
  const at = text.indexOf(wanted)
  if (at < 0) return text
  run.make(text.length + put.length)
  return text.slice(0, at) + put + text.slice(at + wanted.length)
}

function replaceAll(run: Evaluation, text: string, [pattern, replacement]: List) {
  const wanted = sought(run, text, pattern)
  const put = stringify(run, replacement)
  if (wanted === '') {
    run.makeElements(text.length + 1)
    run.make(text.length + (text.length + 1) * put.length)
    return text.replaceAll('', () => put)
  }
  const parts = partsOf(run, text, wanted)
  run.make(text.length + (parts.length - 1) * put.length)
  return parts.join(put)
}

function repeat(run: Evaluation, text: string, [times]: List) {
  const count = countOf(run, times)
  run.make(Math.max(0, text.length * count))
  return text.repeat(count)
}

export const textMethods = new Map(
  Object.entries<Method<string>>({
    at: placed((text, index = 0) => text.at(index)),
    charAt: placed((text, index = 0) => text.charAt(index)),
    charCodeAt: placed((text, index = 0) => text.charCodeAt(index)),
    codePointAt: placed((text, index = 0) => text.codePointAt(index)),
    slice: placed((text, start, end) => text.slice(start, end)),
    substring: placed((text, start = 0, end) => text.substring(start, end)),
    indexOf,
    lastIndexOf: (run, text, [wanted, from]) => text.lastIndexOf(sought(run, text, wanted), indexArgument(run, from)),
    includes: (run, text, args) => indexOf(run, text, args) >= 0,
    startsWith: (run, text, [wanted, from]) => text.startsWith(compared(run, wanted), indexArgument(run, from)),
    endsWith: (run, text, [wanted, end]) => text.endsWith(compared(run, wanted), indexArgument(run, end)),
    toUpperCase: (run, text) => changed(run, text, () => text.toUpperCase()),
    toLowerCase: (run, text) => changed(run, text, () => text.toLowerCase()),
    normalize,
    trim: trimmed((text) => text.trim()),
    trimStart: trimmed((text) => text.trimStart()),
    trimEnd: trimmed((text) => text.trimEnd()),
    padStart: (run, text, args) => text.padStart(...padded(run, args)),
    padEnd: (run, text, args) => text.padEnd(...padded(run, args)),
    repeat,
    split,
    replace,
    replaceAll,
    concat: (run, text, args) =>
      args.reduce<string>((whole, part) => joinElements(run, whole, stringify(run, part)), text),
    localeCompare,
    toString: (_: Evaluation, text: string) => text,
  }),
)
