// definitions: compiles the webhooks of a service, and determines which of them have the same endpoint.
import { METHODS } from 'node:http'
import { getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import type { Report } from '../report.ts'
import { take } from '../source/take.ts'
import { WebhookSchema } from '../source/webhook-schema.ts'
import { compileDoor, PLAIN_DOOR, type WebhookDoor } from './webhook-door.ts'

export interface Webhook extends WebhookDoor {
  /** JSON pointer into its file. */
  readonly pointer: string
  /** As written in the file, with a leading slash. */
  readonly urlPath: string
  readonly httpMethods: readonly string[]
  /** Milliseconds; null: the server's setting applies. */
  readonly timeout: number | null
}

/** Compiles the enabled webhooks. Those with a fault are reported and left out. */
export function compileWebhooks(source: JsonObject, report: Report): readonly Webhook[] {
  const list = getOwn(source, 'webhooks')
  return Array.isArray(list)
    ? list.flatMap((entry, index) => compileWebhook(entry, `/webhooks/${index}`, report) ?? [])
    : []
}

function compileWebhook(source: Json, pointer: string, report: Report): Webhook | null {
  const webhook = take(WebhookSchema, source, pointer, report)
  const door = isObject(source) ? compileDoor(source, pointer, report) : PLAIN_DOOR
  if (webhook === null || webhook.enabled === false) return null
  const httpMethods = [...new Set((webhook.httpMethods ?? []).map((method) => method.toUpperCase()))]
  if (httpMethods.length === 0) report.warn(`${pointer}/httpMethods`, "without a method it can't be reached")
  const unknown = httpMethods.filter((method) => !METHODS.includes(method) || method === 'CONNECT')
  if (unknown.length > 0)
    report.warn(
      `${pointer}/httpMethods`,
      `no request has the method ${unknown.map((method) => `'${method}'`).join(', ')}`,
    )
  const urlPath = webhook.urlPath.startsWith('/') ? webhook.urlPath : `/${webhook.urlPath}`
  if (urlPath !== webhook.urlPath) report.warn(`${pointer}/urlPath`, `taken as "${urlPath}"`)
  for (const reason of warningsOf(urlPath)) report.warn(`${pointer}/urlPath`, reason)
  if (webhook.timeout === 0) report.warn(`${pointer}/timeout`, 'every call will be answered with 504')
  const names = urlPath.split('/').flatMap((segment) => parameterOf(segment) ?? [])
  if (new Set(names).size < names.length) report.warn(`${pointer}/urlPath`, 'two parameters of this path have one name')
  const timeout = webhook.timeout == null ? null : webhook.timeout * 1000
  return { pointer, urlPath, httpMethods, timeout, ...door }
}

/** Warnings about a path that requests may not reach as intended. */
function warningsOf(urlPath: string): string[] {
  const segments = urlPath.split('/')
  return [
    ...(/[?#]/.test(urlPath) ? ["a path never has ? or #: it can't be reached"] : []),
    ...(segments.some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))
      ? ["a path never has a segment . or ..: it can't be reached"]
      : []),
    ...(segments.some((segment) => /[{}]/.test(segment) && parameterOf(segment) === null)
      ? ['a parameter is a whole segment, {name}: this one is taken as it stands']
      : []),
    ...(segments.some((segment) => /^[:*]/.test(segment))
      ? ['a parameter is written {name}: this one is taken as it stands']
      : []),
    ...(segments.some((segment) => decoded(segment) === null)
      ? ["it has a malformed escape: it can't be reached"]
      : []),
    ...(segments[1] === 'api' ? ['/api is put before it: it will be reached at /api/api'] : []),
  ]
}

/** The name of a segment that is a parameter, `{id}`; null for a literal segment. */
export const parameterOf = (segment: string): string | null => /^\{([^{}]+)\}$/.exec(segment)?.[1] ?? null

/** Keys of the endpoints of a webhook. Two webhooks with an equal key match the same requests. */
export function endpointsOf({ httpMethods, urlPath }: Webhook): string[] {
  const shape = urlPath
    .split('/')
    .map((segment) => (parameterOf(segment) === null ? decode(segment) : '{}'))
    .join('/')
  return httpMethods.map((method) => `${method} ${shape}`)
}

function decode(segment: string): string {
  const text = decoded(segment)
  return text === null ? segment : encodeURIComponent(text)
}

/** Decodes a segment; null if it has a malformed escape. */
function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment)
  } catch {
    return null
  }
}
