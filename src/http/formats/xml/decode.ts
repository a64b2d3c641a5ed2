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
  readonly attributes: Json | undefined
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
  const [root] = contentOf(parse(scanXml(text, maxDepth + 1))).elements
  if (root === undefined) throw notXml()
  return new Reader(maxValues, foreign).value(root, maxDepth)
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
        elements.push({ name: key.replace(/^<+/, ''), attributes: child[':@'], children: value })
    }
  }
  return { text, elements }
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][-+]?\d+)?$/

class Reader {
  readonly #maxValues: number
  readonly #foreign: boolean
  #values = 0

  constructor(maxValues: number, foreign: boolean) {
    this.#maxValues = maxValues
    this.#foreign = foreign
  }

  value(element: Element, depth: number): Json {
    this.#count(1)
    const { name, children } = element
    const content = contentOf(children)
    const type = attribute(element, 'type')
    const typed = type === null ? undefined : this.#typed(type, element, content, depth)
    if (typed !== undefined) return typed
    if (type !== null && !this.#foreign)
      throw malformed(
        `<${name}> does not hold what its type says, or that is none of string, number, boolean, null, array, object`,
      )
    return this.#typed(typeOf(name, content), element, content, depth) ?? null
  }

  /** undefined: the content does not fit the type. */
  #typed(type: string, element: Element, { text, elements }: Content, depth: number): Json | undefined {
    const trimmed = trimSpace(text)
    if (type === 'object') return trimmed === '' ? this.#object(elements, below(depth)) : undefined
    if (type === 'array' && trimmed === '' && elements.every(isItem))
      return elements.map((item) => this.value(item, below(depth)))
    if (elements.length > 0) return undefined
    if (type === 'string') return this.#unescaped(element, 'text', text)
    if (type === 'null' && trimmed === '') return null
    if (type === 'boolean' && (trimmed === 'true' || trimmed === 'false')) return trimmed === 'true'
    const isNumber = type === 'number' && NUMBER.test(trimmed) && Number.isFinite(Number(trimmed))
    return isNumber ? Number(trimmed) + 0 : undefined
  }

  /** Several elements of one name are a list, as other programs write lists. */
  #object(elements: readonly Element[], depth: number): JsonObject {
    const fields = new Map<string, Element[]>()
    for (const element of elements) {
      const key = this.#keyOf(element)
      const same = fields.get(key) ?? []
      same.push(element)
      fields.set(key, same)
    }
    this.#count(fields.size)
    const result: JsonObject = {}
    for (const [key, same] of fields) {
      const [first = null, ...others] = same.map((one) => this.value(one, same.length > 1 ? below(depth) : depth))
      setOwn(result, key, others.length > 0 ? [first, ...others] : first)
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
    return name === null ? element.name : this.#unescaped(element, 'name', name)
  }

  /** `part`: what the text is of the element, whose attribute says which of the two are escaped. */
  #unescaped(element: Element, part: 'name' | 'text', text: string): string {
    if (!attribute(element, 'escaped')?.split(' ').includes(part)) return text
    try {
      return unescapeText(text)
    } catch (error) {
      if (this.#foreign) return text
      throw error
    }
  }
}

/** The type of an element that does not tell it. @throws FluxError `malformed` */
function typeOf(name: string, { text, elements }: Content): string {
  if (elements.length === 0) return 'string'
  if (!isBlank(text)) throw malformed(`<${name}> holds both text and elements`)
  return elements.every(isItem) ? 'array' : 'object'
}

const isItem = ({ name }: Element) => name === 'item'

function below(depth: number): number {
  if (depth === 0) throw tooDeep()
  return depth - 1
}

/** The value of an attribute. White space in it is a space, unless it is written as a reference (XML 1.0, 3.3.3). */
function attribute({ attributes }: Element, name: string): string | null {
  const value = isObject(attributes) ? attributes[`@${name}`] : null
  return typeof value === 'string' ? resolveReferences(value.replaceAll(/[\t\n]/g, ' ')) : null
}
