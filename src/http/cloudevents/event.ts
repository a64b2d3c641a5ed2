// http: what a CloudEvent (CloudEvents 1.0.2) says, as the fields of the event call.
import { describeErrors } from '../../api/call.ts'
import { eventIdOf } from '../../model/cloud-event.ts'
import { FluxError, malformed, unsupportedType } from '../../model/failure.ts'
import type { JsonLimits } from '../../model/json/text.ts'
import { isObject } from '../../model/json/value.ts'
import type { CallFields } from '../request/call-fields.ts'
import { FORMATS, JSON_FORMAT } from '../formats/codecs.ts'
import { formatOf } from '../formats/negotiate.ts'
import { parseBody, type ReadBody } from '../request/body.ts'

/** Fields of the event call, and the attributes that a CloudEvent has in their place. */
const ATTRIBUTES: { readonly [field: string]: string } = {
  event: 'type',
  input: 'data',
  contextId: 'fluxcontextid',
  key: 'fluxkey',
  fluxName: 'fluxname',
  package: 'fluxpackage',
  tags: 'fluxtags',
  ttl: 'fluxttl',
}

const BASE64 = /^[A-Za-z\d+/]*={0,2}$/

/** The body of an event call, and the id under which the event is known. */
export interface EventBody extends ReadBody {
  readonly value: CallFields
  readonly eventId: string
}

/**
 * @param attributes by name, as sent
 * @throws FluxError `malformed` for attributes that are missing or wrong
 */
export function bodyOfEvent(
  attributes: { readonly [name: string]: unknown },
  { value: input, untyped }: ReadBody,
): EventBody {
  // In the JSON format null is as good as nothing.
  const valueOf = (name: string) => attributes[name] ?? undefined
  const optionalText = (name: string) => {
    const value = valueOf(name)
    if (value === undefined || (typeof value === 'string' && value !== '')) return value
    throw wrong(name, 'must be a text that is not empty')
  }
  const text = (name: string) => {
    const value = optionalText(name)
    if (value === undefined) throw wrong(name, 'is missing')
    return value
  }
  const number = (name: string) => {
    const value = valueOf(name)
    return typeof value === 'string' && /^(?:0|[1-9]\d{0,15})$/.test(value) ? Number(value) : value
  }
  const [version, id, source, event] = [text('specversion'), text('id'), text('source'), text('type')]
  // A URI reference has none; and the id of the event is told from its source by the first one.
  if (/\s/.test(source)) throw wrong('source', 'must not have spaces')
  if (version !== '1.0') throw malformed("the attribute specversion must be '1.0'")
  const tags = optionalText('fluxtags')?.split(',')
  const value = {
    event,
    input,
    contextId: number('fluxcontextid'),
    key: optionalText('fluxkey'),
    fluxName: optionalText('fluxname'),
    package: optionalText('fluxpackage'),
    tags: tags?.map((tag) => tag.trim()).filter((tag) => tag !== ''),
    ttl: number('fluxttl'),
  }
  return { value, untyped, eventId: eventIdOf(source, id) }
}

/**
 * The JSON format: attributes and data in one object. Data is sent as JSON, or as a text that holds bytes, or XML.
 * @throws FluxError
 */
export function bodyOfStructured(event: unknown, limits: JsonLimits): EventBody {
  if (!isObject(event)) throw malformed('a CloudEvent must be an object')
  const { data, data_base64: packed, ...attributes } = event
  const { datacontenttype: type = null } = attributes
  const format = type === null ? JSON_FORMAT : formatOf(String(type), FORMATS)
  if (packed === undefined) {
    const isXml = format?.untyped === true && typeof data === 'string'
    const read = isXml ? parseBody(Buffer.from(data), format, limits) : { value: data ?? undefined, untyped: false }
    return bodyOfEvent(attributes, read)
  }
  if (data !== undefined) throw malformed('a CloudEvent has data or data_base64, and not both')
  if (format === null) throw unsupportedType(`data_base64 must hold ${FORMATS.map((each) => each.type).join(' or ')}`)
  // Buffer passes over what isn't base64.
  if (typeof packed !== 'string' || !BASE64.test(packed)) throw malformed('data_base64 is no base64')
  return bodyOfEvent(attributes, parseBody(Buffer.from(packed, 'base64'), format, limits))
}

const wrong = (name: string, detail: string) =>
  malformed(`the attribute ${name} ${detail}`, [{ pointer: `/${name}`, detail }])

/**
 * The error, whose pointers name the attributes that the sender wrote.
 * @param inQuery fields that are in the query, and not in the event: they keep their names
 */
export function errorAsSent(error: unknown, inQuery: readonly string[] = []): unknown {
  if (!(error instanceof FluxError) || !('errors' in error.failure)) return error
  const { failure } = error
  const nameOf = (field: string) => (inQuery.includes(field) ? field : (ATTRIBUTES[field] ?? field))
  const errors = failure.errors?.map(({ pointer, detail }) => ({
    pointer: pointer.replace(/(?<=^\/)\w+/, nameOf),
    detail,
  }))
  const told = errors && { errors, detail: describeErrors(errors) }
  return new FluxError({ ...failure, ...told }, { cause: error.cause })
}
