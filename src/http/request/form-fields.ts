// http: fields by name, of which any may come several times: queries and forms. A name is data, whatever it is.
import { setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { decodeBody, percentDecode } from './text.ts'

/** All values of each name, in the order in which they came. */
export type FormFields<T> = Map<string, T[]>

export function addField<T>(fields: FormFields<T>, name: string, value: T): void {
  const values = fields.get(name)
  if (values) values.push(value)
  else fields.set(name, [value])
}

/** One value stands for itself, several are a list. */
export function fieldsToJson(fields: FormFields<Json>): JsonObject {
  const object: JsonObject = {}
  for (const [name, values] of fields) {
    const [first = null] = values
    setOwn(object, name, values.length === 1 ? first : values)
  }
  return object
}

/** `a=1&b=2` in its parts, undecoded. */
export const pairsOf = (text: string): string[] => text.split('&').filter((pair) => pair !== '')

/**
 * Decodes what `application/x-www-form-urlencoded` has, and a query.
 * @param pairs each character is a byte
 * @throws FluxError `malformed` for an escape that is broken, or isn't text; `unsupportedType` for an unknown charset
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

/** Most texts have nothing to decode, and to find that out is cheaper. */
const decode = (text: string, charset?: string): string =>
  /[%+\u0080-\u00FF]/.test(text) ? decodeBody(percentDecode(text, { form: true }), charset) : text
