// definitions: compiles the webhooks of a service: their paths, and what each decides before a context exists: who may
// call, which calls are repeats or of no interest, what is sent, and when it is answered.
import { METHODS } from 'node:http'
import type { WebhookVerify } from '../../model/webhook-schemes/scheme.ts'
import { compileExpression } from '../expressions/compile.ts'
import type { Expression } from '../expressions/expression.ts'
import { compileSeen } from '../lines/names.ts'
import type { FluxUnit } from '../pinned/text.ts'
import type { Report } from '../report.ts'
import type { SendSource, WebhookSource } from '../source/webhook-schema.ts'
import { compileVerify } from './webhook-verify.ts'

export interface Webhook {
  /** JSON pointer into its file. */
  readonly pointer: string
  /** Name that people are shown; null: it has none. */
  readonly name: string | null
  /** As written in the file, with a leading slash. */
  readonly urlPath: string
  readonly httpMethods: readonly string[]
  /** Milliseconds; null: the server's setting applies. */
  readonly timeout: number | null
  /** null: anyone may call. */
  readonly verify: WebhookVerify | null
  /** `key`: equal for repeats. `keepMs`: milliseconds from the commit of the first on. null: no call is a repeat. */
  readonly dedupe: { readonly key: Expression; readonly keepMs: number } | null
  /** Calls for which it is false are of no interest. */
  readonly when: Expression | null
  /** Sent instead of starting the service. */
  readonly send: WebhookSend | null
  readonly answer: 'workflow' | 'accepted'
}

/** The service of that name; without one, this service, and this service's package. */
export interface WebhookStart extends Pick<SendSource, 'package' | 'fluxName'> {
  readonly input: Expression | null
  /** A list of tags, or one tag. */
  readonly tags: Expression | null
}

/**
 * At most one of `contextId`, `key` and `tags` is given; without any, the event is for all. `package` and `fluxName`: the
 * service whose keys are meant.
 */
export interface WebhookSend extends WebhookStart {
  readonly event: Expression
  readonly contextId: Expression | null
  readonly key: Expression | null
  /** What is started when there is none of that key: this service, another one, or, if null, nothing. */
  readonly orStart: 'self' | WebhookStart | null
}

/** The service that has the webhooks. */
type Owner = Pick<FluxUnit, 'package' | 'fluxName'>

/** Compiles the enabled webhooks. Those with a fault are left out. */
export const compileWebhooks = (
  list: readonly (WebhookSource | undefined)[],
  owner: Owner,
  report: Report,
): readonly Webhook[] =>
  list.flatMap((source, index) => (source && compileWebhook(source, `/webhooks/${index}`, owner, report)) ?? [])

function compileWebhook(source: WebhookSource, pointer: string, owner: Owner, report: Report): Webhook | null {
  const { name, dedupe, timeout = null, answer } = source
  const verify = source.verify ? compileVerify(source.verify, `${pointer}/verify`, report) : null
  const key = overRequest(dedupe?.key, `${pointer}/dedupe/key`, report)
  const when = overRequest(source.when, `${pointer}/when`, report)
  const send = source.send ? compileSend(source.send, `${pointer}/send`, owner, report) : null
  if (source.send && answer)
    report.warn(`${pointer}/answer`, 'has no effect beside send, which is answered when the event is sent')
  if (!source.enabled) return null
  const httpMethods = [...new Set(source.httpMethods.flatMap((method) => method?.toUpperCase() ?? []))]
  if (httpMethods.length === 0) report.warn(`${pointer}/httpMethods`, "without a method it can't be reached")
  const unknown = httpMethods.filter((method) => !METHODS.includes(method) || method === 'CONNECT')
  for (const method of unknown) report.warn(`${pointer}/httpMethods`, `no request has the method '${method}'`)
  const urlPath = source.urlPath.startsWith('/') ? source.urlPath : `/${source.urlPath}`
  if (urlPath !== source.urlPath) report.warn(`${pointer}/urlPath`, `taken as "${urlPath}"`)
  for (const reason of warningsOf(urlPath)) report.warn(`${pointer}/urlPath`, reason)
  if (timeout === 0) report.warn(`${pointer}/timeout`, 'every call will be answered with 504')
  return {
    verify,
    dedupe: dedupe && key ? { key, keepMs: dedupe.keep } : null,
    when,
    send,
    pointer,
    name: name || null,
    urlPath,
    httpMethods,
    timeout,
    answer: answer ?? 'workflow',
  }
}

const REQUEST = new Map([['$request', []]])

/** Compiles an expression that sees `$request` alone. null: there is none, or after a fault. */
const overRequest = (source: string | null | undefined, pointer: string, report: Report) =>
  compileSeen(compileExpression, source, { visible: REQUEST, pointer, report })

/** null after a fault. */
function compileSend(source: SendSource, pointer: string, owner: Owner, report: Report): WebhookSend | null {
  const expression = (name: 'event' | 'contextId' | 'key' | 'tags' | 'input') =>
    overRequest(source[name], `${pointer}/${name}`, report)
  const receivers = (['contextId', 'key', 'tags'] as const).filter((name) => source[name] != null)
  for (const name of receivers.slice(1))
    report.fault(`${pointer}/${name}`, `${receivers.join(' and ')} can't stand together: the event is for one of them`)
  if (source.key == null && (source.fluxName ?? source.package) != null)
    report.warn(pointer, 'fluxName and package have no effect without a key')
  const start = source.orStart || null
  if (start !== null && source.key == null)
    report.fault(`${pointer}/orStart`, 'needs a key: it starts what is missing under that key')
  // Each delivery would be refused if the key were not one of the service that is started.
  const started = start === true ? owner : start
  for (const name of ['fluxName', 'package'] as const)
    if (source[name] != null && started?.[name] != null && source[name] !== started[name])
      report.fault(`${pointer}/${name}`, `must be "${started[name]}", or be left out: orStart starts what has the key`)
  const event = expression('event')
  return (
    event && {
      ...source,
      event,
      contextId: expression('contextId'),
      key: expression('key'),
      tags: expression('tags'),
      input: expression('input'),
      orStart:
        start === true
          ? 'self'
          : start && {
              ...start,
              input: overRequest(start.input, `${pointer}/orStart/input`, report),
              tags: overRequest(start.tags, `${pointer}/orStart/tags`, report),
            },
    }
  )
}

/** Segments of a path that requests may not reach as intended. */
const DOUBTFUL = [
  [/[?#]/, "a path never has ? or #: it can't be reached"],
  [/^(?:\.|%2e){1,2}$/i, "a path never has a segment . or ..: it can't be reached"],
  [/^(?!\{[^{}]+\}$).*[{}]/, 'a parameter is a whole segment, {name}: this one is taken as it stands'],
  [/^[:*]/, 'a parameter is written {name}: this one is taken as it stands'],
] as const

function warningsOf(urlPath: string) {
  const segments = urlPath.split('/')
  const names = segments.flatMap((segment) => parameterOf(segment) ?? [])
  return [
    ...DOUBTFUL.flatMap(([pattern, warning]) => (segments.some((segment) => pattern.test(segment)) ? [warning] : [])),
    ...(segments[1] === 'api' ? ['/api is put before it: it will be reached at /api/api'] : []),
    ...(new Set(names).size < names.length ? ['two parameters of this path have one name'] : []),
  ]
}

/** The name of a segment that is a parameter, `{id}`; null for a literal segment. */
export const parameterOf = (segment: string): string | null => /^\{([^{}]+)\}$/.exec(segment)?.[1] ?? null
