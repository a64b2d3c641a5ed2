// http: the path of a request as it was sent. Proxies in front of this server apply their rules to that path, not to
// the decoded one.
import { getPath } from 'hono/utils/url'

/**
 * Escapes of letters, digits, `-`, `.`, `_` and `~`. These need no escape (RFC 3986, 2.3), and an escaped one may evade
 * a proxy's rules on paths.
 */
const DISGUISED = /%(?:2[DE]|3\d|[46][1-9A-F]|5[\dAF]|7[\dAE])/i

/** Whether a character is escaped that needs no escape. */
export const isDisguised = (text: string): boolean => DISGUISED.test(text)

/** The prefix of webhooks. The path after it may contain parameters, in which senders may escape any character. */
export const WEBHOOKS = '/api'

/** A path that no route has. */
const NOWHERE = '//'

/** The path by which the router finds the route of a request. */
export function routePath(request: Request): string {
  if (!request.url.includes('%')) return getPath(request)
  const path = rawPathOf(request.url)
  return path.startsWith(`${WEBHOOKS}/`) || !isDisguised(path) ? getPath(request) : NOWHERE
}

/** The path of a URL with its escapes, without origin, query and fragment. */
export function rawPathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2)
  const end = url.slice(start).search(/[?#]/)
  return url.slice(start, end === -1 ? undefined : start + end)
}
