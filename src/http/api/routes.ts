// http: the routes of the calls under /flux-api. Each request is read, checked, passed on and answered; nothing is
// decided here.
import type { Context, Hono, MiddlewareHandler } from 'hono'
import type { z } from 'zod'
import type { Authenticate } from '../../access/authenticate.ts'
import { rootOf, type Call } from '../../api/call.ts'
import { CALL_LIST, callNamed, CALLS, type Calls, type Told } from '../../api/calls.ts'
import { type OperationStart } from '../../api/operations.ts'
import { COMMANDS } from '../../api/commands.ts'
import type { Fits } from '../../api/context-lists.ts'
import { denial, type Caller, type Role } from '../../model/caller.ts'
import { FluxError, serverPaused } from '../../model/failure.ts'
import { bytesOf, sizeOf } from '../../model/json/weight.ts'
import type { ReadScope } from '../../model/read-scope.ts'
import type { Log } from '../../ports/log.ts'
import { addBatch, type BatchOptions } from '../batch/routes.ts'
import { addLive, type StreamMoves } from '../live/routes.ts'
import { answerCloudEvents, modeOf } from '../cloudevents/routes.ts'
import type { Answers } from '../answers/answers.ts'
import { xmlSchema } from '../docs/xsd.ts'
import type { Codec } from '../formats/codecs.ts'
import { hasBody, readBody, type BodyAdmission, type BodyLimits } from '../request/body.ts'
import type { CallFields, FieldsByName } from '../request/call-fields.ts'
import {
  authorizationOf,
  idempotencyKeyOf,
  headerOf,
  ifMatchOf,
  readScopeOf,
  requireSingle,
  type Env,
} from '../request/incoming.ts'
import { isLocal, type OriginGuard } from '../request/origin-guard.ts'
import { readQuery } from '../request/query.ts'
import { noteRoute, templateOf, traceOf } from '../socket/observe.ts'
import { acceptedFormat, callHeaders } from '../answers/answer-format.ts'
import { heldAnswer, isForAll, preferEvent, settledEvent, type SettledAnswer } from '../answers/prefer.ts'
import { quotaHeaders, takeQuota } from '../request/quotas.ts'
import { requestReader } from '../request/reader.ts'

export interface FluxApiOptions extends BodyLimits, BodyAdmission, BatchOptions {
  /** The calls, with the rights of that caller. */
  readonly api: (caller: Caller, traceparent?: string, reads?: ReadScope) => Calls
  readonly authenticate: Authenticate
  /** Whether every call needs a token, and not only those that touch secured services. */
  readonly requireAuth: boolean
  readonly answers: Answers
  readonly log: Log
  readonly stream: StreamMoves
  /** Whether the server was started paused and changes nothing yet; left out: it was not. */
  readonly isPaused?: () => boolean
  /** Tells it to go on; left out: it is never paused. */
  readonly resumeServer?: () => Promise<void>
}

export interface FluxApiParts extends FluxApiOptions {
  readonly origins: OriginGuard
}

const NOTHING: FieldsByName = new Map()

const REPLAYED = { 'idempotency-replayed': 'true' }
const NO_HEADERS = {}

/** What the routes share. */
interface Parts extends FluxApiParts {
  /** The caller of a request. @throws FluxError when it may not make the call */
  readonly callerOf: (c: Context<Env>, role: Role) => Caller
  /** The calls that have a route. */
  readonly added: Set<Call>
}

export function addFluxApi(app: Hono<Env>, given: FluxApiParts): void {
  const { authenticate, requireAuth, origins, isPaused, resumeServer } = given
  const identified = (c: Context<Env>): Caller => {
    origins.checkCall(c)
    const caller = authenticate(authorizationOf(c))
    if (caller.quota) takeQuota(c, caller)
    return caller
  }
  const callerOf = (c: Context<Env>, role: Role): Caller => {
    const caller = identified(c)
    const failure = requireAuth ? denial(caller, role) : null
    if (failure) throw new FluxError(failure)
    if (role !== 'read' && isPaused?.()) throw serverPaused()
    return caller
  }
  // Paths that do not exist need a token, too, so that the answer does not reveal which paths exist.
  const guard: MiddlewareHandler<Env> = (c, next) => {
    callerOf(c, 'read')
    return next()
  }
  if (requireAuth) app.use('/flux-api/*', guard)

  const parts = { ...given, callerOf, added: new Set<Call>() }
  addCall(app, parts, CALLS.execute, (calls, request) => calls.call('execute', request), {
    settle: (c, { answer }, holding) => heldAnswer(c, answer, answer.contextId, holding),
  })
  addCall(app, parts, CALLS.sendEvent, (calls, request, c) => calls.call('sendEvent', requireSingle(c, request)), {
    prefer: preferEvent,
    settle: (c, told, holding) => settledEvent(c, told, isForAll(holding.request), holding),
    otherwise(c, caller, calls) {
      const mode = modeOf(c)
      return mode && answerCloudEvents(c, mode, { caller, calls, parts })
    },
  })
  addOperations(app, parts)
  addViews(app, parts)
  // It concerns the process that answers, not contexts.
  const resume = async (): Promise<Told<object>> => {
    await resumeServer?.()
    return { answer: { message: 'the server goes on' } }
  }
  addCall(app, parts, CALLS.resumeServer, resume, {
    callerOf(c) {
      const caller = identified(c)
      const failure = !requireAuth && isLocal(c) ? null : denial(caller, 'admin')
      if (failure) throw new FluxError(failure)
      return caller
    },
  })
  for (const { name, call } of CALL_LIST)
    if (!parts.added.has(call)) addCall(app, parts, call, (calls, request) => callNamed(calls, name, request))
  addBatch(app, parts)
  addLive(app, given.stream, callerOf)
  const schema = xmlSchema()
  app.get('/flux-api/schema.xsd', (c) => {
    callerOf(c, 'read')
    readQuery(c.req.url, NOTHING)
    return c.body(schema, 200, { 'content-type': 'application/xml', 'cache-control': 'no-cache', ...quotaHeaders(c) })
  })
}

/** What is done with many contexts. The calls themselves need the lowest role of all that can be done. */
function addOperations(app: Hono<Env>, parts: Parts): void {
  const start: Run<typeof CALLS.startOperation.request, OperationStart> = async (calls, request, c) => {
    parts.callerOf(c, COMMANDS[request.do].role)
    return calls.call('startOperation', request)
  }
  addCall(app, parts, CALLS.startOperation, start, {
    settle: (_, { answer }) =>
      answer.operationId === undefined
        ? null
        : { answer, status: 202, headers: { location: `/flux-api/operations?operationId=${answer.operationId}` } },
  })
  addCall(app, parts, CALLS.getOperations, async (calls, { operationId }): Promise<Told<object>> =>
    operationId === undefined ? calls.call('listOperations', {}) : calls.call('getOperation', { operationId }),
  )
  addCall(app, parts, CALLS.stopOperation, async (calls, request, c) => {
    parts.callerOf(c, COMMANDS[(await calls.call('getOperation', request)).answer.do].role)
    return calls.call('stopOperation', request)
  })
}

/** Contexts, with their versions, and lists, page by page. `Link` leads to the next page. */
function addViews(app: Hono<Env>, parts: Parts): void {
  addCall(app, parts, CALLS.getContext, (calls, request) => calls.call('getContext', request), {
    settle: (_, { answer }) => ({ answer, headers: { etag: `"${answer.version}"` } }),
  })
  addCall(
    app,
    parts,
    CALLS.listContexts,
    (calls, request, c) => calls.call('listPage', request, roomFor(acceptedFormat(c))),
    {
      settle: (_, { answer: { contexts, next } }, { request }) =>
        pageOf(CALLS.listContexts.route, request, contexts, next),
    },
  )
  addCall(app, parts, CALLS.listPending, (calls, request) => calls.call('listPendingPage', request), {
    settle: (_, { answer: { events, next } }, { request }) => pageOf(CALLS.listPending.route, request, events, next),
  })
  addCall(app, parts, CALLS.listDeliveries, (calls, request) => calls.call('listDeliveriesPage', request), {
    settle: (_, { answer: { deliveries, next } }, { request }) =>
      pageOf(CALLS.listDeliveries.route, request, deliveries, next),
  })
}

/** Characters of the contexts of a page, about. */
const PAGE_CHARACTERS = 2 * 1024 * 1024

/** Whether a page has room for another context. In XML, small values take many times what they take in JSON. */
function roomFor({ untyped }: Codec): Fits {
  let characters = 0
  return (context) => {
    characters += (untyped ? bytesOf : sizeOf)(context, PAGE_CHARACTERS)
    return characters <= PAGE_CHARACTERS
  }
}

/** Fields of a list. */
type Filters = { readonly tag?: readonly string[] | undefined; readonly [name: string]: unknown }

/**
 * A page, and the URL of the next one: the same filters and limit, from that place on. It is relative, so that it also
 * works behind a proxy.
 */
function pageOf(
  route: string,
  { tag, ...filters }: Filters,
  answer: readonly object[],
  next: number | string | null,
): SettledAnswer {
  if (next === null) return { answer }
  const query = new URLSearchParams()
  const place = { page: undefined, [filters['order'] === 'desc' ? 'before' : 'after']: next }
  for (const [name, value] of Object.entries({ ...filters, ...place }))
    if (value !== undefined) query.set(name, String(value))
  for (const each of tag ?? []) query.append('tag', each)
  return { answer, headers: { link: `<${route}?${query}>; rel="next"` } }
}

/** @throws FluxError `malformed` where a version is named for a call that is for no single context */
function noteVersion(c: Context<Env>, { takesVersion }: Call, fields: CallFields) {
  const version = ifMatchOf(c)
  if (version !== undefined) fields['version'] = version
  if (!takesVersion) requireSingle(c, {})
}

type Run<R extends z.ZodType, A> = (calls: Calls, request: z.output<R>, c: Context<Env>) => Promise<Told<A>>

interface CallOptions<R, A> {
  /** Left out: that of the other calls. */
  readonly callerOf?: Parts['callerOf']
  /** Fields of the request that its client's preferences are. */
  readonly prefer?: (c: Context<Env>) => object
  /** What is answered in the end, if the client prefers that; null: the answer as it is. */
  readonly settle?: (
    c: Context<Env>,
    told: Told<A>,
    parts: { readonly calls: Calls; readonly hold: { release(): void } | null; readonly request: R },
  ) => SettledAnswer | Promise<SettledAnswer> | null
  /** What answers requests of another kind; null: it is a usual one. */
  readonly otherwise?: (c: Context<Env>, caller: Caller, calls: Calls) => Promise<Response> | null
}

function addCall<R extends z.ZodType, A extends object>(
  app: Hono<Env>,
  parts: Parts,
  call: Call<R>,
  run: Run<R, A>,
  { callerOf = parts.callerOf, prefer, settle, otherwise }: CallOptions<z.output<R>, A> = {},
): void {
  const { api, answers, inFlight } = parts
  parts.added.add(call)
  const reader = requestReader(call)
  const [root, rootOfOne] = [rootOf(call.answer), call.one && rootOf(call.one)]
  const send = (c: Context<Env>, format: Codec, { answer, status = 200, headers }: SettledAnswer) =>
    answers.send(c, answer, format, Array.isArray(answer) ? root : (rootOfOne ?? root), {
      status,
      headers: { ...callHeaders(c, format), ...headers },
    })
  const template = templateOf(call.route)
  const takesAssumptions = Object.keys(call.body ?? {}).join() === 'assume'
  app.on(call.alias ? [call.method, call.alias.method] : [call.method], [call.route], async (c) => {
    noteRoute(c, template)
    const caller = callerOf(c, call.role)
    const reads = call.method === 'GET' ? readScopeOf(c) : undefined
    const calls = api(caller, traceOf(c), reads)
    const other = otherwise?.(c, caller, calls)
    if (other) return other
    const format = acceptedFormat(c)
    const fields = reader.begin(c)
    if (call.takesKey) fields['idempotencyKey'] = idempotencyKeyOf(c)
    if (call.method !== 'GET') noteVersion(c, call, fields)
    if (prefer) Object.assign(fields, prefer(c))
    // A call that had no body before passes over what can't be meant for it.
    const isStray = takesAssumptions && !/[/+](?:json|xml)\b/i.test(headerOf(c, 'content-type') ?? '')
    const isBare = call.body === null || (call.mayLackBody === true && (isStray || !hasBody(c)))
    const hold = isBare ? null : inFlight.hold()
    try {
      const request = reader.finish(fields, hold && (await readBody(c, parts, hold)))
      const told = await run(calls, request, c)
      const settled = settle && !told.rehearsed ? settle(c, told, { calls, hold, request }) : null
      const replayed = told.replayed ? REPLAYED : NO_HEADERS
      if (settled === null) return await send(c, format, { answer: told.answer, headers: replayed })
      const { headers, ...rest } = await settled
      return await send(c, format, { ...rest, headers: { ...headers, ...replayed } })
    } finally {
      hold?.release()
      reads?.end()
    }
  })
}
