// engine/redact: the secrets of one request, by the part that contains them.
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { decoded, isSecretName } from '../../model/secret-names.ts'

/** Minimum length at which a text is recognized as a secret by itself, if it has both digits and other characters. */
const RECOGNISABLE_CHARACTERS = 8
/** The same for a text with only digits, or without digits. */
const RECOGNISABLE_PLAIN_LENGTH = { letters: 24, digits: 16 }
/** The same for a value whose header or parameter name marks it as a secret. */
const MIN_NAMED_CHARACTERS = 3

export class Secrets {
  /** Names are in lower case. */
  readonly #headers: readonly (readonly [string, string])[]
  readonly #cookies: readonly (readonly [string, string])[]
  readonly #parameters: readonly (readonly [string, string])[]
  #pairs: ReadonlySet<string> | undefined

  /** @param request `$request`, or the part of it that a child inherits */
  constructor(request: JsonObject) {
    this.#headers = pairsOf(request['headers'])
      .filter(([name]) => isSecretName(name))
      .map(([name, value]) => [name.toLowerCase(), value])
    this.#cookies = pairsOf(request['cookies'])
    const parameters = isObject(request['parameters']) ? Object.entries(request['parameters']) : []
    const secret = parameters.filter(([name]) => isSecretName(name))
    this.#parameters = secret.flatMap(([name, value]) => textsOf(value).map((text) => [name, text] as const))
  }

  get isEmpty(): boolean {
    return this.#headers.length + this.#cookies.length + this.#parameters.length === 0
  }

  /** The secrets of a part of the request, each in all its spellings. */
  of([part, name]: readonly string[]): ReadonlySet<string> {
    const pairs = [
      ...(part === undefined || part === 'headers' ? this.#headers : []),
      ...(part === undefined || part === 'cookies' ? this.#cookies : []),
      ...(part === undefined || part === 'parameters' || part === 'uri' ? this.#parameters : []),
    ]
    const values = pairs.filter(([own]) => name === undefined || own === name).map(([, value]) => value)
    return new Set(values.filter((value) => value !== '').flatMap(spellings))
  }

  /**
   * The secrets of a part of the request that can be recognized in other data, and recognizable parts of headers, such
   * as a signature in a list. The values of headers and parameters with secret names are included even if they are
   * short, and so is the part after an authentication scheme. Cookies are included only if they are recognizable,
   * because their values may be ordinary words.
   */
  known(path: readonly string[]): ReadonlySet<string> {
    const [part] = path
    const named = [
      ...(part === undefined || part === 'headers' ? this.#headers.filter(([name]) => name !== 'cookie') : []),
      ...(part === undefined || part === 'parameters' ? this.#parameters : []),
    ]
    const short = named
      .flatMap(([, value]) => [value, value.slice(value.indexOf(' ') + 1)])
      .filter(({ length }) => length >= MIN_NAMED_CHARACTERS)
    return new Set([
      ...[...this.of(path)].flatMap((secret) => [secret, ...secret.split(/[\s,;="]+/)]).filter(isRecognisable),
      ...short,
    ])
  }

  isCookie(name: string, value: string): boolean {
    this.#pairs ??= new Set(this.#cookies.map(([own, text]) => `${own}=${text}`))
    return this.#pairs.has(`${name}=${value}`)
  }
}

/** Whether the text is unlikely to be an ordinary word or number. */
export function isRecognisable(text: string): boolean {
  if (text.length < RECOGNISABLE_CHARACTERS) return false
  const [letters, digits] = [/[^\d\s]/.test(text), /\d/.test(text)]
  return (
    (letters && digits) ||
    text.length >= (letters ? RECOGNISABLE_PLAIN_LENGTH.letters : RECOGNISABLE_PLAIN_LENGTH.digits)
  )
}

/**
 * The spellings of a secret: unchanged, percent-decoded, percent-encoded, escaped for JSON, escaped twice for JSON in
 * JSON; and the decoded credentials of the Basic scheme (RFC 7617).
 */
function spellings(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1)
  const basic = /^basic\s+(\S+)$/i.exec(secret)?.[1]
  const ways = [secret, decoded(secret), encoded(secret), inJson, JSON.stringify(inJson).slice(1, -1)]
  return basic === undefined ? ways : [...ways, Buffer.from(basic, 'base64').toString()]
}

/** A lone surrogate cannot be percent-encoded, and is replaced. */
const encoded = (text: string): string => encodeURIComponent(text.toWellFormed())

const textsOf = (value: Json): string[] => (Array.isArray(value) ? value.map(String) : [String(value)])

/** The pairs of a list of `{ name, value }`. */
function pairsOf(list: Json | undefined): [string, string][] {
  const entries = Array.isArray(list) ? list : []
  return entries.flatMap((entry): [string, string][] =>
    isObject(entry) ? [[String(entry['name']), String(entry['value'])]] : [],
  )
}
