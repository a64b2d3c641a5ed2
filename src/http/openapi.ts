// http: the description of the API (OpenAPI 3.1), made from the schemas that validate, and a page that shows it without any other server.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Handler, Hono, MiddlewareHandler } from 'hono'
import { describeRoute, generateSpecs, resolver, type DescribeRouteOptions } from 'hono-openapi'
import { html } from 'hono/html'
import { secureHeaders } from 'hono/secure-headers'
import { z } from 'zod'
import { isObject, type JsonObject } from '../model/json.ts'
import { problemAnswer } from './answers.ts'
import { FORMATS } from './formats.ts'
import type { Env } from './incoming.ts'
import type { Operation } from './operations.ts'
import type { OriginGuard } from './origin-guard.ts'
import { exampleOf } from './problem.ts'
import type { Shape } from './schemas.ts'
import type { Root } from './xml-encode.ts'
import { withListHints } from './xml-hints.ts'

/** Any call under /flux-api may meet these. */
const USUAL_PROBLEMS = [400, 401, 403, 406, 408, 417, 421, 431, 500, 503]

type Parameter = NonNullable<DescribeRouteOptions['parameters']>[number]
type Responses = NonNullable<DescribeRouteOptions['responses']>

/** The same handler, with its description attached: a middleware of its own would cost each request a turn. */
export function described(operation: Operation, handler: Handler<Env>): Handler<Env> {
  const { id, summary, path, query, body, bodyExample } = operation
  return Object.assign(handler, describeRoute({
    operationId: id,
    tags: ['flux-api'],
    summary,
    parameters: [...parametersOf('path', path), ...parametersOf('query', query)],
    ...(body ? { requestBody: { required: true, content: contentOf({ ...withListHints(jsonSchema(body.schema)), xml: { name: 'request' } }, bodyExample, 'request') } } : {}),
    responses: responsesOf(operation),
  }))
}

/** The same for what answers with a file of XML. */
export const describedFile = (id: string, summary: string, handler: Handler<Env>): Handler<Env> => Object.assign(handler, describeRoute({
  operationId: id, tags: ['flux-api'], summary,
  responses: { 200: { description: 'Done', content: { 'application/xml': { schema: { type: 'string' } } } }, ...problemsOf([401, 403, 408, 431]) },
}))

const parametersOf = (place: 'path' | 'query', shape: Shape<object> | undefined): Parameter[] =>
  Object.entries(shape?.schema.shape ?? {}).map(([name, type]) => parameterOf(place, name, type))

function parameterOf(place: 'path' | 'query', name: string, type: z.ZodType): Parameter {
  const { description, ...schema } = jsonSchema(type)
  const { success, data } = type.safeParse(undefined)
  return { in: place, name, schema: data === undefined ? schema : { ...schema, default: data }, required: !success, ...(typeof description === 'string' ? { description } : {}) }
}

/** As it is sent, before the server makes numbers of digits. */
function jsonSchema(type: z.ZodType): JsonObject {
  const { $schema: _, ...schema } = z.toJSONSchema(type, { io: 'input', unrepresentable: 'any' })
  // What was set aside as undefined is gone after this.
  return JSON.parse(JSON.stringify(schema))
}

const contentOf = (schema: object, example: unknown, root: Root) =>
  Object.fromEntries(FORMATS.map((format) => [format.type, { schema, example: format.untyped ? format.encode(example, root) : example }]))

function responsesOf({ answer, answerExample, answerHeaders = {}, root, problems }: Operation): Responses {
  return { 200: { description: 'Done', headers: headersOf(answerHeaders), content: contentOf(resolver(answer), answerExample, root) }, ...problemsOf([...USUAL_PROBLEMS, ...problems]) }
}

function problemsOf(statuses: readonly number[]): Responses {
  const responses: Responses = {}
  for (const status of statuses.toSorted()) {
    const example = exampleOf(status)
    const content = Object.fromEntries(FORMATS.map((format) => [format.problemType, { schema: resolver(problemAnswer), example: format.untyped ? format.encodeProblem(example) : example }]))
    responses[status] = { description: example.title, headers: headersOf(PROBLEM_HEADERS[status] ?? {}), content }
  }
  return responses
}

const WWW_AUTHENTICATE = { 'WWW-Authenticate': 'Bearer, and what is wrong with the token (RFC 6750)' }
const RETRY_AFTER = { 'Retry-After': 'Seconds after which to try again' }
const PROBLEM_HEADERS: { readonly [status: number]: { readonly [name: string]: string } } = { 401: WWW_AUTHENTICATE, 403: WWW_AUTHENTICATE, 429: RETRY_AFTER, 503: RETRY_AFTER }

const headersOf = (headers: { readonly [name: string]: string }) =>
  Object.fromEntries(Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: name === 'Retry-After' ? 'integer' as const : 'string' as const } }]))

const DOCUMENTATION = {
  info: {
    title: 'actorflux',
    version: '1',
    description: 'Starts workflow services, routes events to their contexts, and shows them. Every call takes and gives JSON or XML; '
      + 'XML is the same data with a field as an element and lists of `<item>`, as `/flux-api/schema.xsd` has it. Requests may leave the attribute `type` out.',
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

/** It changes with the server. */
const ASK_AGAIN = { 'cache-control': 'no-cache' }

async function generate(app: Hono<Env>, security: Record<string, string[]>[]): Promise<JsonObject> {
  const document: JsonObject = JSON.parse(JSON.stringify(await generateSpecs(app, { documentation: { ...DOCUMENTATION, security }, excludeStaticFile: false })))
  const { components, ...rest } = document
  if (!isObject(components) || !isObject(components['schemas'])) return document
  // RFC 9457 calls the elements of a list <i>.
  const schemas = Object.entries(components['schemas']).map(([name, schema]) => [name, isObject(schema) ? withListHints(schema, name === 'Problem' ? 'i' : 'item') : schema])
  return { ...rest, components: { ...components, schemas: Object.fromEntries(schemas) } }
}

/** To be called when all other routes are there. */
export function addOpenApi(app: Hono<Env>, { requireAuth, origins }: { readonly requireAuth: boolean; readonly origins: OriginGuard }): void {
  // Without requireAuth only what is secured needs a token.
  const security = requireAuth ? [{ bearer: [] }] : [{}, { bearer: [] }]
  let document: Promise<JsonObject> | undefined
  const forget = (error: unknown) => {
    document = undefined
    throw error
  }
  const ownHost: MiddlewareHandler<Env> = (c, next) => {
    origins.checkHost(c)
    return next()
  }
  for (const path of ['/openapi.json', '/docs', '/docs/*']) app.use(path, ownHost)
  app.get('/openapi.json', async (c) => c.json(await (document ??= generate(app, security).catch(forget)), 200, ASK_AGAIN))

  const pageHeaders = secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ['\'none\''], scriptSrc: ['\'self\''], styleSrc: ['\'self\'', '\'unsafe-inline\''], imgSrc: ['\'self\'', 'data:'], connectSrc: ['\'self\''],
      baseUri: ['\'none\''], formAction: ['\'none\''], frameAncestors: ['\'none\''],
    },
    xFrameOptions: 'DENY',
    // For whoever puts TLS before this server to say.
    strictTransportSecurity: false,
  })
  app.get('/docs', pageHeaders, (c) => c.html(PAGE, 200, ASK_AGAIN))
  // Its links are relative, so that it can stand behind a proxy under any path.
  app.get('/docs/', (c) => c.redirect('../docs', 301))
  app.get('/docs/start.js', pageHeaders, (c) => c.body(START, 200, { 'content-type': 'text/javascript; charset=utf-8', ...ASK_AGAIN }))
  for (const { name, type, file } of FILES) {
    app.get(`/docs/${name}`, pageHeaders, async (c) => {
      return c.body(new Uint8Array(await readFile(file)), 200, { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'max-age=3600' })
    })
  }
}
