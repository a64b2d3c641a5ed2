// http: the fields of queries and forms. A name may occur several times, and may be any text.
import type { Context } from 'hono'
import { FluxError, unsupportedType } from '../../model/failure.ts'
import { setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import type { BodyAdmission, BodyLimits } from './body.ts'
import { headerOf, readBytes, type Env } from './incoming.ts'
import { readHeaderValue, unescaped, utf8Of } from './text.ts'

/** The values of each name, in the order in which they were sent. */
export type FormFields<T> = Map<string, T[]>

export function addField<T>(fields: FormFields<T>, name: string, value: T): void {
  const values = fields.get(name)
  if (values) values.push(value)
  else fields.set(name, [value])
}

/** A name with one value has that value; with several, a list of them. */
export function fieldsToJson(fields: FormFields<Json>): JsonObject {
  const object: JsonObject = {}
  for (const [name, values] of fields) {
    const [first = null] = values
    setOwn(object, name, values.length === 1 ? first : values)
  }
  return object
}

/**
 * The fields of a query, or of a body of `application/x-www-form-urlencoded`.
 * @param kind of the failure for more than `maxParts` fields
 * @throws FluxError `malformed` for an invalid escape
 */
export function formFieldsOf(
  text: string,
  maxParts = Infinity,
  kind: 'tooLarge' | 'malformed' = 'tooLarge',
): FormFields<string> {
  const pairs = text.split('&').filter((pair) => pair !== '')
  if (pairs.length > maxParts) throw new FluxError({ kind, detail: `there are more than ${maxParts} fields` })
  const fields: FormFields<string> = new Map()
  for (const pair of pairs) {
    const equals = pair.indexOf('=')
    const name = equals === -1 ? pair : pair.slice(0, equals)
    addField(fields, decodeField(name), equals === -1 ? '' : decodeField(pair.slice(equals + 1)))
  }
  return fields
}

/** Most texts contain nothing to decode, and checking for that is cheaper than decoding. @throws FluxError `malformed` */
const decodeField = (text: string): string =>
  // Replacing by a pattern takes a tenth of a second for a megabyte of pluses.
  /[%+]/.test(text) ? unescaped(text.split('+').join(' '), 'an escape') : text

export interface FormLimits extends Pick<BodyLimits, 'maxBody'>, BodyAdmission {
  /** Most fields of a form. */
  readonly maxParts: number
}

/**
 * Reads the form of a page.
 * @throws FluxError `unsupportedType`, `tooLarge`, `malformed`; `overloaded` when the budget is used up
 */
export async function readForm(
  c: Context<Env>,
  { maxBody, maxParts, inFlight }: FormLimits,
): Promise<FormFields<string>> {
  const { value: type } = readHeaderValue(headerOf(c, 'content-type') ?? '')
  if (type !== 'application/x-www-form-urlencoded') throw unsupportedType('the body must be a form')
  const hold = inFlight.hold()
  try {
    return await readBytes(c, { limit: maxBody, charge: hold.resize }, (bytes) => formFieldsOf(utf8Of(bytes), maxParts))
  } finally {
    hold.release()
  }
}
