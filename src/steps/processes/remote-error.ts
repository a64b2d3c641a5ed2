// steps: what was thrown in another process, as data on the way and as an error again here.
import { isObject, toBoundedJson, type Json, type JsonObject } from '../../model/json/value.ts'

/** What was thrown: an error, or something else. */
export type RemoteThrown =
  | {
      readonly name: string
      readonly message: string
      readonly stack: string
      /** That of the error's class. */
      readonly className: string
      /** What else the error held, as far as it is data. */
      readonly fields: JsonObject
      /** Its cause as text; null: it has none. */
      readonly cause: string | null
    }
  | { readonly value: Json }

/** Characters of a text, and bytes of all that an error holds besides: it explains a failure, and isn't a result. */
const MAX_ERROR_CHARACTERS = 10_000
const MAX_FIELDS_BYTES = 65_536

/** Never fails, however odd it is. */
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
  }
}

/** To be thrown: with the name, message, stack, class name and fields that it had there. */
export function rethrown(thrown: RemoteThrown): unknown {
  if ('value' in thrown) return thrown.value
  const { name, message, stack, className, fields, cause } = thrown
  const error = new Error(message)
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
    // Whoever shows an error asks this for the name of the class, and that class is not here.
    constructor: { value: { name: className }, configurable: true },
  })
  return error
}

const textOf = (value: unknown, otherwise: string): string =>
  typeof value === 'string' ? value.slice(0, MAX_ERROR_CHARACTERS) : otherwise

/** null for what is no data, or too much. */
function dataOf(value: unknown): Json {
  try {
    return toBoundedJson(value, MAX_FIELDS_BYTES)
  } catch {
    return null
  }
}
