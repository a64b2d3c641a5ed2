// http: finds the endpoint of a request by its method and path.
import type { Context } from 'hono'
import { FluxError } from '../../model/failure.ts'
import { isSecretName } from '../../model/secret-names.ts'
import type { Endpoint, WebhookApi } from '../../model/webhook.ts'
import type { Env } from '../request/incoming.ts'
import { unescaped } from '../request/text.ts'
import { noteRoute, pathShown } from '../socket/observe.ts'
import { TimedResponse } from '../socket/response.ts'

/** The prefix of webhooks. */
export const WEBHOOKS = '/api'

/**
 * The endpoint, with the parameters of the path, decoded. Logs a request for which there is none.
 * @throws FluxError `noRoute`, `wrongMethod`, `malformed` for a path with a malformed escape
 */
export function findEndpoint(c: Context<Env>, webhooks: WebhookApi) {
  const { method, url } = c.req
  try {
    const found = webhooks.find(method, segmentsOf(url))
    if (found === null) throw new FluxError({ kind: 'noRoute', detail: 'no webhook is at this path' })
    if ('endpoint' in found) return found
    const detail = `this webhook takes ${found.allow.join(', ')}`
    throw new FluxError({ kind: 'wrongMethod', detail, allow: found.allow })
  } catch (error) {
    if (error instanceof FluxError) webhooks.unmatched({ method, path: pathShown(c), reason: error.failure.detail })
    throw error
  }
}

/**
 * Notes for the metrics that the request is one to that webhook: the router knows only that it is one to any. Where the
 * path has a parameter whose name indicates a secret, logs show its template.
 */
export function noteEndpoint(c: Context<Env>, { urlPath }: Endpoint): void {
  const route = WEBHOOKS + urlPath
  const isSecret = urlPath.split('/').some((segment) => segment.startsWith('{') && isSecretName(segment))
  noteRoute(c, route)
  if (!isSecret) return
  c.set('shownPath', route)
  if (c.env?.outgoing instanceof TimedResponse) c.env.outgoing.shownPath = route
}

/**
 * The segments of the path behind the prefix, each decoded once: a parameter may have any escape.
 * @throws FluxError `malformed`
 */
function segmentsOf(url: string): string[] {
  const [path = ''] = url.slice(url.indexOf('/', url.indexOf('//') + 2)).split(/[?#]/, 1)
  return path
    .replace(/^\/[^/]*\/?/, '')
    .split('/')
    .map((segment) => unescaped(segment, 'an escape in the path'))
}
