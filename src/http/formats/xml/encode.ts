// http: encodes JSON as XML without loss. A field is an element, a list has <item>s, and `type` says what the text
// alone does not. The text is written directly: the builder of fast-xml-parser takes six times as long.
import { PROBLEM_NAMESPACE } from '../../../api/server.ts'
import { isObject, type JsonObject } from '../../../model/json/value.ts'
import { gathered, slices, type TextPieces } from '../json/pieces.ts'
import { attributeMarkup, escapeText, isXmlName, needsEscape, textMarkup, withoutForbidden } from './names.ts'

/** The start of an element: its name, and attributes for a name that cannot be that of an element. */
interface Head {
  readonly name: string
  readonly attributes: string
  readonly escaped: boolean
}

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

const ITEM: Head = { name: 'item', attributes: '', escaped: false }

/** The text of the document in pieces, each made when it is asked for. */
export const xmlPieces = (value: unknown, root: string): TextPieces => gathered(documentOf(value, root))

function* documentOf(value: unknown, root: string): Generator<string, void> {
  yield DECLARATION
  yield* elementOf({ name: root, attributes: '', escaped: false }, value)
}

/** An element of a list, in pieces. */
export const xmlItemPieces = (value: unknown): TextPieces => gathered(elementOf(ITEM, value))

/** The markup around the elements of a list. */
export const xmlListMarkup = (
  root: string,
): { readonly start: string; readonly end: string; readonly empty: string } => ({
  start: `${DECLARATION}<${root} type="array">`,
  end: `</${root}>`,
  empty: `${DECLARATION}<${root} type="array"/>`,
})

/**
 * A problem as XML, as RFC 9457, appendix B defines it: no types, and lists have <i>s. It is for people, so characters
 * that XML forbids are shown as U+FFFD.
 */
export const encodeProblemXml = (problem: object): string =>
  `${DECLARATION}<problem xmlns="${PROBLEM_NAMESPACE}">${plain(problem)}</problem>`

/** The texts of an element. */
function* elementOf(head: Head, value: unknown): Generator<string, void> {
  const isEscaped = typeof value === 'string' && needsEscape(value)
  yield startOf(isEscaped ? withEscapedText(head) : head, typeOf(value))
  let isEmpty = true
  for (const text of contentOf(value, isEscaped)) {
    if (isEmpty) yield '>'
    isEmpty = false
    yield text
  }
  yield isEmpty ? '/>' : `</${head.name}>`
}

function* contentOf(value: unknown, isEscaped: boolean): Generator<string, void> {
  if (typeof value === 'string')
    for (const slice of slices(value)) yield textMarkup(isEscaped ? escapeText(slice) : slice)
  else if (Array.isArray(value)) for (const item of value) yield* elementOf(ITEM, item)
  else if (isObject(value)) for (const name of namesOf(value)) yield* elementOf(headOf(name), value[name])
  else if (typeOf(value) !== 'null') yield JSON.stringify(value)
}

const namesOf = (value: JsonObject): string[] => Object.keys(value).filter((name) => value[name] !== undefined)

/** What the element does not say by itself; null: it says all. */
function typeOf(value: unknown): string | null {
  if (typeof value === 'string') return null
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'number' && Number.isFinite(value)) return 'number'
  if (Array.isArray(value)) return 'array'
  if (!isObject(value)) return 'null'
  const [name, ...others] = namesOf(value)
  // Without a type, an element with a single <item> would be a list.
  return name === undefined || (name === 'item' && others.length === 0) ? 'object' : null
}

const withEscapedText = (head: Head): Head => ({
  ...head,
  attributes: `${head.attributes} escaped="${head.escaped ? 'name text' : 'text'}"`,
  escaped: false,
})

/** The start tag. `type` is null if the type follows from the element itself. */
const startOf = ({ name, attributes, escaped }: Head, type: string | null): string =>
  `<${name}${attributes}${escaped ? ' escaped="name"' : ''}${type === null ? '' : ` type="${type}"`}`

function headOf(key: string): Head {
  if (isXmlName(key)) return { name: key, attributes: '', escaped: false }
  const escaped = needsEscape(key)
  return { name: 'entry', attributes: ` name="${attributeMarkup(escaped ? escapeText(key) : key)}"`, escaped }
}

function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map((item: unknown) => `<i>${plain(item)}</i>`).join('')
  if (isObject(value))
    return Object.entries(value)
      .map(([key, item]) =>
        isXmlName(key)
          ? `<${key}>${plain(item)}</${key}>`
          : `<entry name="${attributeMarkup(withoutForbidden(key))}">${plain(item)}</entry>`,
      )
      .join('')
  return textMarkup(withoutForbidden(String(value)))
}
