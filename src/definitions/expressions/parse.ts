// definitions/expressions: parses a source to a syntax tree. Syntax errors are reported in terms of this language, with
// their position, and the parser's recursion is bounded. `code.ts` decides which nodes are supported.
import { Parser, tokTypes, type Expression, type Token, type TokenType } from 'acorn'
import { ExpressionFault } from './expression.ts'
import { isReserved, matchAt, unexpected } from './unexpected.ts'

/** Longest source of one expression, in characters. */
const MAX_EXPRESSION_CHARACTERS = 10_000
const MAX_TOKENS = 2000
const MAX_BRACKETS = 64

export interface Syntax {
  /** Positions in it count from the first character of `source`. */
  readonly tree: Expression
  readonly source: string
}

export interface ParseOptions {
  /**
   * Index at which an expression in a template begins; it ends before the closing `}`. If absent, the whole source is
   * one expression.
   */
  readonly placeholder?: number
}

/**
 * Parses an expression.
 * @throws ExpressionFault; positions are relative to the whole source, also in a placeholder
 */
export function parse(source: string, { placeholder }: ParseOptions = {}): Syntax {
  const start = placeholder ?? 0
  const text = source.slice(start, start + MAX_EXPRESSION_CHARACTERS + 1)
  return placedAt(start, () => new ExpressionParser(text, placeholder === undefined ? '' : '}').read())
}

/** Runs a function, and shifts the positions of its faults by `start`. */
export function placedAt<T>(start: number, run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw error instanceof ExpressionFault ? new ExpressionFault(error.reason, start + error.at) : error
  }
}

const SPACE = /[ \t\r\n]*/y
const { parenL, bracketL, braceL, dollarBraceL, parenR, bracketR, braceR } = tokTypes
const OPENING: ReadonlySet<TokenType> = new Set([parenL, bracketL, braceL, dollarBraceL])
const CLOSING: ReadonlySet<TokenType> = new Set([parenR, bracketR, braceR])
/** Tokens of templates that do not count. Of a placeholder, only its end counts. */
const UNCOUNTED: ReadonlySet<TokenType> = new Set([tokTypes.template, tokTypes.backQuote, dollarBraceL])

const ONE_BODY = "a function's body is one expression (put an object in parentheses)"

/** An open bracket, or the whole source. */
interface Level {
  readonly opener: Token | undefined
  hasArrow: boolean
}

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

/** Parses one expression, and checks each token before the parser continues. */
class ExpressionParser {
  readonly #text: string
  /** The character that must follow the expression; empty for the end of the text. */
  readonly #closer: '' | '}'
  readonly #outer: Level[] = []
  #level: Level = { opener: undefined, hasArrow: false }
  #tokens = 0
  #last: Token | undefined
  /** The token before `#last`. */
  #before: Token | undefined

  constructor(text: string, closer: '' | '}') {
    this.#text = text
    this.#closer = closer
  }

  read(): Syntax {
    if (this.#closer === '' && this.#text.length > MAX_EXPRESSION_CHARACTERS) throw tooLong()
    const tree = this.#parse()
    const end = this.#afterSpace()
    if (this.#text.charAt(end) === this.#closer) return { tree, source: this.#text.slice(0, end) }
    if (end < this.#text.length) throw unexpected(this.#text, end)
    throw end > MAX_EXPRESSION_CHARACTERS ? tooLong() : unclosed(end)
  }

  #parse(): Expression {
    const onToken = (token: Token) => {
      this.#onToken(token)
    }
    const onComment = (_block: boolean, _text: string, start: number) => {
      throw unexpected(this.#text, start)
    }
    try {
      return StrictParser.parseExpressionAt(this.#text, 0, { ecmaVersion: 2023, onToken, onComment })
    } catch (error) {
      if (!(error instanceof SyntaxError) || !('pos' in error)) throw error
      throw this.#translated(error.message.replace(/ \(\d+:\d+\)$/, ''), Number(error.pos))
    }
  }

  #onToken(token: Token): void {
    const { type, start } = token
    const space = this.#afterSpace()
    if (space < start) throw unexpected(this.#text, space)
    if (!UNCOUNTED.has(type)) this.#tokens += 1
    if (this.#tokens > MAX_TOKENS) throw new ExpressionFault(`an expression of more than ${MAX_TOKENS} tokens`, start)
    if (type === tokTypes.arrow) this.#onArrow(token)
    else if (OPENING.has(type)) this.#onOpening(token)
    else if (CLOSING.has(type)) this.#level = this.#outer.pop() ?? this.#level
    else if (type === tokTypes.name || type.keyword !== undefined) this.#onWord(token)
    this.#before = this.#last
    this.#last = token
  }

  /**
   * Refuses a function directly within another: it is no argument of a method, and would not count towards the limit of
   * brackets.
   */
  #onArrow({ start }: Token): void {
    if (this.#level.hasArrow) throw misplacedFunction(start)
    this.#level.hasArrow = true
  }

  #onOpening(opener: Token): void {
    if (this.#outer.length === MAX_BRACKETS) {
      throw new ExpressionFault(`brackets nested deeper than ${MAX_BRACKETS}`, opener.start)
    }
    if (opener.type === braceL && this.#last?.type === tokTypes.arrow) {
      throw new ExpressionFault(`${ONE_BODY}: unexpected '{'`, opener.start)
    }
    this.#outer.push(this.#level)
    this.#level = { opener, hasArrow: false }
  }

  /** Refuses names with Unicode escapes. */
  #onWord(token: Token): void {
    const escape = this.#textOf(token).indexOf('\\')
    if (escape >= 0) throw unexpected(this.#text, token.start + escape)
  }

  #afterSpace(): number {
    const end = this.#last?.end ?? 0
    return end + matchAt(SPACE, this.#text, end).length
  }

  /** Translates an error of the parser into the terms of this language. */
  #translated(message: string, at: number): ExpressionFault {
    if (at >= MAX_EXPRESSION_CHARACTERS && this.#text.length > MAX_EXPRESSION_CHARACTERS) return tooLong()
    if (message.startsWith('Not enough stack')) return new ExpressionFault('an expression nested too deep', at)
    if (message.startsWith('Logical')) return ambiguous("'??' beside '||' or '&&'", at)
    if (message.startsWith('Unexpected')) return this.#unexpected(at)
    return new ExpressionFault(message.charAt(0).toLowerCase() + message.slice(1), at)
  }

  #unexpected(at: number): ExpressionFault {
    const last = this.#last
    if (last !== undefined && this.#endsReserved(last)) return unexpected(this.#text, last.start)
    const { opener } = this.#level
    const text = this.#text.charAt(at)
    if (text === '' && opener !== undefined) {
      return new ExpressionFault(`'${this.#textOf(opener)}' isn't closed, it opens`, opener.start)
    }
    if (text === '' && this.#closer !== '') return unclosed(at)
    if (text === this.#closer && opener === undefined) {
      const reason = last === undefined ? 'an empty expression' : `nothing follows '${this.#textOf(last)}'`
      return new ExpressionFault(reason, at)
    }
    // The parser has accepted this operator; the fault is the sign before its operand.
    if (last?.type === tokTypes.starstar && last.start === at) return ambiguous("a sign before '**'", at)
    return unexpected(this.#text, at)
  }

  /** Whether the parser stopped after a reserved word. Then the word is the fault, not what follows it. */
  #endsReserved({ type: { keyword = '' } }: Token): boolean {
    return isReserved(keyword) && this.#before?.type !== tokTypes.dot && this.#before?.type !== tokTypes.questionDot
  }

  #textOf({ start, end }: Token): string {
    return this.#text.slice(start, end)
  }
}

export const misplacedFunction = (at: number) =>
  new ExpressionFault('a function can only be the first argument of a method such as map,', at)
const unclosed = (at: number) => new ExpressionFault("'${' isn't closed", at)
const tooLong = () =>
  new ExpressionFault(`an expression longer than ${MAX_EXPRESSION_CHARACTERS} characters`, MAX_EXPRESSION_CHARACTERS)
const ambiguous = (what: string, at: number) =>
  new ExpressionFault(`parentheses are missing: ${what} can be read in two ways,`, at)
