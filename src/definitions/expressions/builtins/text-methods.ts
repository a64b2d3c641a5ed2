// definitions/expressions/builtins: the methods of texts: those of JavaScript, without regular expressions. Their
// results are charged before they are created.
import type { Evaluation, List, Value } from '../evaluation.ts'
import { find, findAll, findLast } from './text-search.ts'
import { changed, compareInEnglish, normalized } from './text-forms.ts'
import { joinElements, indexArgument, stringify } from '../values.ts'

export type TextMethod<Self> = (run: Evaluation, self: Self, args: List) => Value

/** Creates a method whose arguments are positions in the text. */
const placed =
  (method: (text: string, first: number | undefined, second: number | undefined) => Value): TextMethod<string> =>
  (run, text, [first, second]) =>
    method(text, indexArgument(run, first), indexArgument(run, second))

/** The text that is compared with the beginning or the end. */
function compared(run: Evaluation, value: Value): string {
  const wanted = stringify(run, value)
  run.scan(wanted.length)
  return wanted
}

/** Characters that are checked for white space in one step. */
const TRIMMED_AT_ONCE = 16

function trimmable(run: Evaluation, text: string): string {
  run.make(text.length / TRIMMED_AT_ONCE)
  run.spend(text.length / TRIMMED_AT_ONCE)
  return text
}

function padded(run: Evaluation, length: Value, filler: Value): [number, string] {
  const target = Math.trunc(indexArgument(run, length) ?? 0) || 0
  run.make(Math.max(0, target))
  return [target, filler === undefined ? ' ' : stringify(run, filler)]
}

function split(run: Evaluation, text: string, [separator, limit]: List): Value {
  if (separator === undefined) return run.own([text])
  const wanted = stringify(run, separator)
  const most = indexArgument(run, limit)
  if (wanted === '') {
    run.makeElements(text.length)
    return run.own(text.split('', most))
  }
  const parts = partsOf(text, wanted, findAll(run, text, wanted))
  return run.own(most === undefined ? parts : parts.slice(0, most >>> 0))
}

/** Returns the parts before, between and after the matches at those indices. */
function partsOf(text: string, wanted: string, places: readonly number[]): string[] {
  const parts = places.map((place, index) => text.slice((places[index - 1] ?? -wanted.length) + wanted.length, place))
  return [...parts, text.slice((places.at(-1) ?? -wanted.length) + wanted.length)]
}

/** The replacement is literal: `$&` in it has no special meaning. */
function replace(run: Evaluation, text: string, [pattern, replacement]: List): Value {
  const wanted = stringify(run, pattern)
  const put = stringify(run, replacement)
  const at = find(run, text, wanted)
  if (at < 0) return text
  run.make(text.length + put.length)
  return text.slice(0, at) + put + text.slice(at + wanted.length)
}

function replaceAll(run: Evaluation, text: string, [pattern, replacement]: List): Value {
  const wanted = stringify(run, pattern)
  const put = stringify(run, replacement)
  if (wanted === '') {
    run.makeElements(text.length + 1)
    run.make(text.length + (text.length + 1) * put.length)
    return text.replaceAll('', () => put)
  }
  const places = findAll(run, text, wanted)
  run.make(text.length + places.length * put.length)
  return partsOf(text, wanted, places).join(put)
}

function repeat(run: Evaluation, text: string, [times]: List): Value {
  const count = Math.trunc(indexArgument(run, times) ?? 0) || 0
  run.make(Math.max(0, text.length * count))
  return text.repeat(count)
}

export const textMethods: ReadonlyMap<string, TextMethod<string>> = new Map<string, TextMethod<string>>([
  ['at', placed((text, index = 0) => text.at(index))],
  ['charAt', placed((text, index = 0) => text.charAt(index))],
  ['charCodeAt', placed((text, index = 0) => text.charCodeAt(index))],
  ['codePointAt', placed((text, index = 0) => text.codePointAt(index))],
  ['slice', placed((text, start, end) => text.slice(start, end))],
  ['substring', placed((text, start = 0, end) => text.substring(start, end))],
  ['indexOf', (run, text, [wanted, from]) => find(run, text, stringify(run, wanted), indexArgument(run, from))],
  [
    'lastIndexOf',
    (run, text, [wanted, from]) => findLast(run, text, stringify(run, wanted), indexArgument(run, from) ?? Infinity),
  ],
  ['includes', (run, text, [wanted, from]) => find(run, text, stringify(run, wanted), indexArgument(run, from)) >= 0],
  ['startsWith', (run, text, [wanted, from]) => text.startsWith(compared(run, wanted), indexArgument(run, from))],
  ['endsWith', (run, text, [wanted, end]) => text.endsWith(compared(run, wanted), indexArgument(run, end))],
  ['toUpperCase', (run, text) => changed(run, text, (text) => text.toUpperCase())],
  ['toLowerCase', (run, text) => changed(run, text, (text) => text.toLowerCase())],
  ['normalize', (run, text, [form]) => normalized(run, text, form === undefined ? 'NFC' : stringify(run, form))],
  ['trim', (run, text) => trimmable(run, text).trim()],
  ['trimStart', (run, text) => trimmable(run, text).trimStart()],
  ['trimEnd', (run, text) => trimmable(run, text).trimEnd()],
  ['padStart', (run, text, [length, filler]) => text.padStart(...padded(run, length, filler))],
  ['padEnd', (run, text, [length, filler]) => text.padEnd(...padded(run, length, filler))],
  ['repeat', repeat],
  ['split', split],
  ['replace', replace],
  ['replaceAll', replaceAll],
  [
    'concat',
    (run, text, args) => args.reduce<string>((whole, part) => joinElements(run, whole, stringify(run, part)), text),
  ],
  ['localeCompare', (run, text, [other]) => compareInEnglish(run, text, stringify(run, other))],
  ['toString', (_, text) => text],
])
