// http: encodes JSON as XML without loss. A field is an element, a list has <item>s, and `type` says what the text
// alone does not. The text is written directly: the builder of fast-xml-parser takes six times as long.
import { PROBLEM_NAMESPACE } from '../../../api/server.ts'
import { isObject, type JsonObject } from '../../../model/json/value.ts'
import { PIECE_CHARACTERS, slices } from '../../answers/pieces.ts'
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
export function* xmlPieces(value: unknown, root: string): Generator<string, void> {
  yield* new Writer(DECLARATION).pieces({ name: root, attributes: '', escaped: false }, value)
}

/** An element of a list, in pieces. */
export function* xmlItemPieces(value: unknown): Generator<string, void> {
  yield* new Writer('').pieces(ITEM, value)
}

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

/** A list or an object that is being written. */
interface Open {
  readonly name: string
  readonly value: JsonObject | readonly unknown[]
  readonly keys: readonly string[] | null
  next: number
}

/** Writes the data in steps, so that it can pause anywhere. */
class Writer {
  #text: string
  readonly #open: Open[] = []
  /** A text that is too long for one step, and the start of its element. */
  #long: { readonly head: Head; readonly value: string } | null = null

  constructor(start: string) {
    this.#text = start
  }

  *pieces(head: Head, value: unknown): Generator<string, void> {
    this.#element(head, value)
    do {
      if (this.#long !== null) yield* this.#longText(this.#long)
      this.#write()
      yield this.#take()
    } while (this.#long !== null || this.#open.length > 0)
  }

  #take(): string {
    const text = this.#text
    this.#text = ''
    return text
  }

  /** Continues until there is a piece or a long text. */
  #write(): void {
    for (
      let open = this.#open.at(-1);
      open !== undefined && this.#long === null && this.#text.length < PIECE_CHARACTERS;
      open = this.#open.at(-1)
    ) {
      const { value, keys, next } = open
      open.next += 1
      if (keys === null && Array.isArray(value) && next < value.length) this.#element(ITEM, value[next])
      else if (keys !== null && isObject(value) && next < keys.length) {
        const key = keys[next] ?? ''
        this.#element(headOf(key), value[key])
      } else {
        this.#text += `</${open.name}>`
        this.#open.pop()
      }
    }
  }

  *#longText({ head, value }: { readonly head: Head; readonly value: string }): Generator<string, void> {
    this.#long = null
    let escaped = false
    for (const slice of slices(value)) {
      escaped ||= needsEscape(slice)
      yield ''
    }
    this.#text += `${startOf(escaped ? withEscapedText(head) : head, null)}>`
    for (const slice of slices(value)) {
      this.#text += textMarkup(escaped ? escapeText(slice) : slice)
      yield this.#take()
    }
    this.#text += `</${head.name}>`
  }

  #element(head: Head, value: unknown): void {
    if (typeof value === 'string') return this.#string(head, value)
    if (typeof value === 'boolean') return this.#whole(head, 'boolean', String(value))
    if (typeof value === 'number' && Number.isFinite(value)) return this.#whole(head, 'number', JSON.stringify(value))
    if (Array.isArray(value))
      return value.length === 0
        ? this.#whole(head, 'array', '')
        : this.#begin(head, 'array', { name: head.name, value, keys: null, next: 0 })
    if (!isObject(value)) return this.#whole(head, 'null', '')
    const keys = Object.keys(value).filter((key) => value[key] !== undefined)
    if (keys.length === 0) return this.#whole(head, 'object', '')
    // Without a type, an element with a single <item> would be a list.
    this.#begin(head, keys.length === 1 && keys[0] === 'item' ? 'object' : null, {
      name: head.name,
      value,
      keys,
      next: 0,
    })
  }

  #string(head: Head, value: string): void {
    if (value.length > PIECE_CHARACTERS) this.#long = { head, value }
    else if (!needsEscape(value)) this.#whole(head, null, textMarkup(value))
    else this.#whole(withEscapedText(head), null, textMarkup(escapeText(value)))
  }

  #whole(head: Head, type: string | null, content: string): void {
    this.#text += content === '' ? `${startOf(head, type)}/>` : `${startOf(head, type)}>${content}</${head.name}>`
  }

  #begin(head: Head, type: string | null, open: Open): void {
    this.#text += `${startOf(head, type)}>`
    this.#open.push(open)
  }
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
