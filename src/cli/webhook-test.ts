// cli: `actorflux webhook test`: finds a webhook of the services, signs a sample delivery by its `verify`, and sends it
// to a server, as the provider would. Only the request that --print shows has a signature, or a secret.
import { randomUUID } from 'node:crypto'
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { checkServices } from '../main.ts'
import { Endpoints } from '../definitions/endpoints.ts'
import { parameterOf } from '../definitions/compile/webhooks.ts'
import { messageOf } from '../model/error-message.ts'
import { alternatives } from '../model/nearest.ts'
import type { Endpoint } from '../model/webhook.ts'
import type { HeaderPair } from '../model/webhook-schemes/scheme.ts'
import { createLog } from '../observe/log.ts'
import { readSettings, type Settings } from '../settings.ts'
import { EXIT, UsageError, type Command, type World } from './command.ts'
import { parseWords } from './parse.ts'
import { reportLines } from './report.ts'
import { plain, plainText } from './remote/text.ts'
import { bodyOf } from './webhook-body.ts'
import { curlOf, deliver, type TestedServer } from './webhook-delivery.ts'
import { sampleOf } from './webhook-samples.ts'
import { openSigning, type Signing } from './webhook-signing.ts'

export const WEBHOOK_TEST_HELP = `Usage: actorflux webhook test <path> [options]

Signs a sample delivery as the provider of the webhook does, sends it to a server, and prints the status and the body of
the answer. Exits with 0 if the status is 2xx, with 1 if it is another one or none comes, and with 2 if the command
can't be carried out as given.

  <path>      urlPath of the webhook, as in the file: /stripe. In the place of a parameter, write its value: /orders/42
              for /orders/{id}; a {id} that is left is sent as 1. A query may follow: '/orders/42?express=true'
  --scheme    the scheme that is meant: an error if the webhook verifies by another one. Needed, with --secret, to sign
              for a webhook without verify; without both, that one gets an unsigned sample
  --secret    NAME of the secret to sign with, instead of those in verify. For public keys (whpk_…): the one that has
              the private key, whsk_…
  --body      file that is sent instead of the sample
  --set       path=value, set in the body before it is signed: data.object.amount_total=500, line_items.0.sku=fig. The
              value is JSON, else a text; of a form, the path is the name of a field. May be repeated
  --header    'Name: value', added to the sample's headers, or instead of one of them; may be repeated. A header of the
              signature is sent as given, to see that it is refused
  --method    the one with which it is sent; else POST, PUT, PATCH or GET, the first that the webhook takes
  --url       where the server is; else ACTORFLUX_URL, else ACTORFLUX_HOST and ACTORFLUX_PORT. /api<path> is added
  --print     print the request as a curl command, and send nothing. It has the signature, or, where a scheme sends it,
              the secret itself

The services are read from ACTORFLUX_ACTORS. The secrets are read from the environment of this command, as the server
reads them from its own: ACTORFLUX_SECRET_<NAME>, or the file that ACTORFLUX_SECRET_<NAME>_FILE names.`

interface Options {
  readonly scheme?: string | undefined
  readonly secret?: string | undefined
  readonly body?: string | undefined
  readonly set?: readonly string[] | undefined
  readonly header?: readonly string[] | undefined
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly print?: boolean | undefined
}

/** A webhook, and what is sent to it. */
interface Target {
  readonly endpoint: Endpoint
  readonly method: string
  /** Below /api, with the query, as it is sent. */
  readonly path: string
}

export const testWebhook: Command = async (args, world) => {
  const { path, options } = readArguments(args)
  const settings = readOwnSettings(options, world)
  const server = serverOf(settings)
  const given = (options.header ?? []).map(headerOf)
  const target = await findTarget(path, options.method?.toUpperCase(), { settings, world })
  const { endpoint, method } = target
  const signing = await openSigning(endpoint, options, world.env)
  const { headers, body } = await contentOf(signing, { options, given, method })
  const [, host = server.host] = given.find(([name]) => name.toLowerCase() === 'host') ?? []
  const request = { method, target: `/api${target.path}`, host, headers, body }
  const signed = signing === null ? request : signing.sign(request)
  const whole = { ...signed, headers: replaced(signed.headers, given) }
  if (options.print) {
    world.out(curlOf(server, whole, options.set === undefined ? options.body : undefined))
    return EXIT.fine
  }
  const hasBody = body.length > 0 ? `, ${body.length} bytes` : ''
  world.err(`${method} ${server.origin}${server.prefix}${signed.target}${hasBody}, ${signing?.told ?? 'not signed'}`)
  const timeoutMs = (endpoint.timeout ?? settings.webhookTimeout) + GRACE_MS
  const answer = await deliver(server, whole, timeoutMs)
  world.out(plain(`${answer.status} ${answer.reason}`).trimEnd())
  if (answer.body !== '') world.out(plainText(answer.body))
  if (answer.status === 401 && signing !== null)
    world.err("actorflux: the server's log says why it refused the delivery: does it have the same secret?")
  return answer.status >= 200 && answer.status < 300 ? EXIT.fine : EXIT.failed
}

/** Time that a server gets beyond that in which it promises an answer. */
const GRACE_MS = 10_000

function readArguments(args: string[]): { readonly path: string; readonly options: Options } {
  const text = { type: 'string' } as const
  const texts = { ...text, multiple: true } as const
  const flag = { type: 'boolean' } as const
  const known = {
    scheme: text,
    secret: text,
    body: text,
    set: texts,
    header: texts,
    method: text,
    url: text,
    print: flag,
  }
  const { values, positionals } = parseWords(args, known)
  const [path, ...others] = positionals
  if (path === undefined) throw new UsageError('webhook test needs the path of a webhook, as in its file')
  if (others.length > 0) throw new UsageError(`webhook test takes one path: what is ${others.join(' ')}?`)
  return { path, options: values }
}

/** Only these settings are read: faults in others must not prevent the command. @throws UsageError */
function readOwnSettings({ url }: Options, { env }: World): Settings {
  const { ACTORFLUX_ACTORS, ACTORFLUX_HOST, ACTORFLUX_PORT, ACTORFLUX_URL, ACTORFLUX_WEBHOOK_TIMEOUT } = env
  const { ACTORFLUX_LOG_LEVEL, ACTORFLUX_LOG_FORMAT } = env
  const settings = {
    ACTORFLUX_ACTORS,
    ACTORFLUX_HOST,
    ACTORFLUX_PORT,
    ACTORFLUX_URL: url ?? ACTORFLUX_URL,
    ACTORFLUX_WEBHOOK_TIMEOUT,
    ACTORFLUX_LOG_LEVEL,
    ACTORFLUX_LOG_FORMAT,
  }
  try {
    return readSettings(settings)
  } catch (error) {
    throw new UsageError(messageOf(error).replaceAll('ACTORFLUX_URL', url === undefined ? 'ACTORFLUX_URL' : '--url'))
  }
}

function serverOf({ url, host, port }: Settings): TestedServer {
  if (url !== null) {
    const { origin, host: name, pathname } = new URL(url)
    return { origin, host: name, prefix: pathname.replace(/\/$/, '') }
  }
  if (port === 0) throw new UsageError('ACTORFLUX_PORT is 0, any free port: name the server by --url')
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const { origin, host: name } = new URL(`http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`)
  return { origin, host: name, prefix: '' }
}

/** @throws UsageError for a path or a method that no webhook has */
async function findTarget(
  given: string,
  method: string | undefined,
  { settings, world: { env, err } }: { readonly settings: Settings; readonly world: World },
): Promise<Target> {
  const log = createLog({ level: settings.logLevel, format: settings.logFormat })
  const { services, report } = await checkServices(settings, { log, env })
  const endpoints = new Endpoints(services)
  const [path = '', ...query] = (given.startsWith('/') ? given : `/${given}`).split('?')
  const segments = path.slice(1).split('/')
  const find = (name: string) => endpoints.find(name, segments.map(decode))
  const first = find(method ?? 'POST')
  if (first === null) {
    for (const line of reportLines(report.filter(({ severity }) => severity === 'fault'))) err(line)
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
  return { endpoint, method: used, path: `/${sent.join('/')}${rest}` }
}

/** Of some methods, the one that providers use most. */
const likelyOf = (methods: readonly string[]): string =>
  ['PUT', 'PATCH', 'GET'].find((name) => methods.includes(name)) ?? methods[0] ?? 'POST'

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Escapes what can't be in a URL; escapes that are there stay. */
const escaped = (text: string): string =>
  text.replaceAll(/[^\w\-.~!$&'()*+,;=:@%/?]/gu, (character) => encodeURIComponent(character))

/** What is sent before it is signed. @throws UsageError for a file that can't be read */
async function contentOf(
  signing: Signing | null,
  {
    options: { body: file, set: settings = [] },
    given,
    method,
  }: { readonly options: Options; readonly given: readonly HeaderPair[]; readonly method: string },
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
