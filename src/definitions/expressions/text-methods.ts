// definitions/expressions: the methods of texts. JavaScript's own, without patterns; what they make is paid for before it is made.
import type { Evaluation, List, Value } from './evaluation.ts'
import { join, positionOf, textOf } from './values.ts'

export type Method<Self> = (run: Evaluation, self: Self, args: List) => Value

/** Characters that a method reads in the time of one node. */
const READ_AT_ONCE = 64
/** The worst case of the engine's search compares every character with the whole of what is sought. */
const COMPARED_AT_ONCE = 128

/** What is sought, when the search is paid for. */
function sought(run: Evaluation, text: string, value: Value): string {
  const wanted = textOf(run, value)
  run.spend(text.length / READ_AT_ONCE + Math.max(0, text.length - wanted.length) * wanted.length / COMPARED_AT_ONCE)
  return wanted
}

function occurrences(text: string, wanted: string): number {
  if (wanted === '') return text.length + 1
  let count = 0
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) count += 1
  return count
}

/** A copy that may be a little longer than the original. */
function copy(run: Evaluation, text: string, change: (text: string) => string): string {
  run.make(text.length)
  run.spend(text.length / READ_AT_ONCE)
  return change(text)
}

function pad(run: Evaluation, length: Value, filler: Value): [number, string] {
  const target = Math.trunc(positionOf(length) ?? 0) || 0
  run.make(Math.max(0, target))
  return [target, filler === undefined ? ' ' : textOf(run, filler)]
}

function split(run: Evaluation, text: string, [separator, limit]: List): Value {
  if (separator === undefined) return run.own([text])
  const wanted = sought(run, text, separator)
  run.make(occurrences(text, wanted) + 1)
  return run.own(text.split(wanted, positionOf(limit)))
}

/** The replacement is literal: `$&` in it means itself. */
function replace(run: Evaluation, text: string, [pattern, replacement]: List): Value {
  const wanted = sought(run, text, pattern)
  const put = textOf(run, replacement)
  run.make(text.length + put.length)
  return text.replace(wanted, () => put)
}

function replaceAll(run: Evaluation, text: string, [pattern, replacement]: List): Value {
  const wanted = sought(run, text, pattern)
  const put = textOf(run, replacement)
  const count = occurrences(text, wanted)
  run.spend(count)
  run.make(text.length + count * put.length)
  return text.replaceAll(wanted, () => put)
}

function repeat(run: Evaluation, text: string, [times]: List): Value {
  const count = Math.trunc(positionOf(times) ?? 0) || 0
  run.make(Math.max(0, text.length * count))
  return text.repeat(count)
}

export const textMethods: ReadonlyMap<string, Method<string>> = new Map<string, Method<string>>([
  ['at', (_, text, [index]) => text.at(positionOf(index) ?? 0)],
  ['charAt', (_, text, [index]) => text.charAt(positionOf(index) ?? 0)],
  ['charCodeAt', (_, text, [index]) => text.charCodeAt(positionOf(index) ?? 0)],
  ['codePointAt', (_, text, [index]) => text.codePointAt(positionOf(index) ?? 0)],
  ['slice', (_, text, [start, end]) => text.slice(positionOf(start), positionOf(end))],
  ['substring', (_, text, [start, end]) => text.substring(positionOf(start) ?? 0, positionOf(end))],
  ['indexOf', (run, text, [wanted, from]) => text.indexOf(sought(run, text, wanted), positionOf(from))],
  ['lastIndexOf', (run, text, [wanted, from]) => text.lastIndexOf(sought(run, text, wanted), positionOf(from))],
  ['includes', (run, text, [wanted, from]) => text.includes(sought(run, text, wanted), positionOf(from))],
  ['startsWith', (run, text, [wanted, from]) => text.startsWith(textOf(run, wanted), positionOf(from))],
  ['endsWith', (run, text, [wanted, end]) => text.endsWith(textOf(run, wanted), positionOf(end))],
  ['toUpperCase', (run, text) => copy(run, text, (text) => text.toUpperCase())],
  ['toLowerCase', (run, text) => copy(run, text, (text) => text.toLowerCase())],
  ['normalize', (run, text, [form]) => copy(run, text, (text) => text.normalize(form === undefined ? undefined : textOf(run, form)))],
  ['trim', (run, text) => copy(run, text, (text) => text.trim())],
  ['trimStart', (run, text) => copy(run, text, (text) => text.trimStart())],
  ['trimEnd', (run, text) => copy(run, text, (text) => text.trimEnd())],
  ['padStart', (run, text, [length, filler]) => text.padStart(...pad(run, length, filler))],
  ['padEnd', (run, text, [length, filler]) => text.padEnd(...pad(run, length, filler))],
  ['repeat', repeat],
  ['split', split],
  ['replace', replace],
  ['replaceAll', replaceAll],
  ['concat', (run, text, args) => args.reduce<string>((whole, part) => join(run, whole, textOf(run, part)), text)],
  // One language for all servers, so that an order doesn't depend on where it was made.
  ['localeCompare', (run, text, [other]) => text.localeCompare(sought(run, text, other), 'en')],
  ['toString', (_, text) => text],
])
