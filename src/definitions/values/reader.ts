// definitions: validates and coerces values by declared properties. It collects all errors and never changes the given
// values.
import { shortened } from '../../model/error-message.ts'
import { escapedKey, type FieldError } from '../../model/failure.ts'
import { excessOf } from '../../model/json/text.ts'
import { canonical, getOwn, isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { spendOn, WorkBudget } from '../work-budget.ts'
import { parseJsonText } from './json-text.ts'
import type { Property, Shape } from './property.ts'
import { compareNumbers, readScalar, type Refuse, type ValueOrigin } from './types.ts'

/**
 * Limits for errors. Further errors are dropped, so that the answer to a hostile request is not larger than the
 * request.
 */
const MAX_ERRORS = 100
const MAX_ERROR_CHARACTERS = 65_536
/** Maximum number of characters of a name in a pointer. */
const MAX_SEGMENT_CHARACTERS = 1000

/** Limits for data that comes as JSON text: depth, and number of values and names. They are those of a request. */
const MAX_TEXT_DEPTH = 64
const MAX_TEXT_VALUES = 100_000

/** Steps to coerce a value, besides the steps for its content. */
const STEPS_A_VALUE = 8
/** Characters that are read in one step; each is examined a few times. */
const READ_AT_ONCE = 4

export interface ShapeRules {
  /** What is done with names that are not declared. */
  readonly unknown: 'refuse' | 'ignore' | 'keep'
  /**
   * What is done with those of them that begin with `$`, if such names have a special meaning where the values are
   * used. By default they are kept.
   */
  readonly reserved?: 'refuse' | 'ignore'
  /** Whether absent properties get their defaults. Those inside a given model always do. */
  readonly fill: boolean
}

export class PropertyReader {
  readonly errors: FieldError[] = []
  readonly #now: number
  readonly #pointer: string
  readonly #budget: WorkBudget
  readonly #path: (string | number)[] = []
  /** The properties whose defaults are being filled in, to detect a default that contains itself. */
  readonly #filling = new Set<Property>()
  #errorText = 0

  /**
   * `now`: epoch milliseconds. `pointer`: JSON pointer of the given value in the request. Each method throws
   * TooMuchWork beyond the budget.
   */
  constructor(now: number, pointer = '', budget = new WorkBudget()) {
    this.#now = now
    this.#budget = budget
    this.#pointer = pointer
  }

  /** Reads the values of a shape's properties. An invalid value is left out, with an error. */
  shape(shape: Shape, given: JsonObject, origin: ValueOrigin, rules: ShapeRules): JsonObject {
    const result: JsonObject = {}
    for (const [name, property] of shape.properties) {
      const value = this.#within(name, () => this.#field(property, getOwn(given, name), origin, rules.fill))
      if (value !== undefined) setOwn(result, name, value)
    }
    if (rules.unknown === 'ignore' && !shape.extra) return result
    for (const name of Object.keys(given)) {
      const value = given[name]
      if (value === undefined || shape.properties.has(name)) continue
      const open = shape.extra || rules.unknown === 'keep'
      const rule = open && name.startsWith('$') ? (rules.reserved ?? 'keep') : open ? 'keep' : rules.unknown
      if (rule === 'keep') setOwn(result, name, value)
      if (rule !== 'refuse') continue
      // Stops early, since there may be very many.
      if (this.#isFull()) break
      this.#within(name, () => this.#refuse(open ? 'is not declared, and begins with $' : 'is not declared'))
    }
    return result
  }

  /** Coerces a value to its property; undefined after an error. */
  value(property: Property, given: Json, origin: ValueOrigin): Json | undefined {
    if (given === null || !property.array) return this.#single(property, given, origin)
    const list = Array.isArray(given) ? given : origin === 'json' ? null : listOfOne(property, given, origin)
    if (list === null) return this.#refuse('must be a list')
    this.#spendOnGiven(list.length * STEPS_A_VALUE, origin)
    const result: Json[] = []
    for (const [index, item] of list.entries()) {
      const value = this.#within(index, () => this.#single(property, item, origin))
      if (value !== undefined) result.push(value)
    }
    return result
  }

  /**
   * The property's default, in which `now` is the time given to the constructor; undefined if it has none or after an
   * error.
   */
  defaultOf(property: Property): Json | undefined {
    if (property.defaultValue === undefined) return undefined
    if (this.#filling.has(property)) return this.#refuse('has a default that contains itself')
    this.#filling.add(property)
    const value = this.value(property, property.defaultValue, 'default')
    this.#filling.delete(property)
    return value
  }

  #field(property: Property, given: Json | undefined, origin: ValueOrigin, fill: boolean): Json | undefined {
    if (given !== undefined) {
      this.#spendOnGiven(STEPS_A_VALUE, origin)
      return this.value(property, given, origin)
    }
    this.#budget.spend(STEPS_A_VALUE)
    if (fill && property.defaultValue !== undefined) return this.defaultOf(property)
    return property.required ? this.#refuse('is required') : undefined
  }

  #single(property: Property, given: Json, origin: ValueOrigin): Json | undefined {
    if (given === null) return property.allowNull ? null : this.#refuse('must not be null')
    const { type } = property
    if (type === 'object' || type === 'model') return this.#object(property, given, origin)
    if (type === 'any') return this.#checked(property, given, origin)
    if (typeof given === 'string') this.#spendOnGiven(given.length / READ_AT_ONCE, origin)
    const value = readScalar(type, given, origin, this.#now, this.#refuse)
    // A short text may denote a number of thousands of digits.
    if (typeof value === 'string' && value !== given) this.#budget.spend(value.length / READ_AT_ONCE)
    return value === undefined ? undefined : this.#checked(property, value, origin)
  }

  /** The value, if it breaks no rule of the property: a default may break them. */
  #checked<T extends Json>(property: Property, value: T, origin: ValueOrigin): T | undefined {
    if (origin === 'default') return value
    if (property.choices && origin === 'line') spendOn(value, this.#budget)
    const broken = brokenRule(property, value)
    return broken === null ? value : this.#refuse(broken)
  }

  #object(property: Property, given: Json, origin: ValueOrigin): JsonObject | undefined {
    const isText = typeof given === 'string' && origin !== 'json'
    const found = isText ? this.#parsed(given, origin) : origin === 'text' ? objectOfItems(given) : given
    if (found === undefined) return undefined
    const object = isObject(found) ? this.#checked(property, found, origin) : this.#refuse('must be an object')
    const fields = property.fields()
    return fields === null || object === undefined
      ? object
      : this.shape(fields, object, isText && origin === 'text' ? 'json' : origin, { unknown: 'refuse', fill: true })
  }

  /** Charges steps, but not for values of requests: the size of a request bounds these already. */
  #spendOnGiven(steps: number, origin: ValueOrigin) {
    if (origin === 'line' || origin === 'default') this.#budget.spend(steps)
  }

  /** Parses JSON text for an object. */
  #parsed(text: string, origin: ValueOrigin): Json | undefined {
    if (isBlank(text, origin)) return {}
    // Each value takes at least one character.
    if (text.length > MAX_TEXT_VALUES && excessOf(text, { maxDepth: Infinity, maxValues: MAX_TEXT_VALUES }))
      return this.#refuse(`holds more than ${MAX_TEXT_VALUES} values and names`)
    try {
      const value = parseJsonText(text, MAX_TEXT_DEPTH, this.#budget)
      if (isObject(value)) return value
    } catch (error) {
      if (error instanceof RangeError) return this.#refuse(error.message)
      if (!(error instanceof SyntaxError)) throw error
    }
    return this.#refuse('must be an object, or one as JSON text')
  }

  #within<T>(segment: string | number, read: () => T): T {
    this.#path.push(segment)
    const result = read()
    this.#path.pop()
    return result
  }

  readonly #refuse: Refuse = (detail) => {
    if (this.#isFull()) return undefined
    const segments = this.#path.map(String)
    const pointer = segments.map((name) => `/${escapedKey(shortened(name, MAX_SEGMENT_CHARACTERS))}`).join('')
    this.errors.push({ pointer: this.#pointer + pointer, detail })
    // The full length of the names counts, though the pointer shortens long ones.
    this.#errorText += segments.join('').length + pointer.length + detail.length
    return undefined
  }

  #isFull() {
    return this.errors.length >= MAX_ERRORS || this.#errorText > MAX_ERROR_CHARACTERS
  }
}

/**
 * Whether the text is an empty XML element, or a query parameter without value, which stands for an empty list or
 * object.
 */
const isBlank = (text: string, origin: ValueOrigin) => origin === 'text' && text.trim() === ''

/** A single text, or in untyped XML a single model, is a list of one element. */
function listOfOne({ type }: Property, given: Json, origin: ValueOrigin) {
  if (typeof given === 'string') return isBlank(given, origin) ? [] : [given]
  return origin === 'text' && type === 'model' && isObject(given) ? [given] : null
}

/** Untyped XML does not distinguish a list from an object whose only member is `item`. */
const objectOfItems = (given: Json) =>
  Array.isArray(given) && given[0] !== undefined ? { item: given.length === 1 ? given[0] : given } : given

/**
 * Returns the first rule of the property beyond its type that a value breaks, as a message; null if it breaks none. The
 * value has the property's type; the choices of a model are compared with the fields that were given.
 */
function brokenRule(property: Property, value: Json) {
  const { type, min, max, minLength, maxLength, choices } = property
  if (typeof value === 'number' || typeof value === 'string') {
    if (min !== undefined && compareNumbers(value, min) < 0) return `must not be less than ${shown(type, min)}`
    if (max !== undefined && compareNumbers(value, max) > 0) return `must not be greater than ${shown(type, max)}`
  }
  if (typeof value === 'string' && (minLength !== undefined || maxLength !== undefined)) {
    const length = codePoints(value)
    if (minLength !== undefined && length < minLength) return `must have at least ${minLength} characters`
    if (maxLength !== undefined && length > maxLength) return `must have at most ${maxLength} characters`
  }
  if (choices === undefined || property.allowOtherValues || choices.has(canonical(value))) return null
  return 'is not one of the choices'
}

const shown = (type: Property['type'], bound: number | string) =>
  type === 'date' ? new Date(bound).toISOString() : String(bound)

function codePoints(text: string) {
  let count = 0
  for (const _ of text) count++
  return count
}
