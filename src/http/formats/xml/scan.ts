// http: checks that a text is well-formed XML. fast-xml-parser accepts much that is not, and text must never be read as
// markup.
import { malformed, unsupportedType } from '../../../model/failure.ts'
import { positionOf } from '../../../model/json/scan.ts'
import { findForbidden, isBlank, resolveReferences, XML_NAME } from './names.ts'

const S = '[ \\t\\r\\n]'
const DECLARATION = new RegExp(
  `<\\?xml${S}+version${S}*=${S}*(["'])1\\.\\d+\\1(?:${S}+encoding${S}*=${S}*(["'])([A-Za-z][-.\\w]*)\\2)?(?:${S}+standalone${S}*=${S}*(["'])(?:yes|no)\\4)?${S}*\\?>`,
  'y',
)
const ENCODING = /^(?:utf-8|us-ascii)$/i
const TEXT = /[^<]*/y
const COMMENT = /<!--/y
const CDATA = /<!\[CDATA\[/y
/** What stands before the root, and is refused: a document type, or part of one. */
const DECLARED = /<!/y
const INSTRUCTION = new RegExp(`<\\?(?!xml(?:${S}|\\?))${XML_NAME}(?=${S}|\\?>)`, 'iyu')
const TAG = new RegExp(`<(/?)(${XML_NAME})`, 'yu')
const ATTRIBUTE = new RegExp(`${S}+(${XML_NAME})${S}*=${S}*(?:"([^<"]*)"|'([^<']*)')`, 'yu')
const END = new RegExp(`${S}*(/?)>`, 'y')

const NOT_XML = 'the body is not well-formed XML'
export const notXml = () => malformed(NOT_XML)
export const tooDeep = () => malformed('the body is nested too deep')

/**
 * The document without declaration and instructions, whose quotes the parser misreads.
 * @param maxNested elements within each other
 * @throws FluxError `malformed`; `unsupportedType` for an encoding other than UTF-8
 */
export function scanXml(text: string, maxNested: number): string {
  const cursor = new Cursor(text)
  const forbidden = findForbidden(text)
  if (forbidden >= 0) throw cursor.fault(forbidden, 'the body has a character that XML does not allow')
  const [, , , encoding = 'utf-8'] = cursor.take(DECLARATION) ?? []
  if (!ENCODING.test(encoding)) throw unsupportedType('the body must be in UTF-8')
  /** Names of the elements that are open. */
  const open: string[] = []
  let roots = 0
  let result = ''
  while (cursor.at < text.length) {
    const start = cursor.at
    const [piece = ''] = cursor.take(TEXT) ?? []
    if (piece.includes(']]>')) throw cursor.fault(start + piece.indexOf(']]>'))
    if (open.length === 0 && !isBlank(piece)) throw cursor.fault(start + piece.search(/[^ \t\r\n]/))
    // The parser joins the texts on both sides of a comment, so references are checked here, before that.
    cursor.checkReferences(piece, start)
    if (cursor.take(INSTRUCTION)) {
      cursor.takeUpTo('?>')
      result += piece
      continue
    }
    if (cursor.take(COMMENT)) {
      cursor.takeUpTo('--')
      if (cursor.take(END)?.[0] !== '>') throw cursor.fault()
    } else if (open.length > 0 && cursor.take(CDATA)) cursor.takeUpTo(']]>')
    else if (cursor.take(DECLARED))
      throw cursor.fault(start + piece.length, 'the body must be well-formed XML without a document type')
    else if (cursor.at < text.length) {
      if (open.length === 0) roots += 1
      takeTag(cursor, open)
      if (open.length > maxNested) throw tooDeep()
    }
    result += text.slice(start, cursor.at)
  }
  if (open.length > 0 || roots !== 1) throw cursor.fault(text.length)
  return result
}

function takeTag(cursor: Cursor, open: string[]): void {
  const start = cursor.at
  const [, closing, name = ''] = cursor.take(TAG) ?? []
  const attributes = new Set<string>()
  let from = cursor.at
  for (let match = cursor.take(ATTRIBUTE); match !== null; match = cursor.take(ATTRIBUTE)) {
    const [, attribute = '', double = '', single = ''] = match
    if (attributes.has(attribute)) throw cursor.fault(from)
    attributes.add(attribute)
    const value = double + single
    cursor.checkReferences(value, cursor.at - 1 - value.length)
    from = cursor.at
  }
  const end = cursor.take(END)
  if (closing === undefined || end === null) throw cursor.fault()
  const isEmpty = end[1] !== ''
  if (closing !== '') {
    if (isEmpty || attributes.size > 0 || open.pop() !== name) throw cursor.fault(start)
  } else if (!isEmpty) open.push(name)
}

/** A place in the text. */
class Cursor {
  readonly #text: string
  at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** What the sticky pattern matches here; null: nothing. */
  take(pattern: RegExp) {
    pattern.lastIndex = this.at
    const match = pattern.exec(this.#text)
    if (match) this.at = pattern.lastIndex
    return match
  }

  takeUpTo(end: string): void {
    const found = this.#text.indexOf(end, this.at)
    if (found === -1) throw this.fault()
    this.at = found + end.length
  }

  /** Checks the references in a part of the text that begins at `from`. */
  checkReferences(part: string, from: number): void {
    resolveReferences(part, (index) => {
      throw this.fault(from + index, 'the body has a reference that XML does not know')
    })
  }

  fault(where = this.at, reason = NOT_XML) {
    const { line, column } = positionOf(this.#text, where)
    return malformed(`${reason}, at line ${line}, column ${column}`)
  }
}
