// model: an error of an action, as data.
import type { Json } from './json/value.ts'

export interface ActionError {
  readonly message: string
  readonly type: string
  readonly className: string
  readonly realException: Json
  /** Stack frames in the sources of users. */
  readonly stack?: string
  /** What the failure says about another attempt; absent: nothing. */
  readonly retry?: RetryHint
}

/** An error of the server's own. */
export const actionError = (type: string, message: string): ActionError => ({
  message,
  type,
  className: type,
  realException: null,
})

/** `afterMs`: no attempt before that many milliseconds; null: no further attempt is of use. */
export interface RetryHint {
  readonly afterMs: number | null
}

/** Not fields of the errors, which workflows see. */
const hints = new WeakMap<Error, RetryHint>()

/** Gives the error that hint. */
export function setRetryHint(error: Error, hint: RetryHint): void {
  hints.set(error, hint)
}

/** The hint of an error; undefined: it has none. */
export const retryHintOf = (error: Error): RetryHint | undefined => hints.get(error)
