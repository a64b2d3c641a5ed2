// http: the only place where a failure becomes a status and a problem document (RFC 9457).
import { shortened } from '../../model/error-message.ts'
import type { ContextId } from '../../model/context.ts'
import type { FieldError, Failure } from '../../model/failure.ts'
import { JSON_FORMAT, type ProblemFormat } from './codecs.ts'

/** For each kind of failure: its status, the end of its type, and its title. */
const KINDS: { readonly [kind in Failure['kind']]: readonly [status: number, type: string, title: string] } = {
  malformed: [400, 'malformed-request', 'Malformed request'],
  unauthorized: [401, 'unauthorized', 'Unauthorized'],
  signatureInvalid: [401, 'signature-invalid', 'Webhook signature not verified'],
  forbidden: [403, 'forbidden', 'Forbidden'],
  crossOrigin: [403, 'cross-origin', 'Cross-origin request forbidden'],
  notFound: [404, 'not-found', 'Not found'],
  noRoute: [404, 'no-such-path', 'Path not found'],
  wrongMethod: [405, 'method-not-allowed', 'Method not allowed'],
  notAcceptable: [406, 'not-acceptable', 'Not acceptable'],
  timeout: [408, 'request-timeout', 'Request timeout'],
  conflict: [409, 'conflict', 'Conflict'],
  idempotencyInProgress: [409, 'idempotency-in-progress', 'Idempotent request in progress'],
  versionMismatch: [412, 'version-mismatch', 'Version mismatch'],
  tooLarge: [413, 'body-too-large', 'Content too large'],
  unsupportedType: [415, 'unsupported-media-type', 'Unsupported media type'],
  expectation: [417, 'expectation-failed', 'Expectation failed'],
  misdirected: [421, 'misdirected-request', 'Misdirected request'],
  invalid: [422, 'invalid-content', 'Invalid content'],
  idempotencyMismatch: [422, 'idempotency-mismatch', 'Idempotency key reused'],
  // 429 and not 503: only this context has too much to do.
  busy: [429, 'context-busy', 'Context busy'],
  rateLimited: [429, 'rate-limited', 'Too many requests'],
  headersTooLarge: [431, 'headers-too-large', 'Header fields too large'],
  internal: [500, 'internal-error', 'Internal server error'],
  unreadable: [500, 'unreadable-record', 'Stored record unreadable'],
  webhookFailed: [500, 'webhook-failed', 'Webhook workflow failed'],
  webhookTimeout: [504, 'webhook-timeout', 'Webhook workflow timed out'],
  waitTimeout: [504, 'wait-timeout', 'Wait timed out'],
  overloaded: [503, 'overloaded', 'Server overloaded'],
  paused: [503, 'paused', 'Server paused'],
  unavailable: [503, 'unavailable', 'Service unavailable'],
}

export const statusOf = ({ kind }: Failure): number => KINDS[kind][0]

/** Most characters of a text in a problem. */
const MAX_TEXT_CHARACTERS = 1000

/** What failures say, each of them some. */
interface Facts {
  readonly detail: string
  readonly errors?: readonly FieldError[]
  readonly hint?: string
  readonly context?: object
  readonly contextId?: ContextId
  readonly version?: number
}

export type ProblemDocument = ReturnType<typeof problemOf>

/** `instance`: the path of the request; left out where it is not known. */
export function problemOf(failure: Failure, instance?: string) {
  const [status, type, title] = KINDS[failure.kind]
  const { detail, errors, hint, context, contextId, version }: Facts = failure
  return {
    type: `urn:actorflux:problem:${type}`,
    title,
    status,
    detail: short(detail),
    instance: instance && short(instance),
    errors: errors?.map((one) => ({ pointer: short(one.pointer), detail: short(one.detail) })),
    hint: hint && short(hint),
    context,
    contextId,
    version,
  }
}

/** Seconds after which the call may be tried again; undefined: it is not said. */
export const retryAfterOf = (failure: Failure): number | undefined =>
  'retryAfter' in failure ? Math.max(1, Math.ceil(failure.retryAfter)) : undefined

/**
 * Cuts a text. It may quote the request several times, escaped, and an answer must not be many times as large as its
 * request.
 */
const short = (text: string): string => shortened(text, MAX_TEXT_CHARACTERS)

/** The statuses of all problems, ascending. */
export const HTTP_STATUSES: readonly number[] = [...new Set(Object.values(KINDS).map(([status]) => status))].sort(
  (one, other) => one - other,
)

/** What a problem with that status may mean, for descriptions. */
export const meaningsOf = (status: number): string =>
  Object.values(KINDS)
    .flatMap(([each, , title]) => (each === status ? title : []))
    .join('; ')

/** The first kind of problem with that status, for descriptions. */
export function exampleOf(status: number) {
  const [, type, title] = Object.values(KINDS).find(([each]) => each === status) ?? KINDS.internal
  return {
    type: `urn:actorflux:problem:${type}`,
    title,
    status,
    detail: 'what is wrong in this very case',
    instance: '/flux-api/context',
  }
}

/** Forbids browsers to guess another type than that of Content-Type. */
export const NOSNIFF = { 'x-content-type-options': 'nosniff' }

/** The path that a problem names, and the format in which it is written. */
interface ProblemFacts {
  readonly instance?: string | undefined
  readonly format?: ProblemFormat
  /** More to be said in the answer. */
  readonly headers?: { readonly [name: string]: string } | null
}

export function problemResponse(failure: Failure, facts: ProblemFacts = {}): Response {
  const { status, headers, body } = problemAnswer(failure, facts)
  return new Response(body, { status, headers })
}

/** Status, headers and body of a problem, also for answers that are made without the application. */
export function problemAnswer(
  failure: Failure,
  { instance, format = JSON_FORMAT, headers: more }: ProblemFacts = {},
): { status: number; headers: Record<string, string>; body: string } {
  const problem = problemOf(failure, instance)
  const headers: Record<string, string> = {
    ...format.headers,
    ...more,
    'content-type': format.problemType,
    'cache-control': 'no-store',
    vary: 'Accept',
    ...NOSNIFF,
  }
  // RFC 6750, section 3: no error is named when the request has no credentials.
  if (failure.kind === 'unauthorized')
    headers['www-authenticate'] = failure.token === 'none' ? 'Bearer' : 'Bearer error="invalid_token"'
  if (failure.kind === 'forbidden') headers['www-authenticate'] = 'Bearer error="insufficient_scope"'
  if (failure.kind === 'signatureInvalid' && failure.challenge !== null) headers['www-authenticate'] = failure.challenge
  const retryAfter = retryAfterOf(failure)
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter)
  if (failure.kind === 'wrongMethod') headers['allow'] = failure.allow.join(', ')
  return { status: problem.status, headers, body: format.encodeProblem(problem) }
}
