// model: the calls, as the REST API and the in-process methods share them: the same fields in, the same answer out.
import type { ContextId, ContextView, StateContextView, Status } from './context.ts'
import type { JsonObject } from './json.ts'

export interface ExecuteRequest {
  /** May be left out in process: the caller's own package is sought first. */
  readonly package?: string | undefined
  readonly fluxName: string
  readonly startState?: string | undefined
  readonly input?: JsonObject | undefined
  /** Texts in `input` may stand for the type declared, as in XML without types. */
  readonly untyped?: boolean | undefined
  readonly tags?: readonly string[] | undefined
}
export type ExecuteAnswer = { message: string; contextId: ContextId }

export interface ContextRequest { readonly contextId: ContextId }
export type MessageAnswer = { message: string }

export interface EventRequest {
  /** Given: that context alone. Left out: every context that waits for the event, and every service that it triggers. */
  readonly contextId?: ContextId | undefined
  readonly event: string
  readonly input?: JsonObject | undefined
  /** Texts in `input` may stand for the type declared, as in XML without types. */
  readonly untyped?: boolean | undefined
  readonly tags?: readonly string[] | undefined
}
export type EventAnswer = {
  message: string
  transitions: { contextId: ContextId; state: string }[]
  executions: { contextId: ContextId; state: string }[]
  ignored: { contextId: ContextId | null; fluxName: string; state: string | null; reason: string }[]
  /** That no service knows the event, and which one was meant, most likely. */
  hint?: string
}

export interface ListRequest {
  readonly fluxName?: string | undefined
  /** All must match. */
  readonly tag?: readonly string[] | undefined
  /** Left out: the unfinished ones. */
  readonly status?: Status | undefined
  readonly currentState?: string | undefined
  readonly startState?: string | undefined
  readonly limit?: number | undefined
  readonly page?: number | undefined
  /** Only contexts with a higher id: the cursor of `Link: rel="next"`. */
  readonly after?: ContextId | undefined
}

export interface GetContextRequest extends ContextRequest { readonly snapshot?: boolean | undefined }
export interface GetStateRequest extends ContextRequest { readonly stateName: string }
export interface TagRequest extends ContextRequest { readonly tag: readonly string[] }
export interface DefinitionRequest { readonly fluxName?: string | undefined; readonly contextId?: ContextId | undefined }

/** A part of a list, and where to go on. */
export interface ContextPage {
  readonly contexts: ContextView[]
  /** `after` of the next page; null: this was the last. */
  readonly next: ContextId | null
}

/** Whether a page has room for that context, too. Asked for one after the other. The page ends before the first that doesn't fit, unless it is the only one. */
export type Fits = (context: ContextView) => boolean | Promise<boolean>

/** The nine calls. Each throws a FluxError when it refuses. */
export interface FluxApi {
  execute(request: ExecuteRequest): Promise<ExecuteAnswer>
  terminate(request: ContextRequest): Promise<MessageAnswer>
  sendEvent(request: EventRequest): Promise<EventAnswer>
  /** May end before `limit`, when the contexts are large: see `listPage`. */
  listContexts(request: ListRequest): Promise<ContextView[]>
  /** The same, and where to go on. `fits` says when the page is full; about 2 million characters, if it is left out. */
  listPage(request: ListRequest, fits?: Fits): Promise<ContextPage>
  getContext(request: GetContextRequest): Promise<ContextView>
  getStateContext(request: GetStateRequest): Promise<StateContextView>
  addTags(request: TagRequest): Promise<MessageAnswer>
  removeTags(request: TagRequest): Promise<MessageAnswer>
  getDefinition(request: DefinitionRequest): Promise<JsonObject>
}
