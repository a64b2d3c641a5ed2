// definitions: the types of properties, and the coercion of scalar values. Models, objects and lists: see reader.ts.
import type { Json } from '../../model/json/value.ts'
import { parseDate } from './dates.ts'
import { isNumberType, readNumber } from './numbers.ts'
import { ok, err, type ValueOrigin, type Result } from './coerced.ts'

export const PROPERTY_TYPES = [
  'string',
  'character',
  'boolean',
  'byte',
  'short',
  'integer',
  'long',
  'float',
  'double',
  'bigInteger',
  'bigDecimal',
  'date',
  'byte[]',
  'object',
  'model',
  'any',
] as const

export type PropertyType = (typeof PROPERTY_TYPES)[number]

export const isPropertyType = (type: string): type is PropertyType => PROPERTY_TYPES.some((known) => known === type)

/** `defaultValue` of a date that stands for the time at which the default is used. */
export const NOW = 'now'

/** Types whose values have no fields. `readScalar` coerces them. */
export type ScalarType = Exclude<PropertyType, 'object' | 'model' | 'any'>

/** Coerces a scalar value. `now`: epoch milliseconds. */
export function readScalar(type: ScalarType, given: Json, origin: ValueOrigin, now: number): Result {
  // In XML, line breaks and indentation may surround a value.
  const value =
    origin === 'text' && typeof given === 'string' && type !== 'string' && type !== 'character' ? given.trim() : given
  if (isNumberType(type)) return readNumber(type, value, origin)
  switch (type) {
    case 'string':
      return readText(value, origin)
    case 'character':
      return typeof value === 'string' && isOneCharacter(value)
        ? ok(value)
        : err('must be text of exactly one character')
    case 'boolean':
      return readBoolean(value, origin)
    case 'date':
      return value === NOW && origin === 'default' ? ok(now) : readDate(value)
    case 'byte[]':
      return typeof value === 'string' && isBase64(value) ? ok(value) : err('must be base64 text')
  }
}

function readText(value: Json, origin: ValueOrigin): Result {
  if (typeof value === 'string') return ok(value)
  const becomesText =
    (origin === 'line' || origin === 'default') && (typeof value === 'number' || typeof value === 'boolean')
  return becomesText ? ok(String(value)) : err('must be text')
}

/** Text must be `true` or `false`, in any case. */
function readBoolean(value: Json, origin: ValueOrigin): Result {
  if (typeof value === 'boolean') return ok(value)
  const word = typeof value === 'string' && origin !== 'json' && value.length <= 5 ? value.toLowerCase() : ''
  return word === 'true' || word === 'false' ? ok(word === 'true') : err('must be true or false')
}

function readDate(value: Json): Result {
  const time = parseDate(value)
  return time === null ? err('must be a date: ISO 8601 text or epoch milliseconds') : ok(time)
}

const isOneCharacter = (text: string): boolean => text.length <= 2 && [...text].length === 1

/** Base64 of RFC 4648, section 4, with padding: what `isBase64` accepts, as a single pattern. */
export const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

const isBase64 = (text: string): boolean => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
