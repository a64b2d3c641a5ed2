// http: the nine calls under /flux-api. Each is read, checked, called and answered; nothing is decided here.
import type { Context, Handler, Hono, MiddlewareHandler } from 'hono'
import type { Authenticate } from '../../access/authenticate.ts'
import type { FluxApi, ListRequest } from '../../model/calls.ts'
import { denial, type Caller, type Role } from '../../model/caller.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError, malformed } from '../../model/failure.ts'
import { withBody, type Admission, type BodyLimits } from '../request/body.ts'
import { answerFormat, FORMATS, type Codec } from '../formats/codecs.ts'
import { authorizationOf, headerOf, type Env } from '../request/incoming.ts'
import type { Answers } from '../answers/answers.ts'
import { described, describedFile } from '../docs/operation.ts'
import type { OriginGuard } from '../request/origin-guard.ts'
import {
  ADD_TAGS, EXECUTE, GET_CONTEXT, GET_DEFINITION, GET_STATE, LIST_CONTEXTS, REMOVE_TAGS, SEND_EVENT, TERMINATE, type Operation,
} from './operations.ts'
import { Page } from '../answers/page.ts'
import { NOSNIFF } from '../problem.ts'
import { readQuery } from '../request/query.ts'
import {
  check, contextQuery, definitionQuery, eventBody, eventQuery, executeBody, listQuery, noQuery, stateQuery, tagQuery, viewQuery, type Shape,
} from './schemas.ts'

export interface FluxApiOptions extends BodyLimits, Admission {
  /** The nine calls, as that caller may make them. */
  readonly api: (caller: Caller) => FluxApi
  readonly authenticate: Authenticate
  /** Whether every call needs a token, and not only those that touch secured services. */
  readonly requireAuth: boolean
  /** The XML Schema of the answers. */
  readonly schema: string
  readonly answers: Answers
}

export interface FluxApiParts extends FluxApiOptions { readonly origins: OriginGuard }

/** Contexts change, and hold what is nobody else's business. */
const NOT_KEPT = { 'cache-control': 'no-store', vary: 'Accept', ...NOSNIFF }

/** What a call comes to. */
interface Answer { readonly value: unknown }
type Call = (api: FluxApi, c: Context<Env>) => Promise<Answer>

export function addFluxApi(app: Hono<Env>, { api, authenticate, requireAuth, schema, answers, origins, ...limits }: FluxApiParts): void {
  const callerOf = (c: Context<Env>, role: Role): Caller => {
    origins.checkCall(c)
    const caller = authenticate(authorizationOf(c))
    const failure = requireAuth ? denial(caller, role) : null
    if (failure) throw new FluxError(failure)
    return caller
  }
  const call = (operation: Operation, run: Call): Handler<Env> => described(operation, async (c) => {
    const calls = api(callerOf(c, operation.role))
    const format = accepted(c)
    const { value } = await run(calls, c)
    return answers.send(c, value, format.pieces(value, operation.root), { headers: { 'content-type': format.answerType, ...NOT_KEPT } })
  })
  // What isn't there, too, is nobody else's business.
  const guard: MiddlewareHandler<Env> = (c, next) => {
    callerOf(c, 'read')
    return next()
  }
  if (requireAuth) app.use('/flux-api/*', guard)

  app.post('/flux-api/:package/execute', call(EXECUTE, async (api, c) => {
    queryOf(c, noQuery)
    return withBody(c, limits, async ({ value, untyped }) => {
      const { fluxName, startState, input, tags } = check(executeBody, value)
      return {
        value: await api.execute({
          package: c.req.param('package'), fluxName, startState: startState ?? undefined, input: input ?? undefined, untyped, tags: tags ?? undefined,
        }),
      }
    })
  }))

  app.post('/flux-api/event', call(SEND_EVENT, async (api, c) => {
    const { contextId } = queryOf(c, eventQuery)
    return withBody(c, limits, async ({ value, untyped }) => {
      const { contextId: inBody = contextId, event, input, tags } = check(eventBody, value)
      if (contextId !== undefined && inBody !== contextId) throw twoContexts()
      return { value: await api.sendEvent({ contextId: inBody, event, input: input ?? undefined, untyped, tags: tags ?? undefined }) }
    })
  }))

  app.delete('/flux-api/terminate', call(TERMINATE, async (api, c) => ({ value: await api.terminate(queryOf(c, contextQuery)) })))

  app.get('/flux-api/contexts', described(LIST_CONTEXTS, async (c) => {
    const calls = api(callerOf(c, LIST_CONTEXTS.role))
    const format = accepted(c)
    const request = queryOf(c, listQuery)
    const page = new Page(answers, format, LIST_CONTEXTS.root)
    try {
      const next = await fill(page, calls, request)
      const link = next === null ? {} : { link: `<${nextPage(request, next)}>; rel="next"` }
      return page.respond(c, { 'content-type': format.answerType, ...NOT_KEPT, ...link })
    } catch (error) {
      page.drop()
      throw error
    }
  }))

  app.get('/flux-api/context', call(GET_CONTEXT, async (api, c) => {
    const { contextId, snapshot } = queryOf(c, viewQuery)
    return { value: await api.getContext({ contextId, snapshot: snapshot === 'true' }) }
  }))

  app.get('/flux-api/context/state', call(GET_STATE, async (api, c) => ({ value: await api.getStateContext(queryOf(c, stateQuery)) })))

  app.post('/flux-api/context/tag', call(ADD_TAGS, addTags))
  app.put('/flux-api/context/tag', call({ ...ADD_TAGS, id: 'putTags' }, addTags))
  app.delete('/flux-api/context/tag', call(REMOVE_TAGS, async (api, c) => ({ value: await api.removeTags(queryOf(c, tagQuery)) })))

  app.get('/flux-api/definition', call(GET_DEFINITION, async (api, c) => {
    const { fluxName, contextId } = queryOf(c, definitionQuery)
    if (contextId !== undefined) return { value: await api.getDefinition({ contextId }) }
    if (fluxName === undefined) throw malformed('fluxName or contextId must be given')
    return { value: await api.getDefinition({ fluxName }) }
  }))

  app.get('/flux-api/schema.xsd', describedFile('getSchema', 'The XML Schema of the answers', (c) => {
    callerOf(c, 'read')
    queryOf(c, noQuery)
    return c.body(schema, 200, { 'content-type': 'application/xml', 'cache-control': 'no-cache' })
  }))
}

/** Gives where the list goes on. */
async function fill(page: Page, api: FluxApi, request: ListRequest): Promise<ContextId | null> {
  const { contexts, next } = await api.listPage(request, (context) => page.add(context))
  for (const context of contexts.slice(page.count)) if (!await page.add(context)) return contexts[page.count - 1]?.id ?? null
  return next
}
const twoContexts = () => new FluxError({
  kind: 'malformed', detail: 'contextId differs in the body and in the query', errors: [{ pointer: '/contextId', detail: 'must be the one in the query, or be left out' }],
})

const addTags: Call = async (api, c) => ({ value: await api.addTags(queryOf(c, tagQuery)) })

const queryOf = <T>(c: Context<Env>, shape: Shape<T>): T => check(shape, readQuery(c.req.url, shape.known))

function accepted(c: Context<Env>): Codec {
  const format = answerFormat(headerOf(c, 'accept'))
  if (format === null) throw new FluxError({ kind: 'notAcceptable', detail: `answers are ${FORMATS.map(({ type }) => type).join(' or ')}` })
  return format
}

/** The same filters and limit, from the last id on. Relative, so that it holds behind a proxy too. */
function nextPage({ tag, ...filters }: ListRequest, after: ContextId): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...filters, page: undefined, after })) if (value !== undefined) query.set(name, String(value))
  for (const each of tag ?? []) query.append('tag', each)
  return `/flux-api/contexts?${query}`
}
