// definitions: parses JSON text in user data. The work is charged before it is done.
import type { Json } from '../../model/json/value.ts'
import { endOfString } from '../../model/json/text.ts'
import { CHARACTERS_A_STEP } from '../work-budget.ts'

/** Steps for each list or object, for each comma, and for each key. */
const STEPS_TO_OPEN = 12
const STEPS_OF_A_COMMA = 2
const STEPS_OF_A_KEY = 16
/** Characters that are scanned for their structure in one step. */
const LOOKED_AT_ONCE = 4

const [QUOTE, COMMA, COLON, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [34, 44, 58, 91, 93, 123, 125]

export interface JsonTextOptions {
  /** Deeper nesting is refused. */
  readonly maxDepth: number
  /** Called before the work is done; may throw. */
  readonly spend: (steps: number) => void
}

/**
 * Parses the text.
 * @throws SyntaxError when it is not JSON, RangeError when it is nested too deeply, and whatever `spend` throws
 */
export function parseJsonText(text: string, { maxDepth, spend }: JsonTextOptions): Json {
  spend(text.length / LOOKED_AT_ONCE)
  const { depth, steps } = measure(text)
  if (depth > maxDepth) throw new RangeError(`is nested deeper than ${maxDepth}`)
  spend(steps + text.length / CHARACTERS_A_STEP)
  const value: Json = JSON.parse(text)
  return value
}

/**
 * Measures depth and parsing steps. The result is meaningless for a text that is not JSON, which the parser refuses at
 * the first error.
 */
function measure(text: string): { readonly depth: number; readonly steps: number } {
  let [open, depth, steps] = [0, 0, 0]
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at)
        break
      case COMMA:
        steps += STEPS_OF_A_COMMA
        break
      case COLON:
        steps += STEPS_OF_A_KEY
        break
      case OPEN_LIST:
      case OPEN_OBJECT:
        steps += STEPS_TO_OPEN
        open += 1
        depth = Math.max(depth, open)
        break
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        open -= 1
    }
  }
  return { depth, steps }
}
