// definitions/expressions: from source to syntax tree, by acorn. Refuses what JavaScript refuses, each fault with its place, and bounds what the
// parser's recursion may take of the stack. Which nodes belong to the language is for `code.ts` to say.
import { Parser, tokTypes, type Expression, type Token, type TokenType } from 'acorn'
import { ExpressionFault } from './expression.ts'

/** Longest source of one expression, in characters. */
const MAX_LENGTH = 10_000
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
  /** Index of a placeholder's first character: its source ends before the `}` that closes it. Left out: the source is one expression. */
  readonly placeholder?: number
}

/** @throws ExpressionFault; places in a placeholder are told by the whole source */
export function parse(source: string, { pinned = false, placeholder }: ParseOptions = {}): Syntax {
  const start = placeholder ?? 0
  const text = source.slice(start, start + MAX_LENGTH + 1)
  return placedAt(start, () => new Reader(text, placeholder === undefined ? '' : '}').read(pinned ? PinnedParser : StrictParser))
}

/** Tells the places of faults by a source in which this one begins at `start`. */
export function placedAt<T>(start: number, run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw error instanceof ExpressionFault ? new ExpressionFault(error.reason, start + error.at) : error
  }
}

const TOKEN = /[\p{ID_Continue}$]+|=>|\.\.\.|\?\.(?!\d)|[=!]==?|>>>?=?|(?:<<|\*\*|&&|\|\||\?\?)=?|\+\+|--|[-+*/%&|^<>]=?|[^]/uy

const VALUES: ReadonlySet<string> = new Set(['null', 'true', 'false'])
/** Words that are no names in JavaScript, and no values either. */
const RESERVED: ReadonlySet<string> = new Set(Object.values(tokTypes).flatMap(({ keyword }) => keyword ?? []).filter((word) => !VALUES.has(word)))

/** The fault that a token is where none of its kind belongs. */
export function unexpected(source: string, at: number): ExpressionFault {
  const token = matchAt(TOKEN, source, at)
  return new ExpressionFault(`unexpected '${token}'${RESERVED.has(token) ? ' (a word of JavaScript\'s own)' : ''}`, at)
}

function matchAt(pattern: RegExp, source: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(source)?.[0] ?? ''
}

class StrictParser extends Parser {
  declare readonly start: number

  readRegexp(): never {
    throw new ExpressionFault("there are no regular expressions here: unexpected '/'", this.start)
  }
}

/**
 * Reads what was once accepted as it was then: all words but four are names, `??` binds as `||` does, and a line may end before `=>`.
 * These are the parser's own methods, which its plugins replace, too.
 */
class PinnedParser extends StrictParser {
  declare readonly input: string
  declare pos: number
  declare readonly finishToken: (type: TokenType, value: string) => void
  readonly keywords = /^(?:this|null|true|false)$/

  finishOp(type: TokenType, size: number): void {
    const operator = this.input.slice(this.pos, this.pos + size)
    this.pos += size
    this.finishToken(type === tokTypes.coalesce ? tokTypes.logicalOR : type, operator)
  }

  canInsertSemicolon(): boolean {
    return false
  }

  raiseRecoverable(): void {}
}

const SPACE = /[ \t\r\n]*/y
const OPENING: ReadonlySet<TokenType> = new Set([tokTypes.parenL, tokTypes.bracketL, tokTypes.braceL, tokTypes.dollarBraceL])
const CLOSING: ReadonlySet<TokenType> = new Set([tokTypes.parenR, tokTypes.bracketR, tokTypes.braceR])
/** The parts of templates, which aren't counted: each has its placeholder in brackets, or stands alone. */
const UNCOUNTED: ReadonlySet<TokenType> = new Set([tokTypes.template, tokTypes.backQuote, tokTypes.dollarBraceL])

/** Brackets that aren't closed so far. */
interface Opener {
  readonly token: Token
  hasArrow: boolean
}

class Reader {
  readonly #text: string
  /** What follows the expression; empty: nothing does. */
  readonly #closer: '' | '}'
  readonly #open: Opener[] = []
  #hasArrow = false
  #tokens = 0
  #last: Token | undefined
  /** The token before that. */
  #before: Token | undefined

  constructor(text: string, closer: '' | '}') {
    this.#text = text
    this.#closer = closer
  }

  read(parser: typeof Parser): Syntax {
    if (this.#closer === '' && this.#text.length > MAX_LENGTH) throw tooLong()
    const tree = this.#parse(parser)
    const end = this.#afterSpace()
    if (this.#text.charAt(end) === this.#closer) return { tree, source: this.#text.slice(0, end) }
    throw end < this.#text.length ? unexpected(this.#text, end) : end > MAX_LENGTH ? tooLong() : new ExpressionFault("'${' isn't closed", end)
  }

  #parse(parser: typeof Parser): Expression {
    try {
      return parser.parseExpressionAt(this.#text, 0, {
        ecmaVersion: 2023, onToken: (token) => this.#take(token), onComment: (_block, _text, start) => { throw unexpected(this.#text, start) },
      })
    } catch (error) {
      if (error instanceof SyntaxError && 'pos' in error) throw this.#refused(error.message.replace(/ \(\d+:\d+\)$/, ''), Number(error.pos))
      throw error
    }
  }

  /** Hears of each token before the parser goes on from it. */
  #take(token: Token): void {
    const space = this.#afterSpace()
    if (space < token.start) throw unexpected(this.#text, space)
    if (!UNCOUNTED.has(token.type)) this.#tokens += 1
    if (this.#tokens > MAX_TOKENS) throw new ExpressionFault(`an expression of more than ${MAX_TOKENS} tokens`, token.start)
    if (token.type === tokTypes.arrow) this.#arrow(token)
    if (OPENING.has(token.type)) this.#opening(token)
    else if (CLOSING.has(token.type)) this.#open.pop()
    else if (token.type === tokTypes.name || token.type.keyword !== undefined) this.#word(token)
    this.#before = this.#last
    this.#last = token
  }

  #opening(token: Token): void {
    if (this.#open.length === MAX_BRACKETS) throw new ExpressionFault(`brackets nested deeper than ${MAX_BRACKETS}`, token.start)
    if (token.type === tokTypes.braceL && this.#last?.type === tokTypes.arrow) {
      throw new ExpressionFault("a function's body is one expression (put an object in parentheses): unexpected '{'", token.start)
    }
    this.#open.push({ token, hasArrow: false })
  }

  /** Functions directly in one another belong to no method, and are beyond the bound of brackets. */
  #arrow({ start }: Token): void {
    const top = this.#open.at(-1)
    if (top?.hasArrow ?? this.#hasArrow) throw new ExpressionFault('a function can only be the first argument of a method such as map,', start)
    if (top === undefined) this.#hasArrow = true
    else top.hasArrow = true
  }

  #word({ start, end }: Token): void {
    const escape = this.#text.slice(start, end).indexOf('\\')
    if (escape >= 0) throw unexpected(this.#text, start + escape)
  }

  #afterSpace(): number {
    const end = this.#last?.end ?? 0
    return end + matchAt(SPACE, this.#text, end).length
  }

  /** What the parser says, in the language's words. */
  #refused(message: string, at: number): ExpressionFault {
    if (at >= MAX_LENGTH && this.#text.length > MAX_LENGTH) return tooLong()
    if (message.startsWith('Not enough stack')) return new ExpressionFault('an expression nested too deep', at)
    if (message.startsWith('Logical expressions')) {
      return new ExpressionFault("parentheses are missing: '??' beside '||' or '&&' can be read in two ways,", at)
    }
    if (!message.startsWith('Unexpected')) return new ExpressionFault(message.charAt(0).toLowerCase() + message.slice(1), at)
    if (this.#last !== undefined && this.#endsReserved(this.#last)) return unexpected(this.#text, this.#last.start)
    const text = this.#text.charAt(at)
    const opener = this.#open.at(-1)?.token
    if (text === '' && opener !== undefined) return new ExpressionFault(`'${this.#textOf(opener)}' isn't closed, it opens`, opener.start)
    if (text === this.#closer && opener === undefined) {
      return new ExpressionFault(this.#last === undefined ? 'an empty expression' : `nothing follows '${this.#textOf(this.#last)}'`, at)
    }
    // The parser has taken this operator: it is what stands before it that doesn't fit.
    const signed = this.#last?.start === at && this.#last.type === tokTypes.starstar
    return signed ? new ExpressionFault("parentheses are missing: a sign before '**' can be read in two ways,", at) : unexpected(this.#text, at)
  }

  /** Whether the parser stopped after a reserved word: then the word is the fault, not what follows it. */
  #endsReserved({ type: { keyword = '' } }: Token): boolean {
    return RESERVED.has(keyword) && this.#before?.type !== tokTypes.dot && this.#before?.type !== tokTypes.questionDot
  }

  #textOf({ start, end }: Token): string {
    return this.#text.slice(start, end)
  }
}

const tooLong = () => new ExpressionFault(`an expression longer than ${MAX_LENGTH} characters`, MAX_LENGTH)
