// runtime: what views and logs hide: whatever let the sender of a request in, wherever lines have carried it to. The workflow itself sees it.
import { isObject, setOwn, type Json, type JsonObject } from '../model/json.ts'

const REDACTED = '[redacted]'
const SECRET_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization'])
/** Characters from which on a secret is looked for within longer texts. A shorter one may be anything: `dark`, `1`. */
const TELLING = 16

export interface Hider {
  /** These give the same object back if there is nothing to hide. */
  object(value: JsonObject): JsonObject
  list(values: JsonObject[]): JsonObject[]
  text(value: string): string
}

/**
 * For a context with that `$request`; null: no webhook started it. A child, say, may have been given one all the same, so what looks like the headers and
 * cookies of a request is hidden in any case.
 */
export function hiderOf(request: JsonObject | null): Hider {
  const cookies = pairsOf(request?.['cookies'])
  const cookiePairs = new Set(cookies.map(([name, value]) => `${name}=${value}`))
  const headers = pairsOf(request?.['headers']).flatMap(([name, value]) => (SECRET_HEADERS.has(name.toLowerCase()) ? [value] : []))
  const secrets = [...headers, ...cookies.map(([, value]) => value)]
  const telling = secrets.filter((secret) => secret.length >= TELLING).sort((a, b) => b.length - a.length)
  const marked = secrets.map((secret) => `"value":${JSON.stringify(secret)}`)

  const text = (value: string): string => {
    if (headers.includes(value)) return REDACTED
    let result = value
    for (const secret of telling) result = result.replaceAll(secret, REDACTED)
    for (const mark of marked) result = result.replaceAll(mark, `"value":"${REDACTED}"`)
    return result
  }
  const isSecret = ({ name, value }: JsonObject) => typeof name === 'string' && value !== null && value !== undefined
    && (SECRET_HEADERS.has(name.toLowerCase()) || cookiePairs.has(`${name}=${String(value)}`))

  const hide = (value: Json): Json => {
    if (typeof value === 'string') return secrets.length === 0 ? value : text(value)
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
      if (hidden === item) continue
      result ??= { ...value }
      setOwn(result, key, hidden)
    }
    return result ?? value
  }
  return { object: ofObject, list: (values) => values.map(ofObject), text }
}

const withoutValues = (cookies: Json): Json =>
  (Array.isArray(cookies) ? cookies.map((cookie) => (isObject(cookie) ? { ...cookie, value: REDACTED } : cookie)) : cookies)

/** Of a list of {name, value}. */
function pairsOf(list: Json | undefined): [string, string][] {
  return (Array.isArray(list) ? list : []).flatMap((entry): [string, string][] => (isObject(entry) ? [[String(entry['name']), String(entry['value'])]] : []))
}
