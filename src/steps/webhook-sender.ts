// steps: sends webhooks of the runtime's own as `Webhooks.send` sends those of services.
import { retryHintOf } from '../model/action-error.ts'
import { messageOf } from '../model/error-message.ts'
import type { WebhookSender } from '../ports/steps.ts'
import { httpRequest } from './builtin/http/request.ts'
import { sendWebhook } from './builtin/send-webhook.ts'

/** `allowPrivate`: whether receivers may have addresses that are not public. */
export function webhookSender({ allowPrivate }: { readonly allowPrivate: boolean }): WebhookSender {
  const post = sendWebhook({ request: httpRequest({ allowPrivate, readsBody: false }), now: Date.now })
  return {
    async send({ url, id, secret, body, signal }) {
      const headers = { 'content-type': 'application/json' }
      try {
        await post({ url, secret, body, headers }, { signal, messageId: () => Promise.resolve(id) })
        return { ok: true }
      } catch (error) {
        return { ok: false, reason: messageOf(error), hint: error instanceof Error ? retryHintOf(error) : undefined }
      }
    },
  }
}
