// inspector: the document around each page, and the forms that change something.
import { randomUUID } from 'node:crypto'
import type { Child, FC, PropsWithChildren } from 'hono/jsx'
import { useViewer } from './viewer.ts'

/** The first letter of each is its key, after `g`. */
const PLACES = {
  Services: '/inspector',
  Contexts: '/inspector/contexts',
  'Wake-ups': '/inspector/wake-ups',
  Deliveries: '/inspector/deliveries',
  Health: '/inspector/health',
}

interface LayoutProps {
  readonly title: string
  /** In the navigation, if it is not that of the title. */
  readonly place?: string
  /** In place of the title, above the page. */
  readonly heading?: Child
  /** At the right of the heading, and below it. */
  readonly aside?: Child
  readonly lead?: Child
  /** Filters of the stream whose moves make the page load its live parts again; left out: it isn't live. */
  readonly live?: string | undefined
  /** Whether its live parts are loaded again every second. */
  readonly polls?: boolean
}

/** The whole document. */
export const Layout: FC<PropsWithChildren<LayoutProps>> = ({
  title,
  place = title,
  heading = title,
  aside,
  lead,
  live,
  polls = false,
  children,
}) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>{`${title} · actorflux`}</title>
      <link rel="icon" href="data:," />
      <link rel="stylesheet" href="/inspector/assets/style.css" />
      {polls && (
        <noscript>
          <meta http-equiv="refresh" content="2" />
        </noscript>
      )}
      <script src="/inspector/assets/idiomorph.js" defer />
      <script src="/inspector/assets/live.js" type="module" />
    </head>
    <body data-live={live} data-polls={polls ? 'yes' : undefined} data-now={useViewer().now}>
      <a class="hidden skip" href="#main">
        Skip to the content
      </a>
      {topBar(place)}
      <main id="main">
        <div class="head" data-part="head" data-ended={!polls}>
          <div class="row split">
            <h1>{heading}</h1>
            {aside}
          </div>
          {lead}
        </div>
        {children}
      </main>
      {footer()}
    </body>
  </html>
)

const topBar = (place: string) => (
  <header class="top">
    <div>
      <a class="brand" href="/inspector">
        actorflux
      </a>
      <nav aria-label="Pages">
        {Object.entries(PLACES).map(([name, path]) => (
          <a href={path} data-key={name.charAt(0).toLowerCase()} aria-current={name === place ? 'page' : undefined}>
            {name}
          </a>
        ))}
        <a href="/docs">API</a>
      </nav>
      <form action="/inspector/find" method="get" role="search">
        <input name="q" type="search" placeholder="Find: id, key, service, tag" aria-label="Find a context" />
      </form>
      {useViewer().hasSession && <PostForm action="/inspector/logout" submit="Log out" tone="plain" />}
    </div>
  </header>
)

const footer = () => (
  <footer class="foot">
    <span>
      Times are in <span data-zone>UTC</span>.
    </span>
    <span data-connection role="status" />
    <span>
      Keys: <kbd>/</kbd> find, <kbd>j</kbd> <kbd>k</kbd> rows, <kbd>Enter</kbd> opens, <kbd>g</kbd> <kbd>c</kbd>{' '}
      contexts, <kbd>g</kbd> <kbd>s</kbd> services
    </span>
    <span>{`actorflux ${useViewer().version}`}</span>
  </footer>
)

interface PostFormProps {
  readonly action: string
  readonly class?: string
  /** Whether what is sent twice is done once. */
  readonly once?: boolean
  /** Values that are sent along. */
  readonly values?: { readonly [name: string]: string | readonly string[] }
  /** What its button says; left out: it has buttons of its own. */
  readonly submit?: string
  /** Whether it has a button that only rehearses it. */
  readonly rehearses?: boolean
  /** What the button does, where it does not say it. */
  readonly does?: string
  readonly tone?: 'primary' | 'danger' | 'plain'
}

/** A form that changes something. */
export const PostForm: FC<PropsWithChildren<PostFormProps>> = ({
  class: name = 'stack',
  once,
  values,
  submit,
  rehearses,
  does,
  tone = 'primary',
  children,
  ...rest
}) => (
  <form class={name} method="post" {...rest}>
    {Object.entries({ $form: useViewer().formToken, ...(once && { $once: randomUUID() }), ...values }).map(
      ([field, value]) => [value].flat().map((each) => <input type="hidden" name={field} value={each} />),
    )}
    {children}
    {submit !== undefined && (
      <div class="row">
        <button class={tone} type="submit" aria-label={does}>
          {submit}
        </button>
        {rehearses && (
          <button type="submit" name="$rehearse" value={does ?? submit} aria-label={`Rehearse: ${does ?? submit}`}>
            Rehearse
          </button>
        )}
      </div>
    )}
  </form>
)
