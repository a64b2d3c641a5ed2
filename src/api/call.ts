// api: describes a call: validation, routes, the OpenAPI document, the XML Schema and the methods of clients are derived from it.
import { z } from 'zod'
import type { Role } from '../model/caller.ts'
import { type FieldError, FluxError, invalid, malformed } from '../model/failure.ts'
import { isObject } from '../model/json/value.ts'
import { unknownFields } from '../model/unknown-fields.ts'

export type FieldShape = z.core.$ZodLooseShape
type None = Record<never, never>

/** Everything about a call except its fields. */
interface Facts {
  readonly summary: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly route: string
  /** The same call by another HTTP method. */
  readonly alias?: { readonly id: string; readonly method: 'PUT' }
  /** The role that the call requires on secured services. */
  readonly role: Role
  /** Fields, or fields of fields (`a/b`), whose errors concern the content (422), not the form (400), of a request. */
  readonly content?: readonly string[]
  /**
   * Whether unknown fields are refused in process, too. If one were ignored, the call would do more, or show more, than
   * was meant.
   */
  readonly strict?: true
  /** Statuses of the problems that this call may return, besides those that any call may return. */
  readonly problems: readonly number[]
  readonly bodyExample?: object
  /** Whether the body may be left out. */
  readonly mayLackBody?: true
  readonly answerExample: unknown
  /** Whether it takes the header `Idempotency-Key`; in process it has the field `idempotencyKey`. */
  readonly takesKey?: true
  /** Whether `Prefer: wait=N` holds its answer until the context that it moved or started rests. */
  readonly prefersWait?: true
  /** Headers that the answer may have: name and description. */
  readonly answerHeaders?: { readonly [name: string]: string }
  /** The answer to a request that names one of what the call else lists. */
  readonly one?: { readonly answer: z.ZodType }
  /** The answer with 202, which says that the request is stored, and will be carried out. */
  readonly accepted?: {
    readonly answer: z.ZodType
    readonly description: string
    readonly headers: { readonly [name: string]: string }
    readonly example: object
  }
}

/** What is wrong with the fields together goes there. */
export interface Issues {
  addIssue(issue: { code: 'custom'; message: string; path: string[] }): void
}

interface Parts<
  P extends FieldShape,
  Q extends FieldShape,
  B extends FieldShape,
  I extends FieldShape,
  A extends z.ZodType,
> extends Facts {
  readonly path?: P
  readonly query?: Q
  readonly body?: B
  /** Fields that only callers in process can give. */
  readonly internal?: I
  /** What the fields must be together. */
  readonly together?: (fields: z.output<z.ZodObject<P & Q & B & I>>, issues: Issues) => void
  readonly answer: A
}

export interface Call<R extends z.ZodType = z.ZodType, A extends z.ZodType = z.ZodType> extends Facts {
  readonly path: FieldShape
  readonly query: FieldShape
  readonly body: FieldShape | null
  /** Schema of all fields together, as callers in process give them. */
  readonly request: R
  readonly fields: ReadonlySet<string>
  /** Its `meta` has the name of the root element in XML. */
  readonly answer: A
}

export function describeCall<
  A extends z.ZodType,
  P extends FieldShape = None,
  Q extends FieldShape = None,
  B extends FieldShape = None,
  I extends FieldShape = None,
>({ path, query, body, internal, together, ...facts }: Parts<P, Q, B, I, A>) {
  const shape: P & Q & B & I = Object.assign({}, path, query, body, internal)
  return {
    ...facts,
    path: path ?? {},
    query: query ?? {},
    body: body ?? null,
    request: together ? z.object(shape).superRefine(together) : z.object(shape),
    fields: new Set(Object.keys(shape)),
  }
}

/** What is needed of a call to give an answer of it again. `parse` throws for what is no such answer. */
export interface AnswerKind<A> extends Pick<Facts, 'method' | 'route'> {
  readonly answer: { readonly parse: (data: unknown) => A }
}

/** The request as callers give it. */
export type RequestOf<C extends Call> = z.input<C['request']>
/** The request after the check. */
export type Checked<C extends Call> = z.output<C['request']>
export type AnswerOf<C extends Call> = z.output<C['answer']>

/** Name of the root element of an answer in XML. */
export function rootOf(answer: z.ZodType): string {
  const xml: unknown = answer.meta()?.['xml']
  return typeof xml === 'object' && xml !== null && 'name' in xml ? String(xml.name) : 'response'
}

/**
 * Checks a request, and returns a copy of it with the defaults of the call. The values of its fields are not copied.
 * @throws FluxError `malformed` when its form is wrong, `invalid` when only the content of a `content` field is
 */
export function check<R extends z.ZodType>(call: Call<R>, request: unknown): z.output<R> {
  if (!isObject(request)) throw malformed('a call takes one object')
  const unknown = call.strict ? unknownFields(Object.keys(request), call.fields) : null
  if (unknown) throw unknown
  const { success, data, error } = call.request.safeParse(request)
  if (!success) throw refusalOf(call, request, error.issues)
  return data
}

function refusalOf(
  { content = [] }: Call,
  request: { readonly [field: string]: unknown },
  issues: readonly z.core.$ZodIssue[],
): FluxError {
  const isForm = ([field, part]: readonly PropertyKey[]) =>
    !content.some((each) => each === field || each === `${String(field)}/${String(part)}`) ||
    request[String(field)] === undefined
  const form = issues.filter(({ path }) => isForm(path))
  if (form.length === 0) return invalid('some of what was sent is not valid', errorsOf(issues))
  const detail = form.map(({ path, message }) => [...path, message].join(' ')).join('; ')
  return new FluxError({ kind: 'malformed', detail, errors: errorsOf(form) })
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
