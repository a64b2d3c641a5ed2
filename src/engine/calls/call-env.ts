// engine/calls: the environment of a call, and what several calls share: checking the caller's role, checking and copying
// what the schemas in `api/` leave open of inputs and tags, and charging the input to a memory budget.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ByteBudget } from '../../model/byte-budget.ts'
import { denial, type Caller, type Role } from '../../model/caller.ts'
import type { CountBound } from '../../model/count-bound.ts'
import { FluxError } from '../../model/failure.ts'
import { isObject, toJson, type Json, type JsonObject } from '../../model/json/value.ts'
import { bytesOf } from '../../model/json/weight.ts'
import type { ReadScope } from '../../model/read-scope.ts'
import { tagErrors } from '../../model/tags.ts'
import type { Turnstile } from '../../model/turnstile.ts'
import type { WebhookApi } from '../../model/webhook.ts'
import type { Signals } from '../../ports/signals.ts'
import type { RecordReader } from '../contexts/context-loader.ts'
import type { EngineParts } from '../contexts/deps.ts'
import type { Deliveries } from '../deliveries/deliveries.ts'
import type { KeptBroadcasts } from '../fanout/kept-broadcasts.ts'
import type { RefusalLog } from '../fanout/outcomes.ts'
import type { Idempotency } from '../idempotency/idempotency.ts'
import { refuseInput, requireValid } from '../interpreter/describe.ts'
import type { Operations } from '../operations/operations.ts'
import type { UnclaimedEvents } from '../pending/unclaimed-events.ts'
import type { StartedAt } from '../record/views.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import type { Waits } from '../waits/waits.ts'
import type { KnownServices, ServiceCounts } from './service-counts.ts'
import type { ShownContexts } from './shown-contexts.ts'

/**
 * Closed while the server is paused, from its start. Until it is resumed, it serves what only reads, and does nothing of its
 * own: it takes no lease, wakes nobody, and sends, purges and claims nothing.
 */
export interface Gate {
  isClosed: boolean
}

/** The caller, and the package it calls from. */
export interface Access {
  readonly caller: Caller
  /** Idempotency keys of different scopes are different keys. */
  readonly scope: string
  /** The package that is searched first for services named without a package; null: none. */
  readonly home: string | null
  /** The budget that is charged with the input until the call ends; null: the input is charged elsewhere. */
  readonly admission: ByteBudget | null
  /** A step calls: that belongs to what was acknowledged already, so it isn't refused when there is much to do. */
  readonly isStep: boolean
  /** Whether an event for many is accepted before it is sent to them; else its answer reports all. */
  readonly accepts: boolean
  /** The trace of the caller, as the header `traceparent` names it; left out: it has none. */
  readonly traceparent?: string | undefined
  /** The request that the call answers, which only shows what it reads; left out: the call is made in process. */
  readonly reads?: ReadScope | undefined
}

/** The caller, and the parts of the engine that calls use. */
export interface CallEnv extends Access, Omit<EngineParts, 'idempotency' | 'webhooks'> {
  readonly given: EngineParts
  readonly signals: Signals
  readonly gate: Gate
  readonly reader: RecordReader
  /** Memory for what readers and turns parse. */
  readonly turns: ByteBudget
  readonly mailboxes: Mailboxes
  readonly waits: Waits
  readonly shown: ShownContexts
  /** The start time of a step that runs or waits on this server. */
  readonly startedAt: StartedAt
  readonly refusals: RefusalLog
  readonly idempotency: Idempotency
  /** Broadcasts to many contexts at once. */
  readonly broadcasts: CountBound
  readonly keptBroadcasts: KeptBroadcasts
  readonly operations: Operations
  /** Events for all that reached no context, and wait for one. */
  readonly unclaimed: UnclaimedEvents
  readonly webhooks: WebhookApi
  readonly deliveries: Deliveries
  /** Deliveries that are sent again, at once. */
  readonly replays: CountBound
  readonly serviceCounts: ServiceCounts
  readonly knownServices: KnownServices
  /** Lists that are gathered at once. */
  readonly lists: Turnstile
  /** Counts of contexts at once. */
  readonly counts: Turnstile
  /** Counts and lists that read many contexts, at once. */
  readonly searches: Turnstile
}

/** Bytes charged for each byte of input: it is copied, and encoded. */
const COPIES = 3

/** Runs `run` while the input is charged to the budget. @throws FluxError `overloaded` */
export function admitted<T>({ admission }: CallEnv, input: JsonObject, run: () => Promise<T>): Promise<T> {
  return admission === null ? run() : charged(admission, input, run)
}

async function charged<T>(budget: ByteBudget, input: JsonObject, run: () => Promise<T>): Promise<T> {
  const release = budget.take(bytesOf(input, Infinity) * COPIES)
  try {
    return await run()
  } finally {
    release()
  }
}

/** Whether a call is refused when too many commits are under way. `waits`: it is a line, of which a stream has few. */
export const isRefusable = ({ isStep }: CallEnv, waits: boolean): boolean => !isStep && !waits

/** Whether the caller may read the contexts of a service. */
export const isReadable =
  ({ caller }: Pick<Access, 'caller'>) =>
  ({ secured }: CompiledFlux): boolean =>
    !secured || denial(caller, 'read') === null

/** @throws FluxError when the service, or whatever it is, is secured and the caller does not have the role */
export function requireRole({ caller }: CallEnv, { secured }: Pick<CompiledFlux, 'secured'>, role: Role): void {
  const failure = secured ? denial(caller, role) : null
  if (failure) throw new FluxError(failure)
}

/**
 * Number of values and names from which an input counts as large: copying takes milliseconds, and validating and writing as long
 * again.
 */
const MANY_VALUES = 5000

/** `isLarge`: the event loop should be served before further work on it. @throws FluxError `invalid` */
export function checkedInput(
  given: JsonObject | null | undefined,
  pointer = '/input',
): { readonly input: JsonObject; readonly isLarge: boolean } {
  let [value, values]: [Json, number] = [null, 0]
  try {
    value = toJson(given ?? {}, refuseNumber, () => (values += 1))
  } catch (error) {
    return refuseInput(pointer, `is no plain data: ${error instanceof Error ? error.message : "it can't be read"}`)
  }
  return isObject(value) ? { input: value, isLarge: values > MANY_VALUES } : refuseInput(pointer, 'must be an object')
}

/** `1e999` in JSON is parsed as infinity: the number that was sent is lost. */
function refuseNumber(): never {
  throw new RangeError('it has a number beyond what a double can hold')
}

/** @throws FluxError `invalid` */
export function checkedTags(
  { tagLimits }: CallEnv,
  given: readonly string[] | null | undefined,
  pointer: string,
): readonly string[] {
  const tags = [...(given ?? [])]
  const errors = tagErrors(tags, pointer, tagLimits)
  requireValid(errors)
  return tags
}
