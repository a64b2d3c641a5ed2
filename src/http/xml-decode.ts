// http: XML as JSON, and well-formed at that. What `type` doesn't say is told from the element: its text, its fields, or its <item>s.
import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { malformed, unsupportedType } from '../model/failure.ts'
import { isObject, setOwn, type Json, type JsonObject } from '../model/json.ts'
import { needsEscape, resolveReferences, unescapeText } from './xml-names.ts'

interface Element { readonly name: string; readonly attributes: JsonObject; readonly children: readonly unknown[] }
interface Content { readonly text: string; readonly elements: readonly Element[] }

/** Set before each name: to the parser some names are dangerous as keys, and here they are data. */
const MARK = '<'
const TEXT = '#text'
const CDATA = '#cdata'

/**
 * What an XML document says. The name of the root plays no part.
 * @throws FluxError `malformed`, `unsupportedType` for another encoding than UTF-8
 */
export function decodeXml(text: string, maxDepth: number): Json {
  if (text.trim() === '') throw malformed('the body is empty')
  // The parser passes over what follows an empty root.
  if (!text.trimEnd().endsWith('>')) throw notXml()
  refuseSpecial(text)
  const { elements: [root, ...more], text: outside } = contentOf(parse(text, maxDepth))
  if (root === undefined || more.length > 0 || outside.trim() !== '') throw notXml()
  return valueOf(root, maxDepth)
}

/** Comments, CDATA and instructions are passed over; any other declaration is refused before a parser sees it, and so is one of these that has no end. */
const SPECIAL = /<!--[^]*?-->|<!\[CDATA\[[^]*?\]\]>|<\?[^]*?\?>|<[!?]/g
const OTHER_ENCODING = /^<\?xml[^?]*encoding\s*=\s*["'](?!utf-8["']|us-ascii["'])/i

function refuseSpecial(text: string): void {
  if (OTHER_ENCODING.test(text)) throw unsupportedType('the body must be in UTF-8')
  if (needsEscape(text)) throw malformed('the body has a character that XML does not allow')
  for (const [special] of text.matchAll(SPECIAL)) if (special.length === 2) throw malformed('the body must be well-formed XML without a document type')
}

function parse(text: string, maxDepth: number): unknown[] {
  const parser = new XMLParser({
    preserveOrder: true, ignoreAttributes: false, attributeNamePrefix: '@', textNodeName: TEXT, cdataPropName: CDATA, trimValues: false,
    parseTagValue: false, parseAttributeValue: false, processEntities: false, ignoreDeclaration: true, ignorePiTags: true,
    // A value of the deepest list or object is an element, too. It marks the names of some elements twice.
    maxNestedTags: maxDepth + 1, transformTagName: (name) => MARK + name,
  })
  let parsed: unknown
  let valid
  try {
    parsed = parser.parse(text)
    valid = XMLValidator.validate(text) === true
  } catch (error) {
    // The limit has no error of its own.
    if (error instanceof Error && /nested/i.test(error.message)) throw tooDeep()
    throw notXml()
  }
  if (!valid || !Array.isArray(parsed)) throw notXml()
  return parsed
}

const notXml = () => malformed('the body is not well-formed XML')
const tooDeep = () => malformed('the body is nested too deep')

function contentOf(children: readonly unknown[]): Content {
  const elements: Element[] = []
  let text = ''
  for (const child of children) {
    if (!isObject(child)) continue
    for (const key of Object.keys(child)) {
      const value = child[key]
      if (key === TEXT) text += resolveReferences(String(value))
      else if (key === CDATA) text += Array.isArray(value) && isObject(value[0]) ? String(value[0][TEXT] ?? '') : ''
      else if (key.startsWith(MARK) && Array.isArray(value)) elements.push({ name: key.replace(/^<+/, ''), attributes: attributesOf(child), children: value })
    }
  }
  return { text, elements }
}

const attributesOf = (node: JsonObject): JsonObject => (isObject(node[':@']) ? node[':@'] : {})

function valueOf(element: Element, depth: number): Json {
  const { text, elements } = contentOf(element.children)
  if (elements.length > 0 && text.trim() !== '') throw malformed(`<${element.name}> holds both text and elements`)
  const type = attribute(element, 'type') ?? (elements.length === 0 ? 'string' : elements.every(({ name }) => name === 'item') ? 'array' : 'object')
  if ((type === 'array' || type === 'object') && depth === 0) throw tooDeep()
  switch (type) {
    case 'array': return listOf(element, { text, elements }, depth - 1)
    case 'object': return objectOf(element, { text, elements }, depth - 1)
    default:
  }
  if (elements.length > 0) throw malformed(`<${element.name}> has type ${type} and holds elements`)
  switch (type) {
    case 'string': return isEscaped(element, 'text') ? unescapeText(text) : text
    case 'null': return text.trim() === '' ? null : unreadable(element, type)
    case 'boolean': return text.trim() === 'true' ? true : text.trim() === 'false' ? false : unreadable(element, type)
    case 'number': return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][-+]?\d+)?$/.test(text.trim()) ? Number(text) : unreadable(element, type)
    default: throw malformed(`<${element.name}> has a type that is none of string, number, boolean, null, array, object`)
  }
}

function listOf(list: Element, { text, elements }: Content, depth: number): Json[] {
  if (text.trim() !== '' || elements.some(({ name }) => name !== 'item')) throw malformed(`<${list.name}> is an array and may hold only <item>`)
  return elements.map((item) => valueOf(item, depth))
}

function objectOf(object: Element, { text, elements }: Content, depth: number): JsonObject {
  if (text.trim() !== '') throw malformed(`<${object.name}> is an object and may not hold text`)
  const result: JsonObject = {}
  for (const element of elements) {
    const key = keyOf(element)
    if (Object.hasOwn(result, key)) throw malformed(`<${element.name}> stands twice in <${object.name}>: a list holds <item>s`)
    setOwn(result, key, valueOf(element, depth))
  }
  return result
}

function keyOf(element: Element): string {
  const name = element.name === 'entry' ? attribute(element, 'name') : null
  if (name === null) return element.name
  return isEscaped(element, 'name') ? unescapeText(name) : name
}

/** White space in an attribute is a space, unless it is written as a reference (XML 1.0, 3.3.3). */
function attribute({ attributes }: Element, name: string): string | null {
  const value = attributes[`@${name}`]
  return typeof value === 'string' ? resolveReferences(value.replaceAll(/[\t\n]/g, ' ')) : null
}

const isEscaped = (element: Element, part: 'name' | 'text'): boolean => attribute(element, 'escaped')?.split(' ').includes(part) ?? false

function unreadable({ name }: Element, type: string): never {
  throw malformed(`<${name}> has type ${type} and does not hold one`)
}
