// engine/turn: the request to start a context, and the record before its first turn: inputs checked, defaults filled in,
// key and tags evaluated. Executions, triggers and children are all started by it.
import type { Scope, Template, Turn } from '../../definitions/expressions/expression.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { validate, defaults } from '../../definitions/values/properties.ts'
import { spendOn, WorkBudget } from '../../definitions/work-budget.ts'
import type { ContextId } from '../../model/context.ts'
import { type FieldError, type Failure, FluxError } from '../../model/failure.ts'
import { getOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import type { Caller } from '../../model/caller.ts'
import { NO_PENDING, type PendingEvent } from '../../model/pending.ts'
import type { ContextRecord, Parent } from '../../model/record.ts'
import { invalidInput } from '../interpreter/describe.ts'
import { START } from '../interpreter/turn-state.ts'
import { waitTextOf } from '../interpreter/choose.ts'
import { suggestion } from '../../model/nearest.ts'
import { tagErrors, type TagLimits } from '../../model/tags.ts'
import { messageOf } from '../../model/error-message.ts'
import { keyFault } from '../../model/key.ts'
import type { KeyAddress } from '../record/context-key.ts'

export interface StartRequest {
  readonly flux: CompiledFlux
  readonly startState?: string | undefined
  readonly input: JsonObject
  /** Whether strings in the input are coerced to the declared types. */
  readonly untyped: boolean
  /**
   * How inputs that the service does not declare are treated. If it allows extra properties, this applies only to names
   * that begin with `$`.
   */
  readonly unknown: 'refuse' | 'ignore'
  readonly tags: readonly string[]
  /** The event that triggered the start; null: none. */
  readonly trigger: string | null
  /** Its eventId. */
  readonly triggerId?: string | undefined
  readonly parent: Parent | null
  /** A template must not come out empty. Left out: that of the service; null: none. */
  readonly key?: string | Template | null | undefined
  /**
   * What is done where the key is in use: the start is refused, at the latest by the commit; `use`: that is told without
   * a look at the input; `caller`: that context is ended in the same commit, as far as the caller may do so.
   */
  readonly existing?: 'refuse' | 'use' | { readonly caller: Caller } | undefined
  /** The event that it is to take as soon as it waits for it. */
  readonly event?: Pick<PendingEvent, 'eventId' | 'event' | 'input' | 'untyped' | 'tags' | 'receipt'> | undefined
  /** The partition in which it is stored, unless it has a key, which then tells the partition. */
  readonly partition: number
  /**
   * What defaults, key and tags are evaluated with, from the beginning each time. Left out: the turn, so that two tries
   * of one start may come to different keys.
   */
  readonly drawn?: (() => Turn) | undefined
  /** The secrets of an ancestor's `$request`, which are hidden here, too. */
  readonly inherited?: readonly string[]
  /** For a webhook: `$request`, and the bytes of its body. */
  readonly request?: { readonly shown: JsonObject; readonly raw: Uint8Array } | undefined
  /** See `ContextRecord`. */
  readonly answerRows?: ContextRecord['answerRows']
  /** See `ContextRecord`. */
  readonly traceparent?: string | undefined
}

/** A request for a context without a parent. */
export type RootRequest = Omit<StartRequest, 'parent' | 'partition' | 'inherited'>

/** The event that a context is started by, or with. */
export const startedBy = ({ trigger, triggerId, event }: StartRequest) =>
  ({ type: 'START', event: trigger ?? event?.event ?? null, eventId: triggerId ?? event?.eventId ?? null }) as const

/** `key`: where it is known. */
type Refused = { readonly failure: Failure; readonly key?: string | null }

/** Checks the request, and makes the record before its first turn, once there is an id; or returns why not. */
export function initialRecordOf(
  request: Omit<StartRequest, 'partition'>,
  turn: Turn & { readonly tagLimits: TagLimits },
): { readonly recordOf: (id: ContextId) => ContextRecord; readonly key: string | null } | Refused {
  const { flux, trigger } = request
  const drawn = request.drawn?.() ?? turn
  const at = request.event ? '/orStart' : ''
  const startState = request.startState === undefined ? flux.startState : flux.stateIndex.get(request.startState)
  if (startState === undefined) {
    const meant = suggestion(request.startState ?? '', flux.stateIndex.keys())
    return refuse([
      { pointer: '/startState', detail: `'${flux.fluxName}' has no state '${request.startState}'${meant}` },
    ])
  }
  const { value: input, errors } = inputsOf(request, { now: drawn.now, pointer: `${at}/input` })
  // Where the key that is in use is told, other inputs may be invalid.
  if (errors.length > 0 && request.existing !== 'use') return refuse(errors)
  const own = getOwn(input, '$trackerId')
  const trackerId = waitTextOf(own ?? null) ?? drawn.uuid()
  const names: { [name: string]: Json | undefined } = {
    $request: request.request?.shown,
    $fluxName: flux.fluxName,
    $trackerId: trackerId,
    $triggerFluxEvent: trigger ?? undefined,
  }
  const scope: Scope = {
    turn: drawn,
    budget: new WorkBudget(),
    get: (name) => getOwn(input, name) ?? getOwn(names, name),
  }
  const keyed = startKeyOf(request, scope)
  if (errors.length > 0) return { ...refuse(errors), ...keyed }
  if ('failure' in keyed) return keyed
  const { key } = keyed
  const tags = tagsOf(request, scope, turn.tagLimits)
  if ('failure' in tags) return { ...tags, key }
  const facts = { startState, input, trackerId, key, tags: tags.tags, now: turn.now }
  return { key, recordOf: (id) => recordOf(id, request, facts) }
}

/** The inputs of the service, with its defaults, and what is wrong with those that are given. */
function inputsOf(
  { flux, input, unknown, untyped }: Pick<StartRequest, 'flux' | 'input' | 'unknown' | 'untyped'>,
  { now, pointer }: { readonly now: number; readonly pointer: string },
) {
  return validate(flux.input, input, {
    now,
    unknown: flux.allowExtraProperties ? ('keep' as const) : unknown,
    reserved: unknown,
    fill: true,
    text: untyped,
    pointer,
  })
}

/** Why a start would be refused for what it is given, where there is none since another context is there; null: it wouldn't. */
export function refusalOfInputs(
  request: Pick<StartRequest, 'flux' | 'input' | 'unknown' | 'untyped'>,
  at: { readonly now: number; readonly pointer: string },
): Failure | null {
  const { errors } = inputsOf(request, at)
  return errors.length > 0 ? refuse(errors).failure : null
}

interface StartFacts {
  readonly startState: number
  readonly input: JsonObject
  readonly trackerId: string
  readonly key: string | null
  readonly tags: readonly string[]
  readonly now: number
}

/** The fields are in the same order in all functions that create records: see `interpreter/transit.ts`. */
function recordOf(
  id: ContextId,
  { flux, trigger, parent, request, inherited, event, answerRows, traceparent }: Omit<StartRequest, 'partition'>,
  { startState, input, trackerId, key, tags, now }: StartFacts,
): ContextRecord {
  return {
    id,
    version: 0,
    package: flux.package,
    fluxName: flux.fluxName,
    definition: flux.hash,
    status: 'RUNNING',
    state: startState,
    startState,
    startedAt: now,
    updatedAt: now,
    endedAt: null,
    due: null,
    tags,
    error: null,
    exception: null,
    fluxEvent: null,
    trigger,
    trackerId,
    key,
    answerRows,
    parent,
    child: null,
    lease: null,
    stepStartedAt: undefined,
    lastError: undefined,
    lastEvent: undefined,
    traceparent,
    moves: 0,
    tail: [],
    visited: [],
    position: START,
    input,
    output: defaults(flux.output, now),
    request: request?.shown ?? null,
    inheritedSecrets: inherited?.length ? inherited : null,
    raw: request && request.raw.length > 0 ? { body: Buffer.from(request.raw).toString('base64') } : null,
    answer: null,
    isPaused: undefined,
    retries: undefined,
    keyEpoch: undefined,
    beforeEnd: undefined,
    numbering: undefined,
    paused: undefined,
    response: null,
    pending: event ? [{ ...event, receivedAt: now, expiresAt: null }] : NO_PENDING,
    args: null,
    states: {},
  }
}

/** The tags of the request, and those of the service. A tag that evaluates to an empty string is omitted. */
function tagsOf(
  { flux, tags: given }: Pick<StartRequest, 'flux' | 'tags'>,
  scope: Scope,
  limits: TagLimits,
): { tags: string[] } | { failure: Failure } {
  const tags = new Set(given)
  try {
    for (const template of flux.tags) {
      const value = template.evaluate(scope)
      spendOn(value, scope.budget)
      const tag = waitTextOf(value) ?? ''
      if (tag !== '') tags.add(tag)
    }
  } catch (error) {
    return refuse([
      {
        pointer: '/tags',
        detail: `a tag of the service can't be worked out: ${messageOf(error)}`,
      },
    ])
  }
  const errors = tagErrors([...tags], '/tags', limits)
  return errors.length > 0 ? refuse(errors) : { tags: [...tags] }
}

function refuse(errors: readonly FieldError[]): { failure: Failure } {
  return { failure: invalidInput(errors) }
}

interface KeyRequest {
  readonly flux: CompiledFlux
  readonly key?: string | Template | null | undefined
  readonly parent: unknown
}

/**
 * The key that is given, else that of the service, null where that comes out empty. A child has none: it lies in the
 * partition of its parent.
 */
export function startKeyOf(
  { flux, key: given, parent }: KeyRequest,
  scope: Scope,
): { key: string | null } | { failure: Failure } {
  if (given === null || parent !== null) return { key: null }
  if (typeof given === 'string') return { key: given }
  const template = given ?? flux.key
  if (template === null) return { key: null }
  let key
  try {
    const value = template.evaluate(scope)
    spendOn(value, scope.budget)
    key = waitTextOf(value) ?? ''
  } catch (error) {
    return refuseKey(`can't be worked out: ${messageOf(error)}`)
  }
  if (key === '') return given === undefined ? { key: null } : refuseKey('comes out empty')
  const fault = keyFault(key)
  return fault === null ? { key } : refuseKey(fault)
}

const refuseKey = (detail: string) => refuse([{ pointer: '/key', detail }])

/** Another context has the key. */
export const keyInUse = ({ fluxName, key }: Pick<KeyAddress, 'fluxName' | 'key'>, by: ContextId): Failure => ({
  kind: 'conflict',
  detail: `context ${by} of '${fluxName}' has the key '${key}'`,
  contextId: by,
})

/** The context that has the key, if it was refused for that; else null. */
export const holderIn = (error: unknown): ContextId | null =>
  (error instanceof FluxError && error.failure.kind === 'conflict' && error.failure.contextId) || null
