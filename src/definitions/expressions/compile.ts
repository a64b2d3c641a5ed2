// definitions/expressions: the language's front door: source in, something to evaluate out. Compiled once, when a file is loaded.
import type { Json } from '../../model/json.ts'
import { Compiler } from './code.ts'
import type { Code } from './evaluation.ts'
import { Evaluation } from './evaluation.ts'
import type { Expression, Scope, Template } from './expression.ts'
import { ExpressionError, ExpressionFault } from './expression.ts'
import { parse } from './parse.ts'
import { scan } from './scan.ts'
import { join, plainText } from './values.ts'

/** Longest template, literal text included. */
const MAX_TEMPLATE = 100_000

interface Compiled {
  readonly code: Code
  readonly names: ReadonlySet<string>
  readonly quotesPlaceholder: boolean
  /** Steps that it takes outside of loops. */
  readonly cost: number
}

/**
 * Compiles a safe part of JavaScript's expressions. Where it differs from JavaScript: a property of null or undefined is undefined, not a
 * failure; lists and objects become JSON text where text is needed, and NaN where a number is; dates are numbers and their methods tell UTC.
 * @throws ExpressionFault when it doesn't parse, or uses what the language lacks
 */
export function compileExpression(source: string): Expression {
  const { code, cost, ...about } = compile(source)
  return { source, ...about, evaluate: (scope) => evaluate(scope, code, cost) }
}

/**
 * Compiles literal text with `${…}` in it. In the text, what has no value (null, undefined, NaN) is empty, and a list or an object is JSON.
 * Nothing escapes a `${`; `${'${'}` writes one.
 * @throws ExpressionFault
 */
export function compileTemplate(source: string): Template {
  if (source.length > MAX_TEMPLATE) throw new ExpressionFault(`a template longer than ${MAX_TEMPLATE} characters`, MAX_TEMPLATE)
  const { texts, placeholders } = split(source)
  const [first] = placeholders
  const names = new Set(placeholders.flatMap(({ names }) => [...names]))
  const cost = placeholders.reduce((sum, placeholder) => sum + placeholder.cost, 1)
  const code: Code = first !== undefined && placeholders.length === 1 && texts.every((text) => text === '') ? first.code
    : (run) => placeholders.reduce((whole, { code }, index) => join(run, join(run, whole, plainText(run, code(run))), texts[index + 1] ?? ''), texts[0] ?? '')
  const quotesPlaceholder = placeholders.some((placeholder) => placeholder.quotesPlaceholder)
  return { source, names, quotesPlaceholder, evaluate: (scope) => evaluate(scope, code, cost) }
}

function compile(source: string): Compiled {
  const { tree, places } = parse(source)
  const compiler = new Compiler(places)
  const code = compiler.compile(tree)
  return { code, names: compiler.names, quotesPlaceholder: compiler.quotesPlaceholder, cost: compiler.cost }
}

/** The literal texts around the placeholders, one more than there are of these. */
function split(source: string): { texts: string[]; placeholders: Compiled[] } {
  const texts: string[] = []
  const placeholders: Compiled[] = []
  let at = 0
  for (let opening = source.indexOf('${'); opening >= 0; opening = source.indexOf('${', at)) {
    const start = opening + 2
    const { end } = scan(source, start, true)
    texts.push(source.slice(at, opening))
    placeholders.push(placed(start, () => compile(source.slice(start, end))))
    at = end + 1
  }
  texts.push(source.slice(at))
  return { texts, placeholders }
}

/** The expressions in a template, as they are written. */
export function placeholdersOf(source: string): string[] {
  const found: string[] = []
  for (let opening = source.indexOf('${'); opening >= 0;) {
    const { end } = scan(source, opening + 2, true)
    found.push(source.slice(opening + 2, end))
    opening = source.indexOf('${', end + 1)
  }
  return found
}

/** Tells the place of a fault by the whole template. */
function placed<T>(start: number, run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw error instanceof ExpressionFault ? new ExpressionFault(error.reason, start + error.at) : error
  }
}

function evaluate(scope: Scope, code: Code, cost: number): Json {
  try {
    const run = new Evaluation(scope)
    run.spend(cost)
    return run.settle(code(run))
  } catch (error) {
    if (error instanceof ExpressionError) throw error
    throw new ExpressionError(error instanceof Error ? error.message : 'the expression failed', { cause: error })
  }
}
