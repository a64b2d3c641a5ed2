// model: fields that a call doesn't know. They are refused, since one that is passed over changes what the call means.
import { FluxError, type FieldError } from './failure.ts'
import { suggestion } from './nearest.ts'

/** Errors listed; of more only the number is told. */
const MOST_ERRORS = 20

/** Characters of a name beyond which it isn't compared with the known ones. */
const MAX_COMPARED_CHARACTERS = 100

/** A set, or a map by name. */
interface Names {
  has(name: string): boolean
  keys(): Iterable<string>
}

/**
 * The refusal of what is given besides the known fields; null if there is nothing.
 * @param what what the names are, in the singular
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
    if (count > MOST_ERRORS) continue
    const meant = name.length > MAX_COMPARED_CHARACTERS ? '' : suggestion(name, known.keys())
    errors.push({ pointer: pointerTo(name), detail: `is not known${meant}` })
    details.push(`the ${what} '${name}' is not known${meant}`)
  }
  const [first = ''] = details
  const detail =
    count === 1
      ? first
      : `${count} ${what}s are not known${count > MOST_ERRORS ? `; errors names the first ${MOST_ERRORS}` : ''}`
  return new FluxError({ kind: 'malformed', detail, errors })
}

/** RFC 6901, 3. */
const pointerTo = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
