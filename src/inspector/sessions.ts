// inspector: who reads the pages. A browser that has sent a token gets a session: a random text in a cookie. The token
// itself stays here, in memory, so each request is judged by the tokens as they are now.
import { hash, randomBytes } from 'node:crypto'
import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { TokenBucket } from '../access/token-bucket.ts'
import { FluxError } from '../model/failure.ts'
import type { InspectorOptions } from './host.ts'

const SESSION = 'actorflux_session'
const FORM = 'actorflux_form'
const SESSION_MS = 12 * 3_600_000
/** Sessions at once, of all and of one token; of more, the oldest ends: of the same token, so that none ends another's. */
const MAX_SESSIONS = { all: 1000, token: 50 }

/** Wrong tokens of all clients in a minute. A right one comes in however many there were. */
const WRONG_TOKENS = { limit: 60, window: 60 }

/** The sessions of browsers. */
export function openSessions({ authenticate, now }: Pick<InspectorOptions, 'authenticate' | 'now'>) {
  const sessions = new Map<string, { readonly header: string; readonly until: number }>()
  const wrongTokens = new TokenBucket(WRONG_TOKENS, now, 'there were too many wrong tokens')

  /** The Authorization header that its session stands for. */
  function headerOf(c: Context) {
    const session = sessions.get(keyOf(c))
    return session && session.until > now() ? session.header : undefined
  }

  /** Makes room for one more of that token. */
  function endOldest(header: string) {
    const own = [...sessions].filter(([, session]) => session.header === header).map(([key]) => key)
    const [oldest] = own.length >= MAX_SESSIONS.token ? own : sessions.size >= MAX_SESSIONS.all ? sessions.keys() : []
    if (oldest !== undefined) sessions.delete(oldest)
  }

  return {
    /**
     * The caller of a request: of its Authorization header, else of its session, else anonymous.
     * @throws FluxError `unauthorized`
     */
    callerOf: (c: Context) => authenticate(c.req.header('authorization') ?? headerOf(c)),
    hasSession: (c: Context) => headerOf(c) !== undefined,
    /** @throws FluxError `unauthorized`; `rateLimited` when wrong tokens came often */
    logIn(c: Context, token: string) {
      const header = `Bearer ${token}`
      try {
        authenticate(header)
      } catch (error) {
        wrongTokens.take(1)
        throw error
      }
      const id = randomBytes(32).toString('base64url')
      endOldest(header)
      sessions.set(hashOf(id), { header, until: now() + SESSION_MS })
      setCookie(c, SESSION, id, { ...cookieOf(c), maxAge: SESSION_MS / 1000 })
    },
    logOut(c: Context) {
      sessions.delete(keyOf(c))
      deleteCookie(c, SESSION, cookieOf(c))
    },
  }
}

export type Sessions = ReturnType<typeof openSessions>

/** A session is looked up by the hash of its id, so that the time it takes says nothing about ids. */
const hashOf = (id: string) => hash('sha256', id, 'base64')
const keyOf = (c: Context) => hashOf(getCookie(c, SESSION) ?? '')

/** What forms must send along. It is bound to a cookie that only pages of this server send. */
export function formTokenOf(c: Context): string {
  const known = getCookie(c, FORM)
  const secret = known !== undefined && /^[\w-]{43}$/.test(known) ? known : randomBytes(32).toString('base64url')
  if (secret !== known) setCookie(c, FORM, secret, cookieOf(c))
  return tokenOf(secret)
}

/** @throws FluxError `crossOrigin` when the form is not one of this browser's */
export function checkFormToken(c: Context, given: string | undefined): void {
  const secret = getCookie(c, FORM)
  if (secret !== undefined && given !== undefined && given === tokenOf(secret)) return
  throw new FluxError({ kind: 'crossOrigin', detail: 'the form is too old, or of another page: load it again' })
}

const tokenOf = (secret: string) => hash('sha256', `form ${secret}`, 'base64url')

/** A proxy that adds TLS says so. */
const cookieOf = (c: Context) =>
  ({
    path: '/inspector',
    httpOnly: true,
    sameSite: 'Strict',
    secure: /^https\b/i.test(c.req.header('x-forwarded-proto') ?? '') || new URL(c.req.url).protocol === 'https:',
  }) as const
