// http: XML as JSON, and well-formed at that. What `type` doesn't say is told from the element: its text, its fields,
// or its <item>s.
import { malformed } from '../../../model/failure.ts'
import { setOwn, type Json, type JsonObject } from '../../../model/json.ts'
import type { JsonLimits } from '../../../model/json-text.ts'
import { tooMany } from '../json/decode.ts'
import { isBlank, trimSpace, unescapeText } from './names.ts'
import { scanXml, tooDeep, type Element } from './scan.ts'

export interface XmlOptions extends JsonLimits {
  /**
   * The document knows nothing of our attributes: where they don't fit they are attributes like any other. Nor is its
   * encoding ours to judge.
   */
  readonly foreign?: boolean
}

/**
 * What an XML document says. The name of the root plays no part.
 * @throws FluxError `malformed`, `tooLarge`, `unsupportedType` for another encoding than UTF-8
 */
export function decodeXml(text: string, { maxDepth, maxValues, foreign = false }: XmlOptions): Json {
  if (isBlank(text)) throw malformed('the body is empty')
  // A value of the deepest list or object is an element, too.
  const root = scanXml(text, { maxNested: maxDepth + 1, maxValues, anyEncoding: foreign })
  return new Reader({ maxValues, foreign }).value(root, maxDepth)
}

/** What an element with that `type` may hold. */
const FITS: ReadonlyMap<string, (element: Element) => boolean> = new Map([
  ['string', ({ elements }: Element) => elements.length === 0],
  ['array', ({ text, elements }: Element) => isBlank(text) && elements.every(({ name }) => name === 'item')],
  ['object', ({ text }: Element) => isBlank(text)],
  ['null', ({ text, elements }: Element) => isBlank(text) && elements.length === 0],
  ['boolean', ({ text, elements }: Element) => elements.length === 0 && /^(?:true|false)$/.test(trimSpace(text))],
  ['number', ({ text, elements }: Element) => elements.length === 0 && isNumber(trimSpace(text))],
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
    const { text, elements } = element
    switch (this.#typeOf(element)) {
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

  #typeOf(element: Element): string {
    const { text, elements, attributes } = element
    const type = attributes.get('type')
    const fits = type === undefined ? undefined : FITS.get(type)
    if (type !== undefined && fits?.(element)) return type
    if (type !== undefined && !this.#foreign) {
      throw malformed(
        `<${element.name}> has ${fits ? `type ${type} and does not hold one` : 'a type that is none of string, number, boolean, null, array, object'}`,
      )
    }
    if (elements.length === 0) return 'string'
    if (!isBlank(text)) throw malformed(`<${element.name}> holds both text and elements`)
    return elements.every(({ name }) => name === 'item') ? 'array' : 'object'
  }

  /** Several elements of one name are a list: so others write it. */
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

  /** Values and names, as in JSON. */
  #count(more: number): void {
    this.#values += more
    if (this.#values > this.#maxValues) throw tooMany(this.#maxValues)
  }

  #keyOf(element: Element): string {
    const name = element.name === 'entry' ? element.attributes.get('name') : undefined
    if (name === undefined) return element.name
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

const isEscaped = ({ attributes }: Element, part: 'name' | 'text'): boolean =>
  attributes.get('escaped')?.split(' ').includes(part) ?? false
