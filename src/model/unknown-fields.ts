// model: refuses fields that a call does not know. Ignoring one would change the meaning of the call.
import { escapedKey, malformed, type FluxError, type FieldError } from './failure.ts'
import { suggestion } from './nearest.ts'

/** Maximum number of errors in the list. If there are more, `detail` has their number. */
const MAX_ERRORS = 20

/** A set of names, or a map by name. */
interface Names {
  has(name: string): boolean
  keys(): Iterable<string>
}

/**
 * Returns the error for the names that are not known; null if all are known.
 * @param what how messages call such a name, in the singular
 */
export function unknownFields(
  given: readonly string[],
  known: Names,
  what: 'field' | 'parameter' = 'field',
): FluxError | null {
  const unknown = given.filter((name) => !known.has(name))
  const [name, ...others] = unknown
  if (name === undefined) return null
  const errors = unknownErrors(unknown, known)
  const detail =
    others.length === 0
      ? `the ${what} '${name}' ${errors[0]?.detail}`
      : `${unknown.length} ${what}s are not known${unknown.length > MAX_ERRORS ? `; errors names the first ${MAX_ERRORS}` : ''}`
  return malformed(detail, errors)
}

/**
 * An error for each name that is not known, for the first 20 of them.
 * @param under the JSON pointer of the object that has them
 */
export function unknownErrors(given: readonly string[], known: Names, under = ''): FieldError[] {
  const unknown = given.filter((name) => !known.has(name))
  return unknown.slice(0, MAX_ERRORS).map((name) => ({
    pointer: `${under}/${escapedKey(name)}`,
    detail: `is not known${suggestion(name, known.keys())}`,
  }))
}
