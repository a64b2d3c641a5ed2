// definitions/expressions: reads the source token by token before it is parsed. The parser is lenient, JavaScript isn't: what JavaScript
// wouldn't parse, what the language lacks, and what would overflow a stack ends here, with its place.
import { ExpressionFault } from './expression.ts'

/** Longest source of one expression, in characters. */
export const MAX_LENGTH = 10_000
const MAX_TOKENS = 2000
const MAX_BRACKETS = 64

export interface Scan {
  /** Index of the character after the expression: the source's end, or the `}` that closes a placeholder. */
  readonly end: number
  /** Where each token first stands. */
  readonly places: ReadonlyMap<string, number>
}

type Kind = 'group' | 'call' | 'list' | 'index' | 'object' | 'key' | 'placeholder'
const CLOSER: { readonly [kind in Kind]: string } = {
  group: ')', call: ')', list: ']', index: ']', object: '}', key: ']', placeholder: '}',
}
const HOLDS_COMMAS: ReadonlySet<Kind> = new Set(['group', 'call', 'list', 'object'])

const TOKEN = new RegExp([
  String.raw`(?<name>[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*)`,
  String.raw`(?<number>(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)`,
  String.raw`(?<text>'(?:[^'\\\n\r]|\\[^])*'|"(?:[^"\\\n\r]|\\[^])*")`,
  String.raw`(?<mark>=>|\.\.\.|\?\.(?!\d)|\?\?|[=!]==?|[<>]=?|\*\*|&&|\|\||\+\+|--|[-+*/%!?:,.()[\]{}` + '`])',
].join('|'), 'uy')
const SPACE = /[ \t\r\n]*/y
/** Literal characters of a template, up to its end or its next placeholder. */
const CHUNK = /(?:[^`\\$]|\\[^]|\$(?!\{))*/y

const PREFIX: ReadonlySet<string> = new Set(['!', '+', '-'])
const INFIX: ReadonlySet<string> = new Set([
  '=>', '??', '==', '!=', '===', '!==', '<', '<=', '>', '>=', '**', '&&', '||', '+', '-', '*', '/', '%', '?', ':',
])

interface Opener {
  readonly kind: Kind
  readonly at: number
  /** Whether the operand that it stands in has a sign before it. */
  readonly signed: boolean
}

class Scanner {
  readonly places = new Map<string, number>()
  private readonly open: Opener[] = []
  /** What may come next. */
  private next: 'operand' | 'operator' | 'property' = 'operand'
  private previous = ''
  private signed = false
  private at: number
  private readonly source: string
  private readonly embedded: boolean

  constructor(source: string, start: number, embedded: boolean) {
    this.source = source
    this.at = start
    this.embedded = embedded
  }

  run(): number {
    for (let tokens = 0; ; tokens += 1) {
      this.at += match(SPACE, this.source, this.at)?.[0].length ?? 0
      if (this.embedded && this.open.length === 0 && this.source[this.at] === '}') break
      if (this.at >= this.source.length) {
        this.ended()
        break
      }
      if (tokens === MAX_TOKENS) throw this.fault(`an expression of more than ${MAX_TOKENS} tokens`)
      this.token()
    }
    if (this.next !== 'operator') throw this.fault(this.previous === '' ? 'an empty expression' : `nothing follows '${this.previous}'`)
    return this.at
  }

  private ended(): void {
    const last = this.open.at(-1)
    if (last !== undefined) throw new ExpressionFault(`'${this.source[last.at]}' isn't closed, it opens`, last.at)
    if (this.embedded) throw this.fault("'${' isn't closed")
  }

  private token(): void {
    const found = match(TOKEN, this.source, this.at)
    const text = found?.[0]
    if (text === undefined) throw this.unexpected(String.fromCodePoint(this.source.codePointAt(this.at) ?? 0))
    if (!this.places.has(text)) this.places.set(text, this.at)
    const top = this.open.at(-1)
    if (found?.groups?.['mark'] !== undefined) this.mark(text, top)
    else this.word(text, found?.groups?.['name'] !== undefined)
    this.at += text.length
    this.previous = text
    if (text === '`' || (text === '}' && top?.kind === 'placeholder')) this.template()
  }

  private word(text: string, name: boolean): void {
    if (this.next === 'operator' || (this.next === 'property' && !name)) throw this.unexpected(text)
    this.next = 'operator'
  }

  private mark(text: string, top: Opener | undefined): void {
    if (text === '(' || text === '[' || text === '{' || text === '`') return this.opens(text, top)
    if (text === ')' || text === ']' || text === '}') return this.closes(text, top)
    const operand = this.next === 'operand'
    if (text === '...' && operand && (this.previous === ',' || this.justOpened(top)) && top && HOLDS_COMMAS.has(top.kind)) return
    if (PREFIX.has(text) && operand && !this.atKey(top)) {
      this.signed = true
      return
    }
    if (this.next !== 'operator') throw this.unexpected(text)
    if (text === '.' || text === '?.') {
      this.next = 'property'
      return
    }
    if (text === '**' && this.signed) throw this.fault("parentheses are missing: a sign before '**' can be read in two ways,")
    if (!INFIX.has(text) && !(text === ',' && top && HOLDS_COMMAS.has(top.kind))) throw this.unexpected(text)
    this.signed = false
    this.next = 'operand'
  }

  private opens(text: string, top: Opener | undefined): void {
    const after = this.next === 'operator' || (this.next === 'property' && this.previous === '?.')
    if (after ? text === '{' || text === '`' : this.next === 'property') throw this.unexpected(text)
    if (!after && this.atKey(top) && text !== '[') throw this.unexpected(text)
    if (text === '{' && this.previous === '=>') throw this.fault("a function's body is one expression (put an object in parentheses): unexpected '{'")
    if (text === '(') this.push(after ? 'call' : 'group')
    else if (text === '[') this.push(after ? 'index' : this.atKey(top) ? 'key' : 'list')
    else if (text === '{') this.push('object')
  }

  private push(kind: Kind): void {
    if (this.open.length === MAX_BRACKETS) throw this.fault(`brackets nested deeper than ${MAX_BRACKETS}`)
    this.open.push({ kind, at: this.at, signed: this.signed })
    this.next = 'operand'
    this.signed = false
  }

  private closes(text: string, top: Opener | undefined): void {
    if (top === undefined || CLOSER[top.kind] !== text) throw this.unexpected(text)
    const empty = this.justOpened(top) && HOLDS_COMMAS.has(top.kind)
    const trailing = this.previous === ',' && top.kind !== 'group'
    if (this.next !== 'operator' && !empty && !trailing) throw this.unexpected(text)
    this.open.pop()
    this.next = 'operator'
    this.signed = top.signed
  }

  /** Reads on in a template after its opening mark or the end of a placeholder. */
  private template(): void {
    this.at += match(CHUNK, this.source, this.at)?.[0].length ?? 0
    if (this.source[this.at] === '`') {
      this.at += 1
      this.next = 'operator'
    } else if (this.at < this.source.length) {
      this.push('placeholder')
      this.at += 2
      this.previous = '${'
    } else {
      throw this.fault('a template without its end')
    }
  }

  private justOpened(top: Opener | undefined): boolean {
    return top !== undefined && ['(', '[', '{', '${'].includes(this.previous) && this.next === 'operand'
  }

  /** Whether a key of an object is due. */
  private atKey(top: Opener | undefined): boolean {
    return top?.kind === 'object' && (this.previous === '{' || this.previous === ',')
  }

  private unexpected(text: string): ExpressionFault {
    return this.fault(`unexpected '${text}'`)
  }

  private fault(reason: string): ExpressionFault {
    return new ExpressionFault(reason, this.at)
  }
}

function match(pattern: RegExp, source: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(source)
}

/**
 * Reads the whole source, or an embedded expression from `start` up to the `}` that closes it.
 * @throws ExpressionFault
 */
export function scan(source: string, start = 0, embedded = false): Scan {
  const scanner = new Scanner(source, start, embedded)
  const end = scanner.run()
  return { end, places: scanner.places }
}
