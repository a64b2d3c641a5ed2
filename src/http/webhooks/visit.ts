// http: what is known of one request to an endpoint, and what became of it: its delivery.
import { FluxError, type Failure } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import type { HandshakeAnswer } from '../../model/webhook-schemes/scheme.ts'
import type { Delivery, Settlement, WebhookReply } from '../../model/webhook.ts'
import { JSON_FORMAT, type Codec } from '../formats/codecs.ts'
import { settlementOf } from './settlement.ts'

/** Not the sender's. */
const FAULT: Settlement = {
  outcome: 'failed',
  status: 500,
  contextId: null,
  reason: 'a fault of the server: see its log',
}

/**
 * What an endpoint answers. `handshake`: to a provider that tests it. `refusal`: to a sender that proves nothing;
 * `reason` is not for the sender, but for the list of deliveries.
 */
export type DoorReply =
  WebhookReply | { readonly handshake: HandshakeAnswer } | { readonly refusal: Failure; readonly reason: string }

export class Visit {
  readonly #about: Pick<Delivery, 'endpoint' | 'method' | 'path' | 'deliveryId' | 'time'>
  /** What the endpoint answered; null: it has not, or refused. */
  reply: DoorReply | null = null
  /** `$request`, as long as no context has it; null: the request is not verified. */
  request: JsonObject | null = null
  /** Its unparsed body. */
  rawBody: Uint8Array | null = null

  get deliveryId(): string {
    return this.#about.deliveryId
  }

  /** When it arrived, epoch milliseconds. */
  get time(): number {
    return this.#about.time
  }

  /** In which data is answered. */
  format: Codec = JSON_FORMAT
  /** Whether it has an `Idempotency-Key`, so that its sender learns of a replay. */
  keyed = false

  constructor(about: Pick<Delivery, 'endpoint' | 'method' | 'path' | 'deliveryId' | 'time'>) {
    this.#about = about
  }

  /** @param now epoch milliseconds */
  delivery(result: { readonly status: number } | { readonly error: unknown }, now: number): Delivery {
    const { outcome, status, contextId, reason } = this.#settlement('error' in result ? result.error : null)
    const { deliveryId, endpoint, method, path, time } = this.#about
    // Without spreads, which take most of the time of a forged request here.
    return {
      deliveryId,
      endpoint,
      method,
      path,
      time,
      outcome,
      status: 'status' in result ? result.status : status,
      duration: Math.max(0, now - time),
      contextId,
      replayOf: null,
      reason,
      request: this.request,
      rawBody: this.rawBody,
    }
  }

  #settlement(error: unknown): Settlement {
    const { reply } = this
    if (reply === null) return error instanceof FluxError ? settlementOf(error.failure) : FAULT
    if ('refusal' in reply) return { ...settlementOf(reply.refusal), reason: reply.reason }
    return 'handshake' in reply
      ? { outcome: 'handshake', status: reply.handshake.status, contextId: null, reason: null }
      : settlementOf(reply)
  }
}
