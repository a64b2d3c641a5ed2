// http: JSON as XML, so that nothing is lost on the way back. A field is an element, a list holds <item>s; `type` says what the text alone can't.
import { XMLBuilder } from 'fast-xml-parser'
import { isObject } from '../model/json.ts'
import { attributeMarkup, escapeText, isXmlName, needsEscape, textMarkup, withoutForbidden } from './xml-names.ts'

export type Root = 'contexts' | 'context' | 'stateContext' | 'definition' | 'response'

type Attributes = { [name: string]: string }
/** As the builder takes them: one key that names the element or the text, and `:@` for attributes. */
type Node = { [name: string]: Node[] | Attributes | string }

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
/** The namespace is that of RFC 7807 still (RFC 9457, appendix B). */
const PROBLEM_NAMESPACE = 'urn:ietf:rfc:7807'

/** Elements of a list that are encoded in one go: about 5 milliseconds for contexts. */
const TOGETHER = 25

const builder = new XMLBuilder({ preserveOrder: true, ignoreAttributes: false, attributeNamePrefix: '', processEntities: false, suppressEmptyNode: true })

/** A promise for long lists. */
export const encodeXml = (value: unknown, root: Root): string | Promise<string> =>
  (Array.isArray(value) && value.length > TOGETHER ? encodeList(value, root) : DECLARATION + builder.build([elementOf(root, {}, value)]))

/** With others served in between: a thousand contexts take hundreds of milliseconds. */
async function encodeList(list: readonly unknown[], root: Root): Promise<string> {
  let text = `${DECLARATION}<${root} type="array">`
  for (let start = 0; start < list.length; start += TOGETHER) {
    if (start > 0) await new Promise((resolve) => { setImmediate(resolve) })
    text += builder.build(list.slice(start, start + TOGETHER).map((item) => elementOf('item', {}, item)))
  }
  return `${text}</${root}>`
}

/** RFC 9457, appendix B: no types, lists hold <i>s. It is for people, so what XML can't hold is shown as U+FFFD. */
export const encodeProblemXml = (problem: object): string =>
  DECLARATION + builder.build([{ problem: plainNodes(problem), ':@': { xmlns: PROBLEM_NAMESPACE } }])

function elementOf(name: string, attributes: Attributes, value: unknown): Node {
  const type = typeOf(value)
  if (type !== null) attributes['type'] = type
  const children = childrenOf(value, attributes)
  return { [name]: children, ':@': attributes }
}

/** null: it can be told from the element itself. */
function typeOf(value: unknown): string | null {
  switch (typeof value) {
    case 'string': return null
    case 'number': return Number.isFinite(value) ? 'number' : 'null'
    case 'boolean': return 'boolean'
    default:
  }
  if (Array.isArray(value)) return 'array'
  if (!isObject(value)) return 'null'
  const keys = Object.keys(value).filter((key) => value[key] !== undefined)
  // Empty it would be a text, and with one <item> a list.
  return keys.length === 0 || (keys.length === 1 && keys[0] === 'item') ? 'object' : null
}

function childrenOf(value: unknown, attributes: Attributes): Node[] {
  if (typeof value === 'string') return textNodes(value, attributes)
  if (typeof value === 'number') return Number.isFinite(value) ? [{ '#text': JSON.stringify(value) }] : []
  if (typeof value === 'boolean') return [{ '#text': String(value) }]
  if (Array.isArray(value)) return value.map((item: unknown) => elementOf('item', {}, item))
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, item]) => (item === undefined ? [] : [fieldOf(key, item)]))
}

function textNodes(text: string, attributes: Attributes): Node[] {
  if (text === '') return []
  if (!needsEscape(text)) return [{ '#text': textMarkup(text) }]
  attributes['escaped'] = attributes['escaped'] === undefined ? 'text' : 'name text'
  return [{ '#text': textMarkup(escapeText(text)) }]
}

function fieldOf(key: string, value: unknown): Node {
  if (isXmlName(key)) return elementOf(key, {}, value)
  return needsEscape(key)
    ? elementOf('entry', { name: attributeMarkup(escapeText(key)), escaped: 'name' }, value)
    : elementOf('entry', { name: attributeMarkup(key) }, value)
}

function plainNodes(value: unknown): Node[] {
  if (Array.isArray(value)) return value.map((item: unknown) => ({ i: plainNodes(item) }))
  if (isObject(value)) return Object.entries(value).map(([key, item]) => ({ [key]: plainNodes(item) }))
  return [{ '#text': textMarkup(withoutForbidden(String(value))) }]
}
