// model: webhooks, as the HTTP layer finds and calls them, and their answers.
import type { ContextId, Status } from './context.ts'
import type { Failure } from './failure.ts'
import type { Json, JsonObject } from './json/value.ts'

/** A service that is reachable at a path. */
export interface Endpoint {
  readonly package: string
  readonly fluxName: string
  /** As written in the file: `/orders/{id}`. */
  readonly urlPath: string
  /** Milliseconds; null: the server's setting applies. */
  readonly timeout: number | null
}

/** An endpoint as documented for callers. */
export interface EndpointDescription extends Pick<Endpoint, 'package' | 'fluxName' | 'urlPath'> {
  readonly httpMethods: readonly string[]
  /** Name of the webhook in the file. */
  readonly name: string | null
  /** Comment of the service in the file. */
  readonly comment: string | null
  /** Segments of the path, decoded. */
  readonly segments: readonly (
    { readonly literal: string; readonly parameter: null } | { readonly literal: null; readonly parameter: string }
  )[]
  /** Inputs of the service. */
  readonly inputs: readonly InputDescription[]
}

export interface InputDescription {
  readonly name: string
  readonly type: string
  readonly array: boolean
  readonly comment: string | null
}

export type FoundEndpoint =
  | { readonly endpoint: Endpoint /** By name, decoded. */; readonly parameters: ReadonlyMap<string, string> }
  /** The path exists, but only for these methods. */
  | { readonly allow: readonly string[] }

export interface WebhookCall {
  readonly endpoint: Endpoint
  /** `$request`, as the service sees it. */
  readonly request: JsonObject
  /** The unparsed body, for functions. */
  readonly rawBody: Uint8Array
  /** The values that the request has for an input of that name. */
  readonly textsOf: (name: string) => readonly string[]
  /** Milliseconds after which the call is answered in any case. */
  readonly timeout: number
  /** Called when the context is stored and the call's data is no longer held in memory. */
  readonly onStarted: () => void
}

export interface RefusedWebhook {
  /** null: there is no endpoint at the path. */
  readonly endpoint: Endpoint | null
  readonly method: string
  /** The path without secret parameters. */
  readonly path: string
  readonly failure: Failure
}

export type WebhookAnswer = { readonly contextId: ContextId } /** A line wrote an output from `$response`. */ & (
  | { readonly kind: 'response'; readonly response: JsonObject }
  /** The value of the only output, or all outputs by name. */
  | { readonly kind: 'outputs'; readonly value: Json }
  /** The context ended and no output was written. */
  | { readonly kind: 'nothing' }
  /** The context waits and no output was written. */
  | { readonly kind: 'paused'; readonly status: Status }
  /** `reason`: for the log, without secrets. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** The timeout has passed; the context continues. */
  | { readonly kind: 'late' }
)

export interface WebhookApi {
  /** Finds the endpoint of a path, given as decoded segments; null if there is none. */
  find(method: string, segments: readonly string[]): FoundEndpoint | null
  /** All endpoints. Returns the same list until the services change. */
  all(): readonly EndpointDescription[]
  /**
   * Starts the service. Resolves when the context ends or pauses, or when the timeout has passed.
   * @throws FluxError when the inputs are invalid or the store is unavailable
   */
  receive(call: WebhookCall): Promise<WebhookAnswer>
  /** Logs that a request was refused before a context was started. */
  refused(refusal: RefusedWebhook): void
  /** Answers all waiting calls as if their timeout had passed, because the server stops. */
  giveUp(): void
}
