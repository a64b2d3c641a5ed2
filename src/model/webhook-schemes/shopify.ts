// model: the scheme of Shopify.
// https://shopify.dev/docs/apps/build/webhooks/verify-deliveries
import { anySecret, signingSecret, type WebhookScheme } from './scheme.ts'
import { verifyHmac, hmacText, type HmacForm } from './single-hmac.ts'

const FORM: HmacForm = {
  names: ['X-Shopify-Hmac-Sha256', 'Shopify-Hmac-Sha256'],
  prefix: '',
  algorithm: 'sha256',
  encoding: 'base64',
}

export const shopifyScheme: WebhookScheme = {
  hasTime: () => false,
  verify: ({ secrets }, request) => verifyHmac(FORM, secrets, request, [request.body]),
  sign: ({ secrets }, { body }) => [['X-Shopify-Hmac-Sha256', hmacText(FORM, signingSecret(secrets), [body])]],
  secretFault: anySecret,
}
