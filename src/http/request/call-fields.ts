// http: the fields of a call as the request has them: texts in path and query, data in the body. The schemas in `api/`
// check them.
import { fieldSchema, fieldText, type FieldShape } from '../../api/call.ts'
import { AS_IT_IS, NOT_SEPARATED } from '../../api/fields.ts'
import { malformed } from '../../model/failure.ts'
import { getOwn, isObject, type JsonObject } from '../../model/json/value.ts'
import { unknownFields } from '../../model/unknown-fields.ts'
import { isBlank, trimSpace } from '../formats/xml/names.ts'
import type { ReadBody } from './body.ts'

/** `type`: the name of the type in JSON Schema. */
export interface Field {
  readonly type: string | undefined
  readonly canBeNull: boolean
  /** A list: whether a parameter of a query may have several elements, separated by commas. */
  readonly isSeparated: boolean
  /** For an object: the fields that it may have; null: any. */
  readonly fields?: FieldsByName | undefined
  /** A text: in XML without types, white space around it belongs to it, and an empty one is not left out. */
  readonly isExact: boolean
}
export type FieldsByName = ReadonlyMap<string, Field>

/** The fields that were sent, by name; unchecked. */
export interface CallFields {
  [name: string]: unknown
}

export const fieldsOf = (shape: FieldShape): FieldsByName =>
  new Map(Object.entries(shape).map(([name, type]) => [name, fieldOf(fieldSchema(type))]))

function fieldOf(schema: JsonObject): Field {
  const { anyOf, [NOT_SEPARATED]: notSeparated } = schema
  const some = Array.isArray(anyOf) ? anyOf.filter(isObject) : [schema]
  const types = some.map(({ type }) => String(type))
  const [properties] = some.flatMap((each) => getOwn(each, 'properties') ?? [])
  return {
    type: types.find((each) => each !== 'null'),
    canBeNull: types.includes('null'),
    isSeparated: notSeparated !== true,
    fields: isObject(properties)
      ? new Map(Object.entries(properties).map(([name, each]) => [name, fieldOf(isObject(each) ? each : {})]))
      : undefined,
    isExact: some.some((each) => each[AS_IT_IS] === true),
  }
}

/** Digits as text are taken for it in every format. In JSON, texts stand for no other number, and for no boolean. */
const ID = 'contextId'

/**
 * Adds the fields of the body to those of the query. A field may be in both with the same value.
 * @throws FluxError `malformed` if the body is no object, has fields that the call does not know, or differs from the
 * query
 */
export function readFields(fields: CallFields, { value, untyped }: ReadBody, known: FieldsByName): CallFields {
  if (!isObject(value)) throw malformed('the body must be an object', [{ pointer: '', detail: 'must be an object' }])
  const unknown = unknownFields(Object.keys(value), known)
  if (unknown) throw unknown
  for (const [name, field] of known) {
    const sent = getOwn(value, name)
    // Null, and an empty element in XML without types, count as left out.
    const isEmpty = untyped && !field.isExact && typeof sent === 'string' && isBlank(sent)
    if (sent === undefined || (field.canBeNull && (sent === null || isEmpty))) continue
    const isDigits = !untyped && name === ID && typeof sent === 'string'
    const read = isDigits ? fieldText(sent, field.type) : valueOf(sent, field, untyped)
    if (fields[name] !== undefined && fields[name] !== read)
      throw malformed(`${name} differs in the body and in the query`, [
        { pointer: `/${name}`, detail: 'must be the one in the query, or be left out' },
      ])
    fields[name] = read
  }
  return fields
}

function valueOf(sent: unknown, { type, fields, isExact }: Field, untyped: boolean): unknown {
  const typed = untyped && !isExact ? fromUntyped(sent, type) : sent
  if (untyped && fields && isObject(typed)) return fieldsInside(typed, fields)
  return untyped && typeof typed === 'string' ? fieldText(typed, type) : typed
}

/** The fields of an object in XML without types: declared ones by their types, others as they are. */
function fieldsInside(object: JsonObject, known: FieldsByName): CallFields {
  const fields: [string, unknown][] = []
  for (const [name, sent] of Object.entries(object)) {
    const field = known.get(name)
    const value = field ? valueOf(sent, field, true) : sent
    if (!(field?.canBeNull && !field.isExact && typeof sent === 'string' && isBlank(sent))) fields.push([name, value])
  }
  return Object.fromEntries(fields)
}

/** A field of XML without types, in which white space around texts does not matter. */
function fromUntyped(field: unknown, type: string | undefined): unknown {
  // An object whose only field is `item` was decoded as a list.
  if (type === 'object' && Array.isArray(field) && field.length > 0)
    return { item: field.length === 1 ? field[0] : field }
  if (type === 'array' && Array.isArray(field)) return field.map(trimmed)
  // A single text is a list of one.
  if (type === 'array' && typeof field === 'string') return [trimSpace(field)]
  return type === 'object' ? field : trimmed(field)
}

const trimmed = (field: unknown): unknown => (typeof field === 'string' ? trimSpace(field) : field)
