// cli: `actorflux webhook test`: finds a webhook of the services, signs a sample delivery by its `verify`, and sends it
// to a server, as the provider would. Only the request that --print shows has a signature, or a secret.
import { randomUUID } from 'node:crypto'
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { Endpoints } from '../definitions/endpoints.ts'
import { parameterOf } from '../definitions/compile/webhooks.ts'
import { messageOf } from '../model/error-message.ts'
import { alternatives } from '../model/nearest.ts'
import type { HeaderPair } from '../model/webhook-schemes/scheme.ts'
import { checkFolders } from './check.ts'
import { command, EXIT, flagOption, listOption, textOption, UsageError, type Given, type World } from './command.ts'
import { reportLines } from './report.ts'
import { plain, plainText } from './remote/text.ts'
import { serverAddress, URL_OPTION } from './server-address.ts'
import { bodyOf } from './webhook-body.ts'
import { curlOf, deliver } from './webhook-delivery.ts'
import { sampleOf } from './webhook-samples.ts'
import { openSigning, type Signing } from './webhook-signing.ts'

const OPTIONS = {
  scheme: textOption('scheme', 'the scheme that is meant: an error if the webhook verifies by another one'),
  secret: textOption('NAME', 'the secret to sign with, instead of those in verify'),
  body: textOption('file', 'what is sent instead of the sample'),
  set: listOption('path=value', 'set in the body before it is signed: data.object.amount_total=500'),
  header: listOption("'Name: value'", "added to the sample's headers, or instead of one of them"),
  method: textOption('method', 'else POST, PUT, PATCH or GET, the first that the webhook takes'),
  ...URL_OPTION,
  print: flagOption('print the request as a curl command, and send nothing'),
}

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
    const { endpoint, method, path, webhookTimeout } = await findTarget(word, values.method?.toUpperCase(), world)
    const signing = await openSigning(endpoint, values, world.env)
    const { headers, body } = await contentOf(signing, { values, given, method })
    const [, host = new URL(server).host] = given.find(([name]) => name.toLowerCase() === 'host') ?? []
    const request = { method, target: `/api${path}`, host, headers, body }
    const signed = signing === null ? request : signing.sign(request)
    const whole = { ...signed, headers: replaced(signed.headers, given) }
    if (values.print) {
      world.out(curlOf(server, whole, values.set === undefined ? values.body : undefined))
      return EXIT.fine
    }
    const hasBody = body.length > 0 ? `, ${body.length} bytes` : ''
    world.err(`${method} ${server}${signed.target}${hasBody}, ${signing?.told ?? 'not signed'}`)
    const answer = await deliver(server, whole, (endpoint.timeout ?? webhookTimeout) + GRACE_MS)
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
  const segments = path.slice(1).split('/')
  const find = (name: string) => endpoints.find(name, segments.map(decode))
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
  const { endpoint } = found
  const own = endpoint.urlPath.slice(1).split('/')
  const sent = segments.map((segment, index) =>
    parameterOf(segment) !== null && parameterOf(own[index] ?? '') !== null ? '1' : escaped(segment),
  )
  const rest = query.length === 0 ? '' : `?${escaped(query.join('?'))}`
  return { endpoint, method: used, path: `/${sent.join('/')}${rest}`, webhookTimeout: settings.webhookTimeout }
}

/** Of some methods, the one that providers use most. */
const likelyOf = (methods: readonly string[]) =>
  ['PUT', 'PATCH', 'GET'].find((name) => methods.includes(name)) ?? methods[0] ?? 'POST'

function decode(segment: string) {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Escapes what can't be in a URL; escapes that are there stay. */
const escaped = (text: string) =>
  text.replaceAll(/[^\w\-.~!$&'()*+,;=:@%/?]/gu, (character) => encodeURIComponent(character))

/** What is sent before it is signed. @throws UsageError for a file that can't be read */
async function contentOf(
  signing: Signing | null,
  {
    values: { body: file, set: settings = [] },
    given,
    method,
  }: {
    readonly values: Given<typeof OPTIONS>['values']
    readonly given: readonly HeaderPair[]
    readonly method: string
  },
): Promise<{ readonly headers: readonly HeaderPair[]; readonly body: Uint8Array }> {
  const sample = sampleOf(signing?.scheme ?? null, Date.now())
  const isBodiless = file === undefined && (method === 'GET' || method === 'HEAD')
  if (isBodiless && settings.length > 0) throw new UsageError(`--set needs a body, and ${method} has none`)
  const { bytes: body, contentType } = await bodyOf(isBodiless ? { ...sample, body: '' } : sample, { file, settings })
  const typed: HeaderPair[] = body.length > 0 ? [['Content-Type', contentType]] : []
  const needed = (signing?.headers ?? []).map((name): HeaderPair => [name, randomUUID()])
  return { headers: replaced(replaced(needed, [...sample.headers, ...typed]), given), body }
}

/** Headers that the request has anyway, and that must fit it. */
const OWN_HEADERS = new Set(['connection', 'content-length', 'expect', 'transfer-encoding', 'upgrade'])

/** @throws UsageError */
function headerOf(text: string): HeaderPair {
  const colon = text.indexOf(':')
  const [name, value] = [text.slice(0, Math.max(colon, 0)).trim(), text.slice(colon + 1).trim()]
  if (colon < 1) throw new UsageError(`--header must be 'Name: value', not '${text}'`)
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

/** The headers, with the others instead of those of the same names. */
const replaced = (headers: readonly HeaderPair[], others: readonly HeaderPair[]): HeaderPair[] => [
  ...headers.filter(([name]) => !others.some(([other]) => other.toLowerCase() === name.toLowerCase())),
  ...others,
]
