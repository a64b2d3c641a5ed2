// definitions/expressions: compiles expressions and templates, once, when a file is loaded.
import { Compiler } from './code.ts'
import { Evaluation, type Code } from './evaluation.ts'
import { ExpressionError, ExpressionFault, type Expression } from './expression.ts'
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
  const compiler = new Compiler()
  return expressionOf(source, compiler, compiler.add(parse(source), 'value'))
}

/**
 * Compiles literal text with `${…}` placeholders. In the text, null, undefined and NaN are empty, and a list or an
 * object is JSON. A template that is a single placeholder keeps the type of its value. There is no escape for `${`;
 * `${'${'}` produces one.
 * @throws ExpressionFault as `compileExpression`, or when the template is too long
 */
export function compileTemplate(source: string): Expression {
  if (source.length > MAX_TEMPLATE_CHARACTERS) {
    throw new ExpressionFault(`a template longer than ${MAX_TEMPLATE_CHARACTERS} characters`, MAX_TEMPLATE_CHARACTERS)
  }
  const compiler = new Compiler()
  const texts: string[] = []
  const codes: Code[] = []
  let at = 0
  for (let opening = source.indexOf('${'); opening >= 0; opening = source.indexOf('${', at)) {
    const start = opening + 2
    texts.push(source.slice(at, opening))
    try {
      const syntax = parse(source, start)
      codes.push(compiler.add(syntax, 'text'))
      at = start + syntax.source.length + 1
    } catch (error) {
      // Positions are those in the whole template.
      throw error instanceof ExpressionFault ? new ExpressionFault(error.reason, start + error.at) : error
    }
  }
  texts.push(source.slice(at))
  const [lone] = codes
  const isLone = codes.length === 1 && texts.join('') === ''
  return expressionOf(source, compiler, lone && isLone ? lone : joined(texts, codes, plainText))
}

function expressionOf(source: string, compiler: Compiler, code: Code): Expression {
  const { names, paths, quotesPlaceholder, secrets, secretFault, cost } = compiler
  return {
    source,
    names,
    paths,
    quotesPlaceholder,
    secrets,
    secretFault,
    evaluate(scope) {
      try {
        const run = new Evaluation(scope)
        run.spend(cost)
        return run.settle(code(run))
      } catch (error) {
        if (error instanceof ExpressionError) throw error
        throw new ExpressionError(error instanceof Error ? error.message : 'the expression failed', { cause: error })
      }
    },
  }
}
