// ports: spans of what the program does, for those who have loaded an SDK of OpenTelemetry. Without one, there are no
// traces, and nothing of this is called. A `traceparent` is the header of W3C Trace Context, well formed.

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
  /** Of the last sender that had one. A trace that begins with the step is linked to it. */
  readonly sender: string | undefined
}

export interface RequestSpan {
  readonly traceparent: string
  /** Calls the function as a part of the span. */
  run<T>(call: () => T): T
  /** `route`: its template; null: there is none. `status`: null if the client disconnected before an answer was sent. */
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
