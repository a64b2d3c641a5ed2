// http: the path of a request as it was sent. Who stands before this server goes by that, and not by what its escapes
// stand for.
import { getPath } from 'hono/utils/url'

/**
 * Letters, digits, `-`, `.`, `_` and `~` need no escape (RFC 3986, 2.3): to escape one is to hide it from rules on
 * paths.
 */
const DISGUISED = /%(?:2[DE]|3\d|[46][1-9A-F]|5[\dAF]|7[\dAE])/i

/** Whether a character is escaped that needs none. */
export const isDisguised = (text: string): boolean => DISGUISED.test(text)

/** The prefix of webhooks. What follows it may hold parameters, which senders escape as they like. */
export const WEBHOOKS = '/api'

/** Leads to no route. */
const NOWHERE = '//'

/** The path by which a request finds its route. */
export function routePath(request: Request): string {
  if (!request.url.includes('%')) return getPath(request)
  const path = rawPathOf(request.url)
  return path.startsWith(`${WEBHOOKS}/`) || !isDisguised(path) ? getPath(request) : NOWHERE
}

/** With its escapes, without origin and query. */
export function rawPathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2)
  const end = url.slice(start).search(/[?#]/)
  return url.slice(start, end === -1 ? undefined : start + end)
}
