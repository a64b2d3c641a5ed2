// model: all ways in which a call or a request can be refused, as one closed union. Only the HTTP layer maps them to
// statuses.
import type { ContextId } from './context.ts'

export interface FieldError {
  /** JSON pointer (RFC 6901) into the request, `/input/amount`. */
  readonly pointer: string
  readonly detail: string
}

export type Failure =
  | { readonly kind: 'malformed'; readonly detail: string; readonly errors?: readonly FieldError[] } // not in the form that the call takes
  | { readonly kind: 'invalid'; readonly detail: string; readonly errors: readonly FieldError[] } // well-formed, but against the rules
  | { readonly kind: 'notFound'; readonly detail: string }
  /**
   * `hint`: says that no service knows the event that was sent. `context`: as it is, for who waited for it. `contextId`:
   * the context that has the key that was asked for.
   */
  | {
      readonly kind: 'conflict'
      readonly detail: string
      readonly hint?: string
      readonly context?: object
      readonly contextId?: ContextId
    }
  /** The idempotency key was used before, for a request with another content. */
  | { readonly kind: 'idempotencyMismatch'; readonly detail: string }
  /** The first request under the idempotency key is still under way. `retryAfter`: seconds. */
  | { readonly kind: 'idempotencyInProgress'; readonly detail: string; readonly retryAfter: number }
  /** The time is up; `context` is the one that was waited for, as it is. */
  | { readonly kind: 'waitTimeout'; readonly detail: string; readonly context: object }
  /** The token's calls come faster than it allows. */
  | { readonly kind: 'rateLimited'; readonly detail: string; readonly retryAfter: number } // seconds
  | { readonly kind: 'unauthorized'; readonly detail: string; readonly token: 'none' | 'invalid' }
  | { readonly kind: 'forbidden'; readonly detail: string }
  | { readonly kind: 'busy'; readonly detail: string; readonly retryAfter: number } // seconds
  /** `inDoubt`: the requested change may have been made all the same, or may still be made. */
  | { readonly kind: 'unavailable'; readonly detail: string; readonly retryAfter: number; readonly inDoubt?: true }
  /** The server was started paused: it changes nothing until it is told to. */
  | { readonly kind: 'paused'; readonly detail: string; readonly retryAfter: number }
  /** The server has no memory left for this request. Nothing was changed. */
  | { readonly kind: 'overloaded'; readonly detail: string; readonly retryAfter: number } // seconds
  /** The stored record of a context is damaged. */
  | { readonly kind: 'unreadable'; readonly detail: string; readonly contextId: ContextId }
  // Only for requests over HTTP.
  | {
      readonly kind:
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
      readonly detail: string
    }
  /** The sender of a webhook proved nothing. `challenge`: what `WWW-Authenticate` says; null: the answer has none. */
  | { readonly kind: 'signatureInvalid'; readonly detail: string; readonly challenge: string | null }
  | { readonly kind: 'webhookFailed' | 'webhookTimeout'; readonly detail: string; readonly contextId: ContextId }
  | { readonly kind: 'wrongMethod'; readonly detail: string; readonly allow: readonly string[] }

/** The error that public functions throw to refuse a call. `failure` says why; the message is only for logs. */
export class FluxError extends Error {
  override readonly name = 'FluxError'
  readonly failure: Failure
  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.detail, options)
    this.failure = failure
  }
}

export const malformed = (detail: string) => new FluxError({ kind: 'malformed', detail })
export const invalid = (detail: string, errors: readonly FieldError[]) =>
  new FluxError({ kind: 'invalid', detail, errors })
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
