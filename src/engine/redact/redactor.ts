// engine/redact: redacts a context for views, the stream, logs and webhooks. Hidden are the secrets of the request that
// started the context or an ancestor, wherever a text is one or contains one, and the values of properties that are
// declared sensitive, where they are declared. The workflow itself sees everything.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { Property, Shape } from '../../definitions/values/properties.ts'
import type { ContextView } from '../../api/contexts.ts'
import type { FluxException } from '../../model/context.ts'
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import type { ContextRecord } from '../../model/record.ts'
import { REDACTED } from '../../model/secret-names.ts'
import { SecretRedactor } from '../../model/secret-redactor.ts'
import { requestShown, secretsOf } from './request.ts'

/** The start of each stack frame in the text of a stack. */
export const FRAME = '\n    at '

type Redacted = Pick<ContextRecord, 'request' | 'inheritedSecrets' | 'input' | 'output' | 'states'>

/** The texts of a request that must be hidden in this context and in its children. */
export const secretTextsOf = ({ request, inheritedSecrets }: Redacted): readonly string[] =>
  request === null ? (inheritedSecrets ?? []) : secretsOf(request)

/** Redacts a text that tells what became of a request, such as why it was refused. */
export const redactedFor = (request: JsonObject, text: string): string =>
  SecretRedactor.of(secretsOf(request)).text(text)

export const redactorOf = (record: Redacted, flux: CompiledFlux): ContextRedactor => new ContextRedactor(record, flux)

export class ContextRedactor {
  readonly #record: Redacted
  readonly #flux: CompiledFlux
  readonly #secrets: readonly string[]
  readonly #data: SecretRedactor
  #logged: SecretRedactor | undefined

  constructor(record: Redacted, flux: CompiledFlux) {
    this.#record = record
    this.#flux = flux
    this.#secrets = secretTextsOf(record)
    this.#data = SecretRedactor.of(this.#secrets)
  }

  /** Values of declared properties; `shape` undefined: their declaration is gone, so any may have been sensitive. */
  values(shape: Shape | undefined, values: JsonObject): JsonObject {
    const shown = this.#flux.isSensitive ? fieldsShown(shape, values, () => REDACTED) : values
    const copy: JsonObject = {}
    for (const name of Object.keys(shown)) setOwn(copy, name, this.#data.json(shown[name] ?? null))
    return copy
  }

  json(value: Json): Json {
    return this.#data.json(value)
  }

  text(text: string): string {
    return this.#data.text(text)
  }

  request(request: JsonObject): Json {
    return this.#data.json(requestShown(request))
  }

  error(error: FluxException): NonNullable<ContextView['error']> {
    const shown: FluxException = {
      ...this.logged.error(error),
      fluxStackTrace: error.fluxStackTrace.map((entry) => ({
        ...entry,
        transition: entry.transition === null ? null : this.text(entry.transition),
      })),
    }
    const stack = isObject(shown.realException) ? shown.realException['stack'] : undefined
    return typeof stack === 'string' && stack.includes(FRAME) ? { ...shown, stack } : shown
  }

  /** For errors and lines of the log, which may quote values of sensitive properties, too. */
  get logged(): SecretRedactor {
    return (this.#logged ??= this.#flux.isSensitive
      ? SecretRedactor.of([...this.#secrets, ...sensitiveTexts(this.#record, this.#flux)])
      : this.#data)
  }
}

/** The values, of which sensitive ones that are not null are replaced; without a shape, all. */
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

function sensitiveTexts({ input, output, states }: Redacted, flux: CompiledFlux): readonly string[] {
  const texts: string[] = []
  const collect = (value: Json): Json => {
    if (typeof value === 'string') texts.push(value)
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(collect)
    return value
  }
  fieldsShown(flux.input, input, collect)
  fieldsShown(flux.output, output, collect)
  for (const state of flux.states) {
    const data = getOwn(states, String(state.index))
    fieldsShown(state.input, data?.input ?? {}, collect)
    fieldsShown(state.output, data?.output ?? {}, collect)
  }
  return texts
}
