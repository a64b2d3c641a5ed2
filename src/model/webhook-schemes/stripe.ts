// model: the scheme of Stripe. The secret is used as it is, with its `whsec_`; signatures of version v0 are ignored.
// https://docs.stripe.com/webhooks/signature
import { decodeDigest, haveCommon, hmacDigests } from './digests.ts'
import { rawBytes, readSingleHeader, secondsOf, timeFault } from './request-parts.ts'
import {
  anySecret,
  MAX_SIGNATURES,
  NO_SIGNATURE_FITS,
  signingSecret,
  type ReceivedWebhook,
  type WebhookScheme,
} from './scheme.ts'

const HEADER = 'Stripe-Signature'

export const stripeScheme: WebhookScheme = {
  hasTime: () => true,

  verify({ secrets, toleranceS }, request, { nowMs }) {
    const header = readSingleHeader(request, HEADER)
    if (header.fault !== null) return header.fault
    const items = header.value.split(',')
    const times = new Set(valuesOf(items, 't='))
    const [time] = times
    if (time === undefined || times.size > 1) return `the header "${HEADER}" must have one time`
    const late = timeFault(time, toleranceS, nowMs)
    if (late !== null) return late
    const given = valuesOf(items, 'v1=').flatMap((text) => decodeDigest(text, 'hex') ?? [])
    if (given.length > MAX_SIGNATURES) return `there are more than ${MAX_SIGNATURES} signatures`
    return haveCommon(given, hmacDigests('sha256', secrets, contentOf(time, request))) ? null : NO_SIGNATURE_FITS
  },

  sign({ secrets }, request, { nowMs }) {
    const time = String(secondsOf(nowMs))
    const [digest] = hmacDigests('sha256', [signingSecret(secrets)], contentOf(time, request))
    return [[HEADER, `t=${time},v1=${digest?.toString('hex')}`]]
  },

  secretFault: anySecret,
}

const valuesOf = (items: readonly string[], key: string): string[] =>
  items.filter((item) => item.startsWith(key)).map((item) => item.slice(key.length))

const contentOf = (time: string, { body }: ReceivedWebhook): Uint8Array[] => [rawBytes(`${time}.`), body]
