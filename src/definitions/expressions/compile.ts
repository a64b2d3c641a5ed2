// definitions/expressions: compiles expressions and templates, once, when a file is loaded.
import type { Json } from '../../model/json/value.ts'
import { Compiler } from './code.ts'
import { Evaluation, type Code } from './evaluation.ts'
import { ExpressionError, ExpressionFault, type Expression, type Scope, type Template } from './expression.ts'
import { parse } from './parse.ts'
import { joined, plainText } from './values.ts'

/** Longest template, literal text included. */
const MAX_TEMPLATE_CHARACTERS = 100_000

/**
 * Compiles an expression of a safe subset of JavaScript. Differences from JavaScript: a property of null or undefined
 * is undefined and not an error; lists and objects become JSON text where text is needed, and NaN where a number is
 * needed; dates are numbers, and their methods use UTC.
 * @throws ExpressionFault when the source does not parse, or uses syntax that the language does not support
 */
export function compileExpression(source: string): Expression {
  const { code, cost, names, paths, quotesPlaceholder } = new Compiler(parse(source))
  return { source, names, paths, quotesPlaceholder, evaluate: (scope) => evaluate(scope, code, cost) }
}

/**
 * Compiles literal text with `${…}` placeholders. In the text, null, undefined and NaN are empty, and a list or an
 * object is JSON. There is no escape for `${`; `${'${'}` produces one.
 * @throws ExpressionFault as `compileExpression`, or when the template is too long
 */
export function compileTemplate(source: string): Template {
  if (source.length > MAX_TEMPLATE_CHARACTERS) {
    throw new ExpressionFault(`a template longer than ${MAX_TEMPLATE_CHARACTERS} characters`, MAX_TEMPLATE_CHARACTERS)
  }
  const texts: string[] = []
  const parts: Compiler[] = []
  let at = 0
  for (let opening = source.indexOf('${'); opening >= 0; opening = source.indexOf('${', at)) {
    const start = opening + 2
    const part = compilePlaceholder(source, start)
    texts.push(source.slice(at, opening))
    parts.push(part)
    at = start + part.source.length + 1
  }
  texts.push(source.slice(at))
  const codes = parts.map((part) => part.code)
  const [lone] = codes
  const code = lone && codes.length === 1 && texts.join('') === '' ? lone : joined(texts, codes, plainText)
  const cost = parts.reduce((sum, part) => sum + part.cost, 1)
  return {
    source,
    placeholders: parts.map((part) => part.source),
    names: new Set(parts.flatMap(({ names }) => [...names])),
    paths: parts.flatMap(({ paths }) => paths),
    quotesPlaceholder: parts.some((part) => part.quotesPlaceholder),
    evaluate: (scope) => evaluate(scope, code, cost),
  }
}

/** `start`: where the expression begins. Positions of faults are relative to the whole source. */
function compilePlaceholder(source: string, start: number): Compiler {
  try {
    return new Compiler(parse(source, start))
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
