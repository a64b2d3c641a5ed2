// api: the calls, which the REST API and the in-process methods share: the same request fields, the same answers.
import type { JsonObject } from '../model/json/value.ts'
import type { ContextCount, CountOptions, CountRequest } from './count-contexts.ts'
import type { ExecuteAnswer, ExecuteRequest } from './execute.ts'
import type { ContextEventsRequest, ContextEventsView } from './get-context-events.ts'
import type { ContextView, GetContextRequest } from './get-context.ts'
import type { DefinitionRequest } from './get-definition.ts'
import type { GetEventRequest, Receipt } from './get-event.ts'
import type { OperationView } from './get-operations.ts'
import type { SchemaRequest, ServiceSchemaView } from './get-service-schema.ts'
import type { MachineRequest } from './get-machine.ts'
import type { GetStateRequest, StateContextView } from './get-state.ts'
import type { ContextPage, Fits, ListedContext, ListRequest } from './list-contexts.ts'
import type { DeliveriesRequest, DeliveryPage, DeliveryView } from './list-deliveries.ts'
import type { PendingPage, PendingRequest, PendingView } from './list-pending.ts'
import type { ListServicesRequest, ServicesView } from './list-services.ts'
import type { ListWebhooksRequest, WebhookView } from './list-webhooks.ts'
import type { PauseRequest } from './pause-context.ts'
import type { ReplayAnswer, ReplayRequest } from './replay-delivery.ts'
import type { ResumeRequest } from './resume-context.ts'
import type { RetryAnswer, RetryRequest } from './retry.ts'
import type { EventAnswer, EventRequest } from './send-event.ts'
import type { OperationRequest, OperationStart } from './start-operation.ts'
import type { StopEventRequest } from './stop-event.ts'
import type { StopOperationRequest } from './stop-operation.ts'
import type { TagRequest } from './tags.ts'
import type { ContextRequest, MessageAnswer } from './terminate.ts'
import type { WaitRequest } from './wait-for.ts'
import type { WithdrawRequest } from './withdraw.ts'

/** The calls. Each throws a FluxError when it refuses a request. */
export interface FluxApi {
  execute(request: ExecuteRequest): Promise<ExecuteAnswer>
  terminate(request: ContextRequest): Promise<MessageAnswer>
  /**
   * Goes on with a context that failed or was terminated; while a step waits for its next attempt, makes it now.
   * @throws FluxError `conflict` when it can't be retried; `invalid`
   */
  retry(request: RetryRequest): Promise<RetryAnswer>
  /** A paused context starts no step and takes no wake-up. It keeps the events that it is sent until it is resumed. */
  pause(request: PauseRequest): Promise<MessageAnswer>
  /** The context takes the events that it kept, then what is due. */
  resume(request: ResumeRequest): Promise<MessageAnswer>
  /**
   * In process, an event for all is answered when it was sent to all of them, however many they are. With
   * `respondAsync` it is answered when it is stored, with empty lists, and `getEvent` shows how far it is.
   */
  sendEvent(request: EventRequest): Promise<EventAnswer>
  /** What became of an event that was sent under a key, with an eventId, or with `receipt`; or was accepted. */
  getEvent(request: GetEventRequest): Promise<Receipt>
  /** Events that are kept until a context waits for them: one page, as `listPendingPage`. */
  listPending(request?: PendingRequest): Promise<PendingView[]>
  /** Returns one page and the position of the next. It may end early, since a call looks at a bounded number of events. */
  listPendingPage(request?: PendingRequest): Promise<PendingPage>
  /**
   * Withdraws an event that is kept until a context waits for it: all copies of it.
   * @throws FluxError `conflict` when nothing of it is pending any more
   */
  withdraw(request: WithdrawRequest): Promise<MessageAnswer>
  /**
   * Stops an event that is being sent to all that wait for it; gives its receipt. Whom it moved stays moved.
   * @throws FluxError `notFound`; `conflict` when it is done
   */
  stopEvent(request: StopEventRequest): Promise<Receipt>
  /** Returns one page of whole contexts. It may have fewer than `limit`: see `listPage`. */
  listContexts(request: ListRequest & { readonly view?: 'full' | undefined }): Promise<ContextView[]>
  listContexts(request: ListRequest): Promise<ListedContext[]>
  /**
   * Returns one page and the position of the next. `fits` decides when the page is full; by default at about 2 million
   * characters. It may end early, since a call looks at a bounded number of contexts.
   */
  listPage(request: ListRequest, fits?: Fits): Promise<ContextPage>
  /** How many contexts there are, by status, state or service. It ends with the signal's reason when that is aborted. */
  countContexts(request: CountRequest, options?: CountOptions): Promise<ContextCount>
  getContext(request: GetContextRequest): Promise<ContextView>
  /**
   * The context, as soon as it gets there. Those who wait for the same commit may be given the same object.
   * @throws FluxError `waitTimeout` when the time is up, `conflict` when it has ended otherwise: both have `context`
   */
  waitFor(request: WaitRequest, options?: { readonly signal?: AbortSignal | undefined }): Promise<ContextView>
  getStateContext(request: GetStateRequest): Promise<StateContextView>
  /** Which events the context can take now, and what happens if none comes. Of one that has ended, the lists are empty. */
  getContextEvents(request: ContextEventsRequest): Promise<ContextEventsView>
  addTags(request: TagRequest): Promise<MessageAnswer>
  removeTags(request: TagRequest): Promise<MessageAnswer>
  getDefinition(request: DefinitionRequest): Promise<JsonObject>
  /** The JSON Schemas of a loaded service: of the inputs of a start, and of its outputs. */
  getServiceSchema(request: SchemaRequest): Promise<ServiceSchemaView>
  /** The loaded services, with counts of their contexts, and the faults that the last load found. */
  listServices(request?: ListServicesRequest): Promise<ServicesView>
  /** A service as the configuration of a machine of XState: a picture of it. */
  getMachine(request: MachineRequest): Promise<JsonObject>
  /** The endpoints of webhooks, with the counts of this server's deliveries. */
  listWebhooks(request?: ListWebhooksRequest): Promise<WebhookView[]>
  /** Deliveries to webhooks, newest first: one page, as `listDeliveriesPage`. */
  listDeliveries(request?: DeliveriesRequest): Promise<DeliveryView[]>
  /** Returns one page and the position of the next. It may end early, since a call looks at a bounded number of them. */
  listDeliveriesPage(request?: DeliveriesRequest): Promise<DeliveryPage>
  /**
   * Sends a delivery again, without verification, and although it is a repeat. Resolves when its sender would have got
   * the answer.
   * @throws FluxError `notFound`; `conflict` when its request, or a part of it, is not kept
   */
  replayDelivery(request: ReplayRequest): Promise<ReplayAnswer>
  /**
   * Does something with all contexts that match, once with each, whatever becomes of this server. Resolves when that is
   * stored; `getOperation` shows how far it is. With `dryRun` it only counts, and there is no `operationId`.
   * @throws FluxError `invalid` when it is not known what is to be done, `overloaded` when too many are under way
   */
  startOperation(request: OperationRequest): Promise<OperationStart>
  /** How far an operation is. @throws FluxError `notFound` */
  getOperation(request: { readonly operationId: string }): Promise<OperationView>
  /** The last 1,000 operations, newest first. */
  listOperations(request?: Record<never, never>): Promise<OperationView[]>
  /**
   * Stops an operation; gives how far it came. What it changed stays so.
   * @throws FluxError `notFound`; `conflict` when it is done
   */
  stopOperation(request: StopOperationRequest): Promise<OperationView>
}
