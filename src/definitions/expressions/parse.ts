// definitions/expressions: from source to syntax tree. What doesn't parse is told in the language's words, with its
// place; what the parser's recursion takes of the stack is bounded. Which nodes belong to the language is for `code.ts`
// to say.
import { tokTypes, type Expression, type Token, type TokenType } from 'acorn'
import { ExpressionFault } from './expression.ts'
import { PinnedParser, StrictParser } from './parsers.ts'
import { isReserved, matchAt, unexpected } from './unexpected.ts'

/** Longest source of one expression, in characters. */
const MAX_EXPRESSION_CHARACTERS = 10_000
const MAX_TOKENS = 2000
const MAX_BRACKETS = 64

export interface Syntax {
  /** Its places count from the first character of `source`. */
  readonly tree: Expression
  readonly source: string
}

export interface ParseOptions {
  /** Takes what version 0.1 took. */
  readonly pinned?: boolean
  /** Where an expression in a template begins: it ends before the `}` that closes it. Left out: the source is one. */
  readonly placeholder?: number
}

/** @throws ExpressionFault; places in a placeholder are told by the whole source */
export function parse(source: string, { pinned = false, placeholder }: ParseOptions = {}): Syntax {
  const start = placeholder ?? 0
  const text = source.slice(start, start + MAX_EXPRESSION_CHARACTERS + 1)
  return placedAt(start, () => new Reader(text, placeholder === undefined ? '' : '}').read(pinned))
}

/** Tells the places of faults by a source in which this one begins at `start`. */
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
/** Parts of templates, which aren't counted: of a placeholder its end is. */
const UNCOUNTED: ReadonlySet<TokenType> = new Set([tokTypes.template, tokTypes.backQuote, dollarBraceL])

const ONE_BODY = "a function's body is one expression (put an object in parentheses)"

/** A bracket that isn't closed so far, or the whole source. */
interface Level {
  readonly opener: Token | undefined
  hasArrow: boolean
}

/** Reads one expression, and hears of each token before the parser goes on from it. */
class Reader {
  readonly #text: string
  /** What follows the expression; empty: nothing does. */
  readonly #closer: '' | '}'
  readonly #outer: Level[] = []
  #level: Level = { opener: undefined, hasArrow: false }
  #tokens = 0
  #last: Token | undefined
  /** The token before that. */
  #before: Token | undefined

  constructor(text: string, closer: '' | '}') {
    this.#text = text
    this.#closer = closer
  }

  read(pinned: boolean): Syntax {
    if (this.#closer === '' && this.#text.length > MAX_EXPRESSION_CHARACTERS) throw tooLong()
    const tree = this.#parse(pinned ? PinnedParser : StrictParser)
    const end = this.#afterSpace()
    if (this.#text.charAt(end) === this.#closer) return { tree, source: this.#text.slice(0, end) }
    if (end < this.#text.length) throw unexpected(this.#text, end)
    throw end > MAX_EXPRESSION_CHARACTERS ? tooLong() : unclosed(end)
  }

  #parse(parser: typeof StrictParser): Expression {
    const onToken = (token: Token) => {
      this.#take(token)
    }
    const onComment = (_block: boolean, _text: string, start: number) => {
      throw unexpected(this.#text, start)
    }
    try {
      return parser.parseExpressionAt(this.#text, 0, { ecmaVersion: 2023, onToken, onComment })
    } catch (error) {
      if (!(error instanceof SyntaxError) || !('pos' in error)) throw error
      throw this.#refused(error.message.replace(/ \(\d+:\d+\)$/, ''), Number(error.pos))
    }
  }

  #take(token: Token): void {
    const { type, start } = token
    const space = this.#afterSpace()
    if (space < start) throw unexpected(this.#text, space)
    if (!UNCOUNTED.has(type)) this.#tokens += 1
    if (this.#tokens > MAX_TOKENS) throw new ExpressionFault(`an expression of more than ${MAX_TOKENS} tokens`, start)
    if (type === tokTypes.arrow) this.#arrow(token)
    else if (OPENING.has(type)) this.#opening(token)
    else if (CLOSING.has(type)) this.#level = this.#outer.pop() ?? this.#level
    else if (type === tokTypes.name || type.keyword !== undefined) this.#word(token)
    this.#before = this.#last
    this.#last = token
  }

  /** Functions directly in one another belong to no method, and would pass by the bound of brackets. */
  #arrow({ start }: Token): void {
    if (this.#level.hasArrow) throw misplacedFunction(start)
    this.#level.hasArrow = true
  }

  #opening(opener: Token): void {
    if (this.#outer.length === MAX_BRACKETS) {
      throw new ExpressionFault(`brackets nested deeper than ${MAX_BRACKETS}`, opener.start)
    }
    if (opener.type === braceL && this.#last?.type === tokTypes.arrow) {
      throw new ExpressionFault(`${ONE_BODY}: unexpected '{'`, opener.start)
    }
    this.#outer.push(this.#level)
    this.#level = { opener, hasArrow: false }
  }

  /** Names are written as they are, without escapes. */
  #word(token: Token): void {
    const escape = this.#textOf(token).indexOf('\\')
    if (escape >= 0) throw unexpected(this.#text, token.start + escape)
  }

  #afterSpace(): number {
    const end = this.#last?.end ?? 0
    return end + matchAt(SPACE, this.#text, end).length
  }

  /** What the parser says, in the language's words. */
  #refused(message: string, at: number): ExpressionFault {
    if (at >= MAX_EXPRESSION_CHARACTERS && this.#text.length > MAX_EXPRESSION_CHARACTERS) return tooLong()
    if (message.startsWith('Not enough stack')) return new ExpressionFault('an expression nested too deep', at)
    if (message.startsWith('Logical')) return twoWays("'??' beside '||' or '&&'", at)
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
    // The parser has taken that operator: what stands before it is the fault.
    if (last?.type === tokTypes.starstar && last.start === at) return twoWays("a sign before '**'", at)
    return unexpected(this.#text, at)
  }

  /** Whether the parser stopped after a reserved word: then the word is the fault, not what follows it. */
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
const twoWays = (what: string, at: number) =>
  new ExpressionFault(`parentheses are missing: ${what} can be read in two ways,`, at)
