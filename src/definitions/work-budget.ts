// definitions: the work of one decision, counted in steps. It is never measured in time: a process that was held up
// must not fail a workflow.
import type { Json } from '../model/json/value.ts'

/**
 * Steps that one decision may take: all lines of its actions and all of its moves together. A step is the evaluation of
 * one node of an expression, or as much of other work as takes about the same time, some 20 to 40 ns: all of them are
 * about a tenth of a second of one processor.
 */
export const MAX_TURN_STEPS = 3_000_000

/** Characters that are copied, compared or scanned by the engine itself in one step. */
export const CHARACTERS_A_STEP = 64
/** Steps for an element of a list that is looked at, or copied by our own code. */
export const STEPS_AN_ELEMENT = 3
/**
 * Steps for a member of an object: of one that has many, the engine keeps a table, which is slow to walk through and
 * slower to fill.
 */
const STEPS_A_MEMBER = 2
const STEPS_A_MEMBER_OF_MANY = 16
const MANY_MEMBERS = 32

/** Steps to list the members of an object of so many, to copy it or to make it. */
export const stepsOfMembers = (count: number): number =>
  count * (count > MANY_MEMBERS ? STEPS_A_MEMBER_OF_MANY : STEPS_A_MEMBER)

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
    if (!(this.spent <= this.limit))
      throw new TooMuchWork(`the lines and moves of one turn take more than ${this.limit} steps`)
  }
}

/** Spends what it takes to walk through a value, or to write it as JSON text. */
export function spendOn(value: Json, budget: WorkBudget): void {
  if (typeof value === 'string') budget.spend(value.length / CHARACTERS_A_STEP)
  if (typeof value !== 'object' || value === null) return
  const items = Array.isArray(value) ? value : Object.values(value)
  budget.spend(
    STEPS_AN_ELEMENT + (Array.isArray(value) ? items.length * STEPS_AN_ELEMENT : stepsOfMembers(items.length)),
  )
  for (const item of items) spendOn(item, budget)
}
