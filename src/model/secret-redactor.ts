// model: hides the values of secrets in what is stored, answered or logged. The work is linear in the size of a text,
// for each secret.
import type { ActionError } from './action-error.ts'
import { isObject, setOwn, type Json, type JsonObject } from './json/value.ts'
import { REDACTED } from './secret-names.ts'

/** Shorter values are not hidden: they would be found everywhere. */
const MIN_CHARACTERS = 8

export class SecretRedactor {
  /** The values as they may be written: also within JSON, in a URL and in base64. */
  readonly #forms: readonly string[]
  /** Characters of the longest form. */
  readonly longest: number

  /** `null` if none of the values is long enough to be hidden. */
  static of(values: Iterable<string>): SecretRedactor | null {
    const forms = new Set([...values].filter(({ length }) => length >= MIN_CHARACTERS).flatMap(formsOf))
    return forms.size === 0 ? null : new SecretRedactor([...forms])
  }

  private constructor(forms: readonly string[]) {
    this.#forms = forms
    this.longest = Math.max(...forms.map(({ length }) => length))
  }

  text(text: string): string {
    const found: { readonly from: number; readonly to: number }[] = []
    for (const form of this.#forms)
      for (let from = text.indexOf(form); from >= 0; from = text.indexOf(form, from + 1))
        found.push({ from, to: from + form.length })
    if (found.length === 0) return text
    found.sort((one, other) => one.from - other.from)
    let [result, after] = ['', 0]
    for (const { from, to } of found) {
      // Those that overlap are hidden as one.
      if (from >= after) result += text.slice(after, from) + REDACTED
      after = Math.max(after, to)
    }
    return result + text.slice(after)
  }

  /** Hides them in texts, keys and numbers, at all depths. What has none is returned as it is. */
  json(value: Json): Json {
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'number') return this.#forms.includes(String(value)) ? REDACTED : value
    if (Array.isArray(value)) {
      const items = value.map((item: Json) => this.json(item))
      return items.some((item, index) => item !== value[index]) ? items : value
    }
    if (!isObject(value)) return value
    const copy: JsonObject = {}
    let changed = false
    for (const [key, item] of Object.entries(value)) {
      const [name, shown] = [this.text(key), this.json(item)]
      changed ||= name !== key || shown !== item
      setOwn(copy, name, shown)
    }
    return changed ? copy : value
  }

  error({ message, type, className, realException, stack }: ActionError): ActionError {
    return {
      message: this.text(message),
      type: this.text(type),
      className: this.text(className),
      realException: this.json(realException),
      ...(stack !== undefined && { stack: this.text(stack) }),
    }
  }
}

function formsOf(value: string): string[] {
  const encoded = [0, 1, 2].map((before) => base64Within(value, before))
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    ...inUrls(value),
    // As Node gives the bytes of a header.
    Buffer.from(value).toString('latin1'),
    ...encoded,
    ...encoded.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  ]
}

/** As encoders write it in a query, a form or a path: they differ in what they escape, and in the case of escapes. */
function inUrls(value: string): string[] {
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
  return (
    texts
      .flatMap((text) => [text, text.replaceAll(/%[\dA-F]{2}/g, (escape) => escape.toLowerCase())])
      // URLs drop line breaks, and segments before "..".
      .filter(({ length }) => length >= MIN_CHARACTERS)
  )
}

/**
 * The characters that stand for the value in any base64 text, such as a body that is no text, or `Basic` credentials.
 *
 * @param before number of bytes before it, modulo 3
 */
function base64Within(value: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)])
  // The characters at the ends also have bits of what stands around it.
  return bytes.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6))
}
