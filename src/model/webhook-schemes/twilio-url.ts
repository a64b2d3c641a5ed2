// model: the URL that Twilio called and signed, as far as this server can know it.
import type { ReceivedWebhook } from './scheme.ts'

const DEFAULT_PORTS: ReadonlyMap<string, string> = new Map([
  ['https', ':443'],
  ['http', ':80'],
])

interface UrlSources {
  /** Of the endpoint: without the query, which is added as received. */
  readonly url: string | null
  /** Of the server: what stands before the target. */
  readonly publicUrl: string | null
  readonly request: Pick<ReceivedWebhook, 'target' | 'host'>
}

/**
 * The URL as it is, and with and without the port, since Twilio is not consistent there; each character is a byte. Empty
 * if the URL is not known. `X-Forwarded-*` headers are not used: anyone can send them.
 */
export function twilioUrls({ url, publicUrl, request: { target, host } }: UrlSources): readonly string[] {
  if (url !== null) return variants(bytesAsText(url) + queryOf(target, url.includes('?')))
  if (publicUrl !== null)
    return variants(bytesAsText(publicUrl.endsWith('/') ? publicUrl.slice(0, -1) : publicUrl) + target)
  return host === null ? [] : variants(`http://${host}${target}`)
}

const bytesAsText = (text: string): string => Buffer.from(text).toString('latin1')

/** The query as received, to stand after a URL. */
function queryOf(target: string, hasQuery: boolean): string {
  const start = target.indexOf('?')
  if (start === -1) return ''
  return hasQuery ? `&${target.slice(start + 1)}` : target.slice(start)
}

function variants(url: string): readonly string[] {
  const colon = url.indexOf('://')
  const start = colon === -1 ? 0 : colon + 3
  const length = url.slice(start).search(/[/?#]/)
  const end = length === -1 ? url.length : start + length
  const authority = url.slice(start, end)
  // What follows the last colon: others may be in the user's password and in an IPv6 address, which ends in a bracket.
  const last = authority.lastIndexOf(':')
  const hasPort = last !== -1 && /^:\d+$/.test(authority.slice(last))
  const bare = url.slice(0, start) + (hasPort ? authority.slice(0, last) : authority)
  const port = hasPort ? '' : (DEFAULT_PORTS.get(url.slice(0, Math.max(colon, 0)).toLowerCase()) ?? '')
  return [...new Set([url, bare + url.slice(end), bare + port + url.slice(end)])]
}
