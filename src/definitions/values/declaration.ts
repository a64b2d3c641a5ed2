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

  text(key: string): string | undefined {
    const value = this.#get(key)
    return value === undefined || typeof value === 'string' ? value : this.#fault(key, `${key} must be text`)
  }

  flag(key: string, otherwise = false): boolean {
    const value = this.#get(key) ?? otherwise
    return typeof value === 'boolean' ? value : (this.#fault(key, `${key} must be true or false`) ?? otherwise)
  }

  list(key: string): readonly Json[] | undefined {
    const value = this.#get(key)
    return value === undefined || Array.isArray(value) ? value : this.#fault(key, `${key} must be a list`)
  }

  /** Everything but the fields of a model. The name is empty after a fault. */
  property(): Property {
    const name = getOwn(this.#source, 'name')
    if (typeof name !== 'string' || name === '') this.#fault('name', 'a property needs a name: text that is not empty')
    const type = this.#type()
    const takesText = type === 'string' || type === 'any' || type === 'byte[]'
    const property: Property = {
      name: typeof name === 'string' ? name : '',
      type,
      array: this.flag('array'),
      required: this.flag('required'),
      allowNull: this.flag('allowNull', true),
      defaultValue: takesText ? (getOwn(this.#source, 'defaultValue') ?? undefined) : this.#get('defaultValue'),
      fields: () => null,
      ...this.#bounds(type),
      allowOtherValues: this.flag('allowOtherValues'),
      sensitive: this.flag('sensitive'),
      source: this.#source,
    }
    return { ...property, choices: this.#choices({ ...property, array: false, allowNull: false }) }
  }

  #type(): PropertyType {
    const type = this.text('type') ?? 'string'
    if (isPropertyType(type)) return type
    this.#fault('type', `"${type}" is no type${alternatives(type, PROPERTY_TYPES)}`)
    return 'any'
  }

  #bounds(type: PropertyType) {
    const isText = type === 'string' || type === 'character'
    const bound = (key: string) =>
      type === 'date'
        ? this.#rule(key, type, true, parseDate, 'a date')
        : this.#rule(key, type, isNumberType(type), numberOf, 'a number')
    const [min, max] = [bound('min'), bound('max')]
    const length = (key: string) => this.#rule(key, type, isText, lengthOf, 'a whole number')
    const [minLength, maxLength] = [length('minLength'), length('maxLength')]
    if (min !== undefined && max !== undefined && compareNumbers(min, max) > 0)
      this.#warn('min', 'it is greater than max: no value fits')
    if (minLength !== undefined && maxLength !== undefined && minLength > maxLength)
      this.#warn('minLength', 'it is greater than maxLength: no value fits')
    return { min, max, minLength, maxLength }
  }

  #rule<T>(key: string, type: PropertyType, applies: boolean, read: (value: Json) => T | null, what: string) {
    const value = this.#get(key)
    if (value === undefined) return undefined
    if (!applies) return this.#ignored(key, `has no effect on a property of type ${type}`)
    return read(value) ?? this.#ignored(key, `must be ${what}`)
  }

  /** `element`: the property of one value. */
  #choices(element: Property): Property['choices'] {
    const value = this.#get('choices')
    if (value === undefined) return undefined
    if (!Array.isArray(value)) return this.#ignored('choices', 'must be a list')
    const choices = new Map<string, Json>()
    for (const [index, choice] of value.entries()) {
      const reader = new PropertyReader(0)
      const read = reader.value(element, choice, 'line')
      if (read !== undefined) choices.set(canonical(read), read)
      else this.#ignored(`choices/${index}`, reader.errors[0]?.detail ?? 'is invalid')
    }
    return choices.size > 0 ? choices : undefined
  }

  #get(key: string): Json | undefined {
    const value = getOwn(this.#source, key)
    return value === null || value === '' ? undefined : value
  }

  #fault(key: string, reason: string): undefined {
    this.#notes.fault(`${this.#pointer}/${key}`, reason)
    return undefined
  }

  #ignored(key: string, reason: string): undefined {
    return this.#warn(key, `${key} ${reason}; it is ignored`)
  }

  #warn(key: string, reason: string): undefined {
    this.#notes.warn(`${this.#pointer}/${key}`, reason)
    return undefined
  }
}

const numberOf = (value: Json) =>
  typeof value === 'number' || (typeof value === 'string' && plainDecimal(value) !== null) ? value : null
const lengthOf = (value: Json) => (/^\d+$/.test(String(value)) ? Number(value) : null)
