// cli: `actorflux webhook test`: finds a webhook of the services, signs a sample delivery by its `verify`, and sends it
// to a server, as the provider would. Only the request that --print shows has a signature, or a secret.
import { hash, randomUUID } from 'node:crypto'
import { unescape } from 'node:querystring'
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { Endpoints } from '../definitions/endpoints.ts'
import { messageOf } from '../model/error-message.ts'
import { alternatives } from '../model/nearest.ts'
import { secretNameFault } from '../model/secret-reference.ts'
import type { Endpoint } from '../model/webhook.ts'
import {
  DEFAULT_TOLERANCE_SECONDS,
  WEBHOOK_SCHEME_NAMES,
  type HeaderPair,
  type ReceivedWebhook,
  type WebhookSchemeName,
  type WebhookVerify,
} from '../model/webhook-schemes/scheme.ts'
import { WEBHOOK_SCHEMES } from '../model/webhook-schemes/schemes.ts'
import { openSecrets } from '../settings/secrets.ts'
import { checkFolders } from './validate.ts'
import { command, EXIT, flagOption, listOption, textOption, UsageError, type Given, type World } from './command.ts'
import { reportLines } from './report.ts'
import { plain, plainText } from './remote/text.ts'
import { serverAddress, URL_OPTION } from './server-address.ts'
import { bodyOf, curlOf, deliver } from './webhook-request.ts'
import { sampleOf } from './webhook-samples.ts'

const OPTIONS = {
  scheme: textOption('scheme', 'the expected scheme: an error if the webhook has another one'),
  secret: textOption('NAME', 'the secret to sign with, instead of those in verify'),
  body: textOption('file', 'body to send instead of the sample'),
  set: listOption('path=value', 'set in the body before it is signed: data.object.amount_total=500'),
  header: listOption("'Name: value'", "added to the sample's headers, or instead of one of them"),
  method: textOption('method', 'else POST, PUT, PATCH or GET, the first that the webhook takes'),
  ...URL_OPTION,
  print: flagOption('print the request as a curl command, and send nothing'),
}

type Values = Given<typeof OPTIONS>['values']

const NOTES = `  <path>      urlPath of the webhook, as in the file: /stripe. In the place of a parameter, write its value: /orders/42
              for /orders/{id}; a {id} that is left is sent as 1. A query may follow: '/orders/42?express=true'
  --scheme    is needed, with --secret, to sign for a webhook without verify; without both, that one gets an unsigned
              sample
  --secret    for public keys (whpk_…) is the one that has the private key, whsk_…
  --set       has a value that is JSON, else a text: line_items.0.sku=fig. Of a form, the path is the name of a field
  --header    of the signature is sent as given, to see that it is refused
  --url       /api<path> is added
  --print     has the signature, or, where a scheme sends it, the secret itself

Exits with 0 if the status is 2xx, with 1 if it is another one or none comes, and with 2 if the command can't be carried
out as given. The services are read from ACTORFLUX_ACTORS. The secrets are read from the environment of this command, as
the server reads them from its own: ACTORFLUX_SECRET_<NAME>, or the file that ACTORFLUX_SECRET_<NAME>_FILE names.`

export const testWebhook = command({
  summary: 'sign a sample delivery as its provider does, send it to a webhook, and print the answer',
  word: '<path>',
  options: OPTIONS,
  notes: NOTES,
  async run({ word, values }, world) {
    const server = serverAddress(values.url, world)
    const given = (values.header ?? []).map(headerOf)
    const { endpoint, method, path, timeoutMs } = await findTarget(word, values.method?.toUpperCase(), world)
    const signing = await openSigning(endpoint, values, world)
    const { headers, body } = await contentOf(signing, method, values)
    const [, host = new URL(server).host] = given.find(([name]) => name.toLowerCase() === 'host') ?? []
    const request = { method, target: `/api${path}`, host, headers: replaced(headers, given), body }
    const signed = signing === null ? request : signing.sign(request)
    const whole = { ...signed, headers: replaced(signed.headers, given) }
    if (values.print) return world.out(curlOf(server, whole, values.set === undefined ? values.body : undefined))
    const hasBody = body.length > 0 ? `, ${body.length} bytes` : ''
    world.err(`${method} ${server}${signed.target}${hasBody}, ${signing?.told ?? 'not signed'}`)
    const answer = await deliver(server, whole, timeoutMs)
    world.out(plain(`${answer.status} ${answer.reason}`).trimEnd())
    if (answer.body !== '') world.out(plainText(answer.body))
    if (answer.status === 401 && signing !== null)
      world.err("actorflux: the server's log says why it refused the delivery: does it have the same secret?")
    return answer.status >= 200 && answer.status < 300 ? EXIT.fine : EXIT.failed
  },
})

/** Time that a server gets beyond that in which it promises an answer. */
const GRACE_MS = 10_000

/**
 * A webhook, and what is sent to it. `path`: below /api, with the query, as it is sent.
 * @throws UsageError for a path or a method that no webhook has
 */
async function findTarget(given: string, method: string | undefined, world: World) {
  const { services, report, settings } = await checkFolders([], world)
  const endpoints = new Endpoints(services)
  const [path = '', ...query] = (given.startsWith('/') ? given : `/${given}`).split('?')
  const filled = path.replaceAll(/(?<=\/)\{[^/{}]+\}(?=\/|$)/g, '1')
  const segments = filled
    .slice(1)
    .split('/')
    .map((segment) => unescape(segment))
  const find = (name: string) => endpoints.find(name, segments)
  const first = find(method ?? 'POST')
  if (first === null) {
    for (const line of reportLines(report.filter(({ severity }) => severity === 'fault'))) world.err(line)
    const without = path.startsWith('/api/') ? ', and /api is left out' : ''
    const paths = [...new Set(endpoints.all.map(({ urlPath }) => urlPath))]
    throw new UsageError(`no webhook has the path "${path}"${without}${alternatives(path, paths)}`)
  }
  const used = method ?? ('allow' in first ? likelyOf(first.allow) : 'POST')
  const found = method === undefined ? find(used) : first
  if (found === null || 'allow' in found) throw new UsageError(`${path} takes ${found?.allow.join(', ')}, not ${used}`)
  const rest = query.length === 0 ? '' : `?${escaped(query.join('?'))}`
  return {
    endpoint: found.endpoint,
    method: used,
    path: escaped(filled) + rest,
    timeoutMs: (found.endpoint.timeout ?? settings.webhookTimeout) + GRACE_MS,
  }
}

/** The one of these methods that providers use most. */
const likelyOf = (methods: readonly string[]) =>
  ['PUT', 'PATCH', 'GET'].find((name) => methods.includes(name)) ?? methods[0] ?? 'POST'

/** Escapes what can't be in a URL; escapes that are there stay. */
const escaped = (text: string) =>
  text.replaceAll(/[^\w\-.~!$&'()*+,;=:@%/?]/gu, (character) => encodeURIComponent(character))

/** What is sent before it is signed. @throws UsageError for a file that can't be read */
async function contentOf(signing: Signing | null, method: string, { body: file, set: settings = [] }: Values) {
  const sample = sampleOf(signing?.scheme ?? null, Date.now())
  const isBodiless = file === undefined && (method === 'GET' || method === 'HEAD')
  if (isBodiless && settings.length > 0) throw new UsageError(`--set needs a body, and ${method} has none`)
  const { bytes: body, contentType } = await bodyOf(isBodiless ? { ...sample, body: '' } : sample, file, settings)
  const typed: HeaderPair[] = body.length > 0 ? [['Content-Type', contentType]] : []
  const needed = (signing?.headers ?? []).map((name): HeaderPair => [name, randomUUID()])
  return { headers: replaced(needed, [...sample.headers, ...typed]), body }
}

/** Headers that the request has anyway, and that must fit it. */
const OWN_HEADERS = new Set(['connection', 'content-length', 'expect', 'transfer-encoding', 'upgrade'])

/** @throws UsageError */
function headerOf(text: string): HeaderPair {
  const [, name = '', value = ''] = /^([^:]*):(.*)$/s.exec(text)?.map((part) => part.trim()) ?? []
  if (name === '') throw new UsageError(`--header must be 'Name: value', not '${text}'`)
  // Each character is a byte on the wire.
  const bytes = Buffer.from(value).toString('latin1')
  try {
    validateHeaderName(name)
    validateHeaderValue(name, bytes)
  } catch (error) {
    throw new UsageError(`--header: ${messageOf(error)}`)
  }
  if (OWN_HEADERS.has(name.toLowerCase())) throw new UsageError(`--header: ${name} is given by the request itself`)
  return [name, bytes]
}

/**
 * null: the endpoint has no `verify`, and nothing else says how to sign.
 * @throws UsageError for options that don't fit the endpoint, and for a missing secret
 */
async function openSigning({ urlPath, verify }: Endpoint, { scheme, secret }: Values, world: World) {
  const wanted = scheme === undefined ? null : schemeOf(scheme)
  if (verify !== null && wanted !== null && wanted !== verify.scheme)
    throw new UsageError(`${urlPath} verifies by ${verify.scheme}, not by ${wanted}`)
  const way = verify ?? (wanted === null ? null : assumed(urlPath, wanted, secret))
  const fault = secret === undefined ? null : secretNameFault(secret)
  if (way !== null && fault !== null) throw new UsageError(`--secret: ${fault}`)
  if (way !== null) return signingBy(way, secret === undefined ? way.secrets : [secret], world)
  if (secret === undefined) return null
  throw new UsageError(`${urlPath} has no verify: --secret needs --scheme`)
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

type Signing = Awaited<ReturnType<typeof signingBy>>

/** `told`: for people. `headers`: those that are signed, so that the request must have them. */
async function signingBy({ scheme, rule }: WebhookVerify, names: readonly string[], { env }: World) {
  const store = await openSecrets(env)
  store.close()
  const known = names.filter((name) => store.get(name) !== null)
  if (known.length === 0) throw new UsageError(names.map((name) => store.fault(name).reason).join('; '))
  const secrets = known.flatMap((name) => store.get(name) ?? [])
  const publicUrl = env['ACTORFLUX_PUBLIC_URL'] || null
  return {
    scheme,
    told: `signed by ${scheme} with ${known.join(' or ')}`,
    headers: (rule.payload ?? []).flatMap((part) => (part.kind === 'header' ? [part.name] : [])),
    /** The request with its signature. @throws UsageError if it can't be signed */
    sign(request: ReceivedWebhook): ReceivedWebhook {
      const sent = scheme === 'twilio' ? withHash(request) : request
      try {
        const headers = WEBHOOK_SCHEMES[scheme].sign({ ...rule, secrets }, sent, { nowMs: Date.now(), publicUrl })
        return { ...sent, headers: replaced(sent.headers, headers) }
      } catch (error) {
        const reason = secrets.every((text) => text.startsWith('whpk_'))
          ? 'a public key only checks: name the secret that has the private key, whsk_…, by --secret'
          : messageOf(error)
        throw new UsageError(`${known.join(' and ')}: can't sign by ${scheme}: ${reason}`)
      }
    },
  }
}

/** The headers, with the others instead of those of the same names. */
const replaced = (headers: readonly HeaderPair[], others: readonly HeaderPair[]): HeaderPair[] => [
  ...headers.filter(([name]) => !others.some(([other]) => other.toLowerCase() === name.toLowerCase())),
  ...others,
]

/** Twilio signs the URL, which has the hash of a body that is no form. */
function withHash(request: ReceivedWebhook) {
  const { target, headers, body } = request
  const isForm = headers.some((header) => /^content-type:application\/x-www-form-urlencoded/i.test(header.join(':')))
  if (isForm || body.length === 0 || target.includes('bodySHA256=')) return request
  return { ...request, target: `${target}${target.includes('?') ? '&' : '?'}bodySHA256=${hash('sha256', body)}` }
}
