// ports: what the program reports about its work, to be counted and measured. Methods are called for every event: each
// costs less than a tenth of a microsecond where it can, and none throws. And its spans, for those who have loaded an
// SDK of OpenTelemetry: without one, there are no traces, and nothing of them is called. A `traceparent` is the header
// of W3C Trace Context, well formed.
import type { Move, Status } from '../model/context.ts'
import type { DeliveryOutcome, Endpoint } from '../model/webhook.ts'

/** The outcome of an event for one context; `ignored` also if there was no context. */
export type EventOutcome = 'moved' | 'started' | 'ignored' | 'pending' | 'refused'

/** How an attempt of a step ended. `retried`: it failed, and there is another. `timeout`: with a TimeoutError. */
export type StepOutcome = 'ok' | 'failed' | 'retried' | 'timeout'

/** A definition of a service. The same object is meant to be given again. */
export interface SignalledService {
  readonly package: string
  readonly fluxName: string
}

export interface Signals {
  /** `count`: contexts with that outcome; 1 if left out. */
  event(outcome: EventOutcome, count?: number): void
  /** A commit has made these moves of one context. */
  moves(service: SignalledService, made: readonly Move[]): void
  /** An attempt of a step ended, and that is committed. `state`: name of the state. */
  step(service: SignalledService, state: string, outcome: StepOutcome): void
  /** A step begins to run on this server. */
  stepBegan(): void
  /** It runs no more. */
  stepEnded(milliseconds: number): void
  /** The store has answered a commit. */
  commit(milliseconds: number): void
  /** Another server was faster. */
  conflict(): void
  /** A wake-up was committed so long after it was due. */
  lateness(milliseconds: number): void
  /** A message found so many others waiting for its context. */
  depth(messages: number): void
  /** A request under `/api` was answered. `endpoint`: null if there is none for it. */
  delivery(endpoint: Endpoint | null, outcome: DeliveryOutcome): void
}

/** What the HTTP server reports. */
export interface RequestSignals {
  /** A request has ended. `route`: its template; null: there is none. `status`: null if its client left before. */
  request(route: string | null, method: string, status: number | null, milliseconds: number): void
}

/** Contexts of a service with that status. */
export interface StatusCount {
  /** null: services that are no longer loaded. */
  readonly service: SignalledService | null
  readonly status: Status
  readonly count: number
}

export interface Traces {
  /** A request over HTTP. `traceparent`: that of its client; undefined: it has none. */
  request(method: string, traceparent: string | undefined): RequestSpan
  /** A turn, which decides messages of one context. `traceparents`: those of its messages that have one. */
  turn(contextId: number | null, traceparents: readonly string[]): TurnSpan
  step(step: TracedStep): StepSpan
}

export interface TracedStep {
  readonly contextId: number
  /** `package/fluxName`. */
  readonly service: string
  readonly state: string
  readonly attempt: number
  /** The trace that leads to the step without a wait; undefined: it begins one of its own. */
  readonly parent: string | undefined
  /** The trace of the last sender that had one. A trace that begins with the step is linked to it. */
  readonly sender: string | undefined
}

export interface RequestSpan {
  readonly traceparent: string
  /** Calls the function as a part of the span. */
  run<T>(call: () => T): T
  /**
   * `route`: its template; null: there is none. `status`: null if the client disconnected before an answer was sent.
   */
  end(route: string | null, status: number | null): void
}

export interface TurnSpan {
  /** A commit of the turn begins. To be called with whether it was done, when it has ended. */
  commit(): (isDone: boolean) => void
  end(): void
}

export interface StepSpan {
  readonly traceparent: string
  run<T>(call: () => T): T
  /** `error`: its type; null: the step succeeded. */
  end(error: string | null): void
}
