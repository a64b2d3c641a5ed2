// engine/interpreter: computes the end of a wait.
import { ExpressionError, type Scope } from '../../definitions/expressions/expression.ts'
import type { Wait } from '../../definitions/flux.ts'
import { parseDate } from '../../definitions/values/dates.ts'
import { startOf, toldOf } from '../../definitions/values/told.ts'
import type { Json } from '../../model/json/value.ts'

/** The latest time that a date can represent, epoch milliseconds (ECMA-262, 21.4.1.1). */
const LAST_MOMENT = 8.64e15

/** Maximum length of a text with a number of seconds. */
const MAX_WAIT_CHARACTERS = 1000

/**
 * The end of the wait, epoch milliseconds. A time in the past is due at once.
 * @throws WaitError when the value isn't a duration or a date
 */
export function dueOf(wait: Wait, scope: Scope): number {
  const value = valueOf(wait, scope)
  const { now } = scope.turn
  if (wait.kind === 'date') {
    const date = parseDate(value)
    if (date === null) throw new WaitError(wait, `${toldOf(value)} is no date to wait for`)
    return date
  }
  const isText = typeof value === 'string' && value.length <= MAX_WAIT_CHARACTERS && value.trim() !== ''
  const seconds = typeof value === 'number' ? value : isText ? Number(value) : NaN
  if (!Number.isFinite(seconds)) throw new WaitError(wait, `${toldOf(value)} is no number of seconds to wait`)
  // Rounded up, so that a wait never ends early.
  return Math.min(now + Math.max(0, Math.ceil(seconds * 1000)), LAST_MOMENT)
}

function valueOf(wait: Wait, scope: Scope): Json {
  try {
    return wait.value.evaluate(scope)
  } catch (error) {
    throw error instanceof ExpressionError ? new WaitError(wait, error.message, { cause: error }) : error
  }
}

class WaitError extends Error {
  override readonly name = 'WaitError'

  constructor({ kind, of, value: { source } }: Wait, reason: string, options: ErrorOptions = {}) {
    super(`the wait of ${of} (${startOf(`${kind}:${source}`)}): ${reason}`, options)
  }
}
