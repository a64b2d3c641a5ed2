// api: the filter of an operation: the parameters of the list by name, as texts or lists of texts.
import { z } from 'zod'
import { FluxError, invalid, type FieldError } from '../model/failure.ts'
import { isObject, type Json, type JsonObject } from '../model/json/value.ts'
import { bytesOf } from '../model/json/weight.ts'
import { unknownErrors } from '../model/unknown-fields.ts'
import { contextFilters } from './context-filters.ts'
import { id } from './fields.ts'

const FILTERS = {
  ...contextFilters('those that have not ended'),
  after: id('Only contexts with a higher id').optional(),
  before: id('Only contexts with a lower id').optional(),
}
const schema = z.object(FILTERS)

/** Each is a list, in one text separated by commas, too. */
const LISTS: ReadonlySet<string> = new Set(['tag', 'status'])
const IDS: ReadonlySet<string> = new Set(['parent', 'after', 'before'])
const FLAGS: ReadonlySet<string> = new Set(['paused'])
/**
 * Characters of a filter, about. It is stored with how far the operation is, again and again, and a list of operations
 * shows the filters of a thousand.
 */
const MAX_FILTER_CHARACTERS = 32 * 1024

export type OperationFilter = z.output<typeof schema>

export const filterField = z
  .custom<JsonObject>(isObject, { error: 'must be an object: {} means all that have not ended' })
  .meta({
    type: 'object',
    additionalProperties: {
      anyOf: [
        { type: 'string' },
        { type: 'integer' },
        { type: 'boolean' },
        { type: 'array', items: { type: 'string' }, minItems: 1 },
      ],
    },
    description:
      'Which contexts: the filters of the list by name, each a text, or a list of texts that is not empty; 32 KiB in all at most. `{}`: all that have not ended',
  })

/** @throws FluxError `malformed` for names that are not known, and values that can't be read; `invalid` if it is too large */
export function readFilter(given: JsonObject): OperationFilter {
  if (bytesOf(given, MAX_FILTER_CHARACTERS) > MAX_FILTER_CHARACTERS) {
    const detail = `must not have more than about ${MAX_FILTER_CHARACTERS} characters`
    throw invalid(`the filter ${detail}`, [{ pointer: '/filter', detail }])
  }
  const unknown = unknownErrors(Object.keys(given), new Set(Object.keys(FILTERS)), '/filter')
  if (unknown.length > 0) throw refusal(unknown)
  // Without any it would be no filter at all, and what was meant for none would be done with all.
  const empty = Object.keys(given).filter((name) => isEmptyList(given[name]))
  if (empty.length > 0)
    throw refusal(empty.map((name) => ({ pointer: `/filter/${name}`, detail: 'must not be an empty list' })))
  const plain = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, plainOf(name, value)]))
  const { success, data, error } = schema.safeParse(plain)
  if (success) return data
  const errors = error.issues.map(({ path, message }) => ({
    pointer: ['', 'filter', ...path.map(String)].join('/'),
    detail: message,
  }))
  throw refusal(errors)
}

const isEmptyList = (value: Json | undefined): boolean => Array.isArray(value) && value.length === 0

function refusal(errors: readonly FieldError[]): FluxError {
  const detail = errors.map(({ pointer, detail: why }) => `${pointer} ${why}`).join('; ')
  return new FluxError({ kind: 'malformed', detail, errors: [...errors] })
}

/** As the schema takes it: a text becomes what it stands for. */
function plainOf(name: string, given: Json): unknown {
  const all: readonly Json[] = Array.isArray(given) ? given : [given]
  if (LISTS.has(name)) return all.flatMap((one): readonly Json[] => (typeof one === 'string' ? one.split(',') : [one]))
  const [first, ...others] = all
  const single = others.length > 0 ? given : first
  if (typeof single !== 'string') return single
  if (IDS.has(name) && /^[1-9]\d{0,15}$/.test(single)) return Number(single)
  return FLAGS.has(name) && (single === 'true' || single === 'false') ? single === 'true' : single
}
