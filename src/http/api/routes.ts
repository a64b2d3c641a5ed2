// http: the routes of the calls under /flux-api. Each request is read, checked, passed on and answered; nothing is
// decided here.
import type { Context, Hono, MiddlewareHandler } from 'hono'
import type { z } from 'zod'
import type { Authenticate } from '../../access/authenticate.ts'
import { rootOf, type Call } from '../../api/call.ts'
import { COUNT_CONTEXTS } from '../../api/count-contexts.ts'
import { EXECUTE } from '../../api/execute.ts'
import type { FluxApi } from '../../api/flux-api.ts'
import { GET_CONTEXT_EVENTS } from '../../api/get-context-events.ts'
import { GET_CONTEXT } from '../../api/get-context.ts'
import { GET_DEFINITION } from '../../api/get-definition.ts'
import { GET_EVENT } from '../../api/get-event.ts'
import { GET_OPERATIONS } from '../../api/get-operations.ts'
import { GET_SERVICE_SCHEMA } from '../../api/get-service-schema.ts'
import { GET_MACHINE } from '../../api/get-machine.ts'
import { GET_STATE } from '../../api/get-state.ts'
import { LIST_SERVICES } from '../../api/list-services.ts'
import { LIST_WEBHOOKS } from '../../api/list-webhooks.ts'
import { PAUSE } from '../../api/pause-context.ts'
import { REPLAY_DELIVERY } from '../../api/replay-delivery.ts'
import { RESUME } from '../../api/resume-context.ts'
import { RETRY } from '../../api/retry.ts'
import { SEND_EVENT } from '../../api/send-event.ts'
import { roleOfDeed, type DeedName } from '../../api/operation-deeds.ts'
import { START_OPERATION, type OperationStart } from '../../api/start-operation.ts'
import { STOP_EVENT } from '../../api/stop-event.ts'
import { STOP_OPERATION } from '../../api/stop-operation.ts'
import { ADD_TAGS, PUT_TAGS, REMOVE_TAGS } from '../../api/tags.ts'
import { TERMINATE } from '../../api/terminate.ts'
import { isReplayed } from '../../api/replayed.ts'
import { WAIT_FOR } from '../../api/wait-for.ts'
import { WITHDRAW } from '../../api/withdraw.ts'
import { denial, type Caller, type Role } from '../../model/caller.ts'
import { FluxError, serverPaused } from '../../model/failure.ts'
import type { Log } from '../../ports/log.ts'
import { addBatch, type BatchOptions } from '../batch/routes.ts'
import { addLive, type StreamMoves } from '../live/routes.ts'
import { answerCloudEvents, modeOf } from '../cloudevents/routes.ts'
import type { Answers } from '../answers/answers.ts'
import { xmlSchema } from '../docs/xsd.ts'
import type { Codec } from '../formats/codecs.ts'
import { hasBody, readBody, type BodyAdmission, type BodyLimits } from '../request/body.ts'
import type { FieldsByName } from '../request/call-fields.ts'
import { authorizationOf, type Env } from '../request/incoming.ts'
import type { OriginGuard } from '../request/origin-guard.ts'
import { readQuery } from '../request/query.ts'
import { traceOf } from '../request/trace.ts'
import { acceptedFormat, callHeaders } from './answer-format.ts'
import { idempotencyKeyOf } from './idempotency-key.ts'
import { hangUpSignal } from '../request/hang-up.ts'
import { heldAnswer, isForAll, preferEvent, settledEvent, type SettledAnswer } from './prefer.ts'
import { addLists } from './lists.ts'
import { addResumeServer } from './resume-server.ts'
import { quotaHeaders, takeQuota } from './quotas.ts'
import { requestReader } from './request.ts'

export interface FluxApiOptions extends BodyLimits, BodyAdmission, BatchOptions {
  /** The calls, with the rights of that caller. */
  readonly api: (caller: Caller, traceparent?: string) => FluxApi
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
}

export function addFluxApi(app: Hono<Env>, given: FluxApiParts): void {
  const { authenticate, requireAuth, origins, isPaused } = given
  const callerOf = (c: Context<Env>, role: Role): Caller => {
    origins.checkCall(c)
    const caller = authenticate(authorizationOf(c))
    if (caller.quota) takeQuota(c, caller)
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

  const parts = { ...given, callerOf }
  addCall(app, parts, EXECUTE, (calls, request) => calls.execute(request), {
    settle: (c, answer, holding) => heldAnswer(c, answer, { ...holding, contextId: answer.contextId }),
  })
  addCall(app, parts, SEND_EVENT, (calls, request) => calls.sendEvent(request), {
    prefer: preferEvent,
    settle: (c, answer, { request, ...holding }) =>
      settledEvent(c, answer, { ...holding, isForAll: isForAll(request) }),
    otherwise(c, caller, calls) {
      const mode = modeOf(c)
      return mode && answerCloudEvents(c, mode, { caller, calls, parts })
    },
  })
  addCall(app, parts, GET_EVENT, (calls, request) => calls.getEvent(request))
  addCall(app, parts, WITHDRAW, (calls, request) => calls.withdraw(request))
  addCall(app, parts, STOP_EVENT, (calls, request) => calls.stopEvent(request))
  addSteering(app, parts)
  addCall(app, parts, COUNT_CONTEXTS, (calls, request, c) => calls.countContexts(request, { signal: hangUpSignal(c) }))
  addCall(app, parts, GET_CONTEXT, (calls, request) => calls.getContext(request))
  addCall(app, parts, WAIT_FOR, (calls, request, c) => calls.waitFor(request, { signal: hangUpSignal(c) }))
  addCall(app, parts, GET_STATE, (calls, request) => calls.getStateContext(request))
  addCall(app, parts, GET_CONTEXT_EVENTS, (calls, request) => calls.getContextEvents(request))
  addCall(app, parts, GET_DEFINITION, (calls, request) => calls.getDefinition(request))
  addCall(app, parts, GET_SERVICE_SCHEMA, (calls, request) => calls.getServiceSchema(request))
  addCall(app, parts, LIST_SERVICES, (calls, request) => calls.listServices(request))
  addCall(app, parts, GET_MACHINE, (calls, request) => calls.getMachine(request))
  addCall(app, parts, LIST_WEBHOOKS, (calls, request) => calls.listWebhooks(request))
  addCall(app, parts, REPLAY_DELIVERY, (calls, request) => calls.replayDelivery(request))
  addOperations(app, parts)
  addLists(app, parts)
  addResumeServer(app, given)
  addBatch(app, parts)
  addLive(app, given.stream, callerOf)
  const schema = xmlSchema()
  app.get('/flux-api/schema.xsd', (c) => {
    callerOf(c, 'read')
    readQuery(c.req.url, NOTHING)
    return c.body(schema, 200, { 'content-type': 'application/xml', 'cache-control': 'no-cache', ...quotaHeaders(c) })
  })
}

/** Calls that change one context. */
function addSteering(app: Hono<Env>, parts: Parts): void {
  addCall(app, parts, TERMINATE, (calls, request) => calls.terminate(request))
  addCall(app, parts, RETRY, (calls, request) => calls.retry(request))
  addCall(app, parts, PAUSE, (calls, request) => calls.pause(request))
  addCall(app, parts, RESUME, (calls, request) => calls.resume(request))
  addCall(app, parts, ADD_TAGS, (calls, request) => calls.addTags(request))
  addCall(app, parts, PUT_TAGS, (calls, request) => calls.addTags(request))
  addCall(app, parts, REMOVE_TAGS, (calls, request) => calls.removeTags(request))
}

/** What is done with many contexts. */
function addOperations(app: Hono<Env>, parts: Parts): void {
  const { authenticate, requireAuth } = parts
  // The call itself needs the lowest role of all that can be done.
  const checkRole = (c: Context<Env>, name: DeedName) => {
    const failure = requireAuth ? denial(authenticate(authorizationOf(c)), roleOfDeed(name)) : null
    if (failure) throw new FluxError(failure)
  }
  const start: Run<typeof START_OPERATION.request, OperationStart> = async (calls, request, c) => {
    checkRole(c, request.do)
    return calls.startOperation(request)
  }
  addCall(app, parts, START_OPERATION, start, {
    settle: (_, { operationId, matched }) => (operationId === undefined ? null : beganOperation(operationId, matched)),
  })
  addCall(app, parts, GET_OPERATIONS, async (calls, { operationId }): Promise<object> =>
    operationId === undefined ? calls.listOperations() : calls.getOperation({ operationId }),
  )
  addCall(app, parts, STOP_OPERATION, async (calls, request, c) => {
    checkRole(c, (await calls.getOperation(request)).do)
    return calls.stopOperation(request)
  })
}

/** RFC 9110, 15.3.3. */
const beganOperation = (operationId: string, matched: number): SettledAnswer => ({
  answer: { operationId, matched },
  status: 202,
  headers: { location: `/flux-api/operations?operationId=${operationId}` },
})

type Run<R extends z.ZodType, A> = (calls: FluxApi, request: z.output<R>, c: Context<Env>) => Promise<A>

interface CallOptions<R, A> {
  /** Fields of the request that its client's preferences are. */
  readonly prefer?: (c: Context<Env>) => object
  /** What is answered in the end, if the client prefers that; null: the answer as it is. */
  readonly settle?: (
    c: Context<Env>,
    answer: A,
    parts: { readonly calls: FluxApi; readonly hold: { release(): void } | null; readonly request: R },
  ) => SettledAnswer | Promise<SettledAnswer> | null
  /** What answers requests of another kind; null: it is a usual one. */
  readonly otherwise?: (c: Context<Env>, caller: Caller, calls: FluxApi) => Promise<Response> | null
}

function addCall<R extends z.ZodType, A extends object>(
  app: Hono<Env>,
  parts: Parts,
  call: Call<R>,
  run: Run<R, A>,
  { prefer, settle, otherwise }: CallOptions<z.output<R>, A> = {},
): void {
  const { api, callerOf, answers, inFlight } = parts
  const reader = requestReader(call)
  const [root, rootOfOne] = [rootOf(call.answer), call.one && rootOf(call.one.answer)]
  const send = (c: Context<Env>, format: Codec, { answer, status = 200, headers }: SettledAnswer) =>
    answers.send(c, answer, format.pieces(answer, Array.isArray(answer) ? root : (rootOfOne ?? root)), {
      status,
      headers: { ...callHeaders(c, format), ...headers },
    })
  app.on(call.method, call.route, async (c) => {
    const caller = callerOf(c, call.role)
    const calls = api(caller, traceOf(c))
    const other = otherwise?.(c, caller, calls)
    if (other) return other
    const format = acceptedFormat(c)
    const fields = reader.begin(c)
    if (call.takesKey) fields['idempotencyKey'] = idempotencyKeyOf(c)
    if (prefer) Object.assign(fields, prefer(c))
    const isBare = call.body === null || (call.mayLackBody === true && !hasBody(c))
    const hold = isBare ? null : inFlight.hold()
    try {
      const request = reader.finish(fields, hold && (await readBody(c, parts, hold)))
      const value = await run(calls, request, c)
      const settled = settle ? settle(c, value, { calls, hold, request }) : null
      const replayed = isReplayed(value) ? REPLAYED : NO_HEADERS
      if (settled === null) return send(c, format, { answer: value, headers: replayed })
      const { headers, ...rest } = await settled
      return await send(c, format, { ...rest, headers: { ...headers, ...replayed } })
    } finally {
      hold?.release()
    }
  })
}
