// engine/redact: redacts a context for views, the stream, logs and webhooks. Hidden are the secrets of the request that
// started the context or an ancestor, wherever a text is one or contains one, and the values of properties that are
// declared sensitive, where they are declared. The workflow itself sees everything.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { Property, Shape } from '../../definitions/values/properties.ts'
import type { ContextView } from '../../api/contexts.ts'
import { dataKey, type ContextRecord, type FluxException } from '../../model/context.ts'
import { getOwn, isObject, mapJson, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { decoded, isSecretName, redactQuery, REDACTED } from '../../model/secret-names.ts'
import { SecretRedactor } from '../../model/secret-redactor.ts'

/** The start of each stack frame in the text of a stack. */
export const FRAME = '\n    at '

type Redacted = Pick<ContextRecord, 'request' | 'inheritedSecrets' | 'input' | 'output' | 'states'>

/** The texts of a request that must be hidden in this context and in its children. */
export const secretTextsOf = ({ request, inheritedSecrets }: Redacted): readonly string[] =>
  request === null ? (inheritedSecrets ?? []) : redactRequest(request).secrets

/** Redacts a text about the outcome of a request, such as why it was refused. */
export const redactedFor = (request: JsonObject, text: string): string =>
  SecretRedactor.of(redactRequest(request).secrets).text(text)

/**
 * A redacted copy of `$request`: the rest of what the client sent, such as the body, is not changed. Its secrets come
 * the most important first: headers, of `Authorization` also what follows the scheme, then cookies as they were sent
 * and decoded, then parameters.
 */
export function redactRequest(request: JsonObject) {
  const { uri, headers, cookies, parameters } = request
  const shown = { ...request }
  const ofHeaders: string[] = []
  const ofCookies: string[] = []
  const ofParameters: string[] = []
  if (Array.isArray(headers))
    shown['headers'] = withoutValues(headers, (name, value) => {
      if (!isSecretName(name)) return false
      if (name.toLowerCase() === 'authorization') return ofHeaders.unshift(value, value.replace(/^\S+\s+/, '')) > 0
      if (name.toLowerCase() === 'cookie') ofCookies.push(...value.split(';').map(cookieSent))
      return ofHeaders.push(value) > 0
    })
  if (Array.isArray(cookies)) shown['cookies'] = withoutValues(cookies, (_, value) => ofCookies.push(value) > 0)
  const hide = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(hide)
    if (typeof value === 'string') ofParameters.push(value)
    return REDACTED
  }
  if (isObject(parameters)) {
    const copy = { ...parameters }
    for (const name of Object.keys(copy)) if (isSecretName(name)) setOwn(copy, name, hide(getOwn(copy, name) ?? null))
    shown['parameters'] = copy
  }
  if (typeof uri === 'string') shown['uri'] = uriShown(uri, new Set(ofParameters))
  return { shown, secrets: [...new Set([...ofHeaders, ...ofCookies, ...ofParameters])] }
}

/** A list of `{ name, value }` without the values that are secrets. */
const withoutValues = (list: Json[], isSecret: (name: string, value: string) => boolean): Json[] =>
  list.map((entry) =>
    isObject(entry) && isSecret(String(entry['name']), String(entry['value'])) ? { ...entry, value: REDACTED } : entry,
  )

/** The value of a cookie as it was sent, without quotes around it. */
const cookieSent = (pair: string): string =>
  pair
    .slice(pair.indexOf('=') + 1)
    .trim()
    .replace(/^"(.*)"$/, '$1')

/** Redacts path and query. `secret`: values of path parameters that are secrets. */
function uriShown(uri: string, secret: ReadonlySet<string>): string {
  const [, path = '', query] = /^([^?]*)(?:\?(.*))?$/s.exec(uri) ?? []
  const shown = path
    .split('/')
    .map((segment) => (segment !== '' && secret.has(decoded(segment)) ? REDACTED : segment))
    .join('/')
  return query === undefined ? shown : `${shown}?${redactQuery(query)}`
}

export type ContextRedactor = ReturnType<typeof redactorOf>

export function redactorOf(record: Redacted, flux: CompiledFlux) {
  const secrets = secretTextsOf(record)
  const data = SecretRedactor.of(secrets)
  let logged: SecretRedactor | undefined
  return {
    /** Values of declared properties; `shape` undefined: their declaration is gone, so any may have been sensitive. */
    values(shape: Shape | undefined, values: JsonObject): JsonObject {
      const shown = data.json(flux.isSensitive ? fieldsShown(shape, values, () => REDACTED) : values)
      return isObject(shown) ? shown : {}
    },

    json: (value: Json): Json => data.json(value),

    text: (text: string): string => data.text(text),

    request: (request: JsonObject): Json => data.json(redactRequest(request).shown),

    /** Data that is declared nowhere: values that are sensitive elsewhere are hidden, too. */
    undeclared(data: Json): Json {
      const hidden = new Set<Json>(flux.isSensitive ? sensitiveValues(record, flux) : [])
      return mapJson(this.logged.json(data), (value) => (hidden.has(value) ? REDACTED : value))
    },

    error(error: FluxException): NonNullable<ContextView['error']> {
      const shown: FluxException = {
        ...this.logged.error(error),
        fluxStackTrace: error.fluxStackTrace.map((entry) => ({
          ...entry,
          transition: entry.transition === null ? null : data.text(entry.transition),
        })),
      }
      const stack = isObject(shown.realException) ? shown.realException['stack'] : undefined
      return typeof stack === 'string' && stack.includes(FRAME) ? { ...shown, stack } : shown
    },

    /** For errors and lines of the log, which may quote values of sensitive properties, too. */
    get logged(): SecretRedactor {
      const texts = () => sensitiveValues(record, flux).filter((value) => typeof value === 'string')
      logged ??= flux.isSensitive ? SecretRedactor.of([...secrets, ...texts()]) : data
      return logged
    },
  }
}

/** Replaces the sensitive values that are not null; without a shape, all values. */
function fieldsShown(shape: Shape | undefined, values: JsonObject, hide: (value: Json) => Json): JsonObject {
  const copy: JsonObject = {}
  for (const name of Object.keys(values)) {
    const value = values[name] ?? null
    setOwn(copy, name, shape ? valueShown(shape.properties.get(name), value, hide) : hide(value))
  }
  return copy
}

function valueShown(property: Property | undefined, value: Json, hide: (value: Json) => Json): Json {
  if (property === undefined || value === null) return value
  if (property.sensitive) return hide(value)
  const fields = property.fields()
  if (fields === null) return value
  const shown = (item: Json) => (isObject(item) ? fieldsShown(fields, item, hide) : item)
  return Array.isArray(value) ? value.map(shown) : shown(value)
}

/** Texts and numbers: what is null, true or false is no secret. */
function sensitiveValues({ input, output, states }: Redacted, flux: CompiledFlux): readonly (string | number)[] {
  const values: (string | number)[] = []
  const collect = (value: Json): Json =>
    mapJson(value, (item) => {
      if (typeof item === 'string' || typeof item === 'number') values.push(item)
      return item
    })
  fieldsShown(flux.input, input, collect)
  fieldsShown(flux.output, output, collect)
  for (const state of flux.states) {
    const data = getOwn(states, dataKey(state.index))
    fieldsShown(state.input, data?.input ?? {}, collect)
    fieldsShown(state.output, data?.output ?? {}, collect)
  }
  return values
}
