// http: the OpenAPI document (3.1): the calls under /flux-api as `api/` describes them, and the webhooks of the
// services that are loaded.
//
// - `docs/openapi.ts` adds the webhooks of the loaded services to the calls, again when the services change. The tests
//   apply Redocly's recommended rules.
import type { Hono } from 'hono'
import type { Authenticate } from '../../access/authenticate.ts'
import { CALL_LIST, CALLS } from '../../api/calls.ts'
import { EXECUTES, SEND_EVENTS, STREAM_MOVES } from '../../api/streams.ts'
import { componentSchemas } from '../../api/call.ts'
import { denial } from '../../model/caller.ts'
import type { EndpointDescription, WebhookApi } from '../../model/webhook.ts'
import type { Answers } from '../answers/answers.ts'
import { HTTP_STATUSES } from '../formats/problem.ts'
import { authorizationOf, type Env } from '../request/incoming.ts'
import { operationOf, pathOf, problemResponseOf, schemaOperation, withListHints } from './operation.ts'
import { CLOUD_EVENTS, movesOperation, streamOperation } from './streams.ts'
import { webhookPaths } from './webhooks.ts'

export interface DocumentParts {
  readonly webhooks: Pick<WebhookApi, 'all'>
  readonly authenticate: Authenticate
  readonly requireAuth: boolean
  readonly answers: Answers
}

const DESCRIPTION =
  'Starts workflow services, routes events to their contexts, and shows them. Every call takes and gives JSON or XML; ' +
  'XML is the same data with a field as an element and lists of `<item>`, as `/flux-api/schema.xsd` has it. ' +
  'Requests may leave the attribute `type` out. What is refused is answered with a problem (RFC 9457).'

const FLUX_API_TAG = { name: 'flux-api', description: 'The calls that start, move and show contexts' }
const WEBHOOKS_TAG = { name: 'webhooks', description: 'The paths at which services that are loaded now are called' }

/** Caches must revalidate the document, because the webhooks may change. */
const REVALIDATE = { 'content-type': 'application/json', 'cache-control': 'no-cache', vary: 'Authorization' }

export function addOpenApi(app: Hono<Env>, { webhooks, authenticate, requireAuth, answers }: DocumentParts): void {
  /** The document for the present webhooks, in memory once. */
  let last: { readonly of: readonly EndpointDescription[]; readonly bytes: Buffer<ArrayBuffer> } | undefined
  const bytesFor = (of: readonly EndpointDescription[]): Buffer<ArrayBuffer> => {
    if (last?.of !== of) last = { of, bytes: Buffer.from(JSON.stringify(documentOf(of, requireAuth))) }
    return last.bytes
  }
  app.get('/openapi.json', (c) => {
    // With `requireAuth`, definitions need a token, and so do the webhooks here, which describe them.
    const isGuarded = requireAuth && denial(authenticate(authorizationOf(c)), 'read') !== null
    return answers.bytes(c, bytesFor(isGuarded ? NONE : webhooks.all()), { headers: REVALIDATE }, { shared: true })
  })
}

const NONE: readonly EndpointDescription[] = []

function callPaths() {
  const paths: { [path: string]: { [method: string]: object } } = {}
  for (const { name, call } of CALL_LIST)
    for (const { id, method } of [{ id: name, method: call.method }, ...(call.alias ? [call.alias] : [])])
      (paths[pathOf(call)] ??= {})[method.toLowerCase()] = operationOf(
        id,
        call,
        call === CALLS.sendEvent ? CLOUD_EVENTS : {},
      )
  for (const call of [SEND_EVENTS, EXECUTES]) paths[pathOf(call)] = { post: streamOperation(call) }
  paths[pathOf(STREAM_MOVES)] = { get: movesOperation() }
  return { ...paths, '/flux-api/schema.xsd': { get: schemaOperation() } }
}

/** The document. Of the problems, it contains only those that an operation refers to. */
function documentOf(endpoints: readonly EndpointDescription[], requireAuth: boolean) {
  const paths = { ...callPaths(), ...webhookPaths(endpoints) }
  const used = JSON.stringify(paths)
  const responses = HTTP_STATUSES.filter((status) => used.includes(`"#/components/responses/Problem${status}"`))
  return {
    openapi: '3.1.0',
    info: { title: 'actorflux', version: '1', description: DESCRIPTION, license: { name: 'MIT', identifier: 'MIT' } },
    // Relative to the document, because the server may be behind a proxy under any path.
    servers: [{ url: '.', description: 'This server' }],
    // Without `requireAuth`, only secured services need a token.
    security: requireAuth ? [{ bearer: [] }] : [{}, { bearer: [] }],
    tags: endpoints.length > 0 ? [FLUX_API_TAG, WEBHOOKS_TAG] : [FLUX_API_TAG],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      // RFC 9457 calls the elements of a list <i> in XML.
      schemas: Object.fromEntries(
        Object.entries(componentSchemas()).map(([name, schema]) => [
          name,
          withListHints(schema, name === 'Problem' ? 'i' : 'item'),
        ]),
      ),
      responses: Object.fromEntries(responses.map((status) => [`Problem${status}`, problemResponseOf(status)])),
    },
  }
}
