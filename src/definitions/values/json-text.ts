// definitions: parses JSON text in user data. The work is charged before it is done.
import type { Json } from '../../model/json/value.ts'
import { measureJson } from '../../model/json/text.ts'
import { CHARACTERS_A_STEP, type WorkBudget } from '../work-budget.ts'

/** Steps for each list or object, for each comma, and for each key. */
const STEPS_TO_OPEN = 12
const STEPS_OF_A_COMMA = 2
const STEPS_OF_A_KEY = 16
/** Characters that are scanned for their structure in one step. */
const LOOKED_AT_ONCE = 4

/**
 * Parses the text.
 * @throws SyntaxError when it is not JSON, RangeError when it is nested too deeply, and whatever `spend` throws
 */
export function parseJsonText(text: string, maxDepth: number, budget: Pick<WorkBudget, 'spend'>): Json {
  budget.spend(text.length / LOOKED_AT_ONCE)
  const { depth, opened, commas, names } = measureJson(text)
  if (depth > maxDepth) throw new RangeError(`is nested deeper than ${maxDepth}`)
  const steps = opened * STEPS_TO_OPEN + commas * STEPS_OF_A_COMMA + names * STEPS_OF_A_KEY
  budget.spend(steps + text.length / CHARACTERS_A_STEP)
  return JSON.parse(text)
}
