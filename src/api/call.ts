// api: describes a call: validation, routes, the OpenAPI document, the XML Schema and the methods of clients are
// derived from it. Answers are named components of the OpenAPI document.
import { z } from 'zod'
import type { Role } from '../model/caller.ts'
import { type FieldError, invalid, malformed } from '../model/failure.ts'
import { isObject, type JsonObject } from '../model/json/value.ts'
import { unknownFields } from '../model/unknown-fields.ts'

export type FieldShape = z.core.$ZodLooseShape
type None = Record<never, never>

/** Everything about a call except its fields. */
interface Facts<A extends z.ZodType> {
  readonly summary: string
  readonly route: string
  /** The same call by another HTTP method. */
  readonly alias?: { readonly id: string; readonly method: 'PUT' }
  /** Fields whose errors concern the content (422), not the form (400), of a request, besides `CONTENT`. */
  readonly content?: readonly string[]
  /**
   * Whether unknown fields are ignored in process, as it was once. In any other call, what ignores one would do more,
   * or show more, than was meant.
   */
  readonly ignoresUnknown?: boolean
  /** Statuses of the problems that this call may return, besides those that follow from its fields. */
  readonly problems?: readonly number[]
  readonly bodyExample?: object
  /** Whether the body may be left out. */
  readonly mayLackBody?: true
  /** Its root element in XML is that of its component. */
  readonly answer: A
  readonly answerExample: unknown
  /** Whether `Prefer: wait=N` holds its answer until the context that it moved or started rests. */
  readonly prefersWait?: true
  /** The answer to a request that names one of what the call else lists. */
  readonly one?: z.ZodType
  /** The answer with 202: the request is stored, and will be carried out. */
  readonly accepted?: {
    readonly answer: z.ZodType
    readonly description: string
    readonly headers: { readonly [name: string]: string }
    readonly example: object
  }
}

export interface Call<R extends z.ZodType = z.ZodType, A extends z.ZodType = z.ZodType> extends Facts<A> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The role that the call requires on secured services. */
  readonly role: Role
  readonly path: FieldShape
  readonly query: FieldShape
  readonly body: FieldShape | null
  /** Whether it takes the header `Idempotency-Key`; in process it has the field `idempotencyKey`. */
  readonly takesKey: boolean
  /** Whether it takes the header `If-Match`; in process it has the field `version`. */
  readonly takesVersion: boolean
  /** Schema of all fields together, as callers in process give them. */
  readonly request: R
  readonly fields: ReadonlySet<string>
  readonly problems: readonly number[]
}

/** Takes the faults that concern several fields together. */
export type Issues = Pick<z.core.$RefinementCtx, 'addIssue'>

export const refuse = (issues: Issues, field: string, message: string): void =>
  issues.addIssue({ code: 'custom', message, path: [field] })

/**
 * Describes a call. It is a GET, if it has no method; if it has no role, a GET takes the role `read`, and others
 * `invoke`. `internal`: fields that only callers in process can give. `together`: what the fields must be together.
 */
export function describeCall<
  A extends z.ZodType,
  P extends FieldShape = None,
  Q extends FieldShape = None,
  B extends FieldShape = None,
  I extends FieldShape = None,
>({
  method = 'GET',
  role = method === 'GET' ? 'read' : 'invoke',
  path,
  query,
  body,
  internal,
  together,
  problems = [],
  ...facts
}: Facts<A> & {
  readonly method?: Call['method']
  readonly role?: Role
  readonly path?: P
  readonly query?: Q
  readonly body?: B
  readonly internal?: I
  readonly together?: (fields: z.output<z.ZodObject<P & Q & B & I>>, issues: Issues) => void
}) {
  const shape: P & Q & B & I = Object.assign({}, path, query, body, internal)
  return {
    ...facts,
    method,
    role,
    path: path ?? {},
    query: query ?? {},
    body: body ?? null,
    takesKey: 'idempotencyKey' in shape,
    takesVersion: 'version' in shape,
    request: together ? z.object(shape).superRefine(together) : z.object(shape),
    fields: new Set(Object.keys(shape)),
    problems: [...problems, ...(body ? [413, 415] : []), ...(CONTENT.some((field) => field in shape) ? [422] : [])],
  }
}

/** What is needed of a call to give an answer of it again. `parse` throws for what is no such answer. */
export interface AnswerKind<A> extends Pick<Call, 'method' | 'route'> {
  readonly answer: { readonly parse: (data: unknown) => A }
}

/** The request as callers give it. */
export type RequestOf<C extends Call> = z.input<C['request']>
/** The request after the check. */
export type Checked<C extends Call> = z.output<C['request']>
export type AnswerOf<C extends Call> = z.output<C['answer']>

/** Name of the root element of an answer in XML. */
export function rootOf(answer: z.ZodType): string {
  const xml = answer.meta()?.['xml']
  return isObject(xml) ? String(xml['name']) : 'response'
}

/**
 * Checks a request, and returns a copy of it with the defaults of the call. The values of its fields are not copied.
 * @throws FluxError `malformed` when its form is wrong, `invalid` when only the content of a `content` field is
 */
export function check<R extends z.ZodType>(call: Call<R>, request: unknown): z.output<R> {
  if (!isObject(request)) throw malformed('a call takes one object')
  const unknown = call.ignoresUnknown ? null : unknownFields(Object.keys(request), call.fields)
  if (unknown) throw unknown
  const { success, data, error } = call.request.safeParse(request)
  if (!success) throw refusalOf(call, request, error.issues)
  return data
}

/** Fields, or fields of fields, whose errors concern the content of a request in every call that has them. */
const CONTENT = ['key', 'tag', 'tags', 'input', 'orStart/tags', 'orStart/input', 'state', 'with', 'filter']

function refusalOf(
  { content = [] }: Call,
  request: { readonly [field: string]: unknown },
  issues: readonly z.core.$ZodIssue[],
) {
  const ofContent = [...CONTENT, ...content]
  const isForm = ([field, part]: readonly PropertyKey[]) =>
    !ofContent.some((each) => each === field || each === `${String(field)}/${String(part)}`) ||
    request[String(field)] === undefined
  const form = issues.filter(({ path }) => isForm(path))
  if (form.length === 0) return invalid('some of what was sent is not valid', errorsOf(issues))
  const detail = form.map(({ path, message }) => [...path, message].join(' ')).join('; ')
  return malformed(detail, errorsOf(form))
}

/** `at`: the pointer to what was parsed. */
export const errorsOf = (issues: readonly z.core.$ZodIssue[], at = ''): FieldError[] =>
  issues.map(({ path, message }) => ({
    pointer: at + path.map((name) => `/${String(name)}`).join(''),
    detail: message,
  }))

/** All of them in one sentence. */
export const describeErrors = (errors: readonly FieldError[]): string =>
  errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')

const components = z.registry<{ id: string }>()

/** @param naming the name of its root element in XML, or what the document says of it */
export function component<T extends z.ZodType>(id: string, schema: T, naming: string | object = {}): T {
  const named = schema.meta(typeof naming === 'string' ? { xml: { name: naming } } : { ...naming })
  components.add(named, { id })
  return named
}

/** Prefix of references to components. */
const COMPONENTS = '#/components/schemas/'

/** The schemas of all components, by name. */
export function componentSchemas(): { [name: string]: JsonObject } {
  const { schemas } = z.toJSONSchema(components, {
    uri: (name) => COMPONENTS + name,
    unrepresentable: 'any',
    override: leaveOpen,
  })
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, plain(schema)]))
}

/** A reference to the component. */
export const referenceTo = (answer: z.ZodType): { $ref: string } => ({
  $ref: COMPONENTS + (components.get(answer)?.id ?? ''),
})

/** The schema of a request field, as clients send it. */
export const fieldSchema = (type: z.core.$ZodType): JsonObject =>
  plain(z.toJSONSchema(type, { io: 'input', unrepresentable: 'any' }))

/**
 * Converts a number or a boolean that was sent as text: in a query, in XML without types, on a command line. Other text
 * stays as it is, and the check refuses it. `type`: the name of the field's type in JSON Schema.
 */
export function fieldText(text: string, type: unknown): string | number | boolean {
  if (type === 'integer' && /^(?:0|[1-9]\d*)$/.test(text)) return Number(text)
  return type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text
}

/** Later versions may add fields to answers, so the schemas allow additional properties. */
function leaveOpen({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }) {
  if (jsonSchema.additionalProperties === false) jsonSchema.additionalProperties = {}
}

/** The schema as plain data, without `$schema` and `$id`. */
function plain(schema: object): JsonObject {
  const { $schema: _schema, $id: _id, ...rest }: JsonObject = JSON.parse(JSON.stringify(schema))
  return rest
}
