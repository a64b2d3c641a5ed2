// engine/redact: redacts a request, or an unchanged part of it. Everything else that the client sent, such as the body,
// is not changed.
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { decoded, isSecretName, redactQuery, REDACTED } from '../../model/secret-names.ts'

/** Whether the value has the fields that distinguish a request from other data. */
export const isRequest = (value: Json): value is JsonObject =>
  isObject(value) &&
  typeof value['method'] === 'string' &&
  typeof value['uri'] === 'string' &&
  Array.isArray(value['headers']) &&
  Array.isArray(value['cookies'])

/** The fields of a request. Lines may have added other fields. */
export const PARTS: ReadonlySet<string> = new Set([
  'method',
  'uri',
  'contentType',
  'headers',
  'cookies',
  'parameters',
  'body',
  'config',
  'encoded',
])

/** A redacted copy of `$request`. */
export function requestShown(request: JsonObject): JsonObject {
  const { uri, headers = null, cookies = null, parameters = null } = request
  const secret = secretSegments(parameters)
  const parts: { readonly [part: string]: Json } = {
    ...(typeof uri === 'string' && { uri: uriShown(uri, secret) }),
    headers: headersShown(headers),
    cookies: cookiesShown(cookies),
    parameters: parametersShown(parameters),
  }
  const copy = { ...request }
  for (const part of Object.keys(parts)) if (Object.hasOwn(copy, part)) setOwn(copy, part, parts[part] ?? null)
  return copy
}

export const headersShown = (headers: Json): Json => withoutValues(headers, isSecretName)

export const cookiesShown = (cookies: Json): Json => withoutValues(cookies, () => true)

/** Redacts parameters with secret names, also if they are lists. */
export function parametersShown(parameters: Json): Json {
  if (!isObject(parameters)) return parameters
  const copy = { ...parameters }
  for (const name of Object.keys(copy)) {
    const value = getOwn(copy, name)
    if (isSecretName(name)) setOwn(copy, name, Array.isArray(value) ? value.map(() => REDACTED) : REDACTED)
  }
  return copy
}

/** Redacts path and query. `secret`: values of path parameters that are secrets. */
export function uriShown(uri: string, secret: ReadonlySet<string>): string {
  const [, path = '', query] = /^([^?]*)(?:\?(.*))?$/s.exec(uri) ?? []
  const shown =
    secret.size === 0
      ? path
      : path
          .split('/')
          .map((segment) => (secret.has(decoded(segment)) ? REDACTED : segment))
          .join('/')
  return query === undefined ? shown : `${shown}?${redactQuery(query)}`
}

function secretSegments(parameters: Json): ReadonlySet<string> {
  const entries = isObject(parameters) ? Object.entries(parameters) : []
  return new Set(
    entries.flatMap(([name, value]) =>
      isSecretName(name) && typeof value === 'string' && value !== '' ? [value] : [],
    ),
  )
}

function withoutValues(list: Json, isSecret: (name: string) => boolean): Json {
  if (!Array.isArray(list)) return list
  return list.map((entry) =>
    isObject(entry) && isSecret(String(entry['name'])) ? { ...entry, value: REDACTED } : entry,
  )
}
