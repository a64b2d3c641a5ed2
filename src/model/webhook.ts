// model: a webhook, as HTTP finds it and calls it, and what its answer is made of.
import type { ContextId, Status } from './context.ts'
import type { Failure } from './failure.ts'
import type { Json, JsonObject } from './json/value.ts'

/** A service, reached at a path. */
export interface Endpoint {
  readonly package: string
  readonly fluxName: string
  /** As the file has it, `/orders/{id}`. */
  readonly urlPath: string
  /** Milliseconds; null: the server's. */
  readonly timeout: number | null
}

/** An endpoint as its callers see it. */
export interface EndpointDescription extends Pick<Endpoint, 'package' | 'fluxName' | 'urlPath'> {
  readonly httpMethods: readonly string[]
  /** As the file names it. */
  readonly name: string | null
  /** What the file says of the service. */
  readonly comment: string | null
  /** Of its path, decoded. */
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
  /** The path is served, and by these methods only. */
  | { readonly allow: readonly string[] }

export interface WebhookCall {
  readonly endpoint: Endpoint
  /** `$request`, as the service sees it. */
  readonly request: JsonObject
  /** As it came, for functions. */
  readonly rawBody: Uint8Array
  /** The texts that the request gives to an input of that name. */
  readonly textsOf: (name: string) => readonly string[]
  /** Milliseconds until it is answered in any case. */
  readonly timeout: number
  /** Called when the context is stored: nothing of the call is held any more. */
  readonly onStarted: () => void
}

export interface RefusedWebhook {
  /** null: the path leads to none. */
  readonly endpoint: Endpoint | null
  readonly method: string
  /** Without what its parameters hide. */
  readonly path: string
  readonly failure: Failure
}

export type WebhookAnswer = { readonly contextId: ContextId } /** A line filled an output from `$response`. */ & (
  | { readonly kind: 'response'; readonly response: JsonObject }
  /** A lone output's value, or all of them by name. */
  | { readonly kind: 'outputs'; readonly value: Json }
  /** It ended, and no output was filled. */
  | { readonly kind: 'nothing' }
  /** It waits, and no output was filled. */
  | { readonly kind: 'paused'; readonly status: Status }
  /** `reason`: for the log, without what views hide. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** The time is up; the context runs on. */
  | { readonly kind: 'late' }
)

export interface WebhookApi {
  /** null: nothing is served at that path. Segments are decoded. */
  find(method: string, segments: readonly string[]): FoundEndpoint | null
  /** All that are served now. The same list until the services change. */
  all(): readonly EndpointDescription[]
  /**
   * Starts the service; resolves when the context ends or pauses, or the time is up.
   * @throws FluxError when the inputs are invalid, or the store is out of reach
   */
  receive(call: WebhookCall): Promise<WebhookAnswer>
  /** Tells the log that a request was refused before anything was started. */
  refused(refusal: RefusedWebhook): void
  /** Answers all who wait as if their time were up: the server stops. */
  giveUp(): void
}
