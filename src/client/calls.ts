// client: the types of the calls. They are those of the calls in process, so the two can not differ.
import type { MessageAnswer } from '../api/fields.ts'
import type { CLIENT_METHODS, FluxApi } from '../api/calls.ts'
import type { ContextPage, ListedContext, ListRequest } from '../api/context-lists.ts'
import type { ContextView } from '../api/contexts.ts'
import type { DeliveriesRequest, DeliveryPage } from '../api/webhooks.ts'
import type { Rehearsed } from '../api/rehearsal.ts'
import type { EventAnswer, PendingPage, PendingRequest } from '../api/events.ts'

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** Milliseconds that the call may take, with all its attempts; instead of the client's. */
  readonly timeout?: number | undefined
}

/** Options of calls that start or move a context. */
export interface WaitOptions extends CallOptions {
  /** Seconds for which the answer may be held until the context rests, which is then its `context`. */
  readonly wait?: number | undefined
}

export type CallName = keyof typeof CLIENT_METHODS

/** Fields that only callers in the server's process can give. */
type Internal = 'untyped' | 'waits' | 'cloudEventId' | 'respondWithin'

/** Over HTTP, a start names its package. */
type Given<Name extends CallName, Request> = Name extends 'execute' ? Request & { readonly package: string } : Request

/** The request of a call, as the client takes it. */
export type CallRequest<Name extends CallName> = Given<Name, Omit<NonNullable<Parameters<FluxApi[Name]>[0]>, Internal>>

/**
 * `accepted`: the event is for many. It is stored and being sent, the lists are empty, and `getEvent` shows how far it
 * is.
 */
export type SentAnswer = Rehearsed<EventAnswer> & { readonly accepted?: true }

export type CallAnswer<Name extends CallName> = Name extends 'sendEvent'
  ? SentAnswer
  : Awaited<ReturnType<FluxApi[Name]>>

type OptionsOf<Name extends CallName> = Name extends 'execute' | 'sendEvent' ? WaitOptions : CallOptions

type Call<Name extends CallName> =
  Record<never, never> extends CallRequest<Name>
    ? (request?: CallRequest<Name>, options?: OptionsOf<Name>) => Promise<CallAnswer<Name>>
    : (request: CallRequest<Name>, options?: OptionsOf<Name>) => Promise<CallAnswer<Name>>

type PlainCalls = { readonly [Name in Exclude<CallName, 'listContexts'>]: Call<Name> }

/** The calls. Each throws a `Problem` when the server refuses it, and a `ConnectionError` when there is no answer. */
export interface ClientCalls extends PlainCalls {
  /** One page of contexts, which may have fewer than `limit` although there are more: see `contexts` and `listPage`. */
  listContexts(
    request?: ListRequest & { readonly view?: 'full' | undefined },
    options?: CallOptions,
  ): Promise<ContextView[]>
  listContexts(request: ListRequest, options?: CallOptions): Promise<ListedContext[]>
  listPage(request?: ListRequest, options?: CallOptions): Promise<ContextPage>
  listPendingPage(request?: PendingRequest, options?: CallOptions): Promise<PendingPage>
  listDeliveriesPage(request?: DeliveriesRequest, options?: CallOptions): Promise<DeliveryPage>
  /** Tells the server that answers, if it was started paused, to go on. */
  resumeServer(options?: CallOptions): Promise<MessageAnswer>
}
