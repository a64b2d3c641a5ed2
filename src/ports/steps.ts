// ports: steps: what runs them outside the turn (functions of users, built-in functions, and scripts), the watch that
// identifies one that never returns, and the sender of webhooks.
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

export interface FunctionCall extends FunctionName {
  readonly args: JsonObject
  readonly flux: StepFlux
}

export interface IsolatedCall extends FunctionCall {
  /** Milliseconds. */
  readonly timeout: number
}

export interface ScriptCall {
  /** The body of an async JavaScript function. */
  readonly script: string
  /**
   * Resolves with the JSON text of the names that the script sees: each as a variable, and all together as `this` and as
   * the object `names` (unless one has that name). It is called when the script begins, and again if the script is
   * restarted, so that a waiting script holds no data.
   */
  readonly names: () => Promise<string>
  readonly signal: AbortSignal
  /** Milliseconds that the script may run. Time in the queue does not count. */
  readonly timeout: number
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
  run(call: FunctionCall): Promise<Json>
  /**
   * The part of an error's stack in the sources of users, for an error of a function of the package or of a script: at
   * most 4 KB of text, with paths relative to the package's root; null: there is none.
   */
  stackOf(thrown: unknown, packageName: string): string | null
  /**
   * Calls the function in a process of its own, which is killed if the function runs longer than `timeout`
   * milliseconds. Time in the queue does not count. Resolves and rejects like `run`, and also rejects with a
   * TimeoutError or the abort reason of `flux.signal`. Left out: `run` is called.
   */
  runIsolated?(call: IsolatedCall): Promise<Json>
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
