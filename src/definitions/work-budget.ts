// definitions: limits the work of one decision. The work is counted in steps and never timed, so that a delayed process
// does not fail a workflow.
import type { Json } from '../model/json/value.ts'

/**
 * Maximum number of steps of one decision, for all lines of its actions and all of its moves together. A step is the
 * evaluation of one node of an expression, or other work that takes about as long, some 20 to 40 ns. The maximum is
 * about a tenth of a second of one processor.
 */
export const MAX_TURN_STEPS = 3_000_000

/** Number of characters that V8's built-in functions copy, compare or scan in one step. */
export const CHARACTERS_A_STEP = 64
/** Steps for reading or copying an element of a list in our own code. */
export const STEPS_AN_ELEMENT = 3
/**
 * Steps for a member of an object. For an object of many members, V8 uses a hash table, which is slow to iterate over
 * and slower to fill.
 */
const STEPS_A_MEMBER = 2
const STEPS_A_MEMBER_OF_MANY = 16
const MANY_MEMBERS = 32

/** Steps to list, copy or create an object of that many members. */
export const stepsOfMembers = (count: number): number =>
  count * (count > MANY_MEMBERS ? STEPS_A_MEMBER_OF_MANY : STEPS_A_MEMBER)

/** The decision takes more steps than its budget allows. */
export class TooMuchWork extends Error {
  override readonly name = 'TooMuchWork'
}

export class WorkBudget {
  readonly limit: number
  /** Number of steps taken. */
  spent: number

  constructor(limit = MAX_TURN_STEPS, spent = 0) {
    this.limit = limit
    this.spent = spent
  }

  get exhausted(): boolean {
    return !(this.spent <= this.limit)
  }

  /** Counts work that can't be refused. The caller checks `exhausted` before it continues. */
  add(steps: number): void {
    this.spent += steps
  }

  /**
   * Charges steps. It must be called before the work is done.
   * @throws TooMuchWork beyond the limit
   */
  spend(steps: number): void {
    this.spent += steps
    if (!(this.spent <= this.limit))
      throw new TooMuchWork(`the lines and moves of one turn take more than ${this.limit} steps`)
  }
}

/** Charges the steps to traverse a value, or to write it as JSON text. */
export function spendOn(value: Json, budget: WorkBudget): void {
  if (typeof value === 'string') budget.spend(value.length / CHARACTERS_A_STEP)
  if (typeof value !== 'object' || value === null) return
  const items = Array.isArray(value) ? value : Object.values(value)
  budget.spend(
    STEPS_AN_ELEMENT + (Array.isArray(value) ? items.length * STEPS_AN_ELEMENT : stepsOfMembers(items.length)),
  )
  for (const item of items) spendOn(item, budget)
}
