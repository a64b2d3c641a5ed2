// inspector: what the pages need of the server around them.
import type { Context } from 'hono'
import type { FluxApi } from '../api/flux-api.ts'
import type { Caller } from '../model/caller.ts'
import type { Failure } from '../model/failure.ts'
import type { Log } from '../ports/log.ts'

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
}

/** The values of a form by name. */
export type FormValues = ReadonlyMap<string, readonly string[]>

/** What the application gives to the pages that it serves. */
export interface PageHost {
  /** @throws FluxError `misdirected` */
  readonly checkHost: (c: Context) => void
  /** Also for what changes something. @throws FluxError `misdirected`, `crossOrigin` */
  readonly checkCall: (c: Context) => void
  readonly statusOf: (failure: Failure) => number
  /** The fields of a POST. @throws FluxError `unsupportedType`, `tooLarge`, `malformed`, `overloaded` */
  readonly readForm: (c: Context) => Promise<FormValues>
}
