// http: reads a text as XML, to the letter: what isn't well-formed is refused, and so is any document type. Libraries
// take much that isn't XML, or read in one
// place as markup what is text to others.
import { malformed, unsupportedType } from '../../../model/failure.ts'
import { tooMany } from '../json/decode.ts'
import { isBlank, NAME, needsEscape, resolveReferences } from './names.ts'

export interface Element {
  readonly name: string
  /** Their values, with white space as spaces (XML 1.0, 3.3.3). */
  readonly attributes: ReadonlyMap<string, string>
  readonly elements: readonly Element[]
  /** All of it, wherever it stands between the elements. */
  readonly text: string
}

const S = '[ \\t\\r\\n]'
const DECLARATION = new RegExp(
  `^<\\?xml${S}+version${S}*=${S}*(["'])1\\.\\d+\\1(?:${S}+encoding${S}*=${S}*(["'])([A-Za-z][-.\\w]*)\\2)?(?:${S}+standalone${S}*=${S}*(["'])(?:yes|no)\\4)?${S}*\\?>`,
)
const CDATA = '<![CDATA['
const ENCODING = /^(?:utf-8|us-ascii)$/i
const TAG = new RegExp(`<(/?)(${NAME})(${S}*(/?)>)?`, 'yu')
const ATTRIBUTE = new RegExp(`${S}+(${NAME})${S}*=${S}*(?:"([^<"]*)"|'([^<']*)')`, 'yu')
const END = new RegExp(`${S}*(/?)>`, 'y')
const INSTRUCTION = new RegExp(`<\\?(?!xml(?:${S}|\\?))${NAME}(?=${S}|\\?>)`, 'iyu')

export const notXml = () => malformed('the body is not well-formed XML')
export const tooDeep = () => malformed('the body is nested too deep')

/**
 * The root of the document.
 * @param maxNested elements within each other
 * @param maxValues elements and attributes
 * @param anyEncoding whether it doesn't matter which encoding the document names: whoever made text of it has seen to
 * that
 * @throws FluxError `malformed`, `tooLarge`, `unsupportedType` for another encoding than UTF-8
 */
export function scanXml(text: string, options: ScanOptions): Element {
  if (needsEscape(text)) throw malformed('the body has a character that XML does not allow')
  // XML 1.0, 2.11: all ends of lines are read as one character.
  return new Scan(text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text, options).run()
}

interface ScanOptions {
  readonly maxNested: number
  readonly maxValues: number
  readonly anyEncoding: boolean
}

/** An element that is being read. */
interface Open extends Element {
  readonly elements: Open[]
  text: string
}

const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map()

class Scan {
  readonly #text: string
  readonly #anyEncoding: boolean
  readonly #maxNested: number
  readonly #maxValues: number
  #values = 0
  /** Around what comes next, from the root on. */
  readonly #open: Open[] = []
  #root: Element | null = null
  #at = 0

  constructor(text: string, { maxNested, maxValues, anyEncoding }: ScanOptions) {
    this.#text = text
    this.#maxValues = maxValues
    this.#anyEncoding = anyEncoding
    this.#maxNested = maxNested
  }

  run(): Element {
    const text = this.#text
    this.#declaration()
    while (this.#at < text.length) {
      const next = text.indexOf('<', this.#at)
      const piece = text.slice(this.#at, next === -1 ? text.length : next)
      const around = this.#open.at(-1)
      if (piece.includes(']]>') || (around === undefined && !isBlank(piece))) throw notXml()
      if (around) around.text += resolveReferences(piece)
      if (next === -1) break
      this.#at = next
      const kind = text[next + 1]
      if (kind === '!') this.#special()
      else if (kind === '?') this.#instruction()
      else this.#tag()
    }
    if (this.#open.length > 0 || this.#root === null) throw notXml()
    return this.#root
  }

  #declaration(): void {
    const [declaration, , , encoding = 'utf-8'] = DECLARATION.exec(this.#text) ?? ['']
    if (!this.#anyEncoding && !ENCODING.test(encoding)) throw unsupportedType('the body must be in UTF-8')
    this.#at = declaration.length
  }

  /** It says nothing here, and may come anywhere. */
  #instruction(): void {
    INSTRUCTION.lastIndex = this.#at
    if (!INSTRUCTION.test(this.#text)) throw notXml()
    this.#at = this.#end('?>', this.#at)
  }

  #special(): void {
    const text = this.#text
    if (text.startsWith('<!--', this.#at)) {
      const end = this.#end('--', this.#at + 4)
      if (text[end] !== '>') throw notXml()
      this.#at = end + 1
      return
    }
    const around = this.#open.at(-1)
    if (!around || !text.startsWith(CDATA, this.#at))
      throw malformed('the body must be well-formed XML without a document type')
    const start = this.#at + CDATA.length
    this.#at = this.#end(']]>', start)
    around.text += text.slice(start, this.#at - 3)
  }

  #end(of: string, from: number): number {
    const place = this.#text.indexOf(of, from)
    if (place === -1) throw notXml()
    return place + of.length
  }

  #tag(): void {
    const text = this.#text
    TAG.lastIndex = this.#at
    const match = TAG.exec(text)
    if (match === null) throw notXml()
    const [, closing = '', name = '', end] = match
    this.#at = TAG.lastIndex
    if (closing !== '') {
      if (end === undefined || match[4] !== '' || this.#open.pop()?.name !== name) throw notXml()
      return
    }
    this.#count()
    const { attributes, isEmpty } =
      end === undefined ? this.#attributes() : { attributes: NO_ATTRIBUTES, isEmpty: match[4] === '/' }
    const element: Open = { name, attributes, elements: [], text: '' }
    const around = this.#open.at(-1)
    if (around) around.elements.push(element)
    else if (this.#root !== null) throw notXml()
    else this.#root = element
    if (!isEmpty && this.#open.push(element) > this.#maxNested) throw tooDeep()
  }

  #count(): void {
    if (++this.#values > this.#maxValues) throw tooMany(this.#maxValues)
  }

  /** The rest of a tag. It may close the element, too. */
  #attributes(): { readonly attributes: ReadonlyMap<string, string>; readonly isEmpty: boolean } {
    const attributes = new Map<string, string>()
    ATTRIBUTE.lastIndex = this.#at
    for (let match = ATTRIBUTE.exec(this.#text); match !== null; match = ATTRIBUTE.exec(this.#text)) {
      const [, name = '', double = '', single = ''] = match
      if (attributes.has(name)) throw notXml()
      this.#count()
      // White space that is written as a reference stays as it is.
      attributes.set(name, resolveReferences((double + single).replaceAll(/[\t\n]/g, ' ')))
      this.#at = ATTRIBUTE.lastIndex
    }
    END.lastIndex = this.#at
    const end = END.exec(this.#text)
    if (end === null) throw notXml()
    this.#at = END.lastIndex
    return { attributes, isEmpty: end[1] === '/' }
  }
}
