// http: errors of the event call, as the sender of a CloudEvent can understand them: they name the attributes that it
// wrote, and not the fields that these stand for.
import { FluxError, type FieldError } from '../../model/failure.ts'

/** Fields of the event call, and what a CloudEvent has in their place. */
const ATTRIBUTES: ReadonlyMap<string, string> = new Map([
  ['event', 'type'],
  ['input', 'data'],
  ['contextId', 'fluxcontextid'],
  ['key', 'fluxkey'],
  ['fluxName', 'fluxname'],
  ['package', 'fluxpackage'],
  ['tags', 'fluxtags'],
  ['ttl', 'fluxttl'],
])

/** Fields whose messages name other fields: how they go together. */
const ADDRESS: ReadonlySet<string> = new Set(['contextId', 'key', 'fluxName', 'package'])

/** A pointer to a field, as one sentence has it that reports several errors. */
const POINTER = /(?<=^|[ ;:]\s?)\/(?:event|input|contextId|key|fluxName|package|tags(?:\/\d+)?|ttl)(?=[/ ]|$)/g
const WORD = /\b(?:contextId|key|fluxName|package)\b/g

/**
 * The error, with pointers and messages in the names of the attributes.
 * @param inQuery fields that the sender wrote into the query, and not into the event: these keep their names
 */
export function problemAsSent(error: unknown, inQuery: ReadonlySet<string>): unknown {
  if (!(error instanceof FluxError)) return error
  const { failure } = error
  if (failure.kind !== 'malformed' && failure.kind !== 'invalid') return error
  const { errors: given = [], detail: told } = failure
  const nameOf = (field: string): string => (inQuery.has(field) ? field : (ATTRIBUTES.get(field) ?? field))
  const errors = given.map((one) => asSent(one, nameOf))
  // It is made of the errors, or begins with the field.
  const isMade = given.length > 0 && told === sentenceOf(given)
  const detail = isMade
    ? sentenceOf(errors)
    : told
        .replaceAll(POINTER, (pointer) => pointerAsSent(pointer, nameOf))
        .replace(/^(\w+)(?= differs )/, (field) => nameOf(field))
  return new FluxError({ ...failure, detail, errors }, { cause: error })
}

const fieldOf = (pointer: string): string => pointer.split('/', 2)[1] ?? ''

function asSent({ pointer, detail }: FieldError, nameOf: (field: string) => string): FieldError {
  const isOfAddress = ADDRESS.has(fieldOf(pointer))
  return {
    pointer: pointerAsSent(pointer, nameOf),
    detail: isOfAddress ? detail.replaceAll(WORD, nameOf) : detail,
  }
}

/** The tags are one attribute. */
function pointerAsSent(pointer: string, nameOf: (field: string) => string): string {
  const field = fieldOf(pointer)
  const name = nameOf(field)
  return field === 'tags' ? `/${name}` : `/${name}${pointer.slice(field.length + 1)}`
}

/** As `check` reports what is wrong with the form of a request. */
const sentenceOf = (errors: readonly FieldError[]): string =>
  errors.map(({ pointer, detail }) => `${pointer.slice(1).replaceAll('/', ' ')} ${detail}`).join('; ')
