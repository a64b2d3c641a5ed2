// engine/calls: the environment of a call, and what several calls share: checking the caller's role, checking and
// copying what the schemas in `api/` leave open of inputs and tags, and charging the input to a memory budget.
import type { Told } from '../../api/calls.ts'
import type { EventAnswer } from '../../api/events.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ByteBudget } from '../../model/byte-budget.ts'
import { denial, type Caller, type Role } from '../../model/caller.ts'
import { CountBound } from '../../model/count-bound.ts'
import { FluxError } from '../../model/failure.ts'
import { isObject, toJson, type Json, type JsonObject } from '../../model/json/value.ts'
import { bytesOf } from '../../model/json/weight.ts'
import type { ReadScope } from '../../model/read-scope.ts'
import { tagErrors } from '../../model/tags.ts'
import { Turnstile } from '../../model/turnstile.ts'
import { partsOf, type EngineCore } from '../core/core.ts'
import type { BroadcastEvent } from '../fanout/broadcast-rows.ts'
import type { ScopedKey } from '../idempotency/kept-answer.ts'
import { refuseInput, requireValid } from '../interpreter/describe.ts'
import { knownServices, serviceCounts } from './service-counts.ts'
import { contextShower } from './shown-contexts.ts'

/** Deliveries of webhooks that are sent again at once; each may wait for its workflow. */
const MAX_REPLAYS = 16
/** Lists that are gathered at once; each takes a few MB of memory until it is written. */
const MAX_LISTS = 8
/** Counts of contexts at once: each may look at all of them in the index. */
const MAX_COUNTS = 16
/** Counts and lists at once that may read all contexts, which takes fifty times as long. */
const MAX_SEARCHES = 8
/** Rehearsals at once: each may look at thousands of contexts, and remember a hundred. */
const MAX_REHEARSALS = 2
/** Lists, counts, searches and rehearsals that wait for others to end. */
const MAX_WAITING = 200

/** The caller, and the package it calls from. */
export interface Access {
  readonly caller: Caller
  /** Idempotency keys of different scopes are different keys. */
  readonly scope: string
  /** The package that is searched first for services named without a package; left out: none. */
  readonly home?: string
  /** The budget that is charged with the input until the call ends; left out: the input is charged elsewhere. */
  readonly inputBudget?: ByteBudget
  /** A step calls: it belongs to work that was acknowledged, so it isn't refused when the server is at its limit. */
  readonly isStep?: boolean
  /** Whether an event for many is accepted before it is sent to them; else its answer reports all. */
  readonly accepts?: boolean
  /** Sends an event to all, in place of the engine's own way. `call`: its key; null: nothing is kept of it. */
  readonly toAll?: (event: BroadcastEvent, call: ScopedKey | null) => Promise<Told<EventAnswer>>
  /** The trace of the caller, as the header `traceparent` names it; left out: it has none. */
  readonly traceparent?: string | undefined
  /** The request that the call answers, which only shows what it reads; left out: the call is made in process. */
  readonly reads?: ReadScope | undefined
}

/** The parts of the engine, and what calls use besides. */
export function callPartsOf(core: EngineCore) {
  const parts = partsOf(core)
  return {
    ...parts,
    show: contextShower(parts),
    serviceCounts: serviceCounts(parts),
    knownServices: knownServices(parts.store),
    lists: new Turnstile(MAX_LISTS, { waiting: MAX_WAITING, what: 'lists' }),
    counts: new Turnstile(MAX_COUNTS, { waiting: MAX_WAITING, what: 'counts of contexts' }),
    searches: new Turnstile(MAX_SEARCHES, { waiting: MAX_WAITING, what: 'searches through many contexts' }),
    rehearsals: new Turnstile(MAX_REHEARSALS, { waiting: MAX_WAITING, what: 'rehearsals' }),
    replays: new CountBound({ limit: MAX_REPLAYS, what: 'deliveries that are sent again' }),
  }
}

export type CallParts = ReturnType<typeof callPartsOf>
/** The caller, and the parts of the engine that calls use. */
export type CallEnv = Access & CallParts

/** Bytes charged for each byte of input: it is copied, and encoded. */
const COPIES = 3

/** Runs `run` while the input is charged to the budget. @throws FluxError `overloaded` */
export function admitted<T>({ inputBudget }: CallEnv, input: JsonObject, run: () => Promise<T>): Promise<T> {
  return inputBudget ? charged(inputBudget, input, run) : run()
}

async function charged<T>(budget: ByteBudget, input: JsonObject, run: () => Promise<T>) {
  const release = budget.take(bytesOf(input, Infinity) * COPIES)
  try {
    return await run()
  } finally {
    release()
  }
}

/**
 * Whether a call is refused when too many commits are under way. `waits`: it is a line of a stream, which bounds its
 * lines.
 */
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
 * Number of values and names from which an input counts as large: copying takes milliseconds, and validating and
 * writing as long again.
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
