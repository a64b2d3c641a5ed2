// model: the schemes by which webhooks prove who sent them, by their names in `verify`.
import { basicScheme } from './basic.ts'
import { githubScheme } from './github.ts'
import { gitlabScheme } from './gitlab.ts'
import { hmacScheme } from './hmac.ts'
import type { WebhookScheme, WebhookSchemeName } from './scheme.ts'
import { shopifyScheme } from './shopify.ts'
import { slackScheme } from './slack.ts'
import { standardScheme } from './standard.ts'
import { stripeScheme } from './stripe.ts'
import { tokenScheme } from './token.ts'
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
