// inspector/pages: what is shown instead of a page: a problem, or the log-in.
import type { FC } from 'hono/jsx'
import { FormToken, Shell } from '../shell.tsx'
import type { Visitor } from '../visitor.ts'

export const ProblemPage: FC<{ readonly visitor: Visitor; readonly title: string; readonly detail: string }> = ({
  visitor,
  title,
  detail,
}) => (
  <Shell title={title} place={null} visitor={visitor}>
    <div class="head">
      <h1>{title}</h1>
      <p class="sentence">{detail}</p>
      <p>
        <a href="/inspector/contexts">All contexts</a>
      </p>
    </div>
  </Shell>
)

/** `next`: the page that was asked for. */
export const LogInPage: FC<{ readonly visitor: Visitor; readonly next: string; readonly detail: string | null }> = ({
  visitor,
  next,
  detail,
}) => (
  <Shell title="Log in" place={null} visitor={visitor}>
    <div class="head">
      <h1>Log in</h1>
      <p class="sentence">This server asks for a token.</p>
    </div>
    {detail !== null && (
      <p class="notice bad" role="alert">
        {detail}
      </p>
    )}
    <form class="stack" method="post" action="/inspector/login">
      <FormToken visitor={visitor} />
      <input type="hidden" name="next" value={next} />
      <div class="field">
        <label for="token">token</label>
        <input id="token" name="token" type="password" autocomplete="current-password" required />
        <small>
          <code>actorflux token create</code> makes one. It stays in the memory of the server; your browser keeps a
          session of 12 hours.
        </small>
      </div>
      <div>
        <button class="primary" type="submit">
          Log in
        </button>
      </div>
    </form>
  </Shell>
)
