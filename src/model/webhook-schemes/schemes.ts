// model: the schemes by which webhooks prove who sent them, by their names in `verify`.
import { basicScheme, tokenScheme } from './credentials.ts'
import { githubScheme, hmacScheme, shopifyScheme, slackScheme, stripeScheme } from './hmac.ts'
import type { WebhookScheme, WebhookSchemeName } from './scheme.ts'
import { gitlabScheme, standardScheme } from './standard.ts'
import { twilioScheme } from './twilio.ts'

export const WEBHOOK_SCHEMES: { readonly [name in WebhookSchemeName]: WebhookScheme } = {
  standard: standardScheme,
  github: githubScheme,
  stripe: stripeScheme,
  slack: slackScheme,
  shopify: shopifyScheme,
  gitlab: gitlabScheme,
  twilio: twilioScheme,
  hmac: hmacScheme,
  basic: basicScheme,
  token: tokenScheme,
}
