// http: a problem (RFC 9457) as a page, for people who see the server in a browser.
import { html } from 'hono/html'
import type { FieldError } from '../../../model/failure.ts'
import { page } from './document.ts'

/** The fields of a problem that the page shows. */
export interface ShownProblem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance?: string
  readonly errors?: readonly FieldError[]
  readonly hint?: string
}

export function encodeProblemPage({ type, title, status, detail, instance, errors = [], hint }: ShownProblem): string {
  return page(
    `${status} ${title}`,
    html`<h1>${status} <small>${title}</small></h1>
<p>${detail}</p>
${hint === undefined ? '' : html`<p>${hint}</p>`}
<dl>
${errors.map((error) => html`<dt><code>${error.pointer}</code></dt><dd>${error.detail}</dd>\n`)}
${instance === undefined ? '' : html`<dt>Path</dt><dd><code>${instance}</code></dd>`}
<dt>Type</dt><dd><code>${type}</code></dd>
</dl>
${instance === undefined ? '' : html`<p><a href="${rootFrom(instance)}">What runs here</a>, <a href="${rootFrom(instance)}docs">its API</a></p>`}`,
  )
}

/** The relative path from that path to the root of the server, which may be behind a proxy under any path. */
const rootFrom = (path: string): string => '../'.repeat(path.split('/').length - 2) || './'
