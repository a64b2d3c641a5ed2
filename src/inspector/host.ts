// inspector: what the pages need of the server around them.
import type { Context } from 'hono'
import type { FluxApi } from '../api/calls.ts'
import type { Caller } from '../model/caller.ts'
import type { Failure } from '../model/failure.ts'
import type { Log } from '../ports/log.ts'
import type { StepUsage } from '../model/slots.ts'
import type { ServerSeen } from '../ports/store.ts'

/** How the server is. */
export interface ServerHealth {
  /** Why it cannot serve now; null if it can. */
  readonly trouble: string | null
  /** Where contexts are kept: a path of the machine, or an address. Not shown to who has no token. */
  readonly store: string
  /** Boot id of this server. */
  readonly runId: string
  readonly uptimeMs: number
  /** By how much the event loop was late, at the 99th percentile. */
  readonly lagMs: number
  readonly memoryBytes: number
  readonly steps: readonly StepUsage[]
  /** Those that share the store; none if it is of this one alone. */
  readonly servers: readonly ServerSeen[]
}

/** The values of a form by name. */
export type FormValues = ReadonlyMap<string, readonly string[]>

export interface InspectorOptions {
  /** The calls, with the rights of that caller. */
  readonly api: (caller: Caller) => FluxApi
  /** The caller of an Authorization header. @throws FluxError `unauthorized` */
  readonly authenticate: (header: string | undefined) => Caller
  /** Whether every page needs a token. */
  readonly requireAuth: boolean
  /** Epoch milliseconds. */
  readonly now: () => number
  readonly log: Log
  readonly version: string
  readonly health: () => Promise<ServerHealth>
  /** @throws FluxError `misdirected` */
  readonly checkHost: (c: Context) => void
  /** Also for what changes something. @throws FluxError `misdirected`, `crossOrigin` */
  readonly checkCall: (c: Context) => void
  readonly statusOf: (failure: Failure) => number
  /** The fields of a POST. @throws FluxError `unsupportedType`, `tooLarge`, `malformed`, `overloaded` */
  readonly readForm: (c: Context) => Promise<FormValues>
  /** Counts the request as one call of the caller's token. @throws FluxError `rateLimited` */
  readonly takeQuota: (c: Context, caller: Caller) => void
  /** A value as the API writes it in XML. `root`: of its element. */
  readonly xmlOf: (value: object, root: string) => string
  /** Answers by a stream of moves. `caller` throws when the reader may not read any more. */
  readonly stream: (c: Context, caller: () => Caller) => Promise<Response>
}
