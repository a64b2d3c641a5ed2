// http: what a CloudEvent (CloudEvents 1.0.2) says, as the fields of the event call.
import { describeErrors } from '../../api/call.ts'
import { eventIdOf } from '../../model/cloud-event.ts'
import { FluxError, malformed, unsupportedType } from '../../model/failure.ts'
import { isObject } from '../../model/json/value.ts'
import type { CallFields } from '../request/call-fields.ts'
import { FORMATS, JSON_FORMAT, type Codec } from '../formats/codecs.ts'
import { formatOf } from '../formats/negotiate.ts'
import type { ReadBody } from '../request/body.ts'

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
export function bodyOfEvent(attributes: { readonly [name: string]: unknown }, data: ReadBody): EventBody {
  // In the JSON format null is as good as nothing.
  const given = new Map(Object.entries(attributes).filter(([, value]) => value !== null))
  const text = (name: string): string => {
    const value = given.get(name)
    if (typeof value === 'string' && value !== '') return value
    throw wrong(name, given.has(name) ? 'must be a text that is not empty' : 'is missing')
  }
  const textIn = (name: string) => (given.has(name) ? text(name) : undefined)
  const numberIn = (name: string) => {
    const value = given.get(name)
    return typeof value === 'string' && /^(?:0|[1-9]\d{0,15})$/.test(value) ? Number(value) : value
  }
  const [version, id, source, type] = [text('specversion'), text('id'), text('source'), text('type')]
  // A URI reference has none; and the id of the event is told from its source by the first one.
  if (/\s/.test(source)) throw wrong('source', 'must not have spaces')
  if (version !== '1.0') throw malformed("the attribute specversion must be '1.0'")
  const value = {
    event: type,
    input: data.value,
    contextId: numberIn('fluxcontextid'),
    key: textIn('fluxkey'),
    fluxName: textIn('fluxname'),
    package: textIn('fluxpackage'),
    tags: textIn('fluxtags')
      ?.split(',')
      .map((tag) => tag.trim())
      .filter((tag) => tag !== ''),
    ttl: numberIn('fluxttl'),
  }
  return { value, untyped: data.untyped, eventId: eventIdOf(source, id) }
}

/** @throws FluxError for what can't be read */
export type Decode = (bytes: Buffer, format: Codec) => ReadBody

/** The JSON format: attributes and data in one object. @throws FluxError */
export function bodyOfStructured(event: unknown, decode: Decode): EventBody {
  if (!isObject(event)) throw malformed('a CloudEvent must be an object')
  const { data, data_base64: packed, ...attributes } = event
  if (packed !== undefined && data !== undefined) throw malformed('a CloudEvent has data or data_base64, and not both')
  return bodyOfEvent(attributes, dataOf({ data, packed, type: attributes['datacontenttype'] }, decode))
}

/** As it is sent: as JSON, or as a text that holds bytes, or XML. */
interface SentData {
  readonly data: unknown
  readonly packed: unknown
  readonly type: unknown
}

function dataOf({ data, packed, type }: SentData, decode: Decode): ReadBody {
  const format = (type ?? null) === null ? JSON_FORMAT : formatOf(String(type), FORMATS)
  if (packed === undefined) {
    const isXml = format?.untyped === true && typeof data === 'string'
    return isXml ? decode(Buffer.from(data), format) : { value: data ?? undefined, untyped: false }
  }
  if (format === null) throw unsupportedType(`data_base64 must hold ${FORMATS.map((each) => each.type).join(' or ')}`)
  // Buffer passes over what isn't base64.
  if (typeof packed !== 'string' || !BASE64.test(packed)) throw malformed('data_base64 is no base64')
  return decode(Buffer.from(packed, 'base64'), format)
}

function wrong(name: string, detail: string): FluxError {
  const errors = [{ pointer: `/${name}`, detail }]
  return new FluxError({ kind: 'malformed', detail: `the attribute ${name} ${detail}`, errors })
}

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
