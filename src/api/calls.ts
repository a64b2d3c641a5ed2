// api: all calls, by the names of their methods. The REST API and the methods in process have the same request fields
// and the same answers.
import type { AnswerOf, Call, Checked, RequestOf } from './call.ts'
import { COMMAND_CALLS } from './commands.ts'
import {
  CONTEXT_LIST_CALLS,
  type ContextPage,
  type Fits,
  type ListedContext,
  type ListRequest,
} from './context-lists.ts'
import { CONTEXT_CALLS, type ContextView } from './contexts.ts'
import { EVENT_CALLS, type PendingPage, type PendingRequest, type PendingView } from './events.ts'
import type { Rehearsed } from './rehearsal.ts'
import { OPERATION_CALLS, type OperationStart, type OperationView } from './operations.ts'
import { SERVER_CALLS } from './server.ts'
import { SERVICE_CALLS } from './services.ts'
import { WEBHOOK_CALLS, type DeliveriesRequest, type DeliveryPage, type DeliveryView } from './webhooks.ts'

export const CALLS = {
  ...CONTEXT_CALLS,
  ...EVENT_CALLS,
  ...COMMAND_CALLS,
  ...CONTEXT_LIST_CALLS,
  ...SERVICE_CALLS,
  ...WEBHOOK_CALLS,
  ...OPERATION_CALLS,
  ...SERVER_CALLS,
}

type CallsByName = typeof CALLS

export const CALL_LIST: readonly { readonly name: string; readonly call: Call }[] = Object.entries(CALLS).map(
  ([name, call]) => ({ name, call }),
)

export interface CallOptions {
  /** Aborted when no caller waits for the answer any more: the call ends with its reason. */
  readonly signal?: AbortSignal | undefined
}

const { getOperations, resumeServer: _notInProcess, ...plain } = CALLS

/** The methods of clients, and the calls that they make. */
export const CLIENT_METHODS = { ...plain, getOperation: getOperations, listOperations: getOperations }

/** The methods of the interface in process, and what describes their requests. */
export const METHODS = {
  ...CLIENT_METHODS,
  listPage: plain.listContexts,
  listPendingPage: plain.listPending,
  listDeliveriesPage: plain.listDeliveries,
}

/** An answer inside the server. HTTP shows all of it; the methods in process give the answer alone. */
export interface Told<A> {
  readonly answer: A
  /** It was given before, to the first request under its key. */
  readonly replayed?: true
  /** Nothing has happened: it was rehearsed. */
  readonly rehearsed?: true
  /** It only says that the event is accepted. Resolves when this server has no more to do for it; never rejects. */
  readonly ended?: Promise<void>
}

export type MethodName = keyof typeof METHODS
/** The request of a method, once its description has let it pass. */
export type CheckedCall<Name extends MethodName> = Checked<(typeof METHODS)[Name]>

/** What has no fields may be left out. */
type Method<C extends Call> = string extends keyof RequestOf<C>
  ? (request?: object) => Promise<AnswerOf<C>>
  : RequestOf<C> extends { readonly dryRun?: unknown }
    ? (request: RequestOf<C>) => Promise<Rehearsed<AnswerOf<C>>>
    : (request: RequestOf<C>) => Promise<AnswerOf<C>>

type PlainMethods = { [Name in MethodName]: Method<(typeof METHODS)[Name]> }

type Abortable<C extends Call> = (request: RequestOf<C>, options?: CallOptions) => Promise<AnswerOf<C>>

/** Methods whose types say more than the description of their call. */
interface TypedMethods {
  /** Events that are kept until a context waits for them: one page, as `listPendingPage`. */
  listPending(request?: PendingRequest): Promise<PendingView[]>
  /**
   * Returns one page and the position of the next. It may end early, since a call looks at a bounded number of events.
   */
  listPendingPage(request?: PendingRequest): Promise<PendingPage>
  /** Returns one page of whole contexts. It may have fewer than `limit`: see `listPage`. */
  listContexts(request?: ListRequest & { readonly view?: 'full' | undefined }): Promise<ContextView[]>
  listContexts(request: ListRequest): Promise<ListedContext[]>
  /**
   * Returns one page and the position of the next. `fits` decides when the page is full; by default at about 2 million
   * characters. It may end early, since a call looks at a bounded number of contexts.
   */
  listPage(request: ListRequest, fits?: Fits): Promise<ContextPage>
  /**
   * How many contexts there are, by status, state or service. It ends with the signal's reason when that is aborted.
   */
  readonly countContexts: Abortable<CallsByName['countContexts']>
  /**
   * The context, as soon as it gets there. Those who wait for the same commit may be given the same object.
   * @throws FluxError `waitTimeout` when the time is up, `conflict` when it has ended otherwise: both have `context`
   */
  readonly waitFor: Abortable<CallsByName['waitFor']>
  /** Deliveries to webhooks, newest first: one page, as `listDeliveriesPage`. */
  listDeliveries(request?: DeliveriesRequest): Promise<DeliveryView[]>
  /**
   * Returns one page and the position of the next. It may end early, since a call looks at a bounded number of them.
   */
  listDeliveriesPage(request?: DeliveriesRequest): Promise<DeliveryPage>
  /**
   * Does something with all contexts that match, once with each, whatever becomes of this server. Resolves when that is
   * stored; `getOperation` shows how far it is. With `dryRun` there is
   * no `operationId`.
   * @throws FluxError `invalid` when it is not known what is to be done, `overloaded` when too many are under way
   */
  startOperation(request: RequestOf<CallsByName['startOperation']>): Promise<Rehearsed<OperationStart>>
  /** How far an operation is. @throws FluxError `notFound` */
  getOperation(request: { readonly operationId: string }): Promise<OperationView>
  /** The last 1,000 operations, newest first. */
  listOperations(request?: Record<never, never>): Promise<OperationView[]>
}

/** The calls. Each throws a FluxError when it refuses a request. */
export interface FluxApi extends TypedMethods, Omit<PlainMethods, keyof TypedMethods> {}

export type AnswerTo<Name extends MethodName> = Awaited<ReturnType<FluxApi[Name]>>
/** What a method is given besides its request. */
export type MoreOf<Name extends MethodName> = Name extends 'sendEvent' ? Placing : Parameters<FluxApi[Name]>[1]

/** For senders inside the server that send several events to one context, and keep their order. */
export interface Placing {
  /** Called once, when an event by id is in the mailbox of its context: those sent after that come behind it. */
  readonly onPlaced?: () => void
}

/** The calls inside the server, with the rights of one caller. */
export interface Calls {
  /** Makes a call whose description has let the request pass. */
  call<Name extends MethodName>(
    name: Name,
    request: CheckedCall<Name>,
    more?: MoreOf<Name>,
  ): Promise<Told<AnswerTo<Name>>>
  /** Checks the request, and makes the call. */
  ask(name: string, request: unknown, more?: unknown): Promise<Told<object>>
}

const NAMES = Object.keys(METHODS)

/** The methods in process. */
export function apiOf(calls: Calls): FluxApi {
  const entries: unknown[][] = NAMES.map((name) => [
    name,
    (request: unknown = {}, more?: unknown) => calls.ask(name, request, more).then(({ answer }) => answer),
  ])
  return Object.fromEntries(entries)
}

/** Makes the call of that name, whose description has let the request pass. */
export const callNamed = ({ call }: Calls, name: string, request: unknown): Promise<Told<object>> =>
  Reflect.apply(call, null, [name, request])
