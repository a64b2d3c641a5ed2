// http: the only place where a failure becomes a status and a problem document (RFC 9457).
import { shortened } from '../../model/error-message.ts'
import type { ContextId } from '../../model/context.ts'
import type { Failure } from '../../model/failure.ts'
import { JSON_FORMAT, type ProblemFormat } from './codecs.ts'
import type { ShownProblem } from './html/problem.ts'

interface Kind {
  readonly status: number
  readonly type: string
  readonly title: string
}

const KINDS: { readonly [kind in Failure['kind']]: Kind } = {
  malformed: { status: 400, type: 'malformed-request', title: 'Malformed request' },
  unauthorized: { status: 401, type: 'unauthorized', title: 'Unauthorized' },
  signatureInvalid: { status: 401, type: 'signature-invalid', title: 'Webhook signature not verified' },
  forbidden: { status: 403, type: 'forbidden', title: 'Forbidden' },
  crossOrigin: { status: 403, type: 'cross-origin', title: 'Cross-origin request forbidden' },
  notFound: { status: 404, type: 'not-found', title: 'Not found' },
  noRoute: { status: 404, type: 'no-such-path', title: 'Path not found' },
  wrongMethod: { status: 405, type: 'method-not-allowed', title: 'Method not allowed' },
  notAcceptable: { status: 406, type: 'not-acceptable', title: 'Not acceptable' },
  timeout: { status: 408, type: 'request-timeout', title: 'Request timeout' },
  conflict: { status: 409, type: 'conflict', title: 'Conflict' },
  idempotencyInProgress: {
    status: 409,
    type: 'idempotency-in-progress',
    title: 'Idempotent request in progress',
  },
  tooLarge: { status: 413, type: 'body-too-large', title: 'Content too large' },
  unsupportedType: { status: 415, type: 'unsupported-media-type', title: 'Unsupported media type' },
  expectation: { status: 417, type: 'expectation-failed', title: 'Expectation failed' },
  misdirected: { status: 421, type: 'misdirected-request', title: 'Misdirected request' },
  invalid: { status: 422, type: 'invalid-content', title: 'Invalid content' },
  idempotencyMismatch: {
    status: 422,
    type: 'idempotency-mismatch',
    title: 'Idempotency key reused',
  },
  // 429 and not 503: only this context has too much to do.
  busy: { status: 429, type: 'context-busy', title: 'Context busy' },
  rateLimited: { status: 429, type: 'rate-limited', title: 'Too many requests' },
  headersTooLarge: { status: 431, type: 'headers-too-large', title: 'Header fields too large' },
  internal: { status: 500, type: 'internal-error', title: 'Internal server error' },
  unreadable: { status: 500, type: 'unreadable-record', title: 'Stored record unreadable' },
  webhookFailed: { status: 500, type: 'webhook-failed', title: 'Webhook workflow failed' },
  webhookTimeout: { status: 504, type: 'webhook-timeout', title: 'Webhook workflow timed out' },
  waitTimeout: { status: 504, type: 'wait-timeout', title: 'Wait timed out' },
  overloaded: { status: 503, type: 'overloaded', title: 'Server overloaded' },
  paused: { status: 503, type: 'paused', title: 'Server paused' },
  unavailable: { status: 503, type: 'unavailable', title: 'Service unavailable' },
}

export const statusOf = ({ kind }: Failure): number => KINDS[kind].status

/** Most characters of a text in a problem. */
const MAX_TEXT_CHARACTERS = 1000

export interface ProblemDocument extends ShownProblem {
  readonly contextId?: ContextId
  readonly context?: object
}

/** What failures say, each of them some. */
type Facts = Pick<ProblemDocument, 'detail' | 'errors' | 'hint' | 'context' | 'contextId'>

/** `instance`: the path of the request; left out where it is not known. */
export function problemOf(failure: Failure, instance?: string): ProblemDocument {
  const { status, type, title } = KINDS[failure.kind]
  const { detail, errors, hint, context, contextId }: Facts = failure
  return {
    type: `urn:actorflux:problem:${type}`,
    title,
    status,
    detail: short(detail),
    ...(instance !== undefined && { instance: short(instance) }),
    ...(errors && { errors: errors.map((one) => ({ pointer: short(one.pointer), detail: short(one.detail) })) }),
    ...(hint !== undefined && { hint: short(hint) }),
    ...(context && { context }),
    ...(contextId !== undefined && { contextId }),
  }
}

/**
 * Cuts a text. It may quote the request several times, escaped, and an answer must not be many times as large as its
 * request.
 */
const short = (text: string): string => shortened(text, MAX_TEXT_CHARACTERS)

/** The statuses of all problems, ascending. */
export const HTTP_STATUSES: readonly number[] = [...new Set(Object.values(KINDS).map(({ status }) => status))].sort(
  (one, other) => one - other,
)

/** What a problem with that status may mean, for descriptions. */
export const meaningsOf = (status: number): string =>
  Object.values(KINDS)
    .filter((each) => each.status === status)
    .map(({ title }) => title)
    .join('; ')

/** The first kind of problem with that status, for descriptions. */
export function exampleOf(status: number): ProblemDocument {
  const kind = Object.values(KINDS).find((each) => each.status === status) ?? KINDS.internal
  return {
    type: `urn:actorflux:problem:${kind.type}`,
    title: kind.title,
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
  if ('retryAfter' in failure) headers['retry-after'] = String(Math.max(1, Math.ceil(failure.retryAfter)))
  if (failure.kind === 'wrongMethod') headers['allow'] = failure.allow.join(', ')
  return { status: problem.status, headers, body: format.encodeProblem(problem) }
}
