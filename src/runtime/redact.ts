// runtime: what views and logs hide: whatever let the sender of a request in, wherever lines have carried it to. The workflow itself sees it.
import { isObject, setOwn, type Json, type JsonObject } from '../model/json.ts'
import type { ContextRecord } from '../model/record.ts'

const REDACTED = '[redacted]'
const SECRET_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization'])
/** Characters from which on a secret is looked for within longer texts, and as a whole. A shorter one may be anything: `dark`, `1`. */
const TELLING = 16
const WHOLE = 6

export interface Hider {
  /** These give the same object back if there is nothing to hide. */
  object(value: JsonObject): JsonObject
  list(values: JsonObject[]): JsonObject[]
  text(value: string): string
}

/**
 * For a context that a webhook started, or an ancestor of it. Any other may have been given a request all the same, so what looks like the headers and cookies
 * of one is hidden in any case.
 */
export function hiderOf({ request, inherited }: Pick<ContextRecord, 'request' | 'inherited'>): Hider {
  const source = request ?? inherited
  const cookies = pairsOf(source?.['cookies'])
  const cookiePairs = new Set(cookies.map(([name, value]) => `${name}=${value}`))
  const headers = pairsOf(source?.['headers']).flatMap(([name, value]) => (SECRET_HEADERS.has(name.toLowerCase()) ? [value, ...credentialsOf(value)] : []))
  const secrets = [...headers, ...cookies.map(([, value]) => value)].filter((secret) => secret !== '')
  const telling = secrets.filter((secret) => secret.length >= TELLING).flatMap(spellings).sort((a, b) => b.length - a.length)
  const wholes = new Set(secrets.filter((secret) => secret.length >= WHOLE || headers.includes(secret)))
  const marked = secrets.map((secret) => `"value":${JSON.stringify(secret)}`)

  const text = (value: string): string => {
    if (wholes.has(value)) return REDACTED
    let result = value
    for (const secret of telling) result = result.replaceAll(secret, REDACTED)
    for (const mark of marked) result = result.replaceAll(mark, `"value":"${REDACTED}"`)
    return result
  }
  const isSecret = ({ name, value }: JsonObject) => typeof name === 'string' && value !== null && value !== undefined
    && (SECRET_HEADERS.has(name.toLowerCase()) || (typeof value !== 'object' && cookiePairs.has(`${name}=${String(value)}`)))

  const hide = (value: Json): Json => {
    if (typeof value === 'string') return secrets.length === 0 ? value : text(value)
    if (typeof value === 'number') return wholes.has(String(value)) ? REDACTED : value
    if (Array.isArray(value)) {
      const items = value.map(hide)
      return items.some((item, index) => item !== value[index]) ? items : value
    }
    return isObject(value) ? ofObject(value) : value
  }
  const ofObject = (value: JsonObject): JsonObject => {
    const secret = isSecret(value)
    const isRequest = Array.isArray(value['headers']) && Array.isArray(value['cookies'])
    let result: JsonObject | null = null
    for (const key of Object.keys(value)) {
      const item = value[key] ?? null
      const hidden = key === 'value' && secret ? REDACTED : key === 'cookies' && isRequest ? withoutValues(item) : hide(item)
      const shown = secrets.length === 0 ? key : text(key)
      if (hidden === item && shown === key) continue
      result ??= { ...value }
      if (shown !== key) delete result[key]
      setOwn(result, shown, hidden)
    }
    return result ?? value
  }
  return { object: ofObject, list: (values) => values.map(ofObject), text }
}

/** What of a request a child must hide as its parent does; null: nothing. */
export function inheritedOf({ request, inherited }: Pick<ContextRecord, 'request' | 'inherited'>): JsonObject | null {
  if (request === null) return inherited
  const { headers, cookies } = request
  const secret = (Array.isArray(headers) ? headers : []).filter((header) => isObject(header) && SECRET_HEADERS.has(String(header['name']).toLowerCase()))
  return secret.length === 0 && !(Array.isArray(cookies) && cookies.length > 0) ? null : { headers: secret, cookies: cookies ?? [] }
}

/** What follows the scheme (RFC 9110, 11.4): what workflows cut out to use it, if it is long enough to be told from other texts. */
function credentialsOf(value: string): string[] {
  const [, credentials = ''] = /^\S+\s+(.*)$/.exec(value) ?? []
  return credentials.length >= TELLING ? [credentials] : []
}

/** A secret as it stands, within JSON, and within JSON in JSON. */
function spellings(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1)
  return [...new Set([secret, inJson, JSON.stringify(inJson).slice(1, -1)])]
}

const withoutValues = (cookies: Json): Json =>
  (Array.isArray(cookies) ? cookies.map((cookie) => (isObject(cookie) ? { ...cookie, value: REDACTED } : cookie)) : cookies)

/** Of a list of {name, value}. */
function pairsOf(list: Json | undefined): [string, string][] {
  return (Array.isArray(list) ? list : []).flatMap((entry): [string, string][] => (isObject(entry) ? [[String(entry['name']), String(entry['value'])]] : []))
}
