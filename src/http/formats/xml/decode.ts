// http: decodes well-formed XML to JSON. Where there is no `type`, the type follows from the content of the element:
// text, fields or <item>s.
//
// - fast-xml-parser parses; names, types and escapes are our own code (`formats/xml/encode.ts`, `decode.ts`), and so
//   is the decoding of references, because the parser's own also accepts HTML's entities. Its builder is not used: it
//   takes six times as long, and supports 100 levels at most. Before it sees a text, `scan.ts` checks that the text is
//   well-formed, refuses any document type and too deep nesting, and removes processing instructions, whose quotes the
//   parser misreads.
// - Text in XML without types is coerced where the runtime validates it against its property (`untyped` in the calls),
//   not in the decoder, which does not know the service.
import { createRequire } from 'node:module'
import { malformed } from '../../../model/failure.ts'
import { isObject, setOwn, type Json, type JsonObject } from '../../../model/json/value.ts'
import type { JsonLimits } from '../../../model/json/text.ts'
import { tooMany } from '../json/decode.ts'
import { isBlank, resolveReferences, trimSpace, unescapeText } from './names.ts'
import { notXml, scanXml, tooDeep } from './scan.ts'

/** As CommonJS, the package is one file; as ES modules it is thirty, which take six times as long to load. */
const { XMLParser }: typeof import('fast-xml-parser') = createRequire(import.meta.url)('fast-xml-parser')

export interface XmlOptions extends JsonLimits {
  /**
   * Whether the document may use our attributes for something else: where they do not fit, they are ignored.
   */
  readonly foreign?: boolean
}

interface Element {
  readonly name: string
  readonly attributes: JsonObject
  readonly children: readonly unknown[]
}
interface Content {
  readonly text: string
  readonly elements: readonly Element[]
}

/** Prefix of each name. The parser treats some names as dangerous keys; here, names are data. */
const MARK = '<'
const TEXT = '#text'
const CDATA = '#cdata'

/**
 * The data of an XML document. The name of the root does not matter.
 * @throws FluxError `malformed`; `tooLarge`; `unsupportedType` for an encoding other than UTF-8
 */
export function decodeXml(text: string, { maxDepth, maxValues, foreign = false }: XmlOptions): Json {
  if (isBlank(text)) throw malformed('the body is empty')
  // One more level than in JSON, because a value of the deepest list or object is an element, too.
  const [root] = contentOf(parse(scanXml(text, { maxNested: maxDepth + 1, maxValues }))).elements
  if (root === undefined) throw notXml()
  return new Reader({ maxValues, foreign }).value(root, maxDepth)
}

function parse(text: string): readonly unknown[] {
  const parser = new XMLParser({
    preserveOrder: true,
    ignoreAttributes: false,
    attributeNamePrefix: '@',
    textNodeName: TEXT,
    cdataPropName: CDATA,
    trimValues: false,
    jPath: false,
    parseTagValue: false,
    parseAttributeValue: false,
    processEntities: false,
    maxNestedTags: Infinity,
    // For some elements, the parser calls this twice.
    transformTagName: (name) => MARK + name,
  })
  try {
    const parsed: unknown = parser.parse(text)
    if (Array.isArray(parsed)) return parsed
  } catch {
    // The parser's errors quote the body, so they are not passed on.
  }
  throw notXml()
}

function contentOf(children: readonly unknown[]): Content {
  const elements: Element[] = []
  let text = ''
  for (const child of children) {
    if (!isObject(child)) continue
    for (const key of Object.keys(child)) {
      const value = child[key]
      if (key === TEXT) text += resolveReferences(String(value))
      else if (key === CDATA) text += Array.isArray(value) && isObject(value[0]) ? String(value[0][TEXT] ?? '') : ''
      else if (key.startsWith(MARK) && Array.isArray(value))
        elements.push({ name: key.replace(/^<+/, ''), attributes: attributesOf(child), children: value })
    }
  }
  return { text, elements }
}

const NOTHING: JsonObject = {}
const attributesOf = (node: JsonObject): JsonObject => (isObject(node[':@']) ? node[':@'] : NOTHING)

/** Whether the content of an element fits its `type`. */
const FITS: ReadonlyMap<string, (content: Content) => boolean> = new Map([
  ['string', ({ elements }: Content) => elements.length === 0],
  ['array', ({ text, elements }: Content) => isBlank(text) && elements.every(({ name }) => name === 'item')],
  ['object', ({ text }: Content) => isBlank(text)],
  ['null', ({ text, elements }: Content) => isBlank(text) && elements.length === 0],
  ['boolean', ({ text, elements }: Content) => elements.length === 0 && /^(?:true|false)$/.test(trimSpace(text))],
  ['number', ({ text, elements }: Content) => elements.length === 0 && isNumber(trimSpace(text))],
])

const isNumber = (text: string): boolean =>
  /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][-+]?\d+)?$/.test(text) && Number.isFinite(Number(text))

class Reader {
  readonly #foreign: boolean
  readonly #maxValues: number
  #values = 0

  constructor({ maxValues, foreign }: { readonly maxValues: number; readonly foreign: boolean }) {
    this.#foreign = foreign
    this.#maxValues = maxValues
  }

  value(element: Element, depth: number): Json {
    this.#count(1)
    const content = contentOf(element.children)
    const { text, elements } = content
    switch (this.#typeOf(element, content)) {
      case 'array':
        return elements.map((item) => this.value(item, below(depth)))
      case 'object':
        return this.#object(elements, below(depth))
      case 'null':
        return null
      case 'boolean':
        return trimSpace(text) === 'true'
      case 'number':
        return Number(trimSpace(text)) + 0
      default:
        return isEscaped(element, 'text') ? this.#unescape(text) : text
    }
  }

  #typeOf(element: Element, content: Content): string {
    const { text, elements } = content
    const type = attribute(element, 'type')
    const fits = type === null ? undefined : FITS.get(type)
    if (type !== null && fits?.(content)) return type
    if (type !== null && !this.#foreign) {
      throw malformed(
        `<${element.name}> has ${fits ? `type ${type} and does not hold one` : 'a type that is none of string, number, boolean, null, array, object'}`,
      )
    }
    if (elements.length === 0) return 'string'
    if (!isBlank(text)) throw malformed(`<${element.name}> holds both text and elements`)
    return elements.every(({ name }) => name === 'item') ? 'array' : 'object'
  }

  /** Several elements of one name are a list, as other programs write lists. */
  #object(elements: readonly Element[], depth: number): JsonObject {
    const fields = new Map<string, Element[]>()
    for (const element of elements) {
      const key = this.#keyOf(element)
      const earlier = fields.get(key)
      if (earlier) earlier.push(element)
      else fields.set(key, [element])
    }
    this.#count(fields.size)
    const result: JsonObject = {}
    for (const [key, [first, ...others]] of fields) {
      if (first === undefined) continue
      setOwn(
        result,
        key,
        others.length === 0
          ? this.value(first, depth)
          : [first, ...others].map((element) => this.value(element, below(depth))),
      )
    }
    return result
  }

  /** Counts values and names, as in JSON. @throws FluxError `tooLarge` */
  #count(more: number): void {
    this.#values += more
    if (this.#values > this.#maxValues) throw tooMany(this.#maxValues)
  }

  #keyOf(element: Element): string {
    const name = element.name === 'entry' ? attribute(element, 'name') : null
    if (name === null) return element.name
    return isEscaped(element, 'name') ? this.#unescape(name) : name
  }

  #unescape(text: string): string {
    try {
      return unescapeText(text)
    } catch (error) {
      if (this.#foreign) return text
      throw error
    }
  }
}

function below(depth: number): number {
  if (depth === 0) throw tooDeep()
  return depth - 1
}

/** The value of an attribute. White space in it is a space, unless it is written as a reference (XML 1.0, 3.3.3). */
function attribute({ attributes }: Element, name: string): string | null {
  const value = attributes[`@${name}`]
  return typeof value === 'string' ? resolveReferences(value.replaceAll(/[\t\n]/g, ' ')) : null
}

const isEscaped = (element: Element, part: 'name' | 'text'): boolean =>
  attribute(element, 'escaped')?.split(' ').includes(part) ?? false
