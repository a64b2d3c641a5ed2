// http: what is known of one request to an endpoint, and what became of it: its delivery.
import { FluxError, type Failure } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import type { HandshakeAnswer } from '../../model/webhook-schemes/scheme.ts'
import type { Delivery, DeliveryOutcome, WebhookReply } from '../../model/webhook.ts'
import { JSON_FORMAT, type Codec } from '../formats/codecs.ts'
import { statusOf } from '../problem.ts'

const INTERNAL_ERROR = 500

/**
 * What an endpoint answers. `handshake`: to a provider that tests it. `refusal`: to a sender that proves nothing, who
 * must not read the reason in the list of deliveries either.
 */
export type DoorReply = WebhookReply | { readonly handshake: HandshakeAnswer } | { readonly refusal: Failure }

export class Visit {
  readonly #about: Pick<Delivery, 'endpoint' | 'method' | 'path' | 'deliveryId' | 'time'>
  /** What the endpoint answered; null: it has not, or refused. */
  reply: DoorReply | null = null
  /** `$request`, as long as no context has it; null: the request is not verified. */
  request: JsonObject | null = null

  get deliveryId(): string {
    return this.#about.deliveryId
  }

  /** When it arrived, epoch milliseconds. */
  get time(): number {
    return this.#about.time
  }

  /** In which data is answered. */
  format: Codec = JSON_FORMAT
  /** Whether it has an `Idempotency-Key`, so that its sender is told of a replay. */
  keyed = false

  constructor(about: Pick<Delivery, 'endpoint' | 'method' | 'path' | 'deliveryId' | 'time'>) {
    this.#about = about
  }

  /** `failure`: why nothing was answered; null: it is a fault of the server. `now`: epoch milliseconds. */
  delivery(result: { readonly status: number } | { readonly error: unknown }, now: number): Delivery {
    const failure = 'error' in result && result.error instanceof FluxError ? result.error.failure : null
    const failed = failure === null ? INTERNAL_ERROR : statusOf(failure)
    return {
      ...this.#about,
      outcome: this.#outcome('error' in result, failure),
      status: 'status' in result ? result.status : failed,
      duration: Math.max(0, now - this.#about.time),
      contextId: this.#contextId(failure),
      replayOf: null,
      reason: this.#reason('error' in result, failure),
      request: this.request,
    }
  }

  #outcome(isRefused: boolean, failure: Failure | null): DeliveryOutcome {
    const { reply } = this
    if (reply === null) return isRefused && failure === null ? 'failed' : outcomeOfRefusal(failure)
    if ('refusal' in reply) return 'signature-invalid'
    if ('handshake' in reply) return 'handshake'
    if (reply.replayed) return 'duplicate'
    const { answer } = reply
    switch (answer.kind) {
      case 'filtered':
        return 'filtered'
      case 'running':
        return 'duplicate'
      case 'failed':
        return 'failed'
      case 'late':
        return 'timeout'
      case 'sent':
        return answer.contextIds.length > 0 ? 'accepted' : 'ignored'
      default:
        // What the workflow gave can't be sent.
        return isRefused ? 'failed' : 'accepted'
    }
  }

  /** Of several that an event reached, none is the one. */
  #contextId(failure: Failure | null): Delivery['contextId'] {
    const { reply } = this
    if (reply !== null && 'answer' in reply) {
      const { answer } = reply
      if ('contextId' in answer) return answer.contextId
      return answer.kind === 'sent' && answer.contextIds.length === 1 ? (answer.contextIds[0] ?? null) : null
    }
    return failure !== null && 'contextId' in failure ? (failure.contextId ?? null) : null
  }

  #reason(isRefused: boolean, failure: Failure | null): string | null {
    const { reply } = this
    if (reply !== null && 'answer' in reply) {
      if (reply.answer.kind === 'failed') return reply.answer.reason
      if (reply.remark !== null) return reply.remark
    }
    return failure?.detail ?? (isRefused ? 'a fault of the server: see its log' : null)
  }
}

function outcomeOfRefusal(failure: Failure | null): DeliveryOutcome {
  switch (failure?.kind) {
    case 'malformed':
    case 'invalid':
    case 'unsupportedType':
    case 'tooLarge':
    case 'headersTooLarge':
      return 'invalid'
    default:
      return 'refused'
  }
}
