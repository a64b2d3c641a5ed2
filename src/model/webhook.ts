// model: webhooks, as the HTTP layer finds and calls them, and their answers.
import type { ContextId, Status } from './context.ts'
import type { Failure } from './failure.ts'
import type { Json, JsonObject } from './json/value.ts'
import type { WebhookSchemeName, WebhookVerify } from './webhook-schemes/scheme.ts'

/** A service that is reachable at a path. */
export interface Endpoint {
  readonly package: string
  readonly fluxName: string
  /** As written in the file: `/orders/{id}`. */
  readonly urlPath: string
  /** Milliseconds; null: the server's setting applies. */
  readonly timeout: number | null
  /** null: anyone may call. */
  readonly verify: WebhookVerify | null
}

/** An endpoint as documented for callers. */
export interface EndpointDescription extends Pick<Endpoint, 'package' | 'fluxName' | 'urlPath'> {
  readonly httpMethods: readonly string[]
  /** Name of the webhook in the file. */
  readonly name: string | null
  /** How its requests are verified; null: anyone may call. */
  readonly scheme: WebhookSchemeName | null
  /** Comment of the service in the file. */
  readonly comment: string | null
  /** Segments of the path, decoded. */
  readonly segments: readonly (
    { readonly literal: string; readonly parameter: null } | { readonly literal: null; readonly parameter: string }
  )[]
  /** Inputs of the service. */
  readonly inputs: readonly InputDescription[]
  /** Whether it has a condition that requests must meet. */
  readonly filters: boolean
  /** When it answers: with what the workflow answers, when the context is stored, or when an event is sent. */
  readonly answers: 'workflow' | 'accepted' | 'sent'
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

/** A request that passed verification, in the order in which the endpoint judges it. */
export interface WebhookCall {
  readonly endpoint: Endpoint
  /** The id of this request, a UUID v7. Its delivery is stored under it. */
  readonly deliveryId: string
  /** When the request arrived, epoch milliseconds. */
  readonly time: number
  /** The header `Idempotency-Key`, checked; null: there is none. */
  readonly idempotencyKey: string | null
  /** The delivery that this one repeats: it passes deduplication; null: this is no replay. */
  readonly replayOf: string | null
  /** `$request`, as the service sees it. */
  readonly request: JsonObject
  /** The unparsed body, for functions. */
  readonly rawBody: Uint8Array
  /** Milliseconds after which the call is answered in any case. */
  readonly timeout: number
  /** Called when the context is stored and the call's data is no longer held in memory. */
  readonly onStarted: () => void
  /** The trace of the request, as the header of that name has it; left out: it has none. */
  readonly traceparent?: string | undefined
}

/**
 * What became of a request. `accepted`: a context was started, or an event was taken. `ignored`: its event moved no
 * context. `filtered`: `when` was false. `invalid`: the request or its inputs can't be read. `failed`: the workflow
 * failed, or gave an answer that can't be sent. `refused`: any other refusal after verification.
 */
export const NO_DELIVERIES = {
  accepted: 0,
  duplicate: 0,
  filtered: 0,
  handshake: 0,
  ignored: 0,
  invalid: 0,
  'signature-invalid': 0,
  failed: 0,
  timeout: 0,
  refused: 0,
}
export type DeliveryOutcome = keyof typeof NO_DELIVERIES

/** A request to an endpoint, when it has been answered. */
export interface Delivery {
  readonly deliveryId: string
  readonly endpoint: Endpoint
  readonly method: string
  /** The path without secret parameters. */
  readonly path: string
  /** When it arrived, epoch milliseconds. */
  readonly time: number
  readonly outcome: DeliveryOutcome
  /** Status of the HTTP answer. */
  readonly status: number
  /** Milliseconds. */
  readonly duration: number
  readonly contextId: ContextId | null
  readonly replayOf: string | null
  /** Why it was not accepted, or what is noteworthy; null: nothing. Shown, so without secrets. */
  readonly reason: string | null
  /**
   * `$request` with its secrets, which are hidden before it is kept; null: it did not pass verification, or can't be
   * read. It may be null, too, once a context is stored for it: the commit of the start has kept it.
   */
  readonly request: JsonObject | null
  /** The unparsed body of `request`; null: as `request`. */
  readonly rawBody: Uint8Array | null
}

/** Field of the `request` of a delivery whose request could not be parsed, so that it can't be sent again. */
export const UNREADABLE = 'unreadable'

/** How a request was answered. */
export type Settlement = Pick<Delivery, 'outcome' | 'status' | 'contextId' | 'reason'>

/** What HTTP makes of a reply, or of a failure. */
export type SettlementOf = (result: WebhookReply | Failure) => Settlement

/** The answer of a workflow to the caller of its webhook. */
export type WorkflowAnswer = { readonly contextId: ContextId } /** A line wrote an output from `$response`. */ & (
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

/** An answer of the endpoint itself. */
export type DoorAnswer =
  /** `when` is false: nothing was stored. */
  | { readonly kind: 'filtered' }
  /** The context is stored, and `answer` is `accepted`. */
  | { readonly kind: 'accepted'; readonly contextId: ContextId; readonly status: Status }
  /** A repeat by `dedupe`, whose first delivery runs. */
  | { readonly kind: 'running'; readonly contextId: ContextId }
  /** `send` has sent its event. `contextIds`: moved, started, or keeping the event. */
  | { readonly kind: 'sent'; readonly eventId: string; readonly contextIds: readonly ContextId[] }

export type WebhookAnswer = WorkflowAnswer | DoorAnswer

export interface WebhookReply {
  readonly answer: WebhookAnswer
  /** The delivery repeats an earlier one, by `dedupe` or by its `Idempotency-Key`, and has that one's answer. */
  readonly replayed: boolean
  /** What the delivery says besides, such as that `dedupe.key` came out empty; null: nothing. */
  readonly remark: string | null
}

export interface WebhookApi {
  /** Finds the endpoint of a path, given as decoded segments; null if there is none. */
  find(method: string, segments: readonly string[]): FoundEndpoint | null
  /** All endpoints. Returns the same list until the services change. */
  all(): readonly EndpointDescription[]
  /**
   * Judges repeats and `when`, then starts the service or sends the event. Resolves when the context ends or pauses,
   * when the timeout has passed, or as the endpoint's `answer` says.
   * @throws FluxError when the inputs are invalid or the store is unavailable
   */
  receive(call: WebhookCall): Promise<WebhookReply>
  /** Identifies a request that arrives now. */
  arrival(): Pick<Delivery, 'deliveryId' | 'time'>
  /** Epoch milliseconds, by the clock of `arrival`. */
  now(): number
  /** Counts a delivery that was answered, keeps it, and logs a refusal, save that of a sender that proved nothing. */
  settled(delivery: Delivery): void
  /** Logs a request for which there is no endpoint. */
  unmatched(request: Pick<Delivery, 'method' | 'path'> & { readonly reason: string }): void
  /** Answers all waiting calls as if their timeout had passed, because the server stops. */
  giveUp(): void
}
