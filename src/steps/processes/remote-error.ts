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

/** Converts any thrown value to data of bounded size. Reading a property of a thrown value may throw. */
export function describeThrown(thrown: unknown): RemoteThrown {
  try {
    return thrown instanceof Error ? describeError(thrown) : { value: dataOf(() => thrown) }
  } catch {
    return { ...UNREADABLE, className: typeof thrown }
  }
}

const UNREADABLE = {
  name: 'Error',
  message: "something was thrown that can't be shown",
  stack: '',
  fields: {},
  cause: null,
  retry: null,
}

function describeError(error: Error): RemoteThrown {
  const fields = dataOf(() => ({ ...error }))
  return {
    name: textOf(() => error.name, 'Error'),
    message: textOf(() => error.message, 'failed'),
    stack: textOf(() => error.stack, ''),
    className: textOf(() => error.constructor.name, 'Error'),
    fields: isObject(fields) ? fields : {},
    cause: textOf(() => (error.cause instanceof Error ? String(error.cause) : null), null),
    retry: retryHintOf(error) ?? null,
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

/** The text of a property that may have any type, as an error in this process shows it. */
function textOf<T>(read: () => unknown, otherwise: T): string | T {
  try {
    const value = read()
    if (value === undefined || value === null) return otherwise
    return (typeof value === 'object' ? JSON.stringify(value) : String(value)).slice(0, MAX_ERROR_CHARACTERS)
  } catch {
    return otherwise
  }
}

/** The value as JSON; null if it cannot be read or converted, or is too large. */
function dataOf(read: () => unknown): Json {
  try {
    return toBoundedJson(read(), MAX_FIELDS_BYTES)
  } catch {
    return null
  }
}
