// http: the OpenAPI document (3.1): the calls under /flux-api as they describe themselves, and the webhooks of the services that are loaded.
import type { Hono } from 'hono'
import { generateSpecs } from 'hono-openapi'
import { z } from 'zod'
import type { Authenticate } from '../../access/authenticate.ts'
import { denial } from '../../model/caller.ts'
import { isObject, type JsonObject } from '../../model/json.ts'
import type { EndpointDescription, WebhookApi } from '../../model/webhook.ts'
import { problemAnswer } from '../api/answers.ts'
import { FORMATS } from '../formats/codecs.ts'
import { authorizationOf, type Env } from '../request/incoming.ts'
import type { Answers } from '../answers/answers.ts'
import { headersOf, problemsOf } from './operation.ts'
import { webhookPaths } from './webhooks.ts'
import { exampleOf, meaningsOf, STATUSES } from '../problem.ts'
import { withListHints } from './xml-hints.ts'

export interface DocumentParts {
  readonly webhooks: Pick<WebhookApi, 'all'>
  readonly authenticate: Authenticate
  readonly requireAuth: boolean
  readonly answers: Answers
}

const CALLS = 'Starts workflow services, routes events to their contexts, and shows them. Every call takes and gives JSON or XML; '
  + 'XML is the same data with a field as an element and lists of `<item>`, as `/flux-api/schema.xsd` has it. Requests may leave the attribute `type` out.'

const DOCUMENTATION = {
  info: { title: 'actorflux', version: '1', description: `${CALLS} What is refused is answered with a problem (RFC 9457).`, license: { name: 'MIT', identifier: 'MIT' } },
  // Relative to the document: the server may stand behind a proxy under any path.
  servers: [{ url: '.', description: 'This server' }],
  components: { securitySchemes: { bearer: { type: 'http' as const, scheme: 'bearer' } } },
}

const FLUX_API_TAG = { name: 'flux-api', description: 'The calls that start, move and show contexts' }
const WEBHOOKS_TAG = { name: 'webhooks', description: 'The paths at which services that are loaded now are called' }

/** `webhooks` may change from one request to the next, so may the document. */
const ASK_AGAIN = { 'content-type': 'application/json', 'cache-control': 'no-cache', vary: 'Authorization' }

/** To be called when all routes that describe themselves are there. */
export function addOpenApi(app: Hono<Env>, { webhooks, authenticate, requireAuth, answers }: DocumentParts): void {
  // Without requireAuth only what is secured needs a token.
  const security = requireAuth ? [{ bearer: [] }] : [{}, { bearer: [] }]
  let calls: Promise<JsonObject> | undefined
  const forget = (error: unknown) => {
    calls = undefined
    throw error
  }
  /** In memory once, however many read it. */
  let last: { readonly of: readonly EndpointDescription[]; readonly bytes: Buffer<ArrayBuffer> } | undefined
  const bytesFor = async (of: readonly EndpointDescription[]): Promise<Buffer<ArrayBuffer>> => {
    const document = await (calls ??= generate(app, security).catch(forget))
    if (last?.of !== of) last = { of, bytes: Buffer.from(JSON.stringify(withWebhooks(document, of))) }
    return last.bytes
  }
  app.get('/openapi.json', async (c) => {
    // Definitions are guarded then, and so is what is told of them here.
    const isGuarded = requireAuth && denial(authenticate(authorizationOf(c)), 'read') !== null
    return answers.bytes(c, await bytesFor(isGuarded ? NONE : webhooks.all()), { headers: ASK_AGAIN }, { shared: true })
  })
}

const NONE: readonly EndpointDescription[] = []

async function generate(app: Hono<Env>, security: Record<string, string[]>[]): Promise<JsonObject> {
  const document = plain(await generateSpecs(app, { documentation: { ...DOCUMENTATION, security }, excludeStaticFile: false }))
  const { components, ...rest } = document
  if (!isObject(components) || !isObject(components['schemas'])) return document
  const schemas = Object.entries(components['schemas']).map(([name, schema]) => [name, isObject(schema) ? withListHints(schema) : schema])
  const responses = STATUSES.map((status) => [`Problem${status}`, problemResponseOf(status)])
  return { ...rest, components: { ...components, schemas: { ...Object.fromEntries(schemas), Problem: problemSchema() }, responses: Object.fromEntries(responses) } }
}

/** RFC 9457 calls the elements of a list <i> in XML. */
function problemSchema(): JsonObject {
  const { $schema: _, ref: _name, ...schema } = z.toJSONSchema(problemAnswer)
  return withListHints(plain(schema), 'i')
}

/** Without what was set aside as undefined. */
const plain = (value: object): JsonObject => JSON.parse(JSON.stringify(value))

function problemResponseOf(status: number): JsonObject {
  const example = exampleOf(status)
  const content = Object.fromEntries(FORMATS.map((format) =>
    [format.problemType, { schema: { $ref: '#/components/schemas/Problem' }, example: format.untyped ? format.encodeProblem(example) : example }]))
  return plain({ description: meaningsOf(status), headers: headersOf(PROBLEM_HEADERS[status] ?? {}), content })
}

const WWW_AUTHENTICATE = { 'WWW-Authenticate': 'Bearer, and what is wrong with the token (RFC 6750)' }
const RETRY_AFTER = { 'Retry-After': 'Seconds after which to try again' }
const PROBLEM_HEADERS: { readonly [status: number]: { readonly [name: string]: string } } = { 401: WWW_AUTHENTICATE, 403: { 'WWW-Authenticate': 'Bearer, where a token with more rights would do (RFC 6750)' }, 429: RETRY_AFTER, 503: RETRY_AFTER }

/** With what is referred to, and nothing else. */
function withWebhooks({ paths, components, ...rest }: JsonObject, endpoints: readonly EndpointDescription[]): JsonObject {
  const all = { ...isObject(paths) ? paths : {}, ...webhookPaths(endpoints, problemsOf) }
  const used = JSON.stringify(all)
  const { responses, ...others } = isObject(components) ? components : {}
  const needed = Object.entries(isObject(responses) ? responses : {}).filter(([name]) => used.includes(`"#/components/responses/${name}"`))
  return { ...rest, tags: endpoints.length > 0 ? [FLUX_API_TAG, WEBHOOKS_TAG] : [FLUX_API_TAG], paths: all, components: { ...others, responses: Object.fromEntries(needed) } }
}
