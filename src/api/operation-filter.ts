// api: the filter of an operation: the parameters of the list by name, as texts or lists of texts.
import { z } from 'zod'
import { FluxError, type FieldError } from '../model/failure.ts'
import { isObject, type Json, type JsonObject } from '../model/json/value.ts'
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
        { type: 'array', items: { type: 'string' } },
      ],
    },
    description:
      'Which contexts: the filters of the list by name, each a text or a list of texts. `{}`: all that have not ended',
  })

/** @throws FluxError `malformed` for names that are not known, and values that can't be read */
export function readFilter(given: JsonObject): OperationFilter {
  const unknown = unknownErrors(Object.keys(given), new Set(Object.keys(FILTERS)), '/filter')
  if (unknown.length > 0) throw refusal(unknown)
  const plain = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, plainOf(name, value)]))
  const { success, data, error } = schema.safeParse(plain)
  if (success) return data
  const errors = error.issues.map(({ path, message }) => ({
    pointer: ['', 'filter', ...path.map(String)].join('/'),
    detail: message,
  }))
  throw refusal(errors)
}

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
