// steps: converts what was thrown in another process to data, and back to an error in this one.
import { retryHintOf, setRetryHint, type RetryHint } from '../../model/action-error.ts'
import { isObject, toBoundedJson, type Json, type JsonObject } from '../../model/json/value.ts'

interface RemoteError {
  readonly name: string
  readonly message: string
  readonly stack: string
  /** Name of the error's class. */
  readonly className: string
  /** Other fields of the error that can be converted to data. */
  readonly fields: JsonObject
  /** Its cause as text. */
  readonly cause?: string | undefined
  readonly retry?: RetryHint | undefined
}

/** A thrown error, or another thrown value. */
export type RemoteThrown = RemoteError | { readonly value: Json }

/** Characters of each text, and bytes of the other fields of an error: it explains a failure, and is not a result. */
const MAX_ERROR_CHARACTERS = 10_000
const MAX_FIELDS_BYTES = 65_536

/** Converts any thrown value to data of bounded size. Reading a property of a thrown value may throw. */
export function describeThrown(thrown: unknown): RemoteThrown {
  try {
    return thrown instanceof Error ? describeError(thrown) : { value: dataOf(() => thrown) }
  } catch {
    const message = "something was thrown that can't be shown"
    return { name: 'Error', message, stack: '', className: typeof thrown, fields: {} }
  }
}

function describeError(error: Error): RemoteThrown {
  const fields = dataOf(() => ({ ...error }))
  return {
    name: textOf(() => error.name) ?? 'Error',
    message: textOf(() => error.message) ?? 'failed',
    stack: textOf(() => error.stack) ?? '',
    className: textOf(() => error.constructor.name) ?? 'Error',
    fields: isObject(fields) ? fields : {},
    cause: textOf(() => (error.cause instanceof Error ? String(error.cause) : undefined)),
    retry: retryHintOf(error),
  }
}

/** The value to throw, with the original name, message, stack, class name and fields. */
export const rethrown = (thrown: RemoteThrown): unknown => ('value' in thrown ? thrown.value : errorWith(thrown))

/** An error with these properties, of which only `fields` are enumerable. */
export function errorWith({ name, message, stack, className, fields, cause, retry }: RemoteError): Error {
  const error = new Error(message)
  if (retry) setRetryHint(error, retry)
  return Object.defineProperties(error, {
    ...Object.getOwnPropertyDescriptors(fields),
    ...(cause !== undefined && { cause: hidden(Object.assign(new Error(cause), { toString: () => cause })) }),
    name: hidden(name),
    message: hidden(message),
    stack: hidden(stack),
    // Error views read the class name from `constructor`. The class itself does not exist in this process.
    constructor: hidden({ name: className }),
  })
}

const hidden = (value: unknown): PropertyDescriptor => ({ value, configurable: true, writable: true })

/** The text of a property that may have any type, as an error in this process shows it. */
function textOf(read: () => unknown) {
  try {
    const value = read()
    if (value === undefined || value === null) return undefined
    return (typeof value === 'object' ? JSON.stringify(value) : String(value)).slice(0, MAX_ERROR_CHARACTERS)
  } catch {
    return undefined
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
