// ports: sends a webhook of the runtime's own, once, signed by Standard Webhooks.
import type { RetryHint } from '../model/action-error.ts'

export interface OutgoingWebhook {
  readonly url: string
  /** `webhook-id`: the same for all attempts. */
  readonly id: string
  /** The value of the secret, base64 after `whsec_` or without it, or a private key after `whsk_`. */
  readonly secret: string
  /** JSON. */
  readonly body: string
  /** Aborts the attempt. */
  readonly signal: AbortSignal
}

export type SendOutcome =
  | { readonly ok: true }
  /** `reason` names no secret and no address; `hint`: what the failure says about another attempt. */
  | { readonly ok: false; readonly reason: string; readonly hint?: RetryHint | undefined }

export interface WebhookSender {
  /** Never rejects. */
  send(webhook: OutgoingWebhook): Promise<SendOutcome>
}
