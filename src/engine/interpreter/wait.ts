// engine/interpreter: computes the end of a wait.
import type { Scope } from '../../definitions/expressions/expression.ts'
import type { Wait } from '../../definitions/flux.ts'
import { parseDate } from '../../definitions/values/dates.ts'
import type { Json } from '../../model/json/value.ts'

/** The latest time that a date can represent, epoch milliseconds (ECMA-262, 21.4.1.1). */
const LAST_MOMENT = 8.64e15

/** Maximum length of a text with a number of seconds, and of a value in a message. */
const MAX_WAIT_CHARACTERS = 1000

/**
 * The end of the wait, epoch milliseconds. A time in the past is due at once.
 * @throws Error when the value isn't a duration or a date
 */
export function dueOf(wait: Wait, scope: Scope): number {
  const value = wait.value.evaluate(scope)
  const { now } = scope.turn
  if (wait.kind === 'date') {
    const date = parseDate(value)
    if (date === null) throw new WaitError(`'${show(value)}' is no date to wait for`)
    return date
  }
  const isText = typeof value === 'string' && value.length <= MAX_WAIT_CHARACTERS && value.trim() !== ''
  const seconds = typeof value === 'number' ? value : isText ? Number(value) : NaN
  if (!Number.isFinite(seconds)) throw new WaitError(`'${show(value)}' is no number of seconds to wait`)
  // Rounded up, so that a wait never ends early.
  return Math.min(now + Math.max(0, Math.ceil(seconds * 1000)), LAST_MOMENT)
}

function show(value: Json): string {
  if (typeof value === 'string') return value.slice(0, MAX_WAIT_CHARACTERS)
  return typeof value === 'object' && value !== null ? (Array.isArray(value) ? 'a list' : 'an object') : String(value)
}

class WaitError extends Error {
  override readonly name = 'WaitError'
}
