// testing: what `actorflux/test` gives to programs.
import type { FluxApi } from '../api/calls.ts'
import type { ExecuteAnswer } from '../api/commands.ts'
import type { ContextView } from '../api/contexts.ts'
import type { EventAnswer, EventRequest } from '../api/events.ts'
import type {
  AnyServices,
  EventInput,
  OtherNames,
  ServiceClient,
  ServicesOf,
  ServiceTypes,
  WithInput,
} from '../client/services.ts'
import type { ContextId, Move } from '../model/context.ts'
import type { Json, JsonObject } from '../model/json/value.ts'
import type { Log } from '../ports/log.ts'
import type { Flux } from '../ports/steps.ts'

export interface TestOptions {
  /** Folder of packages, or several; `actors` if left out. */
  readonly actors?: string | readonly string[] | undefined
  /** The time at the beginning, in ISO 8601 or epoch milliseconds; 2026-01-01 if left out. */
  readonly now?: string | number | undefined
  /** From which follows what expressions and pauses draw by chance; 1 if left out. */
  readonly seed?: number | undefined
  /** Values of `$secrets`, by name. */
  readonly secrets?: { readonly [name: string]: string } | undefined
  /** Left out: nothing is logged. */
  readonly log?: Log | undefined
}

/** A function that is called in place of another one. It may declare its arguments more narrowly. */
export type FakeFunction = { fake(args: JsonObject, flux: Flux): unknown }['fake']

/** One call of a function. */
export interface FunctionCallSeen {
  readonly arguments: JsonObject
  /** 1, 2, … */
  readonly attempt: number
  readonly stepKey: string
  readonly contextId: ContextId
  /** Epoch milliseconds of the simulated clock. */
  readonly at: number
}

export interface FakeAnswer {
  /** 200 if left out. */
  readonly status?: number | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
  /** Text, or data that is sent as JSON. */
  readonly body?: unknown
}

/** A request, and the status of its answer. */
export interface SentRequest {
  readonly method: string
  readonly url: string
  /** By lower-case name. */
  readonly headers: { readonly [name: string]: string }
  /** The data of a JSON body, else its text; null: there is none. */
  readonly body: Json
  /** Epoch milliseconds of the simulated clock. */
  readonly at: number
  /** Null: there is no answer. */
  readonly status: number | null
}

/**
 * An answer, or a function that gives one. `code` of an error that it throws, such as ECONNREFUSED, is that of an error of
 * the network.
 */
export type FakeHttp = FakeAnswer | ((request: SentRequest) => unknown)

export interface WebhookRequest {
  /** POST if left out. */
  readonly method?: string | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
  /** Text or bytes, or data that is sent as JSON. */
  readonly body?: unknown
  /** Whether the body is base64 of the bytes. */
  readonly encoded?: boolean | undefined
}

export interface WebhookAnswer {
  readonly status: number
  /** By lower-case name. */
  readonly headers: { readonly [name: string]: string }
  /** The data of a JSON body, else its text. */
  readonly body: unknown
}

interface Taken {
  readonly taken: readonly string[]
  readonly never: readonly string[]
}

/** Of one service: names of states, and transitions as `from → to (event)`. */
export interface ServiceCoverage {
  readonly states: Taken
  readonly transitions: Taken
}

/** By `package/fluxName`. */
export interface CoverageReport {
  readonly [service: string]: ServiceCoverage
}

/** A context, with plain values. */
export interface TestContext<Output = JsonObject> extends Omit<ContextView, 'input' | 'output'> {
  /** Name of the current state. */
  readonly state: string
  readonly input: JsonObject
  readonly output: Output
}

/** A move of a context. */
export interface TestMove extends Pick<Move, 'from' | 'event' | 'to' | 'at'> {
  /** `package/fluxName`. */
  readonly service: string
}

type EventsOf<Service> = Service extends ServiceTypes ? (keyof Service['events'] & string) | OtherNames<Service> : never
type InputOf<Service, Event> = Service extends ServiceTypes
  ? Event extends EventsOf<Service>
    ? EventInput<Service, Event>
    : never
  : never

export type SendOptions = Omit<EventRequest, 'event' | 'input'>
type SendArguments<Input> =
  Record<never, never> extends WithInput<Input>
    ? [options?: SendOptions & WithInput<Input>]
    : [options: SendOptions & WithInput<Input>]

interface TypedExecute<Services extends ServicesOf<Services>> {
  /** Starts a context of a service, `package/fluxName`. */
  <Name extends keyof Services & string>(
    service: Name,
    ...given: Parameters<ServiceClient<Services[Name]>['execute']>
  ): Promise<ExecuteAnswer>
}

/** Each call resolves when nothing is left to do at the present time of the simulated clock. */
export interface TestRuntime<Services extends ServicesOf<Services> = AnyServices> extends Omit<FluxApi, 'execute'> {
  readonly execute: TypedExecute<Services> & FluxApi['execute']
  /** Sends an event: to one context by `contextId` or `key`, or to all that wait for it. */
  send<Event extends EventsOf<Services[keyof Services]>>(
    event: Event,
    ...given: SendArguments<InputOf<Services[keyof Services], Event>>
  ): Promise<EventAnswer>
  /** One service, by `package/fluxName`, as that of `actorflux/client`. */
  service<Name extends keyof Services & string>(name: Name): ServiceClient<Services[Name]>
  context<Name extends keyof Services & string>(contextId: ContextId): Promise<TestContext<Services[Name]['output']>>
  /**
   * Calls a webhook. `path`: behind `/api`, with its query. Resolves when it is answered, which may need the time to go
   * on.
   */
  webhook(path: string, request?: WebhookRequest): Promise<WebhookAnswer>
  /**
   * Calls `given` in place of a function, `module.function`, also with its package before a slash; of a list, each call
   * gets the next result, or throws it if it is an Error. While the promise of a fake is pending, its step is under way.
   * @throws Error when no service calls such a function
   */
  fake(name: string, given: FakeFunction | readonly unknown[]): void
  /**
   * Answers requests to that URL, with its query, or without for any; a URL that ends with `*` stands for all that begin
   * so. A request without an answer fails.
   */
  http(url: string, answer: FakeHttp): void
  /** Requests of `Http.request`, `Webhooks.send` and `onEnd` so far. */
  sent(): readonly SentRequest[]
  /** Calls of a function so far, faked or not. @throws Error when no service calls such a function */
  calls(name: string): readonly FunctionCallSeen[]
  /** Moves of all contexts so far. */
  moves(): readonly TestMove[]
  /** Epoch milliseconds. */
  now(): number
  /**
   * Moves the clock, by milliseconds or by `90s`, `15m`, `1h`, `3d`: everything that becomes due is done, in order, each
   * at its own time.
   */
  advance(time: string | number): Promise<void>
  /** Resolves when nothing is left to do at the present time, such as after a promise of a fake was resolved. */
  idle(): Promise<void>
  /** As after kill -9: a new engine on the same store. Steps under way are lost, and run again. */
  crash(): Promise<void>
  /** States and transitions that were taken, and those that were not, of every service. */
  coverage(): CoverageReport
  close(): Promise<void>
}
