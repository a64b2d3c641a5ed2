// definitions/expressions: one evaluation: what it sees, and the bounds that end one that takes too long or makes too much.
import type { Json, JsonObject } from '../../model/json.ts'
import { setOwn } from '../../model/json.ts'
import type { Scope } from './expression.ts'
import { ExpressionError } from './expression.ts'

/** What an expression computes with: data, save that lists and objects of its own making may hold undefined and NaN, until `settle`. */
export type Value = undefined | null | boolean | number | string | List | Fields
export type List = readonly Value[]
export interface Fields { readonly [key: string]: Value }

export const isList = (value: Value): value is List => Array.isArray(value)
export const isFields = (value: Value): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A part of an expression, compiled. */
export type Code = (run: Evaluation) => Value

/** Characters, list elements and object members that one evaluation may make; also how large a result may be that it put together. */
export const MAX_MADE = 4_000_000
/** Nodes that may be evaluated in loops. What a method does inside counts as nodes too, by the length of what it reads. */
const MAX_WORK = 2_000_000
/** Milliseconds in loops, for what the count misjudges. */
const MAX_TIME = 100
const WORK_BETWEEN_LOOKS = 1000
/** Elements that are measured in the time of one node. */
const MEASURED_AT_ONCE = 4
/** Nesting of a value that is measured or written as text. */
const MAX_DEPTH = 200

export class Evaluation {
  readonly scope: Scope
  /** Values of the parameters of arrow functions. None calls itself, so each parameter has one place. */
  readonly parameters: Value[] = []
  private size = 0
  private work = 0
  private nextLook = WORK_BETWEEN_LOOKS
  private deadline = Infinity
  /** The lists and objects that the expression made, and what they are as plain data, once that is known. */
  private made: Map<object, Json | undefined> | undefined

  constructor(scope: Scope) {
    this.scope = scope
  }

  /** To be called before so many characters, elements or members are made. */
  make(count: number): void {
    this.size += count
    if (!(this.size <= MAX_MADE)) throw new ExpressionError(`the expression makes more than ${MAX_MADE} characters and elements`)
  }

  /** To be called before so many nodes are evaluated, or as much is done. */
  spend(nodes: number): void {
    this.work += nodes
    if (this.work < this.nextLook) return
    if (!(this.work <= MAX_WORK)) throw new ExpressionError(`the expression takes more than ${MAX_WORK} steps`)
    this.nextLook = this.work + WORK_BETWEEN_LOOKS
    const now = performance.now()
    if (this.deadline === Infinity) this.deadline = now + MAX_TIME
    else if (now > this.deadline) throw new ExpressionError(`the expression takes longer than ${MAX_TIME} ms`)
  }

  /** Says that a list or an object is of the expression's own making. */
  own<T extends List | Fields>(container: T): T {
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
    this.spend((items.length + 1) / MEASURED_AT_ONCE)
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

  private isGiven(value: null | boolean | string | List | Fields): value is null | boolean | string | Json[] | JsonObject {
    return typeof value !== 'object' || value === null || this.made === undefined || !this.made.has(value)
  }
}
