// definitions/expressions: what a compiled expression is to the other modules.
import type { Json } from '../../model/json/value.ts'
import type { WorkBudget } from '../work-budget.ts'

/** What isn't deterministic comes from the turn. */
export interface Turn {
  /** Epoch milliseconds. */
  readonly now: number
  /** At least 0, below 1. */
  random(): number
  uuid(): string
}

/** What an expression sees. */
export interface Scope {
  readonly turn: Turn
  /** What is left of the work that the decision may do. */
  readonly budget: WorkBudget
  /** The value of a visible name; undefined where nothing has it. */
  get(name: string): Json | undefined
}

export interface Expression {
  readonly source: string
  /** The free names it uses, function names of the language left out. */
  readonly names: ReadonlySet<string>
  /** Whether a text in double or single quotes holds a `${…}`, which is plain text there. */
  readonly quotesPlaceholder: boolean
  /**
   * Plain data: undefined, NaN and infinities have become null.
   * @throws ExpressionError when a bound is passed, or something is called or done that the language doesn't have
   */
  evaluate(scope: Scope): Json
}

/**
 * Literal text with `${…}` in it. One that is a single `${…}` and nothing else keeps the type of its value; any other
 * gives text.
 */
export interface Template extends Expression {
  /** The expressions in it, as they are written. */
  readonly placeholders: readonly string[]
}

export class ExpressionError extends Error {
  override readonly name = 'ExpressionError'
}

/** Why a source isn't an expression of this language. The message ends in the place, counted in characters from 1. */
export class ExpressionFault extends Error {
  override readonly name = 'ExpressionFault'

  readonly reason: string
  /** Index of the offending character, from 0. */
  readonly at: number

  constructor(reason: string, at: number) {
    super(`${reason} at character ${at + 1}`)
    this.reason = reason
    this.at = at
  }
}
