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
  let at = 0
  /** Names of the elements that are open. */
  const open: string[] = []
  let roots = 0
  let result = ''

  const fault = (where: number, reason = NOT_XML) => {
    const { line, column } = positionOf(text, where)
    return malformed(`${reason}, at line ${line}, column ${column}`)
  }
  /** What the sticky pattern matches here; null: nothing. */
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match) at = pattern.lastIndex
    return match
  }
  const takeUpTo = (end: string) => {
    const found = text.indexOf(end, at)
    if (found === -1) throw fault(at)
    at = found + end.length
  }
  /** Checks the references in a part of the text that begins at `from`. */
  const checkReferences = (part: string, from: number) =>
    resolveReferences(part, (index) => {
      throw fault(from + index, 'the body has a reference that XML does not know')
    })
  const takeTag = () => {
    const start = at
    const [, closing, name = ''] = take(TAG) ?? []
    const attributes = new Set<string>()
    let from = at
    for (let match = take(ATTRIBUTE); match !== null; match = take(ATTRIBUTE)) {
      const [, attribute = '', double = '', single = ''] = match
      if (attributes.has(attribute)) throw fault(from)
      attributes.add(attribute)
      const value = double + single
      checkReferences(value, at - 1 - value.length)
      from = at
    }
    const end = take(END)
    if (closing === undefined || end === null) throw fault(at)
    const isEmpty = end[1] !== ''
    if (closing !== '') {
      if (isEmpty || attributes.size > 0 || open.pop() !== name) throw fault(start)
      return
    }
    if (open.length === 0) roots += 1
    if (!isEmpty && open.push(name) > maxNested) throw tooDeep()
  }

  const forbidden = findForbidden(text)
  if (forbidden >= 0) throw fault(forbidden, 'the body has a character that XML does not allow')
  const [, , , encoding = 'utf-8'] = take(DECLARATION) ?? []
  if (!ENCODING.test(encoding)) throw unsupportedType('the body must be in UTF-8')
  while (at < text.length) {
    const start = at
    const [piece = ''] = take(TEXT) ?? []
    if (piece.includes(']]>')) throw fault(start + piece.indexOf(']]>'))
    if (open.length === 0 && !isBlank(piece)) throw fault(start + piece.search(/[^ \t\r\n]/))
    // The parser joins the texts on both sides of a comment, so references are checked here, before that.
    checkReferences(piece, start)
    if (take(INSTRUCTION)) {
      takeUpTo('?>')
      result += piece
      continue
    }
    if (text.startsWith('<!--', at)) {
      at += '<!--'.length
      takeUpTo('--')
      if (text[at] !== '>') throw fault(at)
      at += 1
    } else if (text.startsWith('<![CDATA[', at) && open.length > 0) takeUpTo(']]>')
    else if (text.startsWith('<!', at)) throw fault(at, 'the body must be well-formed XML without a document type')
    else if (at < text.length) takeTag()
    result += text.slice(start, at)
  }
  if (open.length > 0 || roots !== 1) throw fault(text.length)
  return result
}
