// definitions: reads the fields of one property declaration, and reports those that are invalid.
import { getOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { alternatives } from '../../model/nearest.ts'
import { parseDate } from './dates.ts'
import { parseDecimal } from './decimals.ts'
import { compareNumbers, isNumberType } from './numbers.ts'
import { PropertyReader } from './reader.ts'
import { isPropertyType, PROPERTY_TYPES, type PropertyType } from './types.ts'
import type { Property } from './property.ts'
import type { Report } from '../report.ts'

export type DeclarationNotes = Pick<Report, 'fault' | 'warn'>

/** One declaration. Null and empty text count as absent, since editors write them. */
export class Declaration {
  readonly #source: JsonObject
  readonly #pointer: string
  readonly #notes: DeclarationNotes

  constructor(source: JsonObject, pointer: string, notes: DeclarationNotes) {
    this.#source = source
    this.#pointer = pointer
    this.#notes = notes
  }

  /** The name; empty after a fault. */
  name(): string {
    const name = getOwn(this.#source, 'name')
    if (typeof name === 'string' && name !== '') return name
    this.#notes.fault(`${this.#pointer}/name`, 'a property needs a name: text that is not empty')
    return ''
  }

  type(): PropertyType {
    const type = this.text('type') ?? 'string'
    if (isPropertyType(type)) return type
    this.#notes.fault(`${this.#pointer}/type`, `"${type}" is no type${alternatives(type, PROPERTY_TYPES)}`)
    return 'any'
  }

  text(key: string): string | null {
    const value = this.#get(key)
    if (value === undefined || typeof value === 'string') return value ?? null
    this.#notes.fault(`${this.#pointer}/${key}`, `${key} must be text`)
    return null
  }

  flag(key: string, otherwise: boolean): boolean {
    const value = this.#get(key)
    if (value === undefined || typeof value === 'boolean') return value ?? otherwise
    this.#notes.fault(`${this.#pointer}/${key}`, `${key} must be true or false`)
    return otherwise
  }

  list(key: string): readonly Json[] | null {
    const value = this.#get(key)
    if (value === undefined || Array.isArray(value)) return value ?? null
    this.#notes.fault(`${this.#pointer}/${key}`, `${key} must be a list`)
    return null
  }

  defaultValue(type: PropertyType): Json | undefined {
    const isText = type === 'string' || type === 'any' || type === 'byte[]'
    return isText ? (getOwn(this.#source, 'defaultValue') ?? undefined) : this.#get('defaultValue')
  }

  bounds(type: PropertyType): Pick<Property, 'min' | 'max' | 'minLength' | 'maxLength'> {
    const [min, max] = [this.#bound('min', type), this.#bound('max', type)]
    if (min !== undefined && max !== undefined && compareNumbers(min, max) > 0)
      this.#warn('min', 'it is greater than max: no value fits')
    const [minLength, maxLength] = [this.#length('minLength', type), this.#length('maxLength', type)]
    if (minLength !== undefined && maxLength !== undefined && minLength > maxLength)
      this.#warn('minLength', 'it is greater than maxLength: no value fits')
    return { min, max, minLength, maxLength }
  }

  choices(property: Property): readonly Json[] | undefined {
    const value = this.#get('choices')
    if (value === undefined) return undefined
    if (!Array.isArray(value)) return this.#ignored('choices', 'choices must be a list')
    const element = { ...property, array: false, allowNull: false, fields: () => null }
    const coerced = value.flatMap((choice, index) => {
      const reader = new PropertyReader(0, '')
      const read = reader.value(element, choice, 'line')
      if (read === undefined)
        this.#ignored(`choices/${index}`, `the choice ${reader.errors[0]?.detail ?? 'is invalid'}`)
      return read === undefined ? [] : [read]
    })
    return coerced.length > 0 ? coerced : undefined
  }

  #bound(key: 'min' | 'max', type: PropertyType): number | string | undefined {
    const value = this.#get(key)
    if (value === undefined) return undefined
    if (type === 'date') return parseDate(value) ?? this.#ignored(key, `${key} must be a date`)
    if (!isNumberType(type)) return this.#ignored(key, `${key} has no effect on a property of type ${type}`)
    const isNumber = typeof value === 'number' || (typeof value === 'string' && parseDecimal(value) !== null)
    return isNumber ? value : this.#ignored(key, `${key} must be a number`)
  }

  #length(key: 'minLength' | 'maxLength', type: PropertyType): number | undefined {
    const value = this.#get(key)
    if (value === undefined) return undefined
    if (type !== 'string' && type !== 'character')
      return this.#ignored(key, `${key} has no effect on a property of type ${type}`)
    const length = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
    return typeof length === 'number' && Number.isInteger(length) && length >= 0
      ? length
      : this.#ignored(key, `${key} must be a whole number`)
  }

  #get(key: string): Json | undefined {
    const value = getOwn(this.#source, key)
    return value === null || value === '' ? undefined : value
  }

  #ignored(key: string, reason: string): undefined {
    this.#warn(key, `${reason}; it is ignored`)
    return undefined
  }

  #warn(key: string, reason: string): void {
    this.#notes.warn(`${this.#pointer}/${key}`, reason)
  }
}
