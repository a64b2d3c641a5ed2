// http: what each call takes, and the one check that turns what isn't into a failure.
import { z } from 'zod'
import { STATUSES } from '../../model/context.ts'
import { FluxError, invalid, type FieldError } from '../../model/failure.ts'
import { isObject, type JsonObject } from '../../model/json.ts'
import { unknownFields } from '../../model/unknown-fields.ts'

/** A list of contexts is never longer. */
const MAX_LIMIT = 1000

/** Not empty. Zod's own check of the length is made of objects, too, whatever their `length` is. */
const text = (error: string) => z.string({ error }).refine((value) => value !== '', { error }).meta({ minLength: 1 })
/** As text in the query, and described as the number that it is. */
const wholeNumber = (pattern: RegExp, error: string) => z.string({ error }).regex(pattern, { error }).transform(Number).refine(Number.isSafeInteger, { error })
const NUMBER = { type: 'integer', pattern: undefined } as const

const id = wholeNumber(/^[1-9]\d*$/, 'must be a positive decimal integer below 2^53, given once')
  .meta({ ...NUMBER, minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Id of a context' })
const one = (description: string) => text('must be given once').meta({ description })
/** What each may be, and how many, is the runtime's to judge. */
const tags = z.custom<readonly string[]>(Array.isArray, { error: ({ input }) => (input === undefined ? 'must be given' : 'must be a list of texts') })
  .meta({ type: 'array', items: { type: 'string' }, description: 'Texts of at most 256 bytes, without commas' })
const repeated = (description: string) => tags.meta({ description: `${description}. Repeat the parameter, or separate by commas` })
/** The object itself goes on, not a copy: any key in it is data. */
const input = z.custom<JsonObject>(isObject, { error: 'must be an object' }).meta({ type: 'object', additionalProperties: true, description: 'Inputs by name' })

/** What a body or a query must be, and which of its fields are checked as content (422) rather than as form (400). */
export interface Shape<T> {
  readonly schema: z.ZodType<T> & { readonly shape: object }
  readonly content: ReadonlySet<PropertyKey>
  /** Names of all fields. */
  readonly known: ReadonlySet<string>
}

const shape = <T extends z.ZodRawShape>(fields: T, ...content: (keyof T)[]) =>
  ({ schema: z.strictObject(fields, { error: 'must be an object' }), content: new Set<PropertyKey>(content), known: new Set(Object.keys(fields)) })

export const executeBody = shape({
  fluxName: text('must be a text that is not empty').meta({ description: 'Name of the service in its package' }),
  startState: z.string({ error: 'must be a text' }).nullish().meta({ description: 'The first state, if not the usual one' }),
  input: input.nullish(),
  tags: tags.nullish(),
}, 'startState', 'input', 'tags')

/** A number, or its digits: untyped XML has nothing else. */
const NO_ID = { error: 'must be a positive integer below 2^53' }
const idInBody = z.union([
  z.number(NO_ID).refine((value) => Number.isSafeInteger(value) && value > 0, NO_ID).meta({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  z.string(NO_ID).regex(/^[1-9]\d{0,15}$/, NO_ID).transform(Number).refine(Number.isSafeInteger, NO_ID),
], NO_ID)

export const eventBody = shape({
  contextId: idInBody.optional().meta({ description: 'Id of the context that the event is for, here or in the query' }),
  event: text('must be a text that is not empty').refine((name) => !name.startsWith('$'), { error: 'must not begin with $' }).meta({ description: 'Name of the event' }),
  input: input.nullish(),
  tags: tags.nullish(),
}, 'input', 'tags')

export const packagePath = shape({ package: z.string().meta({ description: 'Name of a package: its folder', examples: ['examples'] }) })
export const eventQuery = shape({ contextId: id.optional().meta({ description: 'Id of the context that the event is for; all that wait for it, if left out' }) })
export const noQuery = shape({})
export const contextQuery = shape({ contextId: id })
export const viewQuery = shape({ contextId: id, snapshot: z.enum(['true', 'false'], { error: 'must be true or false' }).optional().meta({ description: 'true: with the persisted XState snapshot' }) })
export const stateQuery = shape({ contextId: id, stateName: one('Name of a state of the service') })
export const tagQuery = shape({ contextId: id, tag: repeated('The tags') }, 'tag')
export const definitionQuery = shape({
  fluxName: one('Name of the service').optional(),
  contextId: id.optional().meta({ description: 'Id of a context: the definition that it was started with. It comes before fluxName' }),
})

export const listQuery = shape({
  fluxName: one('Only contexts of this service').optional(),
  tag: repeated('Only contexts with all of these tags').optional(),
  status: z.enum(STATUSES, { error: `must be one of ${STATUSES.join(', ')}` }).optional().meta({ description: 'Only contexts with this status; if left out, those that have not ended' }),
  currentState: one('Only contexts that are in this state').optional(),
  startState: one('Only contexts that began in this state').optional(),
  limit: z.string({ error: 'must be given once' }).regex(/^0*[1-9]\d*$/, { error: 'must be a positive integer' })
    .transform((digits) => Math.min(Number(digits), MAX_LIMIT)).default(30).meta({ ...NUMBER, minimum: 1, description: `30 if left out; above ${MAX_LIMIT} means ${MAX_LIMIT}` }),
  page: wholeNumber(/^\d+$/, 'must be an integer, 0 or more').refine((page) => Number.isSafeInteger(page * MAX_LIMIT), { error: 'is too large' }).default(0).meta({ ...NUMBER, minimum: 0, description: '0, the first, if left out' }),
  after: id.optional().meta({ description: 'Only contexts with a higher id' }),
}, 'tag')

/**
 * The value as the shape has it.
 * @throws FluxError `malformed` when its form is wrong, `invalid` when only its content is
 */
export function check<T>({ schema, content, known }: Shape<T>, value: unknown): T {
  const unknown = isObject(value) ? unknownFields(Object.keys(value), known) : null
  if (unknown) throw unknown
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { issues } = result.error
  const form = issues.filter(({ path: [field] }) => field === undefined || !content.has(field) || !isObject(value) || value[String(field)] === undefined)
  if (form.length > 0) {
    const detail = form.map(({ path, message }) => (path.length > 0 ? `${path.join('/')} ${message}` : `the body ${message}`)).join('; ')
    throw new FluxError({ kind: 'malformed', detail, errors: errorsOf(form) })
  }
  throw invalid('some of what was sent is not valid', errorsOf(issues))
}

const errorsOf = (issues: readonly z.core.$ZodIssue[]): FieldError[] =>
  issues.map(({ path, message }) => ({ pointer: path.map((name) => `/${String(name)}`).join(''), detail: message }))
