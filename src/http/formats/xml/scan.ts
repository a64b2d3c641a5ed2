// http: checks that a text is well-formed XML. fast-xml-parser accepts much that is not, and text must never be read as
// markup.
import { malformed, unsupportedType } from '../../../model/failure.ts'
import { positionOf } from '../../../model/json/scan.ts'
import { tooMany } from '../json/decode.ts'
import { findForbidden, isBlank, resolveReferences, UNKNOWN_REFERENCE, XML_NAME } from './names.ts'

const S = '[ \\t\\r\\n]'
const DECLARATION = new RegExp(
  `^<\\?xml${S}+version${S}*=${S}*(["'])1\\.\\d+\\1(?:${S}+encoding${S}*=${S}*(["'])([A-Za-z][-.\\w]*)\\2)?(?:${S}+standalone${S}*=${S}*(["'])(?:yes|no)\\4)?${S}*\\?>`,
)
const ENCODING = /^(?:utf-8|us-ascii)$/i
const TAG = new RegExp(`<(/?)(${XML_NAME})(${S}*(/?)>)?`, 'yu')
const ATTRIBUTE = new RegExp(`${S}+(${XML_NAME})${S}*=${S}*(?:"([^<"]*)"|'([^<']*)')`, 'yu')
const END = new RegExp(`${S}*(/?)>`, 'y')
const INSTRUCTION = new RegExp(`<\\?(?!xml(?:${S}|\\?))${XML_NAME}(?=${S}|\\?>)`, 'iyu')

const NOT_XML = 'the body is not well-formed XML'
export const notXml = () => malformed(NOT_XML)
export const tooDeep = () => malformed('the body is nested too deep')

/**
 * The document without declaration and instructions.
 * @param maxNested elements within each other
 * @param maxValues elements and attributes
 * @throws FluxError `malformed`; `tooLarge`; `unsupportedType` for an encoding other than UTF-8
 */
export function scanXml(text: string, options: ScanOptions): string {
  const forbidden = findForbidden(text)
  if (forbidden >= 0) throw malformedAt(text, forbidden, 'the body has a character that XML does not allow')
  return new Scan(text, options).run()
}

function malformedAt(text: string, at: number, reason = NOT_XML) {
  const { line, column } = positionOf(text, at)
  return malformed(`${reason}, at line ${line}, column ${column}`)
}

interface ScanOptions {
  readonly maxNested: number
  readonly maxValues: number
}

class Scan {
  readonly #text: string
  readonly #maxNested: number
  readonly #maxValues: number
  #values = 0
  /** Names of the elements that are open. */
  readonly #open: string[] = []
  #roots = 0
  #at = 0
  /** The text that is kept so far; `#kept`: where the rest of it begins. */
  #result = ''
  #kept = 0

  constructor(text: string, { maxNested, maxValues }: ScanOptions) {
    this.#text = text
    this.#maxValues = maxValues
    this.#maxNested = maxNested
  }

  run(): string {
    const text = this.#text
    this.#declaration()
    while (this.#at < text.length) {
      const next = text.indexOf('<', this.#at)
      const piece = text.slice(this.#at, next === -1 ? text.length : next)
      if (piece.includes(']]>')) throw this.#fault(this.#at + piece.indexOf(']]>'))
      if (this.#open.length === 0 && !isBlank(piece)) throw this.#fault(this.#at + piece.search(/[^ \t\r\n]/))
      // The parser joins the texts on both sides of a comment, so references are checked here, before that.
      this.#references(piece, this.#at)
      if (next === -1) break
      this.#at = next
      const kind = text[next + 1]
      if (kind === '!') this.#special()
      else if (kind === '?') this.#instruction()
      else this.#tag()
    }
    if (this.#open.length > 0 || this.#roots !== 1) throw this.#fault(text.length)
    return this.#result + text.slice(this.#kept)
  }

  #declaration(): void {
    const [declaration, , , encoding = 'utf-8'] = DECLARATION.exec(this.#text) ?? ['']
    if (!ENCODING.test(encoding)) throw unsupportedType('the body must be in UTF-8')
    this.#skip(declaration.length)
  }

  /** Removes an instruction, because the parser misreads quotes in it. */
  #instruction(): void {
    INSTRUCTION.lastIndex = this.#at
    if (!INSTRUCTION.test(this.#text)) throw this.#fault()
    this.#skip(this.#end('?>', this.#at))
  }

  /** Leaves out the text up to `end`. */
  #skip(end: number): void {
    this.#result += this.#text.slice(this.#kept, this.#at)
    this.#at = this.#kept = end
  }

  #special(): void {
    const text = this.#text
    if (text.startsWith('<!--', this.#at)) {
      const end = this.#end('--', this.#at + 4)
      if (text[end] !== '>') throw this.#fault(end)
      this.#at = end + 1
    } else if (text.startsWith('<![CDATA[', this.#at) && this.#open.length > 0) this.#at = this.#end(']]>', this.#at)
    else throw malformedAt(text, this.#at, 'the body must be well-formed XML without a document type')
  }

  #end(of: string, from: number): number {
    const place = this.#text.indexOf(of, from)
    if (place === -1) throw this.#fault(from)
    return place + of.length
  }

  #tag(): void {
    const text = this.#text
    TAG.lastIndex = this.#at
    const match = TAG.exec(text)
    if (match === null) throw this.#fault()
    const [, closing = '', name = '', end] = match
    if (closing !== '') {
      if (end === undefined || match[4] !== '' || this.#open.pop() !== name) throw this.#fault()
      this.#at = TAG.lastIndex
      return
    }
    this.#at = TAG.lastIndex
    this.#count()
    const empty = end === undefined ? this.#attributes() : match[4] === '/'
    if (this.#open.length === 0) this.#roots += 1
    if (empty) return
    if (this.#open.push(name) > this.#maxNested) throw tooDeep()
  }

  #fault(at = this.#at) {
    return malformedAt(this.#text, at)
  }

  /** Checks the references in a part of the text that begins at `from`. */
  #references(part: string, from: number): void {
    resolveReferences(part, (index) => {
      throw malformedAt(this.#text, from + index, UNKNOWN_REFERENCE)
    })
  }

  #count(): void {
    if (++this.#values > this.#maxValues) throw tooMany(this.#maxValues)
  }

  /** Reads the rest of a tag. True if the tag also closes the element. */
  #attributes(): boolean {
    const names = new Set<string>()
    ATTRIBUTE.lastIndex = this.#at
    for (let match = ATTRIBUTE.exec(this.#text); match !== null; match = ATTRIBUTE.exec(this.#text)) {
      const [, name = '', double = '', single = ''] = match
      if (names.has(name)) throw this.#fault()
      this.#count()
      names.add(name)
      this.#references(double + single, ATTRIBUTE.lastIndex - 1 - (double + single).length)
      this.#at = ATTRIBUTE.lastIndex
    }
    END.lastIndex = this.#at
    const end = END.exec(this.#text)
    if (end === null) throw this.#fault()
    this.#at = END.lastIndex
    return end[1] === '/'
  }
}
