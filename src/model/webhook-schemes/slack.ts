// model: the scheme of Slack, and its test of a new URL.
// https://docs.slack.dev/authentication/verifying-requests-from-slack
// https://docs.slack.dev/reference/events/url_verification
import { getOwn, isObject } from '../json/value.ts'
import { rawBytes, readSingleHeader, secondsOf, timeFault } from './request-parts.ts'
import { anySecret, signingSecret, type ReceivedWebhook, type WebhookScheme } from './scheme.ts'
import { verifyHmac, hmacText, type HmacForm } from './single-hmac.ts'

const FORM: HmacForm = { names: ['X-Slack-Signature'], prefix: 'v0=', algorithm: 'sha256', encoding: 'hex' }
const TIMESTAMP = 'X-Slack-Request-Timestamp'

export const slackScheme: WebhookScheme = {
  hasTime: () => true,

  verify({ secrets, toleranceS }, request, { nowMs }) {
    const timestamp = readSingleHeader(request, TIMESTAMP)
    if (timestamp.fault !== null) return timestamp.fault
    const late = timeFault(timestamp.value, toleranceS, nowMs)
    return late ?? verifyHmac(FORM, secrets, request, contentOf(timestamp.value, request))
  },

  sign({ secrets }, request, { nowMs }) {
    const timestamp = String(secondsOf(nowMs))
    return [
      [TIMESTAMP, timestamp],
      ['X-Slack-Signature', hmacText(FORM, signingSecret(secrets), contentOf(timestamp, request))],
    ]
  },

  handshake(body) {
    const challenge = isObject(body) && getOwn(body, 'type') === 'url_verification' ? getOwn(body, 'challenge') : null
    if (typeof challenge !== 'string') return null
    return { status: 200, contentType: 'text/plain; charset=utf-8', text: challenge }
  },

  secretFault: anySecret,
}

const contentOf = (timestamp: string, { body }: ReceivedWebhook): Uint8Array[] => [rawBytes(`v0:${timestamp}:`), body]
