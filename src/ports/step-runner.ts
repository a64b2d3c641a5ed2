// ports: what runs outside the turn, a function of the user's or a built-in one.
import type { FluxApi } from '../model/calls.ts'
import type { ContextId } from '../model/context.ts'
import type { JsonObject } from '../model/json.ts'
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

export interface StepRunner {
  /** Sets the packages and forgets what was loaded before. */
  mount(packages: readonly PackageFolder[]): void
  /** Why this function can't be called, in words for a report; null if it can. */
  missing(name: FunctionName): Promise<string | null>
  /** Calls it; resolves with what it returns, rejects with what it throws. */
  run(call: FunctionName & { readonly args: JsonObject; readonly flux: Flux }): Promise<unknown>
}
