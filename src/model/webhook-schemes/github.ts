// model: the scheme of GitHub. `X-Hub-Signature`, with SHA-1, is no proof.
// https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
import { anySecret, signingSecret, type WebhookScheme } from './scheme.ts'
import { verifyHmac, hmacText, type HmacForm } from './single-hmac.ts'

const FORM: HmacForm = {
  names: ['X-Hub-Signature-256'],
  prefix: 'sha256=',
  algorithm: 'sha256',
  encoding: 'hex',
}

export const githubScheme: WebhookScheme = {
  hasTime: () => false,
  verify: ({ secrets }, request) => verifyHmac(FORM, secrets, request, [request.body]),
  sign: ({ secrets }, { body }) => [['X-Hub-Signature-256', hmacText(FORM, signingSecret(secrets), [body])]],
  secretFault: anySecret,
}
