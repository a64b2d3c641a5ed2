// definitions/expressions: parses a source to a syntax tree. Syntax errors are reported in terms of this language, with
// their position, and the parser's recursion is bounded. `code.ts` decides which nodes are supported.
import { Parser, tokTypes, type AnyNode, type Expression, type Token } from 'acorn'
import { ExpressionFault } from './expression.ts'

/** Longest source of one expression, in characters. */
const MAX_EXPRESSION_CHARACTERS = 10_000
const MAX_TOKENS = 2000
const MAX_BRACKETS = 64

export interface Syntax {
  /** Positions in it count from the first character of `source`. */
  readonly tree: Expression
  readonly source: string
  readonly tokens: readonly Token[]
}

const { parenL, bracketL, braceL, dollarBraceL, parenR, bracketR, braceR } = tokTypes
const OPENING = new Set([parenL, bracketL, braceL, dollarBraceL])
const CLOSING = new Set([parenR, bracketR, braceR])

/**
 * Parses JavaScript without regular expressions, since validating one may take more than linear time. Like a plugin of
 * acorn, it overrides a method of the parser.
 */
class StrictParser extends Parser {
  declare readonly start: number

  readRegexp(): never {
    throw new ExpressionFault("there are no regular expressions here: unexpected '/'", this.start)
  }
}

/**
 * Parses an expression: the whole source or, in a template, what begins at `placeholder` and ends before a `}`.
 * @throws ExpressionFault; positions are relative to the beginning of the expression
 */
export function parse(source: string, placeholder?: number): Syntax {
  const text = source.slice(placeholder, (placeholder ?? 0) + MAX_EXPRESSION_CHARACTERS + 1)
  /** The character that must follow the expression; empty for the end of the text. */
  const closer = placeholder === undefined ? '' : '}'
  const isTooLong = text.length > MAX_EXPRESSION_CHARACTERS
  if (isTooLong && closer === '') throw tooLong()
  const tokens: Token[] = []
  const opened: Token[] = []
  const onToken = (token: Token) => {
    const { type, start } = token
    if (tokens.push(token) > MAX_TOKENS)
      throw new ExpressionFault(`an expression of more than ${MAX_TOKENS} tokens`, start)
    if (OPENING.has(type) && opened.push(token) > MAX_BRACKETS)
      throw new ExpressionFault(`brackets nested deeper than ${MAX_BRACKETS}`, start)
    if (CLOSING.has(type)) opened.pop()
  }
  const onComment = (_isBlock: boolean, _comment: string, start: number) => {
    throw unexpected(text, start)
  }
  /** The fault of what follows an expression, or a part of it. */
  const atEnd = (at: number, opener?: Token) => {
    if (isTooLong && at >= MAX_EXPRESSION_CHARACTERS) return tooLong()
    if (at < text.length || (!opener && closer === '')) return unexpected(text, at)
    if (!opener) return new ExpressionFault("'${' isn't closed", at)
    return new ExpressionFault(`'${text.slice(opener.start, opener.end)}' isn't closed, it opens`, opener.start)
  }
  let tree: Expression
  try {
    tree = StrictParser.parseExpressionAt(text, 0, { ecmaVersion: 2023, onToken, onComment })
  } catch (error) {
    if (!(error instanceof SyntaxError) || !('pos' in error)) throw error
    const at = Number(error.pos)
    const message = error.message.replace(/ \(\d+:\d+\)$/, '')
    if (!message.startsWith('Unexpected'))
      throw new ExpressionFault(message.charAt(0).toLowerCase() + message.slice(1), at)
    // Where the parser has accepted a reserved word, the word is the fault, and not what follows it.
    const last = tokens.at(-1)
    if (last && RESERVED.has(last.type.keyword)) throw unexpected(text, last.start)
    throw atEnd(at, opened.at(-1))
  }
  const end = text.length - text.slice(tokens.at(-1)?.end).trimStart().length
  if (text.charAt(end) !== closer) throw atEnd(end)
  return { tree, source: text.slice(0, end), tokens }
}

const tooLong = () =>
  new ExpressionFault(`an expression longer than ${MAX_EXPRESSION_CHARACTERS} characters`, MAX_EXPRESSION_CHARACTERS)
const TOKEN = /[\p{ID_Continue}$]+|[=+*&|<>.?-]{1,3}|[^]/uy
/** Words that are values. */
const VALUES = /^(?:null|true|false)$/
/** Words that are reserved in JavaScript and are no values. */
const RESERVED: ReadonlySet<unknown> = new Set(
  Object.values(tokTypes).flatMap(({ keyword = 'null' }) => (VALUES.test(keyword) ? [] : keyword)),
)

export function unexpected(source: string, at: number): ExpressionFault {
  TOKEN.lastIndex = at
  const token = TOKEN.exec(source)?.[0]
  if (token === undefined) return new ExpressionFault('unexpected end', at)
  return new ExpressionFault(`unexpected '${token}'${RESERVED.has(token) ? " (a word of JavaScript's own)" : ''}`, at)
}

/** The fault of the token after an operand. */
export function unexpectedAfter(operand: AnyNode | undefined, source: string): ExpressionFault {
  const end = operand?.end ?? 0
  return unexpected(source, end + (/^[\s)]*/.exec(source.slice(end))?.[0].length ?? 0))
}
