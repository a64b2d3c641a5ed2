// cli: `actorflux webhook test`: finds a webhook of the services, signs a sample delivery by its `verify`, and sends it
// to a server, as the provider would. Only the request that --print shows has a signature, or a secret.
import { unescape } from 'node:querystring'
import { Endpoints } from '../definitions/endpoints.ts'
import { messageOf } from '../model/error-message.ts'
import { alternatives } from '../model/nearest.ts'
import type { Endpoint, FoundEndpoint } from '../model/webhook.ts'
import {
  DEFAULT_TOLERANCE_SECONDS,
  WEBHOOK_SCHEME_NAMES,
  type ReceivedWebhook,
  type WebhookVerify,
} from '../model/webhook-schemes/scheme.ts'
import { WEBHOOK_SCHEMES } from '../model/webhook-schemes/schemes.ts'
import { openSecrets } from '../settings/secrets.ts'
import { checkFolders } from './validate.ts'
import type { CliIo } from './cli-io.ts'
import { EXIT, flagOption, listOption, textOption, UsageError, type Given } from './command.ts'
import { reportLines } from './report.ts'
import { remote } from './remote/remote.ts'
import { plain, plainText } from './remote/text.ts'
import { contentOf, curlOf, deliver, headerOf, replaced } from './webhook-request.ts'

const OPTIONS = {
  scheme: textOption('scheme', 'the expected scheme: an error if the webhook has another one'),
  secret: textOption('NAME', 'the secret to sign with, instead of those in verify'),
  body: textOption('file', 'body to send instead of the sample'),
  set: listOption('path=value', 'set in the body before it is signed: data.object.amount_total=500'),
  header: listOption("'Name: value'", "added to the sample's headers, or instead of one of them"),
  method: textOption('method', 'else POST, PUT, PATCH or GET, the first that the webhook takes'),
  print: flagOption('print the request as a curl command, and send nothing'),
}

const NOTES = `  <path>      urlPath of the webhook, as in the file: /stripe. In the place of a parameter, write its value: /orders/42
              for /orders/{id}; a {id} that is left is sent as 1. A query may follow: '/orders/42?express=true'
  --scheme    is needed, with --secret, to sign for a webhook without verify; without both, that one gets an unsigned
              sample
  --secret    for public keys (whpk_…) is the one that has the private key, whsk_…
  --body      for twilio, if it is no form, needs its SHA-256 in the path: '/sms?bodySHA256=<64 hexadecimal digits>'
  --set       has a value that is JSON, else a text: line_items.0.sku=fig. Of a form, the path is the name of a field
  --header    of the signature is sent as given, to see that it is refused
  --url       /api<path> is added
  --print     has the signature, or, where a scheme sends it, the secret itself

Exits with 0 if the status is 2xx, with 1 if it is another one or none comes, and with 2 if the command can't be carried
out as given. The services are read from ACTORFLUX_ACTORS. The secrets are read from the environment of this command, as
the server reads them from its own: ACTORFLUX_SECRET_<NAME>, or the file that ACTORFLUX_SECRET_<NAME>_FILE names.`

export const testWebhook = remote({
  summary: 'sign a sample delivery as its provider does, send it to a webhook, and print the answer',
  word: '<path>',
  hasOwnForm: true,
  options: OPTIONS,
  notes: NOTES,
  async run({ word, values }, { url, io }) {
    const given = (values.header ?? []).map(headerOf)
    const { endpoint, method, path, timeoutMs } = await findTarget(word, values.method?.toUpperCase(), io)
    const verify = verifyOf(endpoint, values)
    const signing = verify && (await signingBy(verify, io))
    const { headers, body } = await contentOf(verify, method, values.body, values.set)
    const [, host = new URL(url).host] = given.find(([name]) => name.toLowerCase() === 'host') ?? []
    const unsigned = { method, target: `/api${path}`, host, headers: replaced(headers, given), body }
    const signature = signing?.sign(unsigned) ?? []
    const request = { ...unsigned, headers: replaced(replaced(unsigned.headers, signature), given) }
    if (values.print) return io.out(curlOf(url, request, values.set === undefined ? values.body : undefined))
    const size = body.length > 0 ? `, ${body.length} bytes` : ''
    io.err(`${method} ${url}${request.target}${size}, ${signing?.told ?? 'not signed'}`)
    const answer = await deliver(url, request, timeoutMs)
    io.out(plain(`${answer.status} ${answer.reason}`).trimEnd())
    if (answer.body !== '') io.out(plainText(answer.body))
    if (answer.status === 401 && signing !== null)
      io.err("actorflux: the server's log says why it refused the delivery: does it have the same secret?")
    return answer.status >= 200 && answer.status < 300 ? EXIT.fine : EXIT.failed
  },
})

/** Time that a server gets beyond that in which it promises an answer. */
const GRACE_MS = 10_000

/** HTTP methods, those that providers use most first. */
const METHODS = ['POST', 'PUT', 'PATCH', 'GET', 'DELETE', 'HEAD', 'OPTIONS']

/**
 * A webhook, and what is sent to it. `path`: below /api, with the query, as it is sent.
 * @throws UsageError for a path or a method that no webhook has
 */
async function findTarget(given: string, method: string | undefined, io: CliIo) {
  const { services, report, settings } = await checkFolders([], io)
  const endpoints = new Endpoints(services)
  const [path = '', ...query] = (given.startsWith('/') ? given : `/${given}`).split('?')
  const filled = path.replaceAll(/(?<=\/)\{[^/{}]+\}(?=\/|$)/g, '1')
  const segments = filled.split('/').map((segment) => unescape(segment))
  let found: FoundEndpoint | null = null
  for (const name of method === undefined ? METHODS : [method]) {
    found = endpoints.find(name, segments.slice(1))
    if (found === null || 'allow' in found) continue
    return {
      endpoint: found.endpoint,
      method: name,
      path: escaped([filled, ...query].join('?')),
      timeoutMs: (found.endpoint.timeout ?? settings.webhookTimeout) + GRACE_MS,
    }
  }
  if (found !== null) throw new UsageError(`${path} takes ${found.allow.join(', ')}, not ${method}`)
  reportLines(report.filter(({ severity }) => severity === 'fault')).forEach(io.err)
  const without = path.startsWith('/api/') ? ', and /api is left out' : ''
  const paths = new Set(endpoints.all.map(({ urlPath }) => urlPath))
  throw new UsageError(`no webhook has the path "${path}"${without}${alternatives(path, paths)}`)
}

/** Escapes what can't be in a URL; escapes that are there stay. */
const escaped = (text: string) =>
  text.replaceAll(/[^\w\-.~!$&'()*+,;=:@%/?]/gu, (character) => encodeURIComponent(character))

/**
 * How the endpoint verifies. For one without `verify`, whose function may check the signature, the options say how to sign;
 * null: they don't.
 * @throws UsageError for options that don't fit the endpoint
 */
function verifyOf({ urlPath, verify }: Endpoint, given: Given<typeof OPTIONS>['values']): WebhookVerify | null {
  const { scheme: name, secret } = given
  if (name === undefined && secret === undefined) return verify
  const scheme = WEBHOOK_SCHEME_NAMES.find((each) => each === (name ?? verify?.scheme))
  if (verify === null) {
    // The rule of hmac is only in a verify.
    if (scheme === undefined || scheme === 'hmac' || secret === undefined)
      throw new UsageError(
        `${urlPath} has no verify: it needs --secret, and a --scheme of ${WEBHOOK_SCHEME_NAMES.join(', ')}, but not hmac`,
      )
    return { scheme, secrets: [secret], rule: { toleranceS: DEFAULT_TOLERANCE_SECONDS } }
  }
  if (scheme !== verify.scheme) throw new UsageError(`${urlPath} verifies by ${verify.scheme}, not by ${name}`)
  return secret === undefined ? verify : { ...verify, secrets: [secret] }
}

/** `told`: for people. @throws UsageError for a missing secret */
async function signingBy({ scheme, rule, secrets: names }: WebhookVerify, { env }: CliIo) {
  const store = await openSecrets(env)
  const known = names.filter((name) => store.get(name) !== null)
  if (known.length === 0) throw new UsageError(names.map((name) => store.fault(name).reason).join('; '))
  const secrets = known.flatMap((name) => store.get(name) ?? [])
  return {
    told: `signed by ${scheme} with ${known.join(' or ')}`,
    /** The headers with the signature. @throws UsageError if the request can't be signed */
    sign(request: ReceivedWebhook) {
      try {
        const environment = { nowMs: Date.now(), publicUrl: env['ACTORFLUX_PUBLIC_URL'] || null }
        return WEBHOOK_SCHEMES[scheme].sign({ ...rule, secrets }, request, environment)
      } catch (error) {
        throw new UsageError(`${known.join(' and ')}: can't sign by ${scheme}: ${messageOf(error)}`)
      }
    },
  }
}
