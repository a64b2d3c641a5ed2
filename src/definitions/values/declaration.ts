// definitions: reads the fields of one property declaration, and reports those that are invalid.
import { canonical, getOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { alternatives } from '../../model/nearest.ts'
import type { Report } from '../report.ts'
import { parseDate } from './dates.ts'
import { plainDecimal } from './decimals.ts'
import type { Property } from './property.ts'
import { PropertyReader } from './reader.ts'
import { compareNumbers, isNumberType, isPropertyType, PROPERTY_TYPES, type PropertyType } from './types.ts'

export type DeclarationNotes = Pick<Report, 'fault' | 'warn'>

/** Reads the keys of one declaration. Null and empty text count as absent, since editors write them. */
export function keysOf(source: JsonObject, pointer: string, notes: DeclarationNotes) {
  const get = (key: string) => {
    const value = getOwn(source, key)
    return value === null || value === '' ? undefined : value
  }
  const fault = (key: string, reason: string) => notes.fault(`${pointer}/${key}`, reason) ?? undefined
  const warn = (key: string, reason: string) => notes.warn(`${pointer}/${key}`, reason) ?? undefined
  const ignored = (key: string, reason: string) => warn(key, `${key} ${reason}; it is ignored`)
  const text = (key: string) => {
    const value = get(key)
    return value === undefined || typeof value === 'string' ? value : fault(key, `${key} must be text`)
  }
  const flag = (key: string, otherwise = false) => {
    const value = get(key) ?? otherwise
    return typeof value === 'boolean' ? value : (fault(key, `${key} must be true or false`) ?? otherwise)
  }
  const list = (key: string) => {
    const value = get(key)
    return value === undefined || Array.isArray(value) ? value : fault(key, `${key} must be a list`)
  }
  return { source, get, text, flag, list, fault, warn, ignored }
}

export type Keys = ReturnType<typeof keysOf>

/** The declared property, without the fields of a model. Its name is empty after a fault. */
export function propertyOf(keys: Keys) {
  const { source, get, flag, fault } = keys
  const name = get('name')
  if (typeof name !== 'string') fault('name', 'a property needs a name: text that is not empty')
  const type = typeOf(keys)
  const takesText = type === 'string' || type === 'any' || type === 'byte[]'
  const property: Property = {
    name: typeof name === 'string' ? name : '',
    type,
    array: flag('array'),
    required: flag('required'),
    allowNull: flag('allowNull', true),
    defaultValue: takesText ? (getOwn(source, 'defaultValue') ?? undefined) : get('defaultValue'),
    fields: () => null,
    ...boundsOf(type, keys),
    allowOtherValues: flag('allowOtherValues'),
    sensitive: flag('sensitive'),
    source,
  }
  return { ...property, choices: choicesOf({ ...property, array: false, allowNull: false }, keys) }
}

function typeOf({ text, fault }: Keys): PropertyType {
  const type = text('type') ?? 'string'
  if (isPropertyType(type)) return type
  fault('type', `"${type}" is no type${alternatives(type, PROPERTY_TYPES)}`)
  return 'any'
}

function boundsOf(type: PropertyType, { get, warn, ignored }: Keys) {
  const rule = <T>(key: string, applies: boolean, read: (value: Json) => T | null, what: string) => {
    const value = get(key)
    if (value === undefined) return undefined
    if (!applies) return ignored(key, `has no effect on a property of type ${type}`)
    return read(value) ?? ignored(key, `must be ${what}`)
  }
  const bound = (key: string) =>
    type === 'date' ? rule(key, true, parseDate, 'a date') : rule(key, isNumberType(type), numberOf, 'a number')
  const length = (key: string) => rule(key, type === 'string' || type === 'character', lengthOf, 'a whole number')
  const [min, max, minLength, maxLength] = [bound('min'), bound('max'), length('minLength'), length('maxLength')]
  if (min !== undefined && max !== undefined && compareNumbers(min, max) > 0)
    warn('min', 'it is greater than max: no value fits')
  if (minLength !== undefined && maxLength !== undefined && minLength > maxLength)
    warn('minLength', 'it is greater than maxLength: no value fits')
  return { min, max, minLength, maxLength }
}

/** `element`: the property of one value. */
function choicesOf(element: Property, { get, ignored }: Keys) {
  const value = get('choices')
  if (value === undefined) return undefined
  if (!Array.isArray(value)) return ignored('choices', 'must be a list')
  const choices = new Map<string, Json>()
  for (const [index, choice] of value.entries()) {
    const reader = new PropertyReader(0)
    const read = reader.value(element, choice, 'line')
    if (read !== undefined) choices.set(canonical(read), read)
    else ignored(`choices/${index}`, reader.errors[0]?.detail ?? 'is invalid')
  }
  return choices.size > 0 ? choices : undefined
}

const numberOf = (value: Json) =>
  typeof value === 'number' || (typeof value === 'string' && plainDecimal(value) !== null) ? value : null
const lengthOf = (value: Json) => (/^\d+$/.test(String(value)) ? Number(value) : null)
