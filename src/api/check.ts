// api: checks requests. HTTP clients and callers in process get the same errors.
import type { z } from 'zod'
import { FluxError, invalid, malformed, type FieldError } from '../model/failure.ts'
import { isObject } from '../model/json/value.ts'
import { unknownFields } from '../model/unknown-fields.ts'
import type { Call } from './call.ts'

/**
 * The request that passed last, and its schema. HTTP hands a checked request to the facade at once, which must not
 * check it again.
 */
let passed: { readonly request: unknown; readonly schema: z.ZodType } | null = null

const hasPassed = <R extends z.ZodType>({ request: schema }: Call<R>, request: unknown): request is z.output<R> =>
  passed !== null && passed.request === request && passed.schema === schema

/**
 * Checks a request, and returns a copy of it with the defaults of the call. The values of its fields are not copied.
 * @throws FluxError `malformed` when its form is wrong, `invalid` when only the content of a `content` field is
 */
export function check<R extends z.ZodType>(call: Call<R>, request: unknown): z.output<R> {
  if (hasPassed(call, request)) {
    passed = null
    return request
  }
  if (!isObject(request)) throw malformed('a call takes one object')
  const unknown = call.strict ? unknownFields(Object.keys(request), call.fields) : null
  if (unknown) throw unknown
  const { success, data, error } = call.request.safeParse(request)
  if (!success) throw refusalOf(call, request, error.issues)
  passed = { request: data, schema: call.request }
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

const errorsOf = (issues: readonly z.core.$ZodIssue[]): FieldError[] =>
  issues.map(({ path, message }) => ({ pointer: path.map((name) => `/${String(name)}`).join(''), detail: message }))
