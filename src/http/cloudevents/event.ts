// http: what a CloudEvent (CloudEvents 1.0.2) says, as the fields of the event call.
import { describeErrors } from '../../api/call.ts'
import { eventIdOf } from '../../model/cloud-event.ts'
import { FluxError, malformed, unsupportedType } from '../../model/failure.ts'
import { isObject } from '../../model/json/value.ts'
import type { CallFields } from '../request/call-fields.ts'
import { FORMATS, JSON_FORMAT, type Codec } from '../formats/codecs.ts'
import { formatOf } from '../formats/negotiate.ts'
import type { ReadBody } from '../request/body.ts'

const REQUIRED = ['specversion', 'id', 'source', 'type'] as const

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
  const given = { ...attributes }
  for (const name of REQUIRED) textOf(given, name)
  // A URI reference has none; and the id of the event is told from its source by the first one.
  if (/\s/.test(textOf(given, 'source'))) throw wrong('source', 'must not have spaces')
  if (given['specversion'] !== '1.0') throw malformed("the attribute specversion must be '1.0'")
  const fields: CallFields = { event: given['type'] }
  if (data.value !== undefined) fields['input'] = data.value
  for (const field of ['key', 'fluxName', 'package']) {
    const name = ATTRIBUTES[field] ?? field
    if (isThere(given[name])) fields[field] = textOf(given, name)
  }
  if (isThere(given['fluxtags']))
    fields['tags'] = textOf(given, 'fluxtags')
      .split(',')
      .map((tag) => tag.trim())
      .filter((tag) => tag !== '')
  if (isThere(given['fluxcontextid'])) fields['contextId'] = numberOf(given, 'fluxcontextid')
  if (isThere(given['fluxttl'])) fields['ttl'] = numberOf(given, 'fluxttl')
  const eventId = eventIdOf(textOf(given, 'source'), textOf(given, 'id'))
  return { value: fields, untyped: data.untyped, eventId }
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
  const format = isThere(type) ? formatOf(String(type), FORMATS) : JSON_FORMAT
  if (packed === undefined) {
    const isXml = format?.untyped === true && typeof data === 'string'
    return isXml ? decode(Buffer.from(data), format) : { value: data ?? undefined, untyped: false }
  }
  if (format === null) throw unsupportedType(`data_base64 must hold ${FORMATS.map((each) => each.type).join(' or ')}`)
  // Buffer passes over what isn't base64.
  if (typeof packed !== 'string' || !BASE64.test(packed)) throw malformed('data_base64 is no base64')
  return decode(Buffer.from(packed, 'base64'), format)
}

/** In the JSON format null is as good as nothing. */
const isThere = (value: unknown): boolean => value !== undefined && value !== null

function textOf(attributes: { readonly [name: string]: unknown }, name: string): string {
  const value = attributes[name]
  if (typeof value === 'string' && value !== '') return value
  throw wrong(name, isThere(value) ? 'must be a text that is not empty' : 'is missing')
}

function wrong(name: string, detail: string): FluxError {
  const errors = [{ pointer: `/${name}`, detail }]
  return new FluxError({ kind: 'malformed', detail: `the attribute ${name} ${detail}`, errors })
}

function numberOf(attributes: { readonly [name: string]: unknown }, name: string): unknown {
  const value = attributes[name]
  return typeof value === 'string' && /^(?:0|[1-9]\d{0,15})$/.test(value) ? Number(value) : value
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
