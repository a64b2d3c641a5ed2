// model: what a context is called and shown as. The views are the wire format of the REST API.
import type { Json, JsonObject } from './json.ts'

/** Positive integer below 2^53. Later contexts of a partition get higher ids. */
export type ContextId = number

export type Status = 'RUNNING' | 'WAITING' | 'WAITING_UNTIL' | 'COMPLETED' | 'FAILED' | 'TERMINATED'

export const STATUSES: readonly Status[] = ['RUNNING', 'WAITING', 'WAITING_UNTIL', 'COMPLETED', 'FAILED', 'TERMINATED']

export const isFinished = (status: Status): boolean => status === 'COMPLETED' || status === 'FAILED' || status === 'TERMINATED'

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

/** `error` of a context that failed. */
export type ErrorView = FluxException & {
  /** Where in the sources of users it arose, with paths below the package's root; left out where that isn't known. */
  stack?: string
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

export type TransitionContext = {
  event: string | null
  to: string
  takenAt: number
  values: JsonObject
}

export type StateContextView = {
  name: string
  input: ModelDescriptor
  output: ModelDescriptor
  transitionContexts: TransitionContext[]
}

export type HistoryEntry = {
  fluxName: string
  stateName: string
  stateIndex: number
  enteredAt: number
}

/** A function, script or child that is under way, or about to be tried again. */
export type StepView = {
  state: string
  /** The action's type. */
  kind: 'invokeCode' | 'script' | 'invokeFlux'
  /** Of a function; else null. */
  className: string | null
  methodName: string | null
  /** 1, 2, … the one under way, or in a pause the one that comes next. */
  attempt: number
  maxAttempts: number
  /** Epoch milliseconds, as all times here; null in a pause, and while it waits for a free slot. */
  startedAt: number | null
  timeoutAt: number | null
  /** null: it isn't in a pause. */
  nextAttemptAt: number | null
  stepKey: string
  /** Run id of the server that has it; null in a pause, and of a child. */
  server: string | null
  /** Why the attempt before failed. */
  lastError: { type: string; message: string; at: number; stack: string | null } | null
}

export type ContextView = {
  fluxName: string
  id: ContextId
  currentState: string
  startState: string
  waiting: boolean
  debugged: false
  /** Epoch milliseconds. */
  nextRun: number | null
  status: Status
  input: ModelDescriptor
  output: ModelDescriptor
  tags: string[]
  stateContexts: StateContextView[]
  executionHistory: HistoryEntry[]
  package: string
  version: number
  startedAt: number
  updatedAt: number
  endedAt: number | null
  error: ErrorView | null
  /** Content hash of the pinned definition. */
  definition: string
  step: StepView | null
  snapshot?: JsonObject
}
