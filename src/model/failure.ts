// model: all ways in which a call or a request can be refused, as one closed union. Only the HTTP layer maps them to
// statuses.
import type { ContextId } from './context.ts'

export interface FieldError {
  /** JSON pointer (RFC 6901) into the request, `/input/amount`. */
  readonly pointer: string
  readonly detail: string
}

/** A key as a part of a JSON pointer (RFC 6901, 3). */
export const escapedKey = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

export type Failure = Readonly<
  { detail: string } & (
    | { kind: 'malformed'; errors?: readonly FieldError[] } // not in the form that the call takes
    | { kind: 'invalid'; errors: readonly FieldError[] } // well-formed, but against the rules
    /**
     * `hint`: says that no service knows the event that was sent. `context`: as it is, for who waited for it.
     * `contextId`: the context that has the key that was asked for.
     */
    | { kind: 'conflict'; hint?: string; context?: object; contextId?: ContextId }
    /** `idempotencyMismatch`: the idempotency key was used before, for a request with another content. */
    | { kind: 'notFound' | 'idempotencyMismatch' | 'forbidden' }
    /** The time is up; `context` is the one that was waited for, as it is. */
    | { kind: 'waitTimeout'; context: object }
    /** The context has another version than the call names. */
    | { kind: 'versionMismatch'; version: number }
    | { kind: 'unauthorized'; token: 'none' | 'invalid' }
    /**
     * May be tried again, after so many seconds. `idempotencyInProgress`: the first request under the idempotency key
     * is still under way. `rateLimited`: the token's calls come faster than it allows. `paused`: the server was started
     * paused, and changes nothing until it is resumed. `overloaded`: the server has no memory left for this request.
     */
    | { kind: 'idempotencyInProgress' | 'rateLimited' | 'busy' | 'paused' | 'overloaded'; retryAfter: number }
    /** `inDoubt`: the requested change may have been made nevertheless, or may still be made. */
    | { kind: 'unavailable'; retryAfter: number; inDoubt?: true }
    /** `unreadable`: the stored record of the context is damaged. */
    | { kind: 'unreadable' | 'webhookFailed' | 'webhookTimeout'; contextId: ContextId }
    // Only for requests over HTTP.
    | {
        kind:
          | 'noRoute'
          | 'notAcceptable'
          | 'tooLarge'
          | 'unsupportedType'
          | 'internal'
          | 'timeout'
          | 'headersTooLarge'
          | 'expectation'
          | 'misdirected'
          | 'crossOrigin'
      }
    /** The sender of a webhook proved nothing. `challenge`: what `WWW-Authenticate` says; null: the answer has none. */
    | { kind: 'signatureInvalid'; challenge: string | null }
    | { kind: 'wrongMethod'; allow: readonly string[] }
  )
>

/** The error that public functions throw to refuse a call. `failure` says why; the message is only for logs. */
export class FluxError extends Error {
  override readonly name = 'FluxError'
  readonly failure: Failure
  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.detail, options)
    this.failure = failure
  }
}

/** For `catch`: null in place of a refusal of that kind. */
export const nullIf = (kind: Failure['kind']) => (error: unknown) => {
  if (error instanceof FluxError && error.failure.kind === kind) return null
  throw error
}

export const malformed = (detail: string, errors?: readonly FieldError[]) =>
  new FluxError({ kind: 'malformed', detail, ...(errors && { errors }) })
export const invalid = (detail: string, errors: readonly FieldError[]) =>
  new FluxError({ kind: 'invalid', detail, errors })
export const tooLarge = (detail: string) => new FluxError({ kind: 'tooLarge', detail })
export const unsupportedType = (detail: string) => new FluxError({ kind: 'unsupportedType', detail })
export const notFound = (detail: string) => new FluxError({ kind: 'notFound', detail })
export const conflict = (detail: string) => new FluxError({ kind: 'conflict', detail })
export const unavailable = (detail: string, options?: ErrorOptions) =>
  new FluxError({ kind: 'unavailable', detail, retryAfter: 1 }, options)
export const inDoubt = (detail: string, options?: ErrorOptions) =>
  new FluxError({ kind: 'unavailable', detail, retryAfter: 1, inDoubt: true }, options)
export const overloaded = (detail: string) => new FluxError({ kind: 'overloaded', detail, retryAfter: 1 })
export const serverPaused = () =>
  new FluxError({
    kind: 'paused',
    detail: 'the server was started paused; nothing changes until it is resumed',
    retryAfter: 5,
  })
export const unreadable = (id: ContextId, cause?: unknown) =>
  new FluxError(
    { kind: 'unreadable', detail: `the stored record of context ${id} can't be read`, contextId: id },
    { cause },
  )
