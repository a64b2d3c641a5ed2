// inspector/pages: what is shown instead of a page: a problem, or the log-in.
import type { FC } from 'hono/jsx'
import { Layout, PostForm } from '../layout.tsx'

export const ProblemPage: FC<{ readonly title: string; readonly detail: string }> = ({ title, detail }) => (
  <Layout title={title} lead={<p class="sentence">{detail}</p>}>
    <p>
      <a href="/inspector/contexts">All contexts</a>
    </p>
  </Layout>
)

interface LogInProps {
  /** The page that was asked for. */
  readonly next: string
  /** Why a token was refused. */
  readonly detail?: string
}

export const LogInPage: FC<LogInProps> = ({ next, detail }) => (
  <Layout title="Log in" lead={<p class="sentence">This server asks for a token.</p>}>
    {detail !== undefined && (
      <p class="notice bad" role="alert">
        {detail}
      </p>
    )}
    <PostForm action="/inspector/login" submit="Log in">
      <input type="hidden" name="next" value={next} />
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
