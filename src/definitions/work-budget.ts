// definitions: the work of one decision, counted in steps. It is never measured in time: a process that was held up must not fail a workflow.
import type { Json } from '../model/json.ts'

/**
 * Steps that one decision may take: all lines of its actions and all of its moves together. A step is the evaluation of one node of an expression, or as
 * much of other work as takes about the same time; no operation takes more than some 25 ns for a step on a processor of 2020, so that this is a tenth of a second.
 */
export const MAX_TURN_STEPS = 4_000_000

/** Characters that are copied, compared or scanned by the engine itself in one step. */
export const CHARACTERS_A_STEP = 64
/** Steps for an element or member that is looked at or copied. */
export const STEPS_AN_ELEMENT = 2

/** A decision takes more steps than it may. */
export class TooMuchWork extends Error {
  override readonly name = 'TooMuchWork'
}

export class WorkBudget {
  readonly limit: number
  /** Steps taken so far. */
  spent: number

  constructor(limit = MAX_TURN_STEPS, spent = 0) {
    this.limit = limit
    this.spent = spent
  }

  get exhausted(): boolean {
    return !(this.spent <= this.limit)
  }

  /** Counts work that is done in any case: whoever goes on looks at `exhausted`. */
  add(steps: number): void {
    this.spent += steps
  }

  /**
   * To be called before so much is done.
   * @throws TooMuchWork
   */
  spend(steps: number): void {
    this.spent += steps
    if (!(this.spent <= this.limit)) throw new TooMuchWork(`the lines and moves of one turn take more than ${this.limit} steps`)
  }
}

/** Spends what it takes to walk through a value, or to write it as JSON text. */
export function spendOn(value: Json, budget: WorkBudget): void {
  if (typeof value === 'string') budget.spend(value.length / CHARACTERS_A_STEP)
  if (typeof value !== 'object' || value === null) return
  const items = Array.isArray(value) ? value : Object.values(value)
  budget.spend((items.length + 1) * STEPS_AN_ELEMENT)
  for (const item of items) spendOn(item, budget)
}
