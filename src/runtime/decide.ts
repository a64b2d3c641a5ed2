// runtime: record + input → next record. Pure: time, randomness and ids come with the turn, and nothing given is changed.
import { createActor, createMachine, type AnyActorScope, type AnyMachineSnapshot, type AnyStateMachine, type StateValue } from 'xstate'
import type { CompiledFlux } from '../definitions/flux.ts'
import { BLANK, type MachineContext, type MachineEvent } from '../definitions/machine.ts'
import { accept } from '../definitions/properties.ts'
import { WorkBudget } from '../definitions/work-budget.ts'
import { denial } from '../model/caller.ts'
import { isFinished, type Status } from '../model/context.ts'
import { isObject, type Json } from '../model/json.ts'
import type { ContextRecord, Lease } from '../model/record.ts'
import { errorAfter, failureOf } from './attempts.ts'
import type { Decision, Input, Surroundings } from './decision.ts'
import { describe } from './describe.ts'
import { NeedsLog, TurnDraft } from './draft.ts'
import { endNow, release, takeOver } from './leases.ts'
import { machineContext, machineState, phaseOf, runsHere, stepOf } from './position.ts'

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
    case 'TAKE_OVER': return takeOver(flux, record, input, given)
    case 'RELEASE': return release(record, given)
    case 'OUTGROWN': return given.trail ? endNow(flux, record, input.error, given, given.trail) : { kind: 'needsLog' }
    case 'TAG': return tag(record, input, given)
  }
}

/** The first record of a context: `seed` holds what is fixed at its birth. */
export function begin(flux: CompiledFlux, seed: ContextRecord, given: Surroundings): Decision {
  const draft = new TurnDraft(flux, seed, { turn: given, budget: given.budget ?? new WorkBudget(), trail: [] })
  const before = restore(flux.machine, 'begin', { draft, ...BLANK })
  const { effects, snapshot } = capture((scope) => flux.machine.transition(before, { type: 'START', state: seed.startState }, scope))
  return conclude({ flux, record: seed, draft, event: null }, snapshot, effects, given)
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

/** A context that has tags hears only events that carry any of them, one without tags only events without. */
function matches(own: readonly string[], sent: readonly string[]): boolean {
  return own.length === 0 ? sent.length === 0 : sent.some((tag) => own.includes(tag))
}

function tag(record: ContextRecord, { add, remove }: Input & { type: 'TAG' }, given: Surroundings): Decision {
  const tags = [...new Set([...record.tags, ...add])].filter((name) => !remove.includes(name))
  if (tags.length > given.tagLimits.count) {
    const errors = [{ pointer: '/tag', detail: `a context can have ${given.tagLimits.count} tags` }]
    return { kind: 'refused', failure: { kind: 'invalid', detail: `context ${record.id} would have ${tags.length} tags`, errors } }
  }
  if (tags.length === record.tags.length && tags.every((name) => record.tags.includes(name))) return { kind: 'unmoved' }
  return { kind: 'next', record: { ...record, tags, updatedAt: given.now }, log: [], step: null, child: null, orphan: null, failure: null }
}

/** Sends one event through the machine. */
function transit(flux: CompiledFlux, record: ContextRecord, event: MachineEvent, given: Surroundings): Decision {
  const draft = new TurnDraft(flux, record, { turn: given, budget: given.budget ?? new WorkBudget(), trail: given.trail })
  const { machine } = flux
  const before = restore(machine, record.snapshot['value'], { draft, ...machineContext(record) })
  try {
    const { effects, snapshot } = capture((scope) => machine.transition(before, event, scope))
    return snapshot === before ? { kind: 'unmoved' } : conclude({ flux, record, draft, event }, snapshot, effects, given)
  } catch (error) {
    if (error instanceof NeedsLog) return { kind: 'needsLog' }
    throw error
  }
}

/** What the machine was told, and about whom. */
interface Told { readonly flux: CompiledFlux; readonly record: ContextRecord; readonly draft: TurnDraft; /** null: it begins. */ readonly event: MachineEvent | null }

/** Turns what the machine says into the next record. */
function conclude({ flux, record, draft, event }: Told, snapshot: AnyMachineSnapshot, effects: readonly string[], { now, owner, startsAtOnce }: Surroundings): Decision {
  const { draft: _, ...context }: MachineContext = snapshot.context
  const status = statusOf(snapshot, context.due)
  // Whatever it was that it waited for: nothing wakes what has ended.
  const kept = isFinished(status) ? { ...context, due: null } : context
  const persisted = { status: snapshot.status, value: snapshot.value, historyValue: {}, context: { ...kept }, children: {} }
  const phase = phaseOf(persisted)
  const acting = phase === 'acting'
  const begins = effects.includes('step')
  const failure = failureOf(flux, record, event?.type === 'FAIL' ? event.error : draft.broke)
  const action = flux.states[draft.data.state]?.action.kind
  const lease = acting && action !== 'flux' ? leaseOf(record, owner, begins) : null
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
    stepStartedAt: !acting ? undefined : invokes || (begins && startsAtOnce && runsHere(flux, draft.data.state)) ? now : begins ? undefined : record.stepStartedAt,
    lastError: acting || phase === 'backoff' ? errorAfter(record, kept.epoch, failure, now) : undefined,
    error: draft.fatal,
    updatedAt: now,
    endedAt: isFinished(status) ? now : null,
  }
  return {
    kind: 'next', record: next, log: draft.log,
    step: begins ? stepOf(next) : null,
    child: invokes ? childOf(flux, next) : null,
    orphan: record.child !== next.child ? record.child : null,
    failure,
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

const refused = (kind: 'conflict', detail: string): Decision => ({ kind: 'refused', failure: { kind, detail } })

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
