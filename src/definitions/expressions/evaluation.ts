// definitions/expressions: one evaluation: what it sees, and the bounds that end one that takes too long or makes too
// much.
import type { Json, JsonObject } from '../../model/json/value.ts'
import { setOwn } from '../../model/json/value.ts'
import { CHARACTERS_A_STEP, STEPS_AN_ELEMENT, stepsOfMembers } from '../work-budget.ts'
import type { Scope } from './expression.ts'
import { ExpressionError } from './expression.ts'

/**
 * What an expression computes with: data, save that lists and objects of its own making may hold undefined and NaN,
 * until `settle`.
 */
export type Value = undefined | null | boolean | number | string | List | Fields
export type List = readonly Value[]
export interface Fields {
  readonly [key: string]: Value
}

export const isList = (value: Value): value is List => Array.isArray(value)
export const isFields = (value: Value): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A part of an expression, compiled. */
export type Code = (run: Evaluation) => Value

/**
 * Characters, list elements and object members that one evaluation may make; also how large a result may be that it put
 * together.
 */
export const MAX_MADE_CHARACTERS = 4_000_000
/**
 * Steps that one evaluation may take: less than a decision may, so that an `$exception` transition has something left.
 */
const MAX_STEPS = 2_000_000
/** Characters that are made in one step: they take room, too. */
const MADE_A_STEP = 16
/** A list or an object that is made is entered into a table, and copied when the result is settled. */
const STEPS_TO_OWN = 12
const STEPS_TO_MEASURE = 6
/** Nesting of a value that is measured or written as text. */
const MAX_DEPTH = 200

export class Evaluation {
  readonly scope: Scope
  /** Values of the parameters of arrow functions. None calls itself, so each parameter has one place. */
  readonly parameters: Value[] = []
  private size = 0
  private steps = 0
  /** The lists and objects that the expression made, and what they are as plain data, once that is known. */
  private made: Map<object, Json | undefined> | undefined

  /** Texts that were joined so far. */
  joins = 0

  constructor(scope: Scope) {
    this.scope = scope
  }

  /** To be called before so many characters, elements or members are made. */
  make(count: number): void {
    this.size += count
    if (!(this.size <= MAX_MADE_CHARACTERS))
      throw new ExpressionError(`the expression makes more than ${MAX_MADE_CHARACTERS} characters and elements`)
    this.spend(count / MADE_A_STEP)
  }

  /** To be called before so many nodes are evaluated, or as much is done. */
  spend(steps: number): void {
    this.steps += steps
    if (!(this.steps <= MAX_STEPS)) throw new ExpressionError(`the expression takes more than ${MAX_STEPS} steps`)
    this.scope.budget.spend(steps)
  }

  /** To be called before the engine reads, copies or compares so many characters. */
  scan(characters: number): void {
    this.spend(characters / CHARACTERS_A_STEP)
  }

  /** To be called before so many elements are made, one by one. */
  makeElements(count: number): void {
    this.make(count)
    this.spend(count * STEPS_AN_ELEMENT)
  }

  /** To be called before the members of an object are listed, or so many are made. */
  makeMembers(count: number): void {
    this.make(count)
    this.spend(stepsOfMembers(count))
  }

  /** Says that a list or an object is of the expression's own making. */
  own<T extends List | Fields>(container: T): T {
    this.spend(STEPS_TO_OWN)
    this.made ??= new Map()
    this.made.set(container, undefined)
    return container
  }

  /** Counts a value as if it were copied, however often it holds the same list. */
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

  /** The result as plain data. It shares with what was given, and is never changed. */
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
    if (this.isGiven(value)) return value
    const known = this.made?.get(value)
    if (known !== undefined) return known
    const copy = isList(value) ? value.map((item) => this.plain(item)) : this.plainFields(value)
    this.made?.set(value, copy)
    return copy
  }

  private plainFields(fields: Fields): JsonObject {
    const copy: JsonObject = {}
    for (const [key, item] of Object.entries(fields)) setOwn(copy, key, this.plain(item))
    return copy
  }

  private isGiven(
    value: null | boolean | string | List | Fields,
  ): value is null | boolean | string | Json[] | JsonObject {
    return typeof value !== 'object' || value === null || this.made === undefined || !this.made.has(value)
  }
}
