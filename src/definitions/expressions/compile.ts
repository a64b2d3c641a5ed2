// definitions/expressions: the language's front door: source in, something to evaluate out. Compiled once, when a file
// is loaded.
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
  readonly quotesPlaceholder: boolean
  /** Steps that it takes outside of loops. */
  readonly cost: number
}

export interface CompileOptions {
  /** The source was accepted once, and means what it meant. */
  readonly pinned?: boolean
}

/**
 * Compiles a safe part of JavaScript's expressions. Where it differs from JavaScript: a property of null or undefined
 * is undefined, not a failure; lists and objects become JSON text where text is needed, and NaN where a number is;
 * dates are numbers and their methods tell UTC.
 * @throws ExpressionFault when it doesn't parse, or uses what the language lacks
 */
export function compileExpression(source: string, { pinned = false }: CompileOptions = {}): Expression {
  const { code, cost, ...about } = compile(parse(source, { pinned }))
  return { ...about, evaluate: (scope) => evaluate(scope, code, cost) }
}

/**
 * Compiles literal text with `${…}` in it. In the text, what has no value (null, undefined, NaN) is empty, and a list
 * or an object is JSON. Nothing escapes a `${`; `${'${'}` writes one.
 * @throws ExpressionFault
 */
export function compileTemplate(source: string, { pinned = false }: CompileOptions = {}): Template {
  if (source.length > MAX_TEMPLATE_CHARACTERS) {
    throw new ExpressionFault(`a template longer than ${MAX_TEMPLATE_CHARACTERS} characters`, MAX_TEMPLATE_CHARACTERS)
  }
  const { texts, parts } = split(source, pinned)
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
    quotesPlaceholder: parts.some((part) => part.quotesPlaceholder),
    evaluate: (scope) => evaluate(scope, code, cost),
  }
}

function compile({ tree, source }: Syntax): Compiled {
  const compiler = new Compiler(source)
  const code = compiler.compile(tree)
  const { names, quotesPlaceholder, cost } = compiler
  return { source, code, names, quotesPlaceholder, cost }
}

/** A template's placeholders, and the literal texts around them, one more than there are of these. */
function split(source: string, pinned: boolean): { texts: string[]; parts: Compiled[] } {
  const texts: string[] = []
  const parts: Compiled[] = []
  let at = 0
  for (let opening = source.indexOf('${'); opening >= 0; opening = source.indexOf('${', at)) {
    const start = opening + 2
    const syntax = parse(source, { pinned, placeholder: start })
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
