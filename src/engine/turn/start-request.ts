// engine/turn: the request to start a context, and the record before its first turn: inputs checked, defaults filled
// in, key and tags evaluated. Executions, triggers and children are all started by it.
import type { Expression, Scope, Turn } from '../../definitions/expressions/expression.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { validate, defaults } from '../../definitions/values/properties.ts'
import { spendOn, WorkBudget } from '../../definitions/work-budget.ts'
import { type ContextId, type ContextRecord, NO_PENDING, type Parent, type PendingEvent } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import { getOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import type { Caller } from '../../model/caller.ts'
import { refuseInput, requireValid } from '../interpreter/describe.ts'
import { START } from '../interpreter/turn-state.ts'
import { waitTextOf } from '../interpreter/reducers.ts'
import { suggestion } from '../../model/nearest.ts'
import { tagErrors, type TagLimits } from '../../model/tags.ts'
import { messageOf } from '../../model/error-message.ts'
import { keyFault } from '../../model/key.ts'
import { addressOf, type KeyAddress } from '../record/index-keys.ts'

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
  readonly parent?: Parent
  /** A template must not come out empty. Left out: that of the service; null: none. */
  readonly key?: string | Expression | null | undefined
  /**
   * What is done where the key is in use: the start is refused, at the latest by the commit; `use`: it is refused
   * before the input is checked; `caller`: that context is ended in the same commit, as far as the caller may do so.
   */
  readonly existing?: 'refuse' | 'use' | { readonly caller: Caller } | undefined
  /** The event that it is to take as soon as it waits for it. */
  readonly event?: Pick<PendingEvent, 'eventId' | 'event' | 'input' | 'untyped' | 'tags' | 'receipt'> | undefined
  /**
   * What defaults, key and tags are evaluated with, from the beginning each time. Left out: the turn; two tries of one
   * start may then get different keys.
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
export type RootRequest = Omit<StartRequest, 'parent' | 'inherited'>

/**
 * The key of a start, and `checked`, which checks the rest of the request and gives what makes the record before its
 * first turn, once there is an id. If the start is refused because its key is in use, its inputs may be invalid.
 * @throws FluxError
 */
export function initialRecordOf(request: StartRequest, turn: Turn & { readonly tagLimits: TagLimits }) {
  const { flux, trigger, existing, event } = request
  const drawn = request.drawn?.() ?? turn
  const startState = request.startState === undefined ? flux.startState : flux.stateIndex.get(request.startState)
  if (startState === undefined) {
    const meant = suggestion(request.startState ?? '', flux.stateIndex.keys())
    refuseInput('/startState', `'${flux.fluxName}' has no state '${request.startState}'${meant}`)
  }
  const { value: input, errors } = inputsOf(request, drawn.now, event ? '/orStart/input' : '/input')
  if (existing !== 'use') requireValid(errors)
  const trackerId = waitTextOf(getOwn(input, '$trackerId') ?? null) ?? drawn.uuid()
  const scope = startScopeOf(drawn, {
    input,
    request: request.request?.shown ?? null,
    fluxName: flux.fluxName,
    trackerId,
    trigger,
  })
  const key = startKeyOf(request, scope)
  const address = addressOf({ package: flux.package, fluxName: flux.fluxName, key })
  const checked = () => {
    requireValid(errors)
    const tags = tagsOf(request, scope, turn.tagLimits)
    const found = { startState, input, trackerId, key, tags, startedAt: turn.now }
    return (id: ContextId) => recordOf(id, request, found)
  }
  return { address, checked }
}

/** What templates of a service see of a start, also at the end of the context. They have a work budget of their own. */
export function startScopeOf(
  turn: Turn,
  record: Pick<ContextRecord, 'input' | 'request' | 'fluxName' | 'trackerId' | 'trigger'>,
): Scope {
  const { input, request, fluxName, trackerId, trigger } = record
  const names: { [name: string]: Json | undefined } = {
    $request: request ?? undefined,
    $fluxName: fluxName,
    $trackerId: trackerId,
    $triggerFluxEvent: trigger ?? undefined,
  }
  return { turn, budget: new WorkBudget(), get: (name) => getOwn(input, name) ?? getOwn(names, name) }
}

/** The text that a template gives; empty: none. Whatever an expression throws passes through. */
export function startTextOf(template: Expression, scope: Scope): string {
  const value = template.evaluate(scope)
  spendOn(value, scope.budget)
  return waitTextOf(value) ?? ''
}

type Found = Pick<ContextRecord, 'startState' | 'input' | 'trackerId' | 'key' | 'tags' | 'startedAt'>

/** The fields are in the same order in all functions that create records: see `interpreter/transit.ts`. */
function recordOf(
  id: ContextId,
  { flux, trigger, parent, request, inherited, event, answerRows, traceparent }: StartRequest,
  { startState, input, trackerId, key, tags, startedAt: now }: Found,
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
    parent: parent ?? null,
    child: null,
    lease: null,
    stepStartedAt: undefined,
    lastError: undefined,
    lastEvent: undefined,
    traceparent,
    moves: 0,
    tail: '',
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
    paused: undefined,
    response: null,
    pending: event ? [{ ...event, receivedAt: now, expiresAt: null }] : NO_PENDING,
    args: null,
    states: {},
  }
}

/** The key of a start; null: it has none, or is refused before that is known. */
export function addressOfStart(...[request, turn]: Parameters<typeof initialRecordOf>): KeyAddress | null {
  try {
    return initialRecordOf(request, turn).address
  } catch (error) {
    if (!(error instanceof FluxError)) throw error
    return null
  }
}

/** The inputs of the service, with its defaults, and what is wrong with those that are given. */
const inputsOf = ({ flux, input, unknown, untyped: text }: RootRequest, now: number, pointer: string) =>
  validate(flux.input, input, {
    now,
    unknown: flux.input.extra ? 'keep' : unknown,
    reserved: unknown,
    fill: true,
    text,
    pointer,
  })

/** Checks the inputs of a start that is not needed, since the context exists. @throws FluxError `invalid` */
export function requireInputs(...given: Parameters<typeof inputsOf>): void {
  const { errors } = inputsOf(...given)
  requireValid(errors)
}

/** The tags of the request, and those of the service. A tag that evaluates to an empty string is omitted. */
function tagsOf({ flux, tags: given }: RootRequest, scope: Scope, limits: TagLimits): string[] {
  const evaluated = flux.tags.map((template) => textOf(template, scope, '/tags', 'a tag of the service '))
  const tags = [...new Set([...given, ...evaluated.filter((tag) => tag !== '')])]
  const errors = tagErrors(tags, '/tags', limits)
  requireValid(errors)
  return tags
}

/** The text of a template of the service. @throws FluxError `invalid` */
function textOf(template: Expression, scope: Scope, pointer: string, what = ''): string {
  try {
    return startTextOf(template, scope)
  } catch (error) {
    refuseInput(pointer, `${what}can't be worked out: ${messageOf(error)}`)
  }
}

/**
 * The key that is given, else that of the service, null where that comes out empty. A child has none: it lies in the
 * partition of its parent.
 */
function startKeyOf({ flux, key: given, parent }: StartRequest, scope: Scope): string | null {
  const template = given === undefined ? flux.key : given
  if (template === null || parent !== undefined) return null
  if (typeof template === 'string') return template
  const key = textOf(template, scope, '/key')
  if (key === '' && given === undefined) return null
  const fault = key === '' ? 'comes out empty' : keyFault(key)
  if (fault !== null) refuseInput('/key', fault)
  return key
}

/** Another context has the key. */
export const keyInUse = ({ fluxName, key }: Omit<KeyAddress, 'package'>, contextId: ContextId): FluxError =>
  new FluxError({ kind: 'conflict', detail: `context ${contextId} of '${fluxName}' has the key '${key}'`, contextId })

/** The context that has the key, if it was refused for that; else null. */
export const holderIn = (error: unknown): ContextId | null =>
  (error instanceof FluxError && error.failure.kind === 'conflict' && error.failure.contextId) || null
