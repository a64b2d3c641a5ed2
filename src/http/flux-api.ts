// http: the nine calls under /flux-api. Each is read, checked, called and answered; nothing is decided here.
import type { Context, Handler, Hono } from 'hono'
import type { Authenticate } from '../access/authenticate.ts'
import type { FluxApi, ListRequest } from '../model/calls.ts'
import type { Caller } from '../model/caller.ts'
import type { ContextId } from '../model/context.ts'
import { malformed } from '../model/failure.ts'
import { readBody } from './body.ts'
import { FORMATS, type Codec } from './formats.ts'
import { headerOf, type Env } from './incoming.ts'
import { negotiate } from './negotiate.ts'
import { HttpError } from './problem.ts'
import { readQuery } from './query.ts'
import {
  check, contextQuery, definitionQuery, eventBody, eventQuery, executeBody, listQuery, stateQuery, tagQuery, viewQuery, type Shape,
} from './schemas.ts'

export interface FluxApiOptions {
  /** The nine calls, as that caller may make them. */
  readonly api: (caller: Caller) => FluxApi
  readonly authenticate: Authenticate
  /** Bytes. */
  readonly maxBody: number
}

type Call = (api: FluxApi, c: Context<Env>, format: Codec) => Promise<Response>

export function addFluxApi(app: Hono<Env>, { api, authenticate, maxBody }: FluxApiOptions): void {
  const call = (run: Call): Handler<Env> => (c) => run(api(authenticate(headerOf(c, 'authorization'))), c, accepted(c))

  app.post('/flux-api/:package/execute', call(async (api, c, format) => {
    const { fluxName, startState, input, tags } = check(executeBody, await readBody(c, maxBody))
    return answer(format, await api.execute({
      package: c.req.param('package'), fluxName, startState: startState ?? undefined, input: input ?? undefined, tags: tags ?? undefined,
    }))
  }))

  app.post('/flux-api/event', call(async (api, c, format) => {
    const { contextId } = queryOf(c, eventQuery)
    const { event, input, tags } = check(eventBody, await readBody(c, maxBody))
    return answer(format, await api.sendEvent({ contextId, event, input: input ?? undefined, tags: tags ?? undefined }))
  }))

  app.delete('/flux-api/terminate', call(async (api, c, format) => answer(format, await api.terminate(queryOf(c, contextQuery)))))

  app.get('/flux-api/contexts', call(async (api, c, format) => {
    const request = queryOf(c, listQuery)
    const contexts = await api.listContexts(request)
    const last = contexts.length === request.limit ? contexts.at(-1) : undefined
    return answer(format, contexts, last && { link: `<${nextPage(request, last.id)}>; rel="next"` })
  }))

  app.get('/flux-api/context', call(async (api, c, format) => {
    const { contextId, snapshot } = queryOf(c, viewQuery)
    return answer(format, await api.getContext({ contextId, snapshot: snapshot === 'true' }))
  }))

  app.get('/flux-api/context/state', call(async (api, c, format) => answer(format, await api.getStateContext(queryOf(c, stateQuery)))))

  const addTags = call(async (api, c, format) => answer(format, await api.addTags(queryOf(c, tagQuery))))
  app.post('/flux-api/context/tag', addTags)
  app.put('/flux-api/context/tag', addTags)
  app.delete('/flux-api/context/tag', call(async (api, c, format) => answer(format, await api.removeTags(queryOf(c, tagQuery)))))

  app.get('/flux-api/definition', call(async (api, c, format) => {
    const { fluxName, contextId } = queryOf(c, definitionQuery)
    if (contextId !== undefined) return answer(format, await api.getDefinition({ contextId }))
    if (fluxName === undefined) throw malformed('fluxName or contextId must be given')
    return answer(format, await api.getDefinition({ fluxName }))
  }))
}

const queryOf = <T>(c: Context<Env>, shape: Shape<T>): T => check(shape, readQuery(c.req.url, shape.schema.shape))

function accepted(c: Context<Env>): Codec {
  const format = negotiate(headerOf(c, 'accept'), FORMATS)
  if (format === null) throw new HttpError({ kind: 'notAcceptable', detail: `answers are ${FORMATS.map(({ type }) => type).join(' or ')}` })
  return format
}

const answer = (format: Codec, value: unknown, headers?: Record<string, string>): Response =>
  new Response(format.encode(value), { headers: { 'content-type': format.answerType, ...headers } })

/** The same filters and limit, from the last id on. Relative, so that it holds behind a proxy too. */
function nextPage({ tag, ...filters }: ListRequest, after: ContextId): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...filters, page: undefined, after })) if (value !== undefined) query.set(name, String(value))
  for (const each of tag ?? []) query.append('tag', each)
  return `/flux-api/contexts?${query}`
}
