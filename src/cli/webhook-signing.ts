// cli: signs a request to a webhook as its provider does, with the secrets of the environment.
import { hash } from 'node:crypto'
import { messageOf } from '../model/error-message.ts'
import { alternatives } from '../model/nearest.ts'
import { secretNameFault } from '../model/secret-reference.ts'
import type { Endpoint } from '../model/webhook.ts'
import {
  DEFAULT_TOLERANCE_SECONDS,
  WEBHOOK_SCHEME_NAMES,
  type ReceivedWebhook,
  type VerifyRule,
  type WebhookSchemeName,
  type WebhookVerify,
} from '../model/webhook-schemes/scheme.ts'
import { WEBHOOK_SCHEMES } from '../model/webhook-schemes/schemes.ts'
import { openSecrets, type Environment } from '../settings/secrets.ts'
import { UsageError } from './command.ts'

export interface Signing {
  readonly scheme: WebhookSchemeName
  /** For people: the scheme, and whose secret it is. */
  readonly told: string
  /** Headers that are signed, so that the request must have them. */
  readonly headers: readonly string[]
  /** The request with its signature. @throws UsageError if it can't be signed */
  sign(request: ReceivedWebhook): ReceivedWebhook
}

/**
 * null: the endpoint has no `verify`, and nothing else says how to sign.
 * @throws UsageError for options that don't fit the endpoint, and for a missing secret
 */
export async function openSigning(
  { urlPath, verify }: Endpoint,
  { scheme, secret }: { readonly scheme?: string | undefined; readonly secret?: string | undefined },
  env: Environment,
): Promise<Signing | null> {
  const wanted = scheme === undefined ? null : schemeOf(scheme)
  if (verify !== null && wanted !== null && wanted !== verify.scheme)
    throw new UsageError(`${urlPath} verifies by ${verify.scheme}, not by ${wanted}`)
  const way = verify ?? (wanted === null ? null : assumed(urlPath, wanted, secret))
  if (way === null) {
    if (secret === undefined) return null
    throw new UsageError(`${urlPath} has no verify: --secret needs --scheme`)
  }
  return signingBy(way, secret === undefined ? way.secrets : [secretOption(secret)], env)
}

function schemeOf(text: string) {
  const scheme = WEBHOOK_SCHEME_NAMES.find((name) => name === text)
  if (scheme === undefined) throw new UsageError(`unknown scheme "${text}"${alternatives(text, WEBHOOK_SCHEME_NAMES)}`)
  return scheme
}

/** For a webhook without `verify`, whose function may check the signature. */
function assumed(urlPath: string, scheme: WebhookSchemeName, secret: string | undefined) {
  if (scheme === 'hmac') throw new UsageError(`${urlPath} has no verify, which would say how hmac signs`)
  if (secret === undefined) throw new UsageError(`${urlPath} has no verify: --scheme needs --secret`)
  return { scheme, secrets: [secret], rule: { toleranceS: DEFAULT_TOLERANCE_SECONDS } }
}

function secretOption(name: string) {
  const fault = secretNameFault(name)
  if (fault !== null) throw new UsageError(`--secret: ${fault}`)
  return name
}

async function signingBy(
  { scheme, rule }: WebhookVerify,
  names: readonly string[],
  env: Environment,
): Promise<Signing> {
  const secrets = await openSecrets(env)
  secrets.close()
  const known = names.filter((name) => secrets.get(name) !== null)
  if (known.length === 0) throw new UsageError(names.map((name) => secrets.fault(name).reason).join('; '))
  const complete: VerifyRule = { ...rule, secrets: known.flatMap((name) => secrets.get(name) ?? []) }
  const publicUrl = env['ACTORFLUX_PUBLIC_URL'] || null
  return {
    scheme,
    told: `signed by ${scheme} with ${known.join(' or ')}`,
    headers: (rule.payload ?? []).flatMap((part) => (part.kind === 'header' ? [part.name] : [])),
    sign(request) {
      const sent = scheme === 'twilio' ? withHash(request) : request
      try {
        const headers = WEBHOOK_SCHEMES[scheme].sign(complete, sent, { nowMs: Date.now(), publicUrl })
        const names = new Set(headers.map(([name]) => name.toLowerCase()))
        return { ...sent, headers: [...sent.headers.filter(([name]) => !names.has(name.toLowerCase())), ...headers] }
      } catch (error) {
        const isPublic = complete.secrets.every((text) => text.startsWith('whpk_'))
        const reason = isPublic
          ? 'a public key only checks: name the secret that has the private key, whsk_…, by --secret'
          : messageOf(error)
        throw new UsageError(`${known.join(' and ')}: can't sign by ${scheme}: ${reason}`)
      }
    },
  }
}

/** Twilio signs the URL, which has the hash of a body that is no form. */
function withHash(request: ReceivedWebhook) {
  const { target, headers, body } = request
  const isForm = headers.some(
    ([name, value]) =>
      name.toLowerCase() === 'content-type' && value.toLowerCase().startsWith('application/x-www-form-urlencoded'),
  )
  if (isForm || body.length === 0 || target.includes('bodySHA256=')) return request
  const digest = hash('sha256', body)
  return { ...request, target: `${target}${target.includes('?') ? '&' : '?'}bodySHA256=${digest}` }
}
