// model: ids and statuses of contexts, and the parts of a context that views show as they are stored.
import type { Json, JsonObject } from './json/value.ts'

/** Positive integer below 2^53. In each partition, later contexts get higher ids. */
export type ContextId = number

export const CONTEXT_STATUSES = ['RUNNING', 'WAITING', 'WAITING_UNTIL', 'COMPLETED', 'FAILED', 'TERMINATED'] as const

export type Status = (typeof CONTEXT_STATUSES)[number]

export const isFinished = (status: Status): boolean =>
  status === 'COMPLETED' || status === 'FAILED' || status === 'TERMINATED'

/**
 * `$fluxException`, and most of the `error` of a failed context. It is a type, not an interface, so that it is
 * assignable to `Json`.
 */
export type FluxException = {
  message: string
  /** The error's `name`. */
  type: string
  className: string
  /** What was thrown, as data. If a function or a script threw it, `stack` has the frames in its source. */
  realException: Json
  fluxStackTrace: StackEntry[]
}

export type StackEntry = {
  fluxName: string
  stateName: string
  /** The event on which the state was left; null for the last entry. */
  transition: string | null
  stateIndex: number
}

export type ModelDescriptor = {
  name: string
  type: 'model'
  allowExtraProperties: boolean
  /** Of each property the declaration, as the file has it, with `value`. */
  gloopProperties: JsonObject[]
}
