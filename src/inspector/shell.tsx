// inspector: the document around each page.
import { randomUUID } from 'node:crypto'
import type { Child, FC } from 'hono/jsx'
import type { Visitor } from './visitor.ts'

export const PLACES = [
  { name: 'Services', path: '/inspector', key: 's' },
  { name: 'Contexts', path: '/inspector/contexts', key: 'c' },
  { name: 'Wake-ups', path: '/inspector/wake-ups', key: 'w' },
  { name: 'Deliveries', path: '/inspector/deliveries', key: 'd' },
  { name: 'Health', path: '/inspector/health', key: 'h' },
] as const

export type PlaceName = (typeof PLACES)[number]['name']

export interface PageFacts {
  readonly title: string
  /** In the navigation; null: none of it. */
  readonly place: PlaceName | null
  readonly visitor: Visitor
  /** Filters of the stream whose moves make the page load its live parts again; left out: it isn't live. */
  readonly live?: string | undefined
  /** Whether its live parts are loaded again every second. */
  readonly polls?: boolean
}

/** The whole document. */
export const Shell: FC<PageFacts & { readonly children: Child }> = ({
  title,
  place,
  visitor,
  live,
  polls,
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
    <body data-live={live} data-polls={polls ? 'yes' : undefined} data-now={visitor.now}>
      <a class="hidden skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <div>
          <a class="brand" href="/inspector">
            actorflux
          </a>
          <nav aria-label="Pages">
            {PLACES.map(({ name, path, key }) => (
              <a href={path} data-key={key} aria-current={name === place ? 'page' : undefined}>
                {name}
              </a>
            ))}
            <a href="/docs">API</a>
          </nav>
          <form action="/inspector/find" method="get" role="search">
            <input name="q" type="search" placeholder="Find: id, key, service, tag" aria-label="Find a context" />
          </form>
          {visitor.hasSession && (
            <form action="/inspector/logout" method="post">
              <FormToken visitor={visitor} />
              <button type="submit">Log out</button>
            </form>
          )}
        </div>
      </header>
      <main id="main">{children}</main>
      <Footer version={visitor.version} />
    </body>
  </html>
)

const Footer: FC<{ readonly version: string }> = ({ version }) => (
  <footer class="foot">
    <span>
      Times are in <span data-zone>UTC</span>.
    </span>
    <span data-connection role="status" />
    <span>
      Keys: <kbd>/</kbd> find, <kbd>j</kbd> <kbd>k</kbd> rows, <kbd>Enter</kbd> opens, <kbd>g</kbd> <kbd>c</kbd>{' '}
      contexts, <kbd>g</kbd> <kbd>s</kbd> services
    </span>
    <span>{`actorflux ${version}`}</span>
  </footer>
)

/** For a form that makes something new: what is sent twice is done once. */
export const OnceToken: FC = () => <input type="hidden" name="$once" value={randomUUID()} />

export const FormToken: FC<{ readonly visitor: Visitor }> = ({ visitor }) => (
  <input type="hidden" name="$form" value={visitor.formToken} />
)
