// engine/redact: redacts a context for views and logs. It hides the secrets of the request that started the context or
// an ancestor, in all places to which lines may have carried them. In other places nothing is hidden, even if a value
// equals a secret. The workflow itself sees everything.
import type { CompiledFlux } from '../../definitions/flux.ts'
import {
  carriedIn,
  webhookSeed,
  type CarriedOrigins,
  type Origin,
  type Origins,
  type OriginPlace,
  type Seed,
} from '../../definitions/compile/origins.ts'
import type { ErrorView } from '../../api/get-context.ts'
import type { FluxException } from '../../model/context.ts'
import { isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import type { ContextRecord } from '../../model/record.ts'
import { REDACTED } from '../../model/secret-names.ts'
import { FRAME } from '../interpreter/exception.ts'
import { Hiding } from './hiding.ts'
import { isRequest, requestShown } from './request.ts'
import { Secrets } from './secrets.ts'

type Started = Pick<ContextRecord, 'request' | 'inherited' | 'input'>

export interface Redactor {
  /** Redacts the value at a place of the context. Returns the same value if there is nothing to hide. */
  value(place: OriginPlace, value: Json): Json
  text(place: OriginPlace, text: string): string
  error(error: FluxException): ErrorView
  /** Redacts what the action of a state logs. */
  logged(index: number): { readonly text: (text: string) => string; readonly value: (value: Json) => Json }
}

export function redactorOf(record: Started, flux: CompiledFlux): Redactor {
  const source = record.request ?? record.inherited
  const secrets = source && new Secrets(source)
  return secrets === null || secrets.isEmpty ? PLAIN : new RequestRedactor(secrets, carriedBy(record, flux))
}

/** The part of a request whose secrets a child must also redact, and the inputs that may carry them; null: none. */
export function inheritedOf(record: Started & Pick<ContextRecord, 'state'>, flux: CompiledFlux): JsonObject | null {
  const { request, inherited, state } = record
  const source = request ?? inherited
  if (source === null || new Secrets(source).isEmpty) return null
  const carried = carriedBy(record, flux)
  const inputs: JsonObject = {}
  for (const name of carried.arguments(state))
    setOwn(inputs, name, carried.at({ of: 'args', index: state, name }).map(stored))
  if (Object.keys(inputs).length === 0) return null
  const { headers = [], cookies = [], parameters = {} } = source
  return { headers, cookies, parameters, inputs }
}

function carriedBy({ request, inherited, input }: Started, flux: CompiledFlux): CarriedOrigins {
  return request === null
    ? carriedIn(flux, inheritedSeed(inherited, input), false)
    : carriedIn(flux, webhookSeed(flux), true)
}

/**
 * The inputs of a child that may carry secrets. Version 0.1 did not record them, so for its records all inputs count.
 */
function inheritedSeed(inherited: JsonObject | null, input: JsonObject): Seed {
  const inputs = inherited?.['inputs']
  if (isObject(inputs))
    return new Map(Object.entries(inputs).map(([name, origins]) => [name, listOf(origins).flatMap(originOf)]))
  return new Map(Object.keys(input).map((name) => [name, [{ at: [], path: [], kind: 'cut' }]]))
}

const stored = ({ at, path, kind }: Origin): JsonObject => ({ at: [...at], path: [...path], kind })

function originOf(origin: Json): Origin[] {
  if (!isObject(origin)) return []
  const { at, path, kind } = origin
  const known = kind === 'whole' || kind === 'inside' || kind === 'returned' ? kind : 'cut'
  return [{ at: listOf(at).map(String), path: listOf(path).map(String), kind: known }]
}

const listOf = (list: Json | undefined): Json[] => (Array.isArray(list) ? list : [])

/**
 * The redactor of a context without secrets. A function may still have returned a request: a complete one is redacted
 * like any request.
 */
const PLAIN: Redactor = {
  value: (_, value) => withoutRequests(value),
  text: (_, text) => text,
  error: (error) => withStack({ ...error, realException: withoutRequests(error.realException) }),
  logged: () => ({ text: (text) => text, value: withoutRequests }),
}

class RequestRedactor implements Redactor {
  readonly #carried: CarriedOrigins
  readonly #hiding: Hiding

  constructor(secrets: Secrets, carried: CarriedOrigins) {
    this.#carried = carried
    this.#hiding = new Hiding(secrets)
  }

  value(place: OriginPlace, value: Json): Json {
    return this.#hiding.hide(this.#carried.at(place), value)
  }

  text(place: OriginPlace, text: string): string {
    return this.#textOf(this.#carried.at(place), text)
  }

  error(error: FluxException): ErrorView {
    const index = error.fluxStackTrace.at(-1)?.stateIndex ?? 0
    // Errors of lines and waits quote the values that they read, other errors name an unknown event, and a function may
    // throw any text.
    const ofLines = error.type === 'LineError' || error.type === 'ExpressionError'
    const inLines = ofLines ? this.#carried.at({ of: 'lineError', index }) : []
    const origins = [...this.#carried.at({ of: 'error', index }), ...this.#carried.at({ of: 'event' }), ...inLines]
    const event = (name: string | null) => (name === null ? null : this.text({ of: 'event' }, name))
    const text = (part: string) => this.#textOf(origins, part)
    return withStack({
      ...error,
      message: text(error.message),
      type: text(error.type),
      className: text(error.className),
      realException: this.#hiding.hide(origins, error.realException),
      fluxStackTrace: error.fluxStackTrace.map((entry) => ({ ...entry, transition: event(entry.transition) })),
    })
  }

  logged(index: number) {
    const origins = this.#carried.disclosed(index)
    return {
      text: (text: string) => this.#textOf(origins, text),
      value: (value: Json) => this.#hiding.hide(origins, value),
    }
  }

  #textOf(origins: Origins, text: string): string {
    const shown = this.#hiding.hide(origins, text)
    return typeof shown === 'string' ? shown : REDACTED
  }
}

/** Adds the stack of an error that a function threw. */
function withStack(error: FluxException): ErrorView {
  const stack = isObject(error.realException) ? error.realException['stack'] : undefined
  return typeof stack === 'string' && stack.includes(FRAME) ? { ...error, stack } : error
}

function withoutRequests(value: Json): Json {
  if (Array.isArray(value)) {
    const items: Json[] = value.map(withoutRequests)
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  if (isRequest(value)) return requestShown(value)
  return isObject(value) ? fieldsWithoutRequests(value) : value
}

function fieldsWithoutRequests(value: JsonObject): JsonObject {
  let result: JsonObject | null = null
  for (const key of Object.keys(value)) {
    const item = value[key] ?? null
    const shown = withoutRequests(item)
    if (shown === item) continue
    result ??= { ...value }
    setOwn(result, key, shown)
  }
  return result ?? value
}
