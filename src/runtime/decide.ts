// runtime: record + input → next record. Pure: time, randomness and ids come with the turn, and nothing given is changed.
import { createActor, createMachine, type AnyActorScope, type AnyMachineSnapshot, type AnyStateMachine, type StateValue } from 'xstate'
import type { Turn } from '../definitions/expressions/expression.ts'
import type { CompiledFlux } from '../definitions/flux.ts'
import { BLANK, type ActionError, type MachineContext, type MachineEvent } from '../definitions/machine.ts'
import { accept } from '../definitions/properties.ts'
import { denial, type Caller } from '../model/caller.ts'
import { isFinished, type ContextId, type Status } from '../model/context.ts'
import type { FieldError, Failure } from '../model/failure.ts'
import { isObject, type Json, type JsonObject } from '../model/json.ts'
import { stepKeyOf, type Standstill } from '../model/standstill.ts'
import { NOBODY, type ContextRecord, type Lease, type Move } from '../model/record.ts'
import { NeedsLog, TurnDraft } from './draft.ts'
import type { TagLimits } from '../model/tags.ts'

/** What a context can be told. */
export type Input =
  /** `tags`: those of a broadcast, which the context must match; null for an event sent to it by id. */
  | { readonly type: 'EVENT'; readonly name: string; readonly input: JsonObject; readonly untyped: boolean; readonly tags: readonly string[] | null; readonly caller: Caller }
  | { readonly type: 'WAKE' }
  /** `owner`: whom the step was leased to when it started; left out for the end of a child. */
  | { readonly type: 'DONE'; readonly epoch: number; readonly attempt: number; readonly owner?: string; readonly result: Json }
  | { readonly type: 'FAIL'; readonly epoch: number; readonly attempt: number; readonly owner?: string; readonly error: ActionError; readonly unborn?: true }
  | { readonly type: 'TERMINATE'; readonly caller: Caller }
  /** `owner`: whom the step was leased to when it was found abandoned. `standstill`: what that server wrote down before it ended, if its event loop stood still. */
  | { readonly type: 'TAKE_OVER'; readonly owner: string; readonly standstill?: Standstill | null }
  | { readonly type: 'RELEASE' }
  | { readonly type: 'TAG'; readonly add: readonly string[]; readonly remove: readonly string[]; readonly caller: Caller }

/** What a turn is given besides the record and the input. */
export interface Surroundings extends Turn {
  /** Boot id of this server. */
  readonly owner: string
  /** The newest moves before this turn; null: not at hand. */
  readonly trail: readonly Move[] | null
  readonly tagLimits: TagLimits
}

/** A step to start after the commit. */
export interface Step {
  readonly id: ContextId
  readonly state: number
  readonly epoch: number
  readonly attempt: number
  readonly owner: string
  readonly args: JsonObject
}

export type Decision =
  | {
    readonly kind: 'next'
    /** Its version is still the old one: the commit raises it. */
    readonly record: ContextRecord
    readonly log: readonly Move[]
    readonly step: Step | null
    /** A service to start as a child of this context. */
    readonly child: { readonly name: string; readonly input: JsonObject } | null
    /** A child that nobody waits for any more. */
    readonly orphan: ContextId | null
  }
  /** Nothing changes, for a reason that the sender is told. */
  | { readonly kind: 'refused'; readonly failure: Failure }
  /** Nothing changes: it is stale, or not addressed to this context. */
  | { readonly kind: 'unmoved' }
  /** Decide again, with the trail. */
  | { readonly kind: 'needsLog' }

/** A server whose steps kill it must not kill every server in turn. */
const MAX_TAKEOVERS = 5

/** Decides what one input makes of a context. */
export function decide(flux: CompiledFlux, record: ContextRecord, input: Input, given: Surroundings): Decision {
  const failure = flux.secured && 'caller' in input ? denial(input.caller, 'invoke') : null
  if (failure) return input.type === 'EVENT' && input.tags ? { kind: 'unmoved' } : { kind: 'refused', failure }
  if (isFinished(record.status)) {
    const ended = input.type === 'EVENT' || input.type === 'TERMINATE' || input.type === 'TAG'
    return ended ? refused('conflict', `context ${record.id} has ended: it is ${record.status}`) : { kind: 'unmoved' }
  }
  // Another server took the step over: its answer counts, and it is not to be robbed of it by what was known before.
  if ('owner' in input && input.owner !== record.lease?.owner) return { kind: 'unmoved' }
  switch (input.type) {
    case 'EVENT': return event(flux, record, input, given)
    case 'WAKE': return transit(flux, record, { type: 'WAKE', now: given.now }, given)
    case 'DONE': return transit(flux, record, input, given)
    case 'TERMINATE': return transit(flux, record, { type: 'TERMINATE' }, given)
    case 'FAIL': return transit(flux, record, { ...input, now: given.now }, given)
    case 'TAKE_OVER': return takeOver(flux, record, input.standstill ?? null, given)
    case 'RELEASE': return release(record, given)
    case 'TAG': return tag(record, input, given)
  }
}

/** The first record of a context: `seed` holds what is fixed at its birth. */
export function begin(flux: CompiledFlux, seed: ContextRecord, given: Surroundings): Decision {
  const draft = new TurnDraft(flux, seed, given, [])
  const before = restore(flux.machine, 'begin', { draft, ...BLANK })
  const { effects, snapshot } = capture((scope) => flux.machine.transition(before, { type: 'START', state: seed.startState }, scope))
  return conclude(flux, seed, draft, snapshot, effects, given)
}

function event(flux: CompiledFlux, record: ContextRecord, input: Input & { type: 'EVENT' }, given: Surroundings): Decision {
  if (input.tags && !matches(record.tags, input.tags)) return { kind: 'unmoved' }
  const state = flux.states[record.state]
  const waits = machineState(record) === 'waiting'
  if (!state || !waits) return refused('conflict', `context ${record.id} can't take an event now: it is ${record.status} in state '${state?.name ?? ''}'`)
  if (!state.choice.events.has(input.name) && state.choice.otherwise === null) {
    return refused('conflict', `context ${record.id} doesn't wait for '${input.name}' in state '${state.name}'`)
  }
  const { value, errors } = accept(state.input, input.input, { now: given.now, unknown: 'ignore', fill: false, text: input.untyped, pointer: '/input' })
  if (errors.length > 0) return { kind: 'refused', failure: { kind: 'invalid', detail: describe(errors), errors } }
  return transit(flux, record, { type: 'EVENT', name: input.name, input: value }, given)
}

export const describe = (errors: readonly FieldError[]) => `invalid input: ${errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')}`

/** A context that has tags hears only events that carry any of them, one without tags only events without. */
function matches(own: readonly string[], sent: readonly string[]): boolean {
  return own.length === 0 ? sent.length === 0 : sent.some((tag) => own.includes(tag))
}

function takeOver(flux: CompiledFlux, record: ContextRecord, standstill: Standstill | null, given: Surroundings): Decision {
  const { lease } = record
  if (!lease || lease.owner === given.owner) return { kind: 'unmoved' }
  const { epoch, attempt } = machineContext(record)
  if (standstill?.step?.stepKey === stepKeyOf(record.id, epoch) && standstill.step.attempt === attempt) {
    return transit(flux, record, { type: 'FAIL', epoch, attempt, error: blocked(standstill), now: given.now }, given)
  }
  const takeovers = lease.takeovers + (lease.owner === NOBODY || standstill?.isCertain === true ? 0 : 1)
  if (takeovers > MAX_TAKEOVERS) {
    const message = `${MAX_TAKEOVERS + 1} servers were lost while they ran this step`
    const error = { message, type: 'LeaseLost', className: 'LeaseLost', realException: null }
    return transit(flux, record, { type: 'FAIL', epoch, attempt, error, now: given.now }, given)
  }
  const next = { ...record, lease: { owner: given.owner, takeovers }, updatedAt: given.now }
  return { kind: 'next', record: next, log: [], step: stepOf(next), child: null, orphan: null }
}

/** What a function is told to have failed with that held up the whole server. */
function blocked({ message, stack }: Standstill): ActionError {
  const type = 'EventLoopBlocked'
  return { message, type, className: type, realException: { name: type, message, ...stack !== '' && { stack } } }
}

function release(record: ContextRecord, { owner }: Surroundings): Decision {
  if (record.lease?.owner !== owner) return { kind: 'unmoved' }
  return { kind: 'next', record: { ...record, lease: { ...record.lease, owner: NOBODY } }, log: [], step: null, child: null, orphan: null }
}

function tag(record: ContextRecord, { add, remove }: Input & { type: 'TAG' }, given: Surroundings): Decision {
  const tags = [...new Set([...record.tags, ...add])].filter((name) => !remove.includes(name))
  if (tags.length > given.tagLimits.count) {
    const errors = [{ pointer: '/tag', detail: `a context can have ${given.tagLimits.count} tags` }]
    return { kind: 'refused', failure: { kind: 'invalid', detail: `context ${record.id} would have ${tags.length} tags`, errors } }
  }
  if (tags.length === record.tags.length && tags.every((name) => record.tags.includes(name))) return { kind: 'unmoved' }
  return { kind: 'next', record: { ...record, tags, updatedAt: given.now }, log: [], step: null, child: null, orphan: null }
}

/** Sends one event through the machine. */
function transit(flux: CompiledFlux, record: ContextRecord, event: MachineEvent, given: Surroundings): Decision {
  const draft = new TurnDraft(flux, record, given, given.trail)
  const { machine } = flux
  const before = restore(machine, record.snapshot['value'], { draft, ...machineContext(record) })
  try {
    const { effects, snapshot } = capture((scope) => machine.transition(before, event, scope))
    return snapshot === before ? { kind: 'unmoved' } : conclude(flux, record, draft, snapshot, effects, given)
  } catch (error) {
    if (error instanceof NeedsLog) return { kind: 'needsLog' }
    throw error
  }
}

/** Turns what the machine says into the next record. */
function conclude(
  flux: CompiledFlux, record: ContextRecord, draft: TurnDraft, snapshot: AnyMachineSnapshot, effects: readonly string[], { now, owner }: Surroundings,
): Decision {
  const { draft: _, ...context }: MachineContext = snapshot.context
  const status = statusOf(snapshot, context.due)
  // Whatever it was that it waited for: nothing wakes what has ended.
  const kept = isFinished(status) ? { ...context, due: null } : context
  const persisted = { status: snapshot.status, value: snapshot.value, historyValue: {}, context: { ...kept }, children: {} }
  const acting = phaseOf(persisted) === 'acting'
  const action = flux.states[draft.data.state]?.action.kind
  const lease = acting && action !== 'flux' ? leaseOf(record, owner, effects.includes('step')) : null
  const awaits = acting && action === 'flux'
  const invokes = awaits && effects.includes('child')
  const next: ContextRecord = {
    ...record,
    ...draft.data,
    status,
    paused: record.paused ?? (record.request !== null && (status === 'WAITING' || status === 'WAITING_UNTIL') ? status : undefined),
    snapshot: persisted,
    due: kept.due,
    lease,
    child: awaits && !invokes ? record.child : null,
    error: draft.fatal,
    updatedAt: now,
    endedAt: isFinished(status) ? now : null,
  }
  return {
    kind: 'next', record: next, log: draft.log,
    step: effects.includes('step') ? stepOf(next) : null,
    child: invokes ? childOf(flux, next) : null,
    orphan: record.child !== next.child ? record.child : null,
  }
}

/** A step that starts belongs to this server; one that goes on, to whoever had it. */
function leaseOf(record: ContextRecord, owner: string, starts: boolean): Lease {
  return starts || !record.lease ? { owner, takeovers: 0 } : record.lease
}

function childOf(flux: CompiledFlux, { state, args }: ContextRecord) {
  const action = flux.states[state]?.action
  return action?.kind === 'flux' ? { name: action.name, input: args ?? {} } : null
}

/** The step under way, if a server runs one. */
export function stepOf(record: ContextRecord): Step | null {
  if (record.lease === null) return null
  const { epoch, attempt } = machineContext(record)
  return { id: record.id, state: record.state, epoch, attempt, owner: record.lease.owner, args: record.args ?? {} }
}

const refused = (kind: 'conflict', detail: string): Decision => ({ kind: 'refused', failure: { kind, detail } })

/** The machine's own context, as the record keeps it. */
export function machineContext({ snapshot }: ContextRecord): Omit<MachineContext, 'draft'> {
  const { moves, epoch, attempt, due, pick } = isObject(snapshot['context']) ? snapshot['context'] : {}
  return {
    moves: Number(moves ?? 0), epoch: Number(epoch ?? 0), attempt: Number(attempt ?? 1), due: typeof due === 'number' ? due : null,
    pick: typeof pick === 'number' || pick === 'completed' || pick === 'failed' || pick === 'terminated' ? pick : null,
  }
}

/** Snapshots by state value: which nodes a value stands for is worked out once. */
const restored = new WeakMap<AnyStateMachine, Map<string, AnyMachineSnapshot>>()

function restore(machine: AnyStateMachine, value: Json | undefined, context: MachineContext): AnyMachineSnapshot {
  const known = restored.get(machine) ?? new Map<string, AnyMachineSnapshot>()
  restored.set(machine, known)
  const key = JSON.stringify(value)
  const snapshot = known.get(key) ?? machine.resolveState({ value: stateValue(value), context: {} })
  known.set(key, snapshot)
  return { ...snapshot, context }
}

function stateValue(value: Json | undefined): StateValue {
  if (typeof value === 'string') return value
  return Object.fromEntries(Object.entries(isObject(value) ? value : {}).map(([key, inner]) => [key, stateValue(inner)]))
}

/** In which of its sub-states (`waiting`, `acting`, …) the current state is; the name of the end for a finished context. */
export const machineState = ({ snapshot }: ContextRecord): string => phaseOf(snapshot)

function phaseOf({ value }: { readonly value?: Json | AnyMachineSnapshot['value'] }): string {
  return typeof value === 'string' ? value : String(Object.values(value ?? {})[0] ?? '')
}

function statusOf(snapshot: { readonly value: AnyMachineSnapshot['value'] }, due: number | null): Status {
  switch (phaseOf(snapshot)) {
    case 'completed': return 'COMPLETED'
    case 'failed': return 'FAILED'
    case 'terminated': return 'TERMINATED'
    case 'waiting': return due === null ? 'WAITING' : 'WAITING_UNTIL'
    case 'delayed': return 'WAITING_UNTIL'
    default: return 'RUNNING'
  }
}

/** Names of the effects collected by the transition under way: transitions are synchronous, so one list is enough. */
let collected: string[] = []

/**
 * What XState needs around a pure transition. Its own `transition()` makes such a scope, with an actor in it, for each call; nothing in a machine of ours
 * uses the actor, so all share one.
 */
const self = createActor(createMachine({}))
const scope: AnyActorScope = {
  self, id: '', sessionId: '', system: self.system,
  logger: () => {}, defer: () => {}, stopChild: () => {}, emit: () => {},
  actionExecutor: ({ type }) => { collected.push(type) },
}

function capture(transition: (scope: AnyActorScope) => AnyMachineSnapshot): { snapshot: AnyMachineSnapshot; effects: readonly string[] } {
  collected = []
  const snapshot = transition(scope)
  return { snapshot, effects: collected }
}
