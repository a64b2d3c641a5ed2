// http: JSON as XML, so that nothing is lost on the way back. A field is an element, a list holds <item>s; `type` says what the text alone can't.
// Written as text at once: through fast-xml-parser's builder it took six times as long, and others waited meanwhile.
import { isObject } from '../model/json.ts'
import { attributeMarkup, escapeText, isXmlName, needsEscape, textMarkup, withoutForbidden } from './xml-names.ts'

export type Root = 'contexts' | 'context' | 'stateContext' | 'definition' | 'response'

/** How an element begins: its name, and attributes of a name that can't stand there itself. */
interface Head { readonly name: string; readonly attributes: string; readonly escaped: boolean }

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
/** The namespace is that of RFC 7807 still (RFC 9457, appendix B). */
const PROBLEM_NAMESPACE = 'urn:ietf:rfc:7807'

const ITEM: Head = { name: 'item', attributes: '', escaped: false }

/** Characters after which others are served before a list goes on: some milliseconds. */
const PIECE = 65_536

/** A promise for lists. */
export const encodeXml = (value: unknown, root: Root): string | Promise<string> =>
  (Array.isArray(value) && value.length > 0 ? encodeList(value, root) : DECLARATION + element({ name: root, attributes: '', escaped: false }, value))

async function encodeList(list: readonly unknown[], root: Root): Promise<string> {
  let text = `${DECLARATION}<${root} type="array">`
  let next = PIECE
  for (const item of list) {
    text += element(ITEM, item)
    if (text.length < next) continue
    next = text.length + PIECE
    await new Promise((resolve) => { setImmediate(resolve) })
  }
  return `${text}</${root}>`
}

/** RFC 9457, appendix B: no types, lists hold <i>s. It is for people, so what XML can't hold is shown as U+FFFD. */
export const encodeProblemXml = (problem: object): string => `${DECLARATION}<problem xmlns="${PROBLEM_NAMESPACE}">${plain(problem)}</problem>`

function element(head: Head, value: unknown): string {
  const hidden = typeof value === 'string' && needsEscape(value)
  const escaped = hidden ? (head.escaped ? 'name text' : 'text') : head.escaped ? 'name' : null
  const type = typeOf(value)
  const start = `<${head.name}${head.attributes}${escaped === null ? '' : ` escaped="${escaped}"`}${type === null ? '' : ` type="${type}"`}`
  const content = hidden ? textMarkup(escapeText(value)) : contentOf(value)
  return content === '' ? `${start}/>` : `${start}>${content}</${head.name}>`
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

function contentOf(value: unknown): string {
  if (typeof value === 'string') return textMarkup(value)
  if (typeof value === 'number') return Number.isFinite(value) ? JSON.stringify(value) : ''
  if (typeof value === 'boolean') return String(value)
  let content = ''
  if (Array.isArray(value)) for (const item of value) content += element(ITEM, item)
  else if (isObject(value)) for (const key of Object.keys(value)) if (value[key] !== undefined) content += element(headOf(key), value[key])
  return content
}

function headOf(key: string): Head {
  if (isXmlName(key)) return { name: key, attributes: '', escaped: false }
  const escaped = needsEscape(key)
  return { name: 'entry', attributes: ` name="${attributeMarkup(escaped ? escapeText(key) : key)}"`, escaped }
}

function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map((item: unknown) => `<i>${plain(item)}</i>`).join('')
  if (isObject(value)) return Object.entries(value).map(([key, item]) => `<${key}>${plain(item)}</${key}>`).join('')
  return textMarkup(withoutForbidden(String(value)))
}
