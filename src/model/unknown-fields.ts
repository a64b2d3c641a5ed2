// model: refuses fields that a call does not know. Ignoring one would change the meaning of the call.
import { FluxError, type FieldError } from './failure.ts'
import { suggestion } from './nearest.ts'

/** Maximum number of errors in the list. If there are more, `detail` has their number. */
const MAX_ERRORS = 20

/** A longer name is not compared with the known ones. */
const MAX_COMPARED_CHARACTERS = 100

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
  if (given.every((name) => known.has(name))) return null
  const errors: FieldError[] = []
  const details: string[] = []
  let count = 0
  for (const name of given) {
    if (known.has(name)) continue
    count += 1
    if (count > MAX_ERRORS) continue
    const meant = name.length > MAX_COMPARED_CHARACTERS ? '' : suggestion(name, known.keys())
    errors.push({ pointer: pointerTo(name), detail: `is not known${meant}` })
    details.push(`the ${what} '${name}' is not known${meant}`)
  }
  const [first = ''] = details
  const detail =
    count === 1
      ? first
      : `${count} ${what}s are not known${count > MAX_ERRORS ? `; errors names the first ${MAX_ERRORS}` : ''}`
  return new FluxError({ kind: 'malformed', detail, errors })
}

/** RFC 6901, 3. */
const pointerTo = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
