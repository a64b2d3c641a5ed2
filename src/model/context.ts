// model: what a context is called, and what of it is shown as it is kept.
import type { Json, JsonObject } from './json/value.ts'

/** Positive integer below 2^53. Later contexts of a partition get higher ids. */
export type ContextId = number

export type Status = 'RUNNING' | 'WAITING' | 'WAITING_UNTIL' | 'COMPLETED' | 'FAILED' | 'TERMINATED'

export const CONTEXT_STATUSES: readonly Status[] = [
  'RUNNING',
  'WAITING',
  'WAITING_UNTIL',
  'COMPLETED',
  'FAILED',
  'TERMINATED',
]

export const isFinished = (status: Status): boolean =>
  status === 'COMPLETED' || status === 'FAILED' || status === 'TERMINATED'

/** `$fluxException`, and most of the `error` of a context that failed. A type, not an interface, so that it is JSON. */
export type FluxException = {
  message: string
  /** The error's `name`. */
  type: string
  className: string
  /** Of what a function or a script threw it has `stack`: where in its source. */
  realException: Json
  fluxStackTrace: StackEntry[]
}

export type StackEntry = {
  fluxName: string
  stateName: string
  /** The event by which the state was left; null for the last entry. */
  transition: string | null
  stateIndex: number
}

/** A property's declaration as the file has it, with `value`. */
export type ValueDescriptor = JsonObject

export type ModelDescriptor = {
  name: string
  type: 'model'
  allowExtraProperties: boolean
  gloopProperties: ValueDescriptor[]
}
