// client: how calls fail. A `Problem` is the server's refusal; a `ConnectionError` means that there is no answer.
import type { FieldError } from '../model/failure.ts'
import { boundedText } from './lines.ts'

/** The text by which the server says that an earlier request under the same key is still under way. */
const IN_PROGRESS = 'urn:actorflux:problem:idempotency-in-progress'

/** What is known of an answer that is no success. */
export type ProblemFields = { readonly status: number } & {
  readonly [Field in Exclude<keyof Problem, keyof Error | 'retryable'>]?: Problem[Field] | undefined
}

/** The server has refused a call (RFC 9457). `message` is `detail`. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly status: number
  /**
   * What kind of problem it is, as a URI: `urn:actorflux:problem:conflict`; `about:blank` if the answer does not say.
   */
  readonly type: string
  readonly title: string
  readonly detail: string
  /** The parts of the request that are not valid; empty if it is not about parts. */
  readonly errors: readonly FieldError[]
  /** Whether the same call, under the same key, may succeed later. */
  readonly retryable: boolean
  /** Seconds after which to try again, where the server says so. */
  readonly retryAfter: number | null
  /** The path of the request. */
  readonly instance: string | null
  /** For a conflict of keys, the context that has the key. */
  readonly contextId: number | null
  /** Where the context has another version than the call named, the present one. */
  readonly version: number | null
  /** For waits, the context as it is. */
  readonly context: object | null
  readonly hint: string | null
  /** The key under which the call was made, for another try of the same call. */
  readonly idempotencyKey: string | null

  constructor({ status, title = `HTTP status ${status}`, detail = title, ...others }: ProblemFields) {
    super(detail)
    this.status = status
    this.title = title
    this.detail = detail
    this.type = others.type ?? 'about:blank'
    this.errors = others.errors ?? []
    this.retryable = status === 429 || status === 503 || isInProgress(this)
    this.retryAfter = others.retryAfter ?? null
    this.instance = others.instance ?? null
    this.contextId = others.contextId ?? null
    this.version = others.version ?? null
    this.context = others.context ?? null
    this.hint = others.hint ?? null
    this.idempotencyKey = others.idempotencyKey ?? null
  }
}

/** Whether an earlier request under the same key is still under way. */
export const isInProgress = (refusal: Problem | ConnectionError): boolean =>
  refusal instanceof Problem && refusal.type === IN_PROGRESS

/** The server did nothing for the request: it is at a limit. */
export const didNothing = (refusal: Problem | ConnectionError): boolean =>
  refusal instanceof Problem && (refusal.status === 429 || refusal.type === 'urn:actorflux:problem:overloaded')

/** There is no answer: the server is out of reach, or the connection broke. The call may have been carried out. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  readonly retryable = true
  /** The key under which the call was made, for another try of the same call; null: it had none. */
  readonly idempotencyKey: string | null

  constructor(url: string, { cause, idempotencyKey = null }: { cause: unknown; idempotencyKey?: string | null }) {
    super(`no answer from ${url}: ${reasonOf(cause)}`, { cause })
    this.idempotencyKey = idempotencyKey
  }
}

/** Node says in the cause what has happened, and in the message only that something has. */
function reasonOf(thrown: unknown) {
  const { cause = thrown }: { cause?: unknown } = thrown instanceof Error ? thrown : {}
  if (cause instanceof AggregateError && cause.message === '') return reasonOf(cause.errors[0])
  if (cause instanceof Error && cause.message !== '') return cause.message
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/**
 * The problem that an answer tells, which is no success; other texts, as those of proxies, are its detail. A redirect
 * is one, too: fetch would make another request of it, without the body or without the token.
 */
export async function problemIn(response: Response, idempotencyKey: string | null = null): Promise<Problem> {
  const { status, headers, type } = response
  const retryAfter = retryAfterIn(headers.get('retry-after') ?? '')
  const isRedirect = type === 'opaqueredirect' || (status >= 300 && status < 400)
  // What is not read would hold the connection.
  const text = await boundedText(response)
  // Browsers do not tell where it leads.
  const place = headers.get('location') ?? 'another address'
  const fields = isRedirect
    ? { title: 'Redirect', detail: `redirected to ${place}: url must be that of the server` }
    : fieldsIn(text)
  return new Problem({ ...fields, status, retryAfter, idempotencyKey })
}

const MAX_DETAIL_CHARACTERS = 1000

function fieldsIn(text: string) {
  try {
    const fields = problemFields(JSON.parse(text))
    if (fields.detail !== undefined) return fields
  } catch {
    // It is not JSON.
  }
  const detail = text.trim().slice(0, MAX_DETAIL_CHARACTERS)
  return detail === '' ? {} : { detail }
}

/** What a document says of a problem, as far as it has the right types. Only a title is the detail, too. */
export function problemFields(document: unknown): Partial<ProblemFields> {
  const given: { readonly [name: string]: unknown } = { ...Object(document) }
  const textOf = (name: string) => (typeof given[name] === 'string' ? given[name] : undefined)
  const { contextId, version, context, errors } = given
  return {
    type: textOf('type'),
    title: textOf('title'),
    detail: textOf('detail') ?? textOf('title'),
    instance: textOf('instance'),
    hint: textOf('hint'),
    errors: Array.isArray(errors) ? errors.filter(isFieldError) : [],
    contextId: typeof contextId === 'number' ? contextId : undefined,
    version: typeof version === 'number' ? version : undefined,
    context: typeof context === 'object' && context !== null ? context : undefined,
  }
}

function isFieldError(value: unknown): value is FieldError {
  const { pointer, detail }: { pointer?: unknown; detail?: unknown } = Object(value)
  return typeof pointer === 'string' && typeof detail === 'string'
}

/** Seconds in `Retry-After`, which may be a date (RFC 9110, 10.2.3); null: there is none, or it is not understood. */
function retryAfterIn(header: string) {
  if (/^\s*\d+(?:\.\d+)?\s*$/.test(header)) return Number(header)
  // The platform would make a date of a text such as -1.
  const date = /[a-z]/i.test(header) ? Date.parse(header) : Number.NaN
  return Number.isNaN(date) ? null : Math.max(0, (date - Date.now()) / 1000)
}
