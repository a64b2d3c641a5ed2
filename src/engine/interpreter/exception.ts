// engine/interpreter: errors as data, as `$fluxException` and failed contexts show them.
import { FRAME } from '../redact/redactor.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { retryHintOf, type ActionError } from '../../model/action-error.ts'
import type { FluxException, Move, StackEntry } from '../../model/context.ts'
import { isObject, toBoundedJson, type Json, type JsonObject } from '../../model/json/value.ts'
import { HIDES_NOTHING, type SecretRedactor } from '../../model/secret-redactor.ts'

/**
 * Characters of a message, and bytes of the other fields of an error. They explain a failure, and are stored like other
 * data.
 */
const MAX_TEXT_CHARACTERS = 10_000
const MAX_FIELDS_BYTES = 65_536

/**
 * Converts any thrown value to data of bounded size. Its own stack is omitted, because it contains paths of the server.
 * @param stack the part of the stack in the user's sources; null: there is none
 * @param redactor hides secrets before anything is cut off
 */
export function errorOf(
  thrown: unknown,
  stack: string | null = null,
  redactor: SecretRedactor = HIDES_NOTHING,
): ActionError {
  try {
    const error = thrown instanceof Error ? errorData(thrown, redactor) : otherData(thrown, redactor)
    return stack === null || !isObject(error.realException)
      ? error
      : { ...error, realException: { ...error.realException, stack }, stack }
  } catch {
    return {
      message: "something was thrown that can't be shown",
      type: 'Error',
      className: typeof thrown,
      realException: null,
    }
  }
}

function errorData(error: Error, redactor: SecretRedactor): ActionError {
  const message = textOf(() => error.message, redactor) ?? 'failed'
  const type = textOf(() => error.name, redactor) ?? 'Error'
  const cause = textOf(() => (error.cause instanceof Error ? String(error.cause) : undefined), redactor)
  const own = dataOf(() => ({ ...error }))
  const { stack: _, ...fields } = isObject(own) ? own : {}
  const realException: JsonObject = { ...fields, name: type, message, ...(cause !== undefined && { cause }) }
  const retry = retryHintOf(error)
  const className = textOf(() => error.constructor.name, redactor) ?? type
  return { message, type, className, realException, ...(retry && { retry }) }
}

/** The value as JSON; null if it cannot be read or converted, or is too large. */
function dataOf(read: () => unknown): Json {
  try {
    return toBoundedJson(read(), MAX_FIELDS_BYTES)
  } catch {
    return null
  }
}

/** The text of a property that may have any type, and may throw when it is read. */
function textOf(read: () => unknown, redactor: SecretRedactor): string | undefined {
  try {
    const value = read()
    return value === undefined || value === null
      ? undefined
      : start(typeof value === 'object' ? JSON.stringify(value) : String(value), redactor)
  } catch {
    return undefined
  }
}

/** The start of a text, cut so that it ends in no part of a secret. */
const start = (text: string, redactor: SecretRedactor) => redactor.text(text).slice(0, MAX_TEXT_CHARACTERS)

function otherData(thrown: unknown, redactor: SecretRedactor): ActionError {
  const realException = withoutStack(typeof thrown === 'string' ? start(thrown, redactor) : dataOf(() => thrown))
  const { name, message } = isObject(realException) ? realException : { name: null, message: realException }
  const type = typeof name === 'string' && name !== '' ? name : 'Error'
  return {
    message: start(typeof message === 'string' ? message : JSON.stringify(realException), redactor),
    type,
    className: type === 'Error' ? typeof thrown : type,
    realException,
  }
}

/**
 * Removes the field `stack` if it has stack frames, which contain paths of the server: a thrown object may be a copy of
 * an error.
 */
function withoutStack(thrown: Json): Json {
  if (!isObject(thrown) || typeof thrown['stack'] !== 'string' || !thrown['stack'].includes(FRAME)) return thrown
  const { stack: _, ...others } = thrown
  return others
}

/** The exception with its trace, from the first known move to the failing state. */
export function exceptionOf(error: ActionError, flux: CompiledFlux, history: readonly Move[]): FluxException {
  const { message, type, className, realException } = error
  const fluxStackTrace = history.map((move, position): StackEntry => ({
    fluxName: flux.fluxName,
    stateName: move.to,
    transition: history[position + 1]?.event ?? null,
    stateIndex: flux.stateIndex.get(move.to) ?? -1,
  }))
  return { message, type, className, realException, fluxStackTrace }
}
