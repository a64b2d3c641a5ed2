// http: a problem (RFC 9457) as a page, for people who see the server in a browser. It contains no script, loads nothing,
// and shows data as text.
//
// - Browsers name `text/html` first. They get problems as pages (a style is allowed by its hash), and data as JSON
//   (`answerFormat` in `formats/codecs.ts`).
import { hash } from 'node:crypto'
import { html, raw } from 'hono/html'
import type { FieldError } from '../../../model/failure.ts'

const STYLE = `
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 3rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem } small, dt { color: GrayText; font-weight: normal }
code, pre { font: 0.9em/1.5 ui-monospace, monospace } pre { border: 1px solid GrayText; border-radius: 6px; padding: 0.8rem; white-space: pre-wrap }
p, dd, pre { overflow-wrap: anywhere } dd { margin: 0 0 0.5rem }
`

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export const PAGE_TYPE = 'text/html; charset=utf-8'

/** Headers of every page, besides Content-Type. */
export const PAGE_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
} as const

/** The fields of a problem that the page shows. */
export interface ShownProblem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance?: string | undefined
  readonly errors?: readonly FieldError[] | undefined
  readonly hint?: string | undefined
}

/** The whole document. `html` escapes the values in it. */
export function encodeProblemPage({ type, title, status, detail, instance, errors = [], hint }: ShownProblem): string {
  const root = instance === undefined ? '' : rootFrom(instance)
  const text = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${status} ${title}</title>
<link rel="icon" href="data:,">
<style>${raw(STYLE)}</style>
</head>
<body>
<h1>${status} <small>${title}</small></h1>
<p>${detail}</p>
${hint === undefined ? '' : html`<p>${hint}</p>`}
<dl>
${errors.map((error) => html`<dt><code>${error.pointer}</code></dt><dd>${error.detail}</dd>\n`)}
${instance === undefined ? '' : html`<dt>Path</dt><dd><code>${instance}</code></dd>`}
<dt>Type</dt><dd><code>${type}</code></dd>
</dl>
${root === '' ? '' : html`<p><a href="${root}">What runs here</a>, <a href="${root}docs">its API</a></p>`}
</body>
</html>
`
  // The result is a promise only if the content contains one.
  if (text instanceof Promise) throw new TypeError('the content of a page must be there')
  return text.toString()
}

/** The relative path from that path to the root of the server, which may be behind a proxy under any path. */
const rootFrom = (path: string): string => '../'.repeat(path.split('/').length - 2) || './'
