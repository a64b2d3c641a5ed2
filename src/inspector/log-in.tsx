// inspector: the log-in, and what is shown instead of a page: a problem, or the log-in again.
import type { Context, Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { FluxError, type Failure } from '../model/failure.ts'
import { Layout, PostForm } from './layout.tsx'
import { documentOf, type PageRoutes } from './routes.tsx'
import type { Sessions } from './sessions.ts'

export function addLogIn(app: Hono, pages: PageRoutes, sessions: Sessions): void {
  app.get('/login', (c) => logIn(c, pages, { next: c.req.query('next') ?? '' }))
  app.post('/login', async (c) => {
    const form = await pages.form(c)
    const next = form.get('next')?.[0] ?? ''
    try {
      sessions.logIn(c, form.get('token')?.[0] ?? '')
    } catch (error) {
      if (!(error instanceof FluxError)) throw error
      return logIn(c, pages, { next, detail: error.failure.detail }, refuse(c, pages, error.failure))
    }
    return c.redirect(localPath(next), 303)
  })
  app.post('/logout', async (c) => {
    await pages.form(c)
    sessions.logOut(c)
    return c.redirect('/inspector', 303)
  })
}

/** An origin of no server: what resolves to it has no host of its own. */
const NOWHERE = 'http://inspector.invalid'

/** Only pages of the inspector, as a browser understands the address. */
function localPath(path: string) {
  const url = URL.canParse(path, NOWHERE) ? new URL(path, NOWHERE) : null
  const isOwn = url?.origin === NOWHERE && /^\/inspector(?:\/|$)/.test(url.pathname)
  return isOwn ? url.pathname + url.search : '/inspector'
}

interface LogInProps {
  /** The page that was asked for. */
  readonly next: string
  /** Why a token was refused. */
  readonly detail?: string
}

const logIn = (c: Context, pages: PageRoutes, asked: LogInProps, status?: number) =>
  documentOf(c, pages.anonymousViewer(c), <LogInPage {...asked} />, status)

const LogInPage: FC<LogInProps> = ({ next, detail }) => (
  <Layout title="Log in" lead={<p class="sentence">This server asks for a token.</p>}>
    {detail !== undefined && (
      <p class="notice bad" role="alert">
        {detail}
      </p>
    )}
    <PostForm action="/inspector/login" values={{ next }} submit="Log in">
      <div class="field">
        <label for="token">token</label>
        <input id="token" name="token" type="password" autocomplete="current-password" required />
        <small>
          <code>actorflux token create</code> makes one. It stays in the memory of the server; your browser keeps a
          session of 12 hours.
        </small>
      </div>
    </PostForm>
  </Layout>
)

/** A viewer without a token, or with one that is not valid any more, is asked for one. */
export function problem(c: Context, pages: PageRoutes, error: Error): Response {
  const show = (title: string, detail: string, status: number) =>
    documentOf(
      c,
      pages.anonymousViewer(c),
      <Layout title={title} lead={<p class="sentence">{detail}</p>}>
        <p>
          <a href="/inspector/contexts">All contexts</a>
        </p>
      </Layout>,
      status,
    )
  if (!(error instanceof FluxError)) {
    pages.options.log.error('a page of the inspector failed', { path: c.req.path, error })
    return show('The server failed', 'The reason is in the log of the server.', 500)
  }
  const { failure } = error
  const status = refuse(c, pages, failure)
  if (failure.kind !== 'unauthorized')
    return show(status === 404 ? 'Not found' : `Refused (${status})`, failure.detail, status)
  const { pathname, search } = new URL(c.req.url)
  const next = c.req.method === 'GET' ? pathname + search : '/inspector'
  return logIn(c, pages, { next, ...(failure.token === 'invalid' && { detail: failure.detail }) }, status)
}

/** The status. Headers tell programs how to come in, or when to come again. */
function refuse(c: Context, { options }: PageRoutes, failure: Failure) {
  if (failure.kind === 'unauthorized') c.header('www-authenticate', 'Bearer')
  if ('retryAfter' in failure) c.header('retry-after', String(Math.max(1, Math.ceil(failure.retryAfter))))
  return options.statusOf(failure)
}
