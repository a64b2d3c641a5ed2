// http: protects a server that browsers can reach against requests from pages of other origins (CSRF), and against host
// names that were made to resolve to it (DNS rebinding).
//
// - `origin-guard.ts` checks each call and page before anything else: the name in `Host`, and, for calls that change
//   something, which page sent them. It is called in the handlers, because a middleware would add promises to each
//   request.
import { BlockList, isIP } from 'node:net'
import type { Context } from 'hono'
import { FluxError } from '../../model/failure.ts'
import { headerOf, requestHosts, socketed, type Env } from './incoming.ts'

export interface OriginGuardOptions {
  /** Whether only this machine can connect. If so, the server answers only to loopback names and to `allowedHosts`. */
  readonly isLoopback: () => boolean
  /** Host names and addresses without ports, as in URLs, by which clients may call the server; `*` means any. */
  readonly allowedHosts: readonly string[]
  /** Origins whose pages may call; `*` means any. */
  readonly origins: readonly string[]
}

/**
 * Both checks throw a FluxError: `misdirected` for a Host to which the server does not answer, `crossOrigin` for a page
 * that may not make the call.
 */
export interface OriginGuard {
  /** For requests that only read: if the host name is right, browsers hide the answer from pages of other origins. */
  checkHost(c: Context<Env>): void
  /** For calls: also refuses those of pages of other origins that may change something. */
  checkCall(c: Context<Env>): void
}

export function originGuard({ isLoopback, allowedHosts, origins }: OriginGuardOptions): OriginGuard {
  const allowed = new Set(allowedHosts)
  /** The host that was accepted last: most clients use the same one. */
  let lastAccepted: string | undefined
  const answersTo = (host: string): boolean => {
    if (host === lastAccepted) return true
    const name = nameOf(host)
    if (name === null || !(isLoopbackName(name) || allowed.has(name) || (allowed.size === 0 && !isLoopback())))
      return false
    lastAccepted = host
    return true
  }
  const checkHost = (c: Context<Env>): void => {
    if (allowed.has('*') || requestHosts(c).every(answersTo)) return
    throw new FluxError({
      kind: 'misdirected',
      detail: 'the server does not answer to the name in the Host header; ACTORFLUX_ALLOWED_HOSTS names more',
    })
  }
  return {
    checkHost,
    checkCall(c) {
      checkHost(c)
      if (!changes(c.req.method) || origins.includes('*')) return
      const origin = headerOf(c, 'origin')
      const site = headerOf(c, 'sec-fetch-site')
      if (origin === undefined && site === undefined) return
      if (origin !== undefined && origins.includes(origin)) return
      const isForeignSite = site !== undefined && site !== 'same-origin' && site !== 'none'
      if (!isForeignSite && (origin === undefined || requestHosts(c).every((host) => isOriginOf(origin, host)))) return
      throw new FluxError({
        kind: 'crossOrigin',
        detail: 'pages of other origins may not make this call; ACTORFLUX_CORS names those that may',
      })
    },
  }
}

/** Whether the request was sent by a page, or on behalf of one. Only browsers send these headers. */
export const isFromPage = (c: Context<Env>): boolean =>
  headerOf(c, 'origin') !== undefined || headerOf(c, 'sec-fetch-site') !== undefined

/** Methods that aren't safe (RFC 9110, 9.2.1). */
const changes = (method: string): boolean => method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS'

/** Whether a host is that of an origin, with either scheme, because a proxy may terminate TLS. */
function isOriginOf(origin: string, host: string): boolean {
  if (origin === `http://${host}` || origin === `https://${host}`) return true
  const [scheme] = /^https?:\/\//.exec(origin) ?? []
  // The default port of the scheme may be left out or not.
  return scheme !== undefined && nameOf(host) !== null && urlOf(origin)?.host === urlOf(scheme + host)?.host
}

const urlOf = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null)

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')

/** Whether it is an IP address that only this machine can reach. */
export function isLoopbackAddress(address: string): boolean {
  const version = isIP(address)
  return version !== 0 && LOOPBACK.check(address, version === 6 ? 'ipv6' : 'ipv4')
}

/** `name`: as `nameOf` returns it. RFC 6761, 6.3: all names under `localhost` are loopback names. */
function isLoopbackName(name: string): boolean {
  if (name === 'localhost' || name.endsWith('.localhost')) return true
  return isLoopbackAddress(name.startsWith('[') ? name.slice(1, -1) : name)
}

/** The host name without port, as in a URL; null if the text is no host. */
const nameOf = (host: string): string | null =>
  (/[@/\\?#\s]/.test(host) ? null : urlOf(`http://${host}`))?.hostname.replace(/\.$/, '') ?? null

/** Headers by which proxies tell of themselves or of their clients, beside those that begin with `x-forwarded-`. */
const OF_PROXIES: ReadonlySet<string> = new Set([
  'cf-connecting-ip',
  'client-ip',
  'fastly-client-ip',
  'forwarded',
  'true-client-ip',
  'via',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-envoy-external-address',
  'x-original-forwarded-for',
  'x-original-host',
  'x-real-ip',
])

/** Whether the request comes from a program on this machine, and not from a proxy. */
export function isLocal(c: Context<Env>): boolean {
  if (!socketed(c)) return false
  const { headers, socket } = c.env.incoming
  if (Object.keys(headers).some((name) => OF_PROXIES.has(name) || name.startsWith('x-forwarded-'))) return false
  return isLoopbackAddress(socket.remoteAddress ?? '')
}
