// ports: what runs outside the turn, a function of the user's or a built-in one.
import type { FluxApi } from '../api/flux-api.ts'
import type { ContextId } from '../model/context.ts'
import type { Json, JsonObject } from '../model/json/value.ts'
import type { Log } from './log.ts'

/** The second argument of every function: what it may know of its context, and the nine calls. */
export interface Flux extends FluxApi {
  readonly contextId: ContextId
  readonly fluxName: string
  readonly stateName: string
  /** The same over retries and crashes: use it as an idempotency key. */
  readonly stepKey: string
  /** 1, 2, … */
  readonly attempt: number
  /** Aborted when the step times out, its context is terminated or the server stops. */
  readonly signal: AbortSignal
  /** The body of the webhook that started the context, byte by byte: to check its signature. null: no webhook did. */
  readonly rawBody: Uint8Array | null
  readonly log: Log
}

export interface FunctionName {
  readonly package: string
  /** Dotted path of the module, or a built-in class. */
  readonly className: string
  /** The module's export, or the built-in class's method. */
  readonly methodName: string
}

export interface PackageFolder {
  readonly name: string
  /** Folder that names are relative to. */
  readonly root: string
}

export interface IsolatedCall extends FunctionName {
  readonly args: JsonObject
  readonly flux: Flux
  /** Milliseconds. */
  readonly timeout: number
}

export interface ScriptCall {
  /** The body of a JavaScript function, which may await. */
  readonly script: string
  /**
   * What it sees: each as a variable, and all of them as the object `names`, unless one has that name, and as `this`.
   * As a function, the JSON text of that: called when the script begins, and again if it must begin anew, so that one
   * that waits holds no data.
   */
  readonly names: JsonObject | (() => Promise<string>)
  readonly signal: AbortSignal
  /** Milliseconds that it may compute, once it has begun: others may be before it. */
  readonly timeout: number
  /** Called when it turns out to be slow, or to be known as such: it is queued with the slow ones from then on. */
  readonly onSlow?: () => void
}

interface DispatchedStep {
  readonly timeoutMs: number
  /** Aborted when the time is over, or by whoever wants the step no more. */
  readonly controller: AbortController
}

export interface FunctionStep extends DispatchedStep {
  readonly name: FunctionName
  readonly args: JsonObject
  readonly flux: Flux
  /** Whether it runs in a process of its own. */
  readonly isolate: boolean
}

export interface ScriptStep extends DispatchedStep, Pick<ScriptCall, 'script' | 'names'> {
  readonly onSlow: () => void
}

/** Runs a step within its time limit. */
export interface StepDispatcher {
  /** Resolves with its result; rejects with what it throws, a TimeoutError, or the reason of its signal. */
  run(step: FunctionStep | ScriptStep): Promise<Json>
}

export interface StepRunner {
  /** Sets the packages and forgets what was loaded before. */
  mount(packages: readonly PackageFolder[]): void
  /** Why this function can't be called, in words for a report; null if it can. */
  missing(name: FunctionName): Promise<string | null>
  /** Calls it; resolves with what it returns, as data; rejects with what it throws, and with ResultTooLarge. */
  run(call: FunctionName & { readonly args: JsonObject; readonly flux: Flux }): Promise<Json>
  /**
   * Where in the sources of users an error arose that came from a function of the package, or from a script: at most 4
   * KB of text, with paths below the package's root; null: nowhere.
   */
  stackOf(thrown: unknown, packageName: string): string | null
  /**
   * Calls it in a process of its own, which is ended when it takes longer than `timeout` milliseconds, counted from
   * when it begins: others may be before it. Resolves and rejects as `run`, and rejects with a TimeoutError or whatever
   * `flux.signal` was aborted with.
   */
  runIsolated(call: IsolatedCall): Promise<Json>
  /** Whether that script took long the last time. */
  isSlowScript(script: string): boolean
  /** Why this script can't be parsed, in words for a report; null if it can. */
  scriptFault(script: string): Promise<string | null>
  /**
   * Runs it in the sandbox; resolves with what it returns, which is data, rejects with an Error of the name and message
   * that it throws, and with ResultTooLarge.
   */
  runScript(call: ScriptCall): Promise<Json>
  /** Lets go of what it has started. */
  close(): void
}
