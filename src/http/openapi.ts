// http: the description of the API (OpenAPI 3.1), made from the schemas that validate, and a page that shows it without any other server.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Handler, Hono } from 'hono'
import { describeRoute, generateSpecs, resolver, type DescribeRouteOptions } from 'hono-openapi'
import { html } from 'hono/html'
import { secureHeaders } from 'hono/secure-headers'
import { z } from 'zod'
import { problemAnswer } from './answers.ts'
import { FORMATS } from './formats.ts'
import type { Env } from './incoming.ts'
import type { Operation } from './operations.ts'
import { exampleOf } from './problem.ts'

/** Any call under /flux-api may meet these. */
const USUAL_PROBLEMS = [400, 401, 403, 406, 408, 417, 431, 500, 503]

type Parameter = NonNullable<DescribeRouteOptions['parameters']>[number]
type Responses = NonNullable<DescribeRouteOptions['responses']>

/** The same handler, with its description attached: a middleware of its own would cost each request a turn. */
export function described(operation: Operation, handler: Handler<Env>): Handler<Env> {
  const { id, summary, body, bodyExample } = operation
  return Object.assign(handler, describeRoute({
    operationId: id,
    tags: ['flux-api'],
    summary,
    // Which of them a path has besides, hono-openapi knows.
    parameters: operation.query ? Object.entries(operation.query.schema.shape).map(parameterOf) : [],
    ...(body ? { requestBody: { required: true, content: contentOf(jsonSchema(body.schema), bodyExample) } } : {}),
    responses: responsesOf(operation),
  }))
}

function parameterOf([name, type]: [string, z.ZodType]): Parameter {
  const { description, ...schema } = jsonSchema(type)
  const { success, data } = type.safeParse(undefined)
  return { in: 'query', name, schema: data === undefined ? schema : { ...schema, default: data }, required: !success, ...(typeof description === 'string' ? { description } : {}) }
}

/** As it is sent, before the server makes numbers of digits. */
function jsonSchema(type: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(type, { io: 'input', unrepresentable: 'any' })
  // What was set aside as undefined is gone after this.
  return JSON.parse(JSON.stringify(schema))
}

const contentOf = (schema: object, example: unknown, kind: 'type' | 'problemType' = 'type') =>
  Object.fromEntries(FORMATS.map((format) => [format[kind], { schema, ...(example !== undefined && !format.untyped ? { example } : {}) }]))

function responsesOf({ answer, answerExample, problems }: Operation): Responses {
  const responses: Responses = { 200: { description: 'Done', content: contentOf(resolver(answer), answerExample) } }
  for (const status of [...USUAL_PROBLEMS, ...problems].sort()) {
    const example = exampleOf(status)
    responses[status] = { description: example.title, content: contentOf(resolver(problemAnswer), example, 'problemType') }
  }
  return responses
}

const DOCUMENTATION = {
  info: {
    title: 'actorflux',
    version: '1',
    description: 'Starts workflow services, routes events to their contexts, and shows them. Every call takes and gives JSON or XML; '
      + 'XML is the same data with a field as an element and lists of `<item>`, as `/flux-api/schema.xsd` has it.',
  },
  components: { securitySchemes: { bearer: { type: 'http' as const, scheme: 'bearer' } } },
}

const require = createRequire(import.meta.url)
const FILES = [
  { name: 'swagger-ui.css', type: 'text/css', file: require.resolve('swagger-ui-dist/swagger-ui.css') },
  { name: 'swagger-ui-bundle.js', type: 'text/javascript', file: require.resolve('swagger-ui-dist/swagger-ui-bundle.js') },
]

/** No badge: it would ask a server elsewhere whether the document is valid. */
const START = 'SwaggerUIBundle({ url: "openapi.json", dom_id: "#docs", deepLinking: true, validatorUrl: null })\n'

const PAGE = html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>actorflux API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="docs/swagger-ui.css">
  </head>
  <body>
    <div id="docs"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`

/** To be called when all other routes are there. */
export function addOpenApi(app: Hono<Env>, { requireAuth }: { readonly requireAuth: boolean }): void {
  // Without requireAuth only what is secured needs a token.
  const security = requireAuth ? [{ bearer: [] }] : [{}, { bearer: [] }]
  app.get('/openapi.json', async (c) => c.json(await generateSpecs(app, { documentation: { ...DOCUMENTATION, security }, excludeStaticFile: false })))

  const pageHeaders = secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ['\'none\''], scriptSrc: ['\'self\''], styleSrc: ['\'self\'', '\'unsafe-inline\''], imgSrc: ['\'self\'', 'data:'], connectSrc: ['\'self\''],
      baseUri: ['\'none\''], formAction: ['\'none\''], frameAncestors: ['\'none\''],
    },
    xFrameOptions: 'DENY',
    // For whoever puts TLS before this server to say.
    strictTransportSecurity: false,
  })
  app.get('/docs', pageHeaders, (c) => c.html(PAGE))
  app.get('/docs/start.js', pageHeaders, (c) => c.body(START, 200, { 'content-type': 'text/javascript' }))
  for (const { name, type, file } of FILES) {
    app.get(`/docs/${name}`, pageHeaders, async (c) => {
      return c.body(new Uint8Array(await readFile(file)), 200, { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'max-age=3600' })
    })
  }
}
