// definitions/expressions: compiles expressions and templates, once, when a file is loaded.
import type { Json } from '../../model/json/value.ts'
import { Compiler } from './code.ts'
import { Evaluation, type Code } from './evaluation.ts'
import { ExpressionError, ExpressionFault, type Expression, type Scope, type Template } from './expression.ts'
import { parse, placedAt, type Syntax } from './parse.ts'
import { joined, plainText } from './values.ts'

/** Longest template, literal text included. */
const MAX_TEMPLATE_CHARACTERS = 100_000

interface Compiled {
  readonly source: string
  readonly code: Code
  readonly names: ReadonlySet<string>
  readonly paths: Expression['paths']
  readonly quotesPlaceholder: boolean
  /** Steps of one evaluation, without the bodies of loops. */
  readonly cost: number
}

/**
 * Compiles an expression of a safe subset of JavaScript. Differences from JavaScript: a property of null or undefined
 * is undefined and not an error; lists and objects become JSON text where text is needed, and NaN where a number is
 * needed; dates are numbers, and their methods use UTC.
 * @throws ExpressionFault when the source does not parse, or uses syntax that the language does not support
 */
export function compileExpression(source: string): Expression {
  const { code, cost, ...about } = compile(parse(source))
  return { ...about, evaluate: (scope) => evaluate(scope, code, cost) }
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
  const { texts, parts } = split(source)
  const isLone = parts.length === 1 && texts.every((text) => text === '')
  const code =
    isLone && parts[0] !== undefined
      ? parts[0].code
      : joined(
          texts,
          parts.map(({ code }) => code),
          plainText,
        )
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

function compile({ tree, source }: Syntax): Compiled {
  const compiler = new Compiler(source)
  const code = compiler.compile(tree)
  const { names, paths, quotesPlaceholder, cost } = compiler
  return { source, code, names, paths, quotesPlaceholder, cost }
}

/**
 * Splits a template into its placeholders and the literal texts around them. There is one more text than placeholders.
 */
function split(source: string): { texts: string[]; parts: Compiled[] } {
  const texts: string[] = []
  const parts: Compiled[] = []
  let at = 0
  for (let opening = source.indexOf('${'); opening >= 0; opening = source.indexOf('${', at)) {
    const start = opening + 2
    const syntax = parse(source, { placeholder: start })
    texts.push(source.slice(at, opening))
    parts.push(placedAt(start, () => compile(syntax)))
    at = start + syntax.source.length + 1
  }
  return { texts: [...texts, source.slice(at)], parts }
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
