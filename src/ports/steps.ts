// ports: steps: what runs them outside the turn (functions of users, built-in functions, and scripts), the slots that
// limit how many run at once, the watch that identifies one that never returns, and the sender of webhooks.
import type { FluxApi } from '../api/calls.ts'
import type { RetryHint } from '../model/action-error.ts'
import type { ContextId } from '../model/context.ts'
import type { Json, JsonObject } from '../model/json/value.ts'
import type { StepAttempt } from '../model/standstill.ts'
import type { Log } from './log.ts'

/** The second argument of every function: facts about its context, and the calls. */
export interface Flux extends FluxApi {
  readonly contextId: ContextId
  readonly fluxName: string
  readonly stateName: string
  /** The same for all retries and takeovers of the step: use it as an idempotency key. */
  readonly stepKey: string
  /** 1, 2, … */
  readonly attempt: number
  /** Aborted when the step times out, when its context ends, or when the server stops. */
  readonly signal: AbortSignal
  /**
   * The bytes of the body of the webhook that started the context, to verify its signature; null: no webhook started
   * it.
   */
  readonly rawBody: Uint8Array | null
  /**
   * The trace that the step belongs to, as the header `traceparent` (W3C Trace Context) names it; undefined: no
   * sender of its start or of its events had one.
   */
  readonly traceparent?: string | undefined
  readonly log: Log
}

/** What is needed to run a step besides. Built-in classes see it. */
export interface StepFlux extends Flux {
  /**
   * An id for a message that the step sends: the same for all attempts and takeovers, and different from that of any
   * step of any other store.
   */
  messageId(): Promise<string>
}

export interface FunctionName {
  readonly package: string
  /** Dotted path of the module, or the name of a built-in class. */
  readonly className: string
  /** Name of the module's export, or of the built-in class's method. */
  readonly methodName: string
}

export interface PackageFolder {
  readonly name: string
  /** Folder to which class names are relative. */
  readonly root: string
}

export interface IsolatedCall extends FunctionName {
  readonly args: JsonObject
  readonly flux: StepFlux
  /** Milliseconds. */
  readonly timeout: number
}

export interface ScriptCall {
  /** The body of an async JavaScript function. */
  readonly script: string
  /**
   * The names that the script sees: each as a variable, and all together as `this` and as the object `names` (unless
   * one has that name). If it is a function, it resolves with their JSON text. It is called when the script begins, and
   * again if the script is restarted, so that a waiting script holds no data.
   */
  readonly names: JsonObject | (() => Promise<string>)
  readonly signal: AbortSignal
  /** Milliseconds that the script may run. Time in the queue does not count. */
  readonly timeout: number
  /**
   * Called when the script turns out to be slow, or is known to be: from then on, it is queued with the slow scripts.
   */
  readonly onSlow?: () => void
}

interface DispatchedStep {
  readonly timeoutMs: number
  /** Aborted on timeout, or when the step is no longer needed. */
  readonly controller: AbortController
}

export interface FunctionStep extends DispatchedStep {
  readonly name: FunctionName
  /** As stored. */
  readonly args: JsonObject
  /** Whether the arguments refer to secrets, whose values the function gets. */
  readonly hasSecrets?: boolean
  readonly flux: StepFlux
  /** Whether the function runs in a process of its own. */
  readonly isolate: boolean
}

export interface ScriptStep extends DispatchedStep, Pick<ScriptCall, 'script' | 'names'> {
  readonly onSlow: () => void
}

/** Runs steps within their time limits. */
export interface StepDispatcher {
  /**
   * Resolves with the result of the step. Rejects with what the step throws, a TimeoutError, or the abort reason of its
   * signal.
   */
  run(step: FunctionStep | ScriptStep): Promise<Json>
}

export interface StepRunner {
  /** Sets the packages, and discards loaded modules. */
  mount(packages: readonly PackageFolder[]): void
  /** The reason why the function cannot be called, as text for a report; null if it can. */
  missing(name: FunctionName): Promise<string | null>
  /**
   * Calls the function in this process. Resolves with its result as JSON data. Rejects with what it throws, or
   * ResultTooLarge.
   */
  run(call: FunctionName & { readonly args: JsonObject; readonly flux: StepFlux }): Promise<Json>
  /**
   * The part of an error's stack in the sources of users, for an error of a function of the package or of a script: at
   * most 4 KB of text, with paths relative to the package's root; null: there is none.
   */
  stackOf(thrown: unknown, packageName: string): string | null
  /**
   * Calls the function in a process of its own, which is killed if the function runs longer than `timeout`
   * milliseconds. Time in the queue does not count. Resolves and rejects like `run`, and also rejects with a
   * TimeoutError or the abort reason of `flux.signal`.
   */
  runIsolated(call: IsolatedCall): Promise<Json>
  /** Whether the last run of the script was slow. */
  isSlowScript(script: string): boolean
  /** The reason why the script cannot be parsed, as text for a report; null if it can. */
  scriptFault(script: string): Promise<string | null>
  /**
   * Runs the script in the sandbox. Resolves with its result as JSON data. Rejects with an Error with the name and
   * message of what it throws, a TimeoutError, ResultTooLarge, or the abort reason of `signal`.
   */
  runScript(call: ScriptCall): Promise<Json>
  /** Ends all processes that it has started. */
  close(): void
}

/**
 * Where a step runs: a function in this process, a function in a process of its own, a script, or a script known to be
 * slow.
 */
export type StepKind = 'code' | 'isolated' | 'script' | 'slowScript'

export interface StepUsage {
  readonly kind: StepKind
  readonly taken: number
  readonly slots: number
  readonly waiting: number
}

export interface StepSlots {
  /** Takes a slot of that kind. Returns false if none is free, or if the slots are closed. */
  tryTake(kind: StepKind): boolean
  /** Gives a slot back. */
  release(kind: StepKind): void
  /** Number of free slots of that kind; 0 when closed. */
  free(kind: StepKind): number
  /** Slots that are taken, those that there are, and contexts that wait for one, of each kind. */
  usage(): readonly StepUsage[]
  /** Whether as many contexts are queued as `wait` accepts. */
  isFull(kind: StepKind): boolean
  /** Queues a context whose step waits for a slot. Returns false if the queue is full. */
  wait(kind: StepKind, id: ContextId): boolean
  /** Queues a context at the end or at the front, even if the queue is full, because it is recorded nowhere else. */
  waitLast(kind: StepKind, id: ContextId): void
  waitFirst(kind: StepKind, id: ContextId): void
  /** Takes a slot for the first context in the queue, and removes it; null: none waits, or no slot is free. */
  next(kind: StepKind): ContextId | null
  /** Sets the listener that is called after a slot was given back. */
  onFree(listener: (kind: StepKind) => void): void
  /** Gives out no more slots, and empties the queues. */
  close(): void
}

/** A step whose function is running. */
export interface RunningStep extends FunctionName, StepAttempt {
  readonly contextId: ContextId
  readonly fluxName: string
  readonly state: string
}

export interface StepWatch {
  /** Sets the folders of the users' functions. */
  mount(packages: readonly PackageFolder[]): void
  /** Calls the function. The step counts as running until the returned promise has settled. */
  run(step: RunningStep, call: () => unknown): Promise<unknown>
}

/** How the watchdog thread records that the event loop is blocked, while the main thread cannot. */
export interface NotesPlace {
  /** URL of a module that exports `openNotes`, a function that takes `place` and returns `StandstillNotes`. */
  readonly module: string
  /** Plain data. */
  readonly place: unknown
}

export interface StandstillNotes {
  /**
   * Writes a note. When it resolves, the note is as durable as other writes of the store. `owner`: boot id of the
   * blocked server.
   */
  write(owner: string, text: string): Promise<void>
  erase(owner: string): Promise<void>
}

export interface OutgoingWebhook {
  readonly url: string
  /** `webhook-id`: the same for all attempts. */
  readonly id: string
  /** The value of the secret, base64 after `whsec_` or without it, or a private key after `whsk_`. */
  readonly secret: string
  /** JSON. */
  readonly body: string
  /** Aborts the attempt. */
  readonly signal: AbortSignal
}

export type SendOutcome =
  | { readonly ok: true }
  /** `reason` names no secret and no address; `hint`: what the failure says about another attempt. */
  | { readonly ok: false; readonly reason: string; readonly hint?: RetryHint | undefined }

export interface WebhookSender {
  /** Never rejects. */
  send(webhook: OutgoingWebhook): Promise<SendOutcome>
}
