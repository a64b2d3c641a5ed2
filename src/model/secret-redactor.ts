// model: hides secrets by value: texts of a request, values of `$secrets`, values of sensitive properties. All texts
// are looked for at once by their first 8 characters, and the comparisons that follow are counted, so that the time
// grows with the size of what is searched alone.
//
// Views and logs hide values: `engine/redact/redactor.ts` lists the secrets of a request, by the names in
// `model/secret-names.ts`, and hides them in all data of a context and its children, and values of sensitive properties
// where they are declared.
import type { ActionError } from './action-error.ts'
import { mapJson, type Json } from './json/value.ts'
import { REDACTED } from './secret-names.ts'

/** Shorter texts are not hidden: they would be found everywhere. It is also how much of each text is searched for. */
const MIN_CHARACTERS = 8
/** How many texts are hidden within longer ones, of those that clients choose. */
const MAX_WITHIN = 64
/** Characters that may be compared for each character of a text. One that takes more is hidden as a whole. */
const MAX_WORK = 32
/** What it costs to find the start of a text, and to pass over one that begins so, in characters. */
const [FIND_WORK, PASS_WORK] = [64, 4]

const isLong = ({ length }: string) => length >= MIN_CHARACTERS

export class SecretRedactor {
  readonly #texts: ReadonlySet<string>
  /** Those that are hidden within longer texts, by their first characters. */
  readonly #within = new Map<string, string[]>()
  readonly #isEverywhere: boolean
  #starts: RegExp | undefined
  /** Characters of the longest text. */
  readonly longest: number

  /** Hides texts as they are: any number where they stand alone, the first 64 also within longer texts. */
  static of(texts: Iterable<string>): SecretRedactor {
    return new SecretRedactor(texts, MAX_WITHIN, false)
  }

  /**
   * Hides values of `$secrets` however they may be written (within JSON, in a URL, in base64), in keys and numbers,
   * too.
   */
  static ofSecrets(values: Iterable<string>): SecretRedactor {
    return new SecretRedactor([...values].filter(isLong).flatMap(formsOf), Infinity, true)
  }

  private constructor(texts: Iterable<string>, within: number, isEverywhere: boolean) {
    this.#texts = new Set([...texts].filter(isLong))
    this.#isEverywhere = isEverywhere
    this.longest = Math.max(0, ...[...this.#texts].map(({ length }) => length))
    for (const text of [...this.#texts].slice(0, within)) {
      const start = text.slice(0, MIN_CHARACTERS)
      this.#within.set(start, [...(this.#within.get(start) ?? []), text])
    }
  }

  /** Whether nothing is hidden. */
  get isEmpty(): boolean {
    return this.#texts.size === 0
  }

  text(text: string): string {
    if (this.isEmpty || text.length < MIN_CHARACTERS) return text
    if (this.#texts.has(text)) return REDACTED
    const starts = (this.#starts ??= new RegExp([...this.#within.keys()].map(escaped).join('|'), 'g'))
    let [result, end, work] = ['', 0, 0]
    starts.lastIndex = 0
    for (let found = starts.exec(text); found !== null; found = starts.exec(text)) {
      const { index } = found
      starts.lastIndex = index + 1
      work += FIND_WORK
      if (work > MAX_WORK * (text.length + FIND_WORK)) return REDACTED
      for (const secret of this.#within.get(found[0]) ?? []) {
        const after = index + secret.length
        work += PASS_WORK
        if (after <= end || text[after - 1] !== secret.at(-1)) continue
        work += secret.length
        if (!text.startsWith(secret, index)) continue
        // Those that overlap are hidden as one.
        if (index >= end) result += text.slice(end, index) + REDACTED
        end = after
      }
    }
    return end === 0 ? text : result + text.slice(end)
  }

  /** Hides them in texts at all depths. What has none is returned as it is. */
  json(value: Json): Json {
    if (this.isEmpty) return value
    const hide = (text: string) => this.text(text)
    const isHidden = (item: Json) => typeof item === 'string' || (this.#isEverywhere && this.#texts.has(String(item)))
    return mapJson(value, (item) => (isHidden(item) ? hide(String(item)) : item), this.#isEverywhere ? hide : undefined)
  }

  error<E extends ActionError>(error: E): E {
    return {
      ...error,
      message: this.text(error.message),
      type: this.text(error.type),
      className: this.text(error.className),
      realException: this.json(error.realException),
      ...(error.stack !== undefined && { stack: this.text(error.stack) }),
    }
  }
}

/** Hides nothing. */
export const HIDES_NOTHING = SecretRedactor.of([])

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

const formsOf = (value: string) => [
  value,
  JSON.stringify(value).slice(1, -1),
  ...inUrls(value),
  // As Node gives the bytes of a header.
  Buffer.from(value).toString('latin1'),
  ...[0, 1, 2].flatMap((before) => [base64Within(value, before, 'base64'), base64Within(value, before, 'base64url')]),
]

/** As encoders write it in a query, a form or a path: they differ in what they escape, and in the case of escapes. */
function inUrls(value: string) {
  if (!value.isWellFormed()) return []
  const url = new URL('http://host')
  url.search = `-${value}`
  url.pathname = `-${value}`
  const texts = [
    encodeURIComponent(value),
    encodeURI(value),
    new URLSearchParams([['', value]]).toString().slice(1),
    url.search.slice(2),
    url.pathname.slice(2),
  ]
  return texts.flatMap((text) => [text, text.replaceAll(/%[\dA-F]{2}/g, (escape) => escape.toLowerCase())])
}

/**
 * The characters that stand for the value in any base64 text, such as a body that is no text, or `Basic` credentials.
 *
 * @param before number of bytes before it, modulo 3
 */
function base64Within(value: string, before: number, encoding: 'base64' | 'base64url') {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)])
  // The characters at the ends also have bits of what stands around it.
  return bytes.toString(encoding).slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6))
}
