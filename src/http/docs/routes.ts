// http: `/docs`, a page that shows the OpenAPI document without using any other server, and `/flux-schema.json`.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Hono } from 'hono'
import { html } from 'hono/html'
import { secureHeaders } from 'hono/secure-headers'
import type { Env } from '../request/incoming.ts'
import type { Answers } from '../answers/answers.ts'

const require = createRequire(import.meta.url)
const FOLDER = dirname(require.resolve('swagger-ui-dist/package.json'))
/** The files of Swagger UI, and their types. */
const FILES = { 'swagger-ui.css': 'text/css', 'swagger-ui-bundle.js': 'text/javascript' }

/** `validatorUrl: null` omits the badge that asks an external server whether the document is valid. */
const START = 'SwaggerUIBundle({ url: "openapi.json", dom_id: "#docs", deepLinking: true, validatorUrl: null })\n'

const PAGE = html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>actorflux API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="docs/swagger-ui.css">
    <style>
      /* Of a problem a line will do: they all look alike. */
      .response:is([data-code^="4"], [data-code^="5"]) .response-col_description > :not(.response-col_description__inner) { display: none }
      .swagger-ui .response:is([data-code^="4"], [data-code^="5"]) td { padding: 2px 0 }
      .swagger-ui .response:is([data-code^="4"], [data-code^="5"]) p { margin: 0 }
    </style>
  </head>
  <body>
    <div id="docs"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`

const ASK_AGAIN = { 'cache-control': 'no-cache' }

export function addDocs(app: Hono<Env>, answers: Answers): void {
  const pageHeaders = secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'", "'unsafe-inline'"],
      imgSrc: ["'self'", 'data:'],
      connectSrc: ["'self'"],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
    xFrameOptions: 'DENY',
    // The proxy that adds TLS decides about this header.
    strictTransportSecurity: false,
  })
  app.get('/docs', pageHeaders, (c) => c.html(PAGE, 200, ASK_AGAIN))
  // The links of the page are relative, so that it works behind a proxy under any path.
  app.get('/docs/', (c) => c.redirect('../docs', 301))
  app.get('/docs/start.js', pageHeaders, (c) =>
    c.body(START, 200, { 'content-type': 'text/javascript; charset=utf-8', ...ASK_AGAIN }),
  )
  for (const [name, type] of Object.entries(FILES)) {
    const headers = { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'max-age=3600' }
    /** In memory once for all who ask. */
    let content: Promise<Buffer<ArrayBuffer>> | null = null
    app.get(`/docs/${name}`, pageHeaders, async (c) => {
      content ??= readFile(join(FOLDER, name))
      content.catch(() => (content = null))
      return answers.bytes(c, await content, { headers }, { shared: true })
    })
  }
}

const SCHEMA_HEADERS = {
  'content-type': 'application/schema+json',
  'cache-control': 'max-age=3600',
  'access-control-allow-origin': '*',
}

/**
 * The JSON Schema of .flux and .model files. It says nothing of this server, so anyone may read it, also editors in a
 * browser, of any origin.
 */
export function addFluxSchema(app: Hono<Env>, answers: Answers, fluxSchema: () => object): void {
  /** The schema, in memory once it was asked for. */
  let bytes: Buffer<ArrayBuffer> | undefined
  app.get('/flux-schema.json', (c) => {
    bytes ??= Buffer.from(JSON.stringify(fluxSchema()))
    return answers.bytes(c, bytes, { headers: SCHEMA_HEADERS }, { shared: true })
  })
}
