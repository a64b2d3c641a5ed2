// http: encodes JSON as XML without loss. A field is an element, a list has <item>s, and `type` says what the text
// alone does not. The text is written directly: the builder of fast-xml-parser takes six times as long.
import { PROBLEM_NAMESPACE } from '../../../api/server.ts'
import { isObject, type JsonObject } from '../../../model/json/value.ts'
import { attributeMarkup, escapeText, isXmlName, needsEscape, textMarkup, withoutForbidden } from './names.ts'

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

/** The texts of the document, each made when it is asked for. `root`: the name of its element. */
export function* xmlTexts(value: unknown, root: string): Generator<string, void> {
  yield DECLARATION
  yield* elementOf(root, value)
}

export const encodeXml = (value: unknown, root: string): string => [...xmlTexts(value, root)].join('')

/**
 * A problem as XML, as RFC 9457, appendix B defines it: no types, and lists have <i>s. It is for people, so characters
 * that XML forbids are shown as U+FFFD.
 */
export const encodeProblemXml = (problem: object): string =>
  `${DECLARATION}<problem xmlns="${PROBLEM_NAMESPACE}">${plain(problem)}</problem>`

function* elementOf(key: string, value: unknown): Generator<string, void> {
  const isName = isXmlName(key)
  const escapesName = !isName && needsEscape(key)
  const escapesText = typeof value === 'string' && needsEscape(value)
  const name = isName ? key : 'entry'
  const named = isName ? '' : ` name="${attributeMarkup(escapesName ? escapeText(key) : key)}"`
  const escaped = [escapesName ? 'name' : '', escapesText ? 'text' : ''].join(' ').trim()
  const type = typeOf(value)
  yield `<${name}${named}${escaped && ` escaped="${escaped}"`}${type && ` type="${type}"`}`
  let isEmpty = true
  for (const text of contentOf(value, escapesText)) {
    if (isEmpty) yield '>'
    isEmpty = false
    yield text
  }
  yield isEmpty ? '/>' : `</${name}>`
}

function* contentOf(value: unknown, escapesText: boolean): Generator<string, void> {
  if (value === '') return
  if (typeof value === 'string') yield textMarkup(escapesText ? escapeText(value) : value)
  else if (Array.isArray(value)) for (const item of value) yield* elementOf('item', item)
  else if (isObject(value)) for (const field of namesOf(value)) yield* elementOf(field, value[field])
  else if (typeOf(value) !== 'null') yield JSON.stringify(value)
}

const namesOf = (value: JsonObject): string[] => Object.keys(value).filter((name) => value[name] !== undefined)

/** What the element does not say by itself; empty: it says all. */
function typeOf(value: unknown): string {
  if (typeof value === 'string') return ''
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'number' && Number.isFinite(value)) return 'number'
  if (Array.isArray(value)) return 'array'
  if (!isObject(value)) return 'null'
  const [name, ...others] = namesOf(value)
  // Without a type, an element with a single <item> would be a list.
  return name === undefined || (name === 'item' && others.length === 0) ? 'object' : ''
}

function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map((item: unknown) => `<i>${plain(item)}</i>`).join('')
  if (isObject(value))
    return namesOf(value)
      .map((key) => {
        const [name, named] = isXmlName(key)
          ? [key, '']
          : ['entry', ` name="${attributeMarkup(withoutForbidden(key))}"`]
        return `<${name}${named}>${plain(value[key])}</${name}>`
      })
      .join('')
  return textMarkup(withoutForbidden(String(value)))
}
