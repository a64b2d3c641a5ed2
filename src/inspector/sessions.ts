// inspector: who reads the pages. A browser that has sent a token gets a session: a random text in a cookie. The token
// itself stays here, in memory, so each request is judged by the tokens as they are now.
import { createHash, randomBytes } from 'node:crypto'
import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { FluxError } from '../model/failure.ts'
import type { InspectorOptions } from './host.ts'
import type { Caller } from '../model/caller.ts'

const SESSION = 'actorflux_session'
const FORM = 'actorflux_form'
const SESSION_MS = 12 * 3_600_000
/** Sessions at once; of more, the oldest ends. */
const MAX_SESSIONS = 1000
/** Failed log-ins of all clients together in a minute. */
const MAX_FAILURES = 20
const WINDOW_MS = 60_000

interface Session {
  readonly header: string
  readonly until: number
}

export class Sessions {
  readonly #options: Pick<InspectorOptions, 'authenticate' | 'now'>
  readonly #sessions = new Map<string, Session>()
  #failures = { since: 0, count: 0 }

  constructor(options: Pick<InspectorOptions, 'authenticate' | 'now'>) {
    this.#options = options
  }

  /**
   * The caller of a request: of its Authorization header, else of its session, else anonymous.
   * @throws FluxError `unauthorized`
   */
  callerOf(c: Context): Caller {
    const header = c.req.header('authorization')
    return this.#options.authenticate(header ?? this.#headerOf(c))
  }

  hasSession(c: Context): boolean {
    return this.#headerOf(c) !== undefined
  }

  /** @throws FluxError `unauthorized`; `rateLimited` after many failures */
  logIn(c: Context, token: string): void {
    const now = this.#options.now()
    if (now - this.#failures.since >= WINDOW_MS) this.#failures = { since: now, count: 0 }
    if (this.#failures.count >= MAX_FAILURES)
      throw new FluxError({
        kind: 'rateLimited',
        detail: 'there were too many wrong tokens; try again in a minute',
        retryAfter: Math.ceil((this.#failures.since + WINDOW_MS - now) / 1000),
      })
    const header = `Bearer ${token}`
    try {
      this.#options.authenticate(header)
    } catch (error) {
      this.#failures.count += 1
      throw error
    }
    const id = randomBytes(32).toString('base64url')
    this.#sessions.set(keyOf(id), { header, until: now + SESSION_MS })
    const [oldest] = this.#sessions.size > MAX_SESSIONS ? this.#sessions.keys() : []
    if (oldest !== undefined) this.#sessions.delete(oldest)
    setCookie(c, SESSION, id, { ...cookieOf(c), maxAge: SESSION_MS / 1000 })
  }

  logOut(c: Context): void {
    const id = getCookie(c, SESSION)
    if (id !== undefined) this.#sessions.delete(keyOf(id))
    deleteCookie(c, SESSION, cookieOf(c))
  }

  #headerOf(c: Context): string | undefined {
    const id = getCookie(c, SESSION)
    if (id === undefined) return undefined
    const session = this.#sessions.get(keyOf(id))
    if (session && session.until > this.#options.now()) return session.header
    this.#sessions.delete(keyOf(id))
    return undefined
  }
}

/** Looked up by its hash, so that the time it takes says nothing about ids. */
const keyOf = (id: string): string => createHash('sha256').update(id).digest('base64')

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

const tokenOf = (secret: string): string => createHash('sha256').update(`form ${secret}`).digest('base64url')

/** A proxy that adds TLS says so. */
const cookieOf = (c: Context) =>
  ({
    path: '/inspector',
    httpOnly: true,
    sameSite: 'Strict',
    secure: c.req.header('x-forwarded-proto') === 'https' || new URL(c.req.url).protocol === 'https:',
  }) as const
