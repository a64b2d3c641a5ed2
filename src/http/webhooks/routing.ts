// http: finds the endpoint of a request by its method and path.
import type { Context } from 'hono'
import { FluxError, malformed } from '../../model/failure.ts'
import { isSecretName } from '../../model/secret-names.ts'
import type { Endpoint, FoundEndpoint, WebhookApi } from '../../model/webhook.ts'
import type { Env } from '../request/incoming.ts'
import { isDisguised, rawPathOf, WEBHOOKS } from '../request/paths.ts'

/** An endpoint with the parameters of the path, decoded. */
export type MatchedEndpoint = Extract<FoundEndpoint, { readonly endpoint: Endpoint }>

/** @throws FluxError `noRoute`, `wrongMethod`, `malformed` for a path with a malformed escape */
export function endpointOf(webhooks: WebhookApi, c: Context<Env>): MatchedEndpoint {
  const found = findEndpoint(webhooks, c)
  if (found === null) throw new FluxError({ kind: 'noRoute', detail: 'no webhook is at this path' })
  if ('endpoint' in found) return found
  const detail = `this webhook takes ${found.allow.join(', ')}`
  throw new FluxError({ kind: 'wrongMethod', detail, allow: found.allow })
}

/** Whether the path has a parameter whose name indicates a secret. */
export const hasSecretInPath = ({ urlPath }: Endpoint): boolean =>
  urlPath.split('/').some((segment) => segment.startsWith('{') && isSecretName(segment))

/** The endpoint of a request. null: there is none, or a literal segment of its path was sent with needless escapes. */
function findEndpoint(webhooks: WebhookApi, c: Context<Env>): FoundEndpoint | null {
  const raw = rawPathOf(c.req.url)
    .slice(WEBHOOKS.length + 1)
    .split('/')
  const segments = decoded(raw)
  const found = webhooks.find(c.req.method, segments)
  if (found === null || !raw.some(isDisguised)) return found
  const shown = 'allow' in found ? webhooks.find(found.allow[0] ?? '', segments) : found
  if (shown === null || 'allow' in shown) return null
  const {
    endpoint: { urlPath },
    parameters,
  } = shown
  const own = urlPath.slice(1).split('/')
  const isParameter = (segment = '') => segment.startsWith('{') && parameters.has(segment.slice(1, -1))
  return raw.every((segment, index) => !isDisguised(segment) || isParameter(own[index])) ? found : null
}

/** Decodes each segment once. @throws FluxError `malformed` */
function decoded(segments: readonly string[]): string[] {
  try {
    return segments.map(decodeURIComponent)
  } catch {
    throw malformed('the path has a malformed escape')
  }
}
