// definitions/expressions: the interface of compiled expressions for other modules.
import type { Json } from '../../model/json/value.ts'
import type { WorkBudget } from '../work-budget.ts'

/** The sources of values that are not deterministic. */
export interface Turn {
  /** Epoch milliseconds. */
  readonly now: number
  /** At least 0, below 1. */
  random(): number
  uuid(): string
}

/** What an expression can access. */
export interface Scope {
  readonly turn: Turn
  /** The work budget of the decision. */
  readonly budget: WorkBudget
  /** The value of a visible name; undefined if there is none. */
  get(name: string): Json | undefined
}

/** An expression, or a template: literal text with `${…}` placeholders. */
export interface Expression {
  readonly source: string
  /** Free names in it, without the functions of the language. */
  readonly names: ReadonlySet<string>
  /** What it reads of them, as far as the keys are constants. */
  readonly paths: readonly (readonly string[])[]
  /** Whether a text in double or single quotes contains `${…}`, which is plain text there. */
  readonly quotesPlaceholder: boolean
  /** Names of the secrets in it. */
  readonly secrets: ReadonlySet<string>
  /** What it does with a secret that can't be done; null: nothing. */
  readonly secretFault: string | null
  /**
   * Evaluates the expression to plain data: undefined, NaN and infinities become null.
   * @throws ExpressionError when a limit is exceeded, or an operation is not possible for its values
   */
  evaluate(scope: Scope): Json
}

export class ExpressionError extends Error {
  override readonly name = 'ExpressionError'
}

/**
 * The source is not an expression of this language. The message ends with the position, counted in characters from 1.
 */
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
