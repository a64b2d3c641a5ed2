// http: the fields of queries and forms. A name may occur several times, and may be any text.
import { setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { decodeBody, percentDecode } from './text.ts'

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

/** Splits `a=1&b=2` into its pairs, which are not decoded. */
export const pairsOf = (text: string): string[] => text.split('&').filter((pair) => pair !== '')

/**
 * Decodes the pairs of a query, or of a body of `application/x-www-form-urlencoded`.
 * @param pairs each character is a byte
 * @throws FluxError `malformed` for an invalid escape, or bytes that are no text in the charset; `unsupportedType` for
 * an unknown charset
 */
export function readPairs(pairs: readonly string[], charset?: string): FormFields<string> {
  const fields: FormFields<string> = new Map()
  for (const pair of pairs) {
    const equals = pair.indexOf('=')
    const [name, value] = equals === -1 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
    addField(fields, decode(name, charset), decode(value, charset))
  }
  return fields
}

/** Most texts contain nothing to decode, and checking for that is cheaper than decoding. */
const decode = (text: string, charset?: string): string =>
  /[%+\u0080-\u00FF]/.test(text) ? decodeBody(percentDecode(text, { form: true }), charset) : text
