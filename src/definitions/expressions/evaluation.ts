// definitions/expressions: the state of one evaluation, and the limits on its work and on the data that it creates.
import { setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { CHARACTERS_A_STEP, STEPS_AN_ELEMENT, stepsOfMembers } from '../work-budget.ts'
import { ExpressionError, type Scope } from './expression.ts'

/**
 * A value during an evaluation. Unlike JSON data, lists and objects that the expression creates may contain undefined
 * and NaN until `settle`.
 */
export type Value = undefined | null | boolean | number | string | List | Fields
export type List = readonly Value[]
export interface Fields {
  readonly [key: string]: Value
}

export const isList = (value: Value): value is List => Array.isArray(value)
export const isFields = (value: Value): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A compiled part of an expression. */
export type Code = (run: Evaluation) => Value
/** A method of a text, a number or a list. */
export type Method<Self> = (run: Evaluation, self: Self, args: List) => Value

/**
 * Maximum number of characters, list elements and object members that one evaluation may create, and that a result made
 * of new lists or objects may have.
 */
export const MAX_MADE_CHARACTERS = 4_000_000
/**
 * Maximum number of steps of one evaluation. It is less than that of a decision, so that an `$exception` transition
 * still has steps left.
 */
const MAX_STEPS = 2_000_000
/** Characters that are created in one step. They also take memory. */
const MADE_A_STEP = 16
/** Steps to register a new list or object, and to copy it when the result is settled. */
const STEPS_TO_OWN = 12
const STEPS_TO_MEASURE = 6
/** Maximum nesting of a value that is measured or written as text. */
const MAX_DEPTH = 200

export class Evaluation {
  readonly scope: Scope
  /** Values of the parameters of arrow functions. No function is recursive, so each parameter has one index. */
  readonly parameters: Value[] = []
  private size = 0
  private steps = 0
  /** The lists and objects that the expression created, with their plain data once it is known. */
  private made: Map<object, Json | undefined> | undefined

  /** Number of texts joined so far. */
  joins = 0

  constructor(scope: Scope) {
    this.scope = scope
  }

  /** Charges characters, elements or members. It must be called before they are created. */
  make(count: number): void {
    this.size += count
    if (!(this.size <= MAX_MADE_CHARACTERS))
      throw new ExpressionError(`the expression makes more than ${MAX_MADE_CHARACTERS} characters and elements`)
    this.spend(count / MADE_A_STEP)
  }

  /** Charges steps. It must be called before the work is done. */
  spend(steps: number): void {
    this.steps += steps
    if (!(this.steps <= MAX_STEPS)) throw new ExpressionError(`the expression takes more than ${MAX_STEPS} steps`)
    this.scope.budget.spend(steps)
  }

  /** Charges characters that V8 reads, copies or compares. It must be called before. */
  scan(characters: number): void {
    this.spend(characters / CHARACTERS_A_STEP)
  }

  /** Charges elements that are created one by one. It must be called before. */
  makeElements(count: number): void {
    this.make(count)
    this.spend(count * STEPS_AN_ELEMENT)
  }

  /** Charges members that are listed or created. It must be called before. */
  makeMembers(count: number): void {
    this.make(count)
    this.spend(stepsOfMembers(count))
  }

  /** Registers a list or an object that the expression created. */
  own<T extends List | Fields>(container: T): T {
    this.spend(STEPS_TO_OWN)
    this.made ??= new Map()
    this.made.set(container, undefined)
    return container
  }

  /** Charges a value as if it were copied. A part that occurs several times counts each time. */
  measure(value: Value, depth = 0): void {
    if (typeof value === 'string') this.make(value.length)
    if (typeof value !== 'object' || value === null) return
    if (depth === MAX_DEPTH) throw new ExpressionError(`a value is nested deeper than ${MAX_DEPTH}`)
    const items = isList(value) ? value : Object.values(value)
    this.spend(STEPS_TO_MEASURE + (isList(value) ? items.length * STEPS_AN_ELEMENT : stepsOfMembers(items.length)))
    this.make(items.length)
    if (!isList(value)) for (const key of Object.keys(value)) this.make(key.length)
    for (const item of items) this.measure(item, depth + 1)
  }

  /** Returns the result as plain data. It shares parts with the given data and must not be changed. */
  settle(value: Value): Json {
    if (this.made !== undefined && typeof value === 'object') {
      this.size = 0
      this.measure(value)
    }
    return this.plain(value)
  }

  private plain(value: Value): Json {
    if (value === undefined) return null
    if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null
    if (typeof value !== 'object' || value === null || this.isGiven(value)) return value
    const known = this.made?.get(value)
    if (known !== undefined) return known
    const copy = isList(value) ? value.map((item) => this.plain(item)) : this.plainFields(value)
    this.made?.set(value, copy)
    return copy
  }

  private plainFields(fields: Fields) {
    const copy: JsonObject = {}
    for (const [key, item] of Object.entries(fields)) setOwn(copy, key, this.plain(item))
    return copy
  }

  private isGiven(value: List | Fields): value is Json[] | JsonObject {
    return this.made?.has(value) !== true
  }
}
