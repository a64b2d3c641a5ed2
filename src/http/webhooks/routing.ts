// http: finds the endpoint of a request by its method and path.
import type { Context } from 'hono'
import { FluxError, malformed } from '../../model/failure.ts'
import { isSecretName } from '../../model/secret-names.ts'
import type { Endpoint, FoundEndpoint, WebhookApi } from '../../model/webhook.ts'
import { socketed, type Env } from '../request/incoming.ts'
import { TimedResponse } from '../socket/response.ts'

/** The prefix of webhooks. */
export const WEBHOOKS = '/api'

/** An endpoint with the parameters of the path, decoded. */
export type MatchedEndpoint = Extract<FoundEndpoint, { readonly endpoint: Endpoint }>

/** @throws FluxError `noRoute`, `wrongMethod`, `malformed` for a path with a malformed escape */
export function endpointOf(webhooks: WebhookApi, c: Context<Env>): MatchedEndpoint {
  const found = webhooks.find(c.req.method, segmentsOf(c.req.url))
  if (found === null) throw new FluxError({ kind: 'noRoute', detail: 'no webhook is at this path' })
  if ('endpoint' in found) return found
  const detail = `this webhook takes ${found.allow.join(', ')}`
  throw new FluxError({ kind: 'wrongMethod', detail, allow: found.allow })
}

/** Notes for the metrics that the request is one to that webhook: the router knows only that it is one to any. */
export function noteEndpoint(c: Context<Env>, { urlPath }: Endpoint): void {
  if (socketed(c) && c.env.outgoing instanceof TimedResponse) c.env.outgoing.route = WEBHOOKS + urlPath
}

/** Whether the path has a parameter whose name indicates a secret. */
export const hasSecretInPath = ({ urlPath }: Endpoint): boolean =>
  urlPath.split('/').some((segment) => segment.startsWith('{') && isSecretName(segment))

/**
 * The segments of the path behind the prefix, each decoded once: a parameter may have any escape.
 * @throws FluxError `malformed`
 */
function segmentsOf(url: string): string[] {
  const [path = ''] = url.slice(url.indexOf('/', url.indexOf('//') + 2)).split(/[?#]/, 1)
  try {
    return path
      .replace(/^\/[^/]*\/?/, '')
      .split('/')
      .map(decodeURIComponent)
  } catch {
    throw malformed('the path has a malformed escape')
  }
}
