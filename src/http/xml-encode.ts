// http: JSON as XML, so that nothing is lost on the way back. A field is an element, a list holds <item>s; `type` says what the text alone can't.
// Written as text at once: through fast-xml-parser's builder it took six times as long, and others waited meanwhile.
import { isObject, type JsonObject } from '../model/json.ts'
import { attributeMarkup, escapeText, isXmlName, needsEscape, textMarkup, withoutForbidden } from './xml-names.ts'

export type Root = 'contexts' | 'context' | 'stateContext' | 'definition' | 'response' | 'request'

/** How an element begins: its name, and attributes of a name that can't stand there itself. */
interface Head { readonly name: string; readonly attributes: string; readonly escaped: boolean }

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
/** The namespace is that of RFC 7807 still (RFC 9457, appendix B). */
export const PROBLEM_NAMESPACE = 'urn:ietf:rfc:7807'

const ITEM: Head = { name: 'item', attributes: '', escaped: false }

/** Characters after which others are served: some milliseconds. */
const PIECE = 65_536

/** A promise for what is large. */
export function encodeXml(value: unknown, root: Root): string | Promise<string> {
  const writer = new Writer({ name: root, attributes: '', escaped: false }, value)
  return writer.write() ? writer.text : finish(writer)
}

async function finish(writer: Writer): Promise<string> {
  do await new Promise((resolve) => { setImmediate(resolve) })
  while (!writer.write())
  return writer.text
}

/** RFC 9457, appendix B: no types, lists hold <i>s. It is for people, so what XML can't hold is shown as U+FFFD. */
export const encodeProblemXml = (problem: object): string => `${DECLARATION}<problem xmlns="${PROBLEM_NAMESPACE}">${plain(problem)}</problem>`

/** A list or an object that is being written. */
interface Open { readonly name: string; readonly value: JsonObject | readonly unknown[]; readonly keys: readonly string[] | null; next: number }

/** Goes through the data step by step, so that it can rest anywhere. */
class Writer {
  text = DECLARATION
  readonly #open: Open[] = []

  constructor(head: Head, value: unknown) {
    this.#element(head, value)
  }

  /** Writes another piece. True when that was the last. */
  write(): boolean {
    const enough = this.text.length + PIECE
    for (let open = this.#open.at(-1); open !== undefined; open = this.#open.at(-1)) {
      if (this.text.length > enough) return false
      const { value, keys, next } = open
      open.next += 1
      if (keys === null && Array.isArray(value) && next < value.length) this.#element(ITEM, value[next])
      else if (keys !== null && isObject(value) && next < keys.length) {
        const key = keys[next] ?? ''
        this.#element(headOf(key), value[key])
      } else {
        this.text += `</${open.name}>`
        this.#open.pop()
      }
    }
    return true
  }

  #element(head: Head, value: unknown): void {
    if (typeof value === 'string') return this.#string(head, value)
    if (typeof value === 'boolean') return this.#whole(head, 'boolean', String(value))
    if (typeof value === 'number' && Number.isFinite(value)) return this.#whole(head, 'number', JSON.stringify(value))
    if (Array.isArray(value)) return value.length === 0 ? this.#whole(head, 'array', '') : this.#begin(head, 'array', { name: head.name, value, keys: null, next: 0 })
    if (!isObject(value)) return this.#whole(head, 'null', '')
    const keys = Object.keys(value).filter((key) => value[key] !== undefined)
    if (keys.length === 0) return this.#whole(head, 'object', '')
    // With one <item> it would be a list.
    this.#begin(head, keys.length === 1 && keys[0] === 'item' ? 'object' : null, { name: head.name, value, keys, next: 0 })
  }

  #string(head: Head, value: string): void {
    if (!needsEscape(value)) this.#whole(head, null, textMarkup(value))
    else this.#whole({ ...head, attributes: `${head.attributes} escaped="${head.escaped ? 'name text' : 'text'}"`, escaped: false }, null, textMarkup(escapeText(value)))
  }

  #whole(head: Head, type: string | null, content: string): void {
    this.text += content === '' ? `${startOf(head, type)}/>` : `${startOf(head, type)}>${content}</${head.name}>`
  }

  #begin(head: Head, type: string | null, open: Open): void {
    this.text += `${startOf(head, type)}>`
    this.#open.push(open)
  }
}

/** A type of null can be told from the element itself. */
const startOf = ({ name, attributes, escaped }: Head, type: string | null): string =>
  `<${name}${attributes}${escaped ? ' escaped="name"' : ''}${type === null ? '' : ` type="${type}"`}`

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
