// runtime: what views hide of the request that started a context: whatever lets others in, wherever lines have carried it to. The workflow itself sees it.
import { isObject, setOwn, type Json, type JsonObject } from '../model/json.ts'

const REDACTED = '[redacted]'
const SECRET_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization'])
/** Characters from which on a cookie's value is taken for a secret by itself. A shorter one may be anything: `dark`, `1`. */
const TELLING = 16

export interface Hider {
  object(value: JsonObject): JsonObject
  list(values: JsonObject[]): JsonObject[]
}

const NOTHING: Hider = { object: (value) => value, list: (values) => values }

/** For the views of a context with that `$request`; null: no webhook started it. */
export function hiderOf(request: JsonObject | null): Hider {
  if (request === null) return NOTHING
  const cookies = pairsOf(request['cookies'])
  const cookiePairs = new Set(cookies.map(([name, value]) => `${name}=${value}`))
  const secrets = new Set([
    ...pairsOf(request['headers']).flatMap(([name, value]) => (SECRET_HEADERS.has(name.toLowerCase()) ? [value] : [])),
    ...cookies.flatMap(([, value]) => (value.length >= TELLING ? [value] : [])),
  ])
  const isSecret = (name: Json | undefined, value: Json | undefined) =>
    typeof name === 'string' && (SECRET_HEADERS.has(name.toLowerCase()) || cookiePairs.has(`${name}=${String(value)}`))

  const hide = (value: Json): Json => {
    if (typeof value === 'string') return secrets.has(value) ? REDACTED : value
    if (Array.isArray(value)) return value.map(hide)
    return isObject(value) ? object(value) : value
  }
  const object = (value: JsonObject): JsonObject => {
    const result: JsonObject = {}
    const secret = value['value'] !== null && isSecret(value['name'], value['value'])
    for (const [key, item] of Object.entries(value)) setOwn(result, key, key === 'value' && secret ? REDACTED : hide(item))
    return result
  }
  return { object, list: (values) => values.map(object) }
}

/** Of a list of {name, value}. */
function pairsOf(list: Json | undefined): [string, string][] {
  return (Array.isArray(list) ? list : []).flatMap((entry) => (isObject(entry) ? [[String(entry['name']), String(entry['value'])]] : []))
}
