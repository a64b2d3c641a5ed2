// http: the fields of a call as a request has them: texts in path and query, data in the body. What they must be,
// `api/` says.
import type { z } from 'zod'
import type { FieldShape } from '../../api/call.ts'
import { NOT_SEPARATED } from '../../api/fields.ts'
import { fieldSchema } from '../../api/json-schema.ts'
import { FluxError } from '../../model/failure.ts'
import { getOwn, isObject } from '../../model/json/value.ts'
import { unknownFields } from '../../model/unknown-fields.ts'
import { isBlank, trimSpace } from '../formats/xml/names.ts'
import type { ReadBody } from './body.ts'

/** `type`: as JSON Schema names it. */
export interface Field {
  readonly type: string | undefined
  readonly canBeNull: boolean
  /** A list: whether a parameter of a query may have several elements, separated by commas. */
  readonly isSeparated: boolean
}
export type FieldsByName = ReadonlyMap<string, Field>

/** What was given, by name; not checked. */
export interface CallFields {
  [name: string]: unknown
}

export const fieldsOf = (shape: FieldShape): FieldsByName =>
  new Map(Object.entries(shape).map(([name, type]) => [name, fieldOf(type)]))

function fieldOf(type: z.core.$ZodType): Field {
  const { type: own, anyOf, [NOT_SEPARATED]: notSeparated } = fieldSchema(type)
  const types = (Array.isArray(anyOf) ? anyOf.map((each) => (isObject(each) ? each['type'] : null)) : [own]).map(String)
  return {
    type: types.find((each) => each !== 'null'),
    canBeNull: types.includes('null'),
    isSeparated: notSeparated !== true,
  }
}

/**
 * A number or a boolean that was sent as text: in a query, or in XML, which needn't tell types. Else the text, for the
 * check to refuse.
 */
export function fromText(text: string, type: string | undefined): unknown {
  if (type === 'integer' && /^(?:0|[1-9]\d*)$/.test(text)) return Number(text)
  return type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text
}

/**
 * Puts those of the body to those of the query. One may be in both, if it is the same.
 * @throws FluxError `malformed` for what is no object, for fields that the call doesn't have, and for those that differ
 */
export function readFields(fields: CallFields, { value, untyped }: ReadBody, known: FieldsByName): CallFields {
  if (!isObject(value))
    throw new FluxError({
      kind: 'malformed',
      detail: 'the body must be an object',
      errors: [{ pointer: '', detail: 'must be an object' }],
    })
  const unknown = unknownFields(Object.keys(value), known)
  if (unknown) throw unknown
  for (const [name, { type, canBeNull }] of known) {
    const given = getOwn(value, name)
    // Null, and what is empty in XML that tells no types, was left out.
    if (
      given === undefined ||
      (canBeNull && (given === null || (untyped && typeof given === 'string' && isBlank(given))))
    )
      continue
    const laid = untyped ? laidOut(given, type) : given
    const field = typeof laid === 'string' ? fromText(laid, type) : laid
    if (fields[name] !== undefined && fields[name] !== field) throw differing(name)
    fields[name] = field
  }
  return fields
}

function differing(name: string): FluxError {
  const errors = [{ pointer: `/${name}`, detail: 'must be the one in the query, or be left out' }]
  return new FluxError({ kind: 'malformed', detail: `${name} differs in the body and in the query`, errors })
}

/** As XML means it that tells no types and may be laid out over lines: there is white space around texts. */
function laidOut(field: unknown, type: string | undefined): unknown {
  // With `item` alone an object looks like a list.
  if (type === 'object' && Array.isArray(field) && field.length > 0)
    return { item: field.length === 1 ? field[0] : field }
  if (type === 'array' && Array.isArray(field)) return field.map(trimmed)
  // A single one is a list of one.
  if (type === 'array' && typeof field === 'string') return [trimSpace(field)]
  return type === 'object' ? field : trimmed(field)
}

const trimmed = (field: unknown): unknown => (typeof field === 'string' ? trimSpace(field) : field)
