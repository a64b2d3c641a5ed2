// engine/redact: the secrets of one request, by the part of it that they lie in.
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { decoded, isSecretName } from '../../model/secret-names.ts'

/** Characters from which on a text is known as a secret by itself, if it isn't only letters or only digits. */
const RECOGNISABLE_CHARACTERS = 8
/** The same for one that is. */
const RECOGNISABLE_PLAIN_LENGTH = { letters: 24, digits: 16 }
/** The same for what the name of a header or a parameter says to be a secret. */
const MIN_NAMED_CHARACTERS = 3

export class Secrets {
  /** Names in lower case. */
  readonly #headers: readonly (readonly [string, string])[]
  readonly #cookies: readonly (readonly [string, string])[]
  readonly #parameters: readonly (readonly [string, string])[]
  #pairs: ReadonlySet<string> | undefined

  /** @param request `$request`, or what a child was given of it */
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

  /** Those of a part of the request, each in the ways in which it may be written. */
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
   * Those of a collection of the request that can be told from other data by themselves, and the parts of headers that
   * can: a signature in a list. Cookies are anything, but headers and parameters of secret names are secrets: those
   * count also when they are short, and so does what follows a scheme.
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

/** Whether it isn't just a word or a number, as names, keys and data are. */
export function isRecognisable(text: string): boolean {
  if (text.length < RECOGNISABLE_CHARACTERS) return false
  const [letters, digits] = [/[^\d\s]/.test(text), /\d/.test(text)]
  return (
    (letters && digits) ||
    text.length >= (letters ? RECOGNISABLE_PLAIN_LENGTH.letters : RECOGNISABLE_PLAIN_LENGTH.digits)
  )
}

/**
 * A secret as it stands, without its escapes and with them, within JSON, and within JSON in JSON; and what the Basic
 * scheme (RFC 7617) was made of.
 */
function spellings(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1)
  const basic = /^basic\s+(\S+)$/i.exec(secret)?.[1]
  const ways = [secret, decoded(secret), encoded(secret), inJson, JSON.stringify(inJson).slice(1, -1)]
  return basic === undefined ? ways : [...ways, Buffer.from(basic, 'base64').toString()]
}

/** A lone surrogate can't be escaped. */
const encoded = (text: string): string => encodeURIComponent(text.toWellFormed())

const textsOf = (value: Json): string[] => (Array.isArray(value) ? value.map(String) : [String(value)])

/** Of a list of {name, value}. */
function pairsOf(list: Json | undefined): [string, string][] {
  const entries = Array.isArray(list) ? list : []
  return entries.flatMap((entry): [string, string][] =>
    isObject(entry) ? [[String(entry['name']), String(entry['value'])]] : [],
  )
}
