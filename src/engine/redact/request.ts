// engine/redact: the secrets of a request, and the request without them.
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { decoded, isSecretName, redactQuery, REDACTED } from '../../model/secret-names.ts'

/** A redacted copy of `$request`. The rest of what the client sent, such as the body, is not changed. */
export function requestShown(request: JsonObject): JsonObject {
  const { uri, headers = null, cookies = null, parameters = null } = request
  const parts: { readonly [part: string]: Json } = {
    ...(typeof uri === 'string' && { uri: uriShown(uri, new Set(secretParameters(parameters))) }),
    headers: withoutValues(headers, isSecretName),
    cookies: withoutValues(cookies, () => true),
    parameters: parametersShown(parameters),
  }
  const copy = { ...request }
  for (const part of Object.keys(parts)) if (Object.hasOwn(copy, part)) setOwn(copy, part, parts[part] ?? null)
  return copy
}

/**
 * The secrets of `$request`, the most important first: headers, of `Authorization` also what follows the scheme, then
 * cookies as they were sent and decoded, then parameters.
 */
export function secretsOf({ headers = null, cookies = null, parameters = null }: JsonObject): readonly string[] {
  const secret = pairsOf(headers).filter(([name]) => isSecretName(name))
  const named = (own: string) => secret.filter(([name]) => name.toLowerCase() === own).map(([, value]) => value)
  return [
    ...new Set([
      ...named('authorization').flatMap((value) => [value, value.replace(/^\S+\s+/, '')]),
      ...secret.map(([, value]) => value),
      ...named('cookie').flatMap((value) => value.split(';').map(cookieSent)),
      ...pairsOf(cookies).map(([, value]) => value),
      ...secretParameters(parameters),
    ]),
  ]
}

/** The value of a cookie as it was sent, without quotes around it. */
const cookieSent = (pair: string): string =>
  pair
    .slice(pair.indexOf('=') + 1)
    .trim()
    .replace(/^"(.*)"$/, '$1')

/** Redacts parameters with secret names, also if they are lists. */
function parametersShown(parameters: Json): Json {
  if (!isObject(parameters)) return parameters
  const copy = { ...parameters }
  for (const name of Object.keys(copy)) {
    const value = getOwn(copy, name)
    if (isSecretName(name)) setOwn(copy, name, Array.isArray(value) ? value.map(() => REDACTED) : REDACTED)
  }
  return copy
}

function secretParameters(parameters: Json): string[] {
  const entries = isObject(parameters) ? Object.entries(parameters) : []
  return entries.flatMap(([name, value]) =>
    isSecretName(name) ? (Array.isArray(value) ? value : [value]).filter((text) => typeof text === 'string') : [],
  )
}

/** Redacts path and query. `secret`: values of path parameters that are secrets. */
function uriShown(uri: string, secret: ReadonlySet<string>): string {
  const [, path = '', query] = /^([^?]*)(?:\?(.*))?$/s.exec(uri) ?? []
  const shown = path
    .split('/')
    .map((segment) => (segment !== '' && secret.has(decoded(segment)) ? REDACTED : segment))
    .join('/')
  return query === undefined ? shown : `${shown}?${redactQuery(query)}`
}

function withoutValues(list: Json, isSecret: (name: string) => boolean): Json {
  if (!Array.isArray(list)) return list
  return list.map((entry) =>
    isObject(entry) && isSecret(String(entry['name'])) ? { ...entry, value: REDACTED } : entry,
  )
}

/** The pairs of a list of `{ name, value }`. */
function pairsOf(list: Json): [string, string][] {
  const entries = Array.isArray(list) ? list : []
  return entries.flatMap((entry): [string, string][] =>
    isObject(entry) ? [[String(entry['name']), String(entry['value'])]] : [],
  )
}
