// steps: converts what was thrown in another process to data, and back to an error in this one.
import { retryHintOf, setRetryHint, type RetryHint } from '../../model/action-error.ts'
import { isObject, toBoundedJson, type Json, type JsonObject } from '../../model/json/value.ts'

/** A thrown error, or another thrown value. */
export type RemoteThrown =
  | {
      readonly name: string
      readonly message: string
      readonly stack: string
      /** Name of the error's class. */
      readonly className: string
      /** Other fields of the error that can be converted to data. */
      readonly fields: JsonObject
      /** Its cause as text; null: there is none. */
      readonly cause: string | null
      readonly retry: RetryHint | null
    }
  | { readonly value: Json }

/** Characters of each text, and bytes of the other fields of an error: it explains a failure, and is not a result. */
const MAX_ERROR_CHARACTERS = 10_000
const MAX_FIELDS_BYTES = 65_536

/** Converts any thrown value to data of bounded size. */
export function describeThrown(thrown: unknown): RemoteThrown {
  if (!(thrown instanceof Error)) return { value: dataOf(thrown) }
  const { name, message, stack } = thrown
  const fields = dataOf({ ...thrown })
  return {
    name: textOf(name, 'Error'),
    message: textOf(message, 'failed'),
    stack: textOf(stack, ''),
    className: textOf(thrown.constructor.name, 'Error'),
    fields: isObject(fields) ? fields : {},
    cause: thrown.cause instanceof Error ? textOf(String(thrown.cause), '') : null,
    retry: retryHintOf(thrown) ?? null,
  }
}

/** The value to throw, with the original name, message, stack, class name and fields. */
export function rethrown(thrown: RemoteThrown): unknown {
  if ('value' in thrown) return thrown.value
  const { name, message, stack, className, fields, cause, retry } = thrown
  const error = new Error(message)
  if (retry) setRetryHint(error, retry)
  for (const [key, value] of Object.entries(fields))
    Object.defineProperty(error, key, { value, enumerable: true, configurable: true, writable: true })
  if (cause !== null)
    Object.defineProperty(error, 'cause', {
      value: Object.assign(new Error(cause), { toString: () => cause }),
      configurable: true,
      writable: true,
    })
  Object.defineProperties(error, {
    name: { value: name, configurable: true, writable: true },
    stack: { value: stack, configurable: true, writable: true },
    // Error views read the class name from `constructor`. The class itself does not exist in this process.
    constructor: { value: { name: className }, configurable: true },
  })
  return error
}

const textOf = (value: unknown, otherwise: string): string =>
  typeof value === 'string' ? value.slice(0, MAX_ERROR_CHARACTERS) : otherwise

/** The value as JSON; null if it cannot be converted or is too large. */
function dataOf(value: unknown): Json {
  try {
    return toBoundedJson(value, MAX_FIELDS_BYTES)
  } catch {
    return null
  }
}
