// engine/interpreter: a service as an XState machine. This is the only file that uses XState.
//
// The machine's context is the state of the turn, each action is a pure reducer, and a transition is a function of
// snapshot and event: nothing is started, timed or stored here.
import {
  assign,
  createActor,
  createMachine,
  setup,
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
} from 'xstate'
import type { CompiledFlux, Retry } from '../../definitions/flux.ts'
import type { Phase } from '../../model/record.ts'
import { envOf, isAnswer, type MachineEvent } from './machine-events.ts'
import { endNode, phaseOf, valueOf } from './nodes.ts'
import { Reducers } from './reducers.ts'
import { beginNode, stateNodes, type ActionParams, type At, type GuardParams } from './state-nodes.ts'
import type { TurnState } from './turn-state.ts'

interface Args {
  readonly context: TurnState
  readonly event: MachineEvent
}

/**
 * As `assign`, of a reducer that returns the whole state, and cheaper. XState's own computes the value of the snapshot
 * anew from its nodes, although no assignment changes these.
 */
function assignWhole<P extends object>(reducer: (args: Args, params: P) => TurnState) {
  const resolve = (_scope: AnyActorScope, snapshot: AnyMachineSnapshot, args: Args, params: P) =>
    [{ ...snapshot, context: reducer(args, params) }, undefined, undefined] as const
  return Object.assign(assign<TurnState, MachineEvent, P, MachineEvent, never>(reducer), { resolve })
}

/** Whether another attempt can be of use after that failure. */
const mayRetry = (event: MachineEvent): boolean => event.type !== 'FAIL' || event.error.retry?.afterMs !== null

/** The named actions and guards of the machine of a service. */
function library(flux: CompiledFlux) {
  const reduce = (event: MachineEvent) => new Reducers(flux, envOf(event))
  return setup({
    types: { context: {} as TurnState, events: {} as MachineEvent, input: {} as TurnState },
    actions: {
      // Few and large, because each assignment creates a snapshot.
      enter: assignWhole(({ context, event }: Args, params: ActionParams['enter']) =>
        reduce(event).enter(context, params.state, params),
      ),
      pass: assignWhole(({ context, event }: Args, params: ActionParams['pass']) =>
        reduce(event).pass(context, params.state, params),
      ),
      run: assignWhole(({ context, event }: Args, { state }: At) => reduce(event).run(context, state)),
      take: assignWhole(({ context, event }: Args, { state }: At) =>
        event.type === 'EVENT' ? reduce(event).take(context, state, event) : context,
      ),
      map: assignWhole(({ context, event }: Args, { state }: At) =>
        event.type === 'EVENT' ? reduce(event).map(context, state, event) : context,
      ),
      prepare: assignWhole(({ context, event }: Args, { state }: At) => reduce(event).prepare(context, state)),
      finish: assignWhole(({ context, event }: Args, { state }: At) =>
        event.type === 'DONE' ? reduce(event).finish(context, state, event.result) : context,
      ),
      fail: assignWhole(({ context, event }: Args, { state }: At) => {
        const [error, isUnspawned] = event.type === 'FAIL' ? [event.error, event.isUnspawned ?? false] : [null, false]
        return reduce(event).fail(context, state, { error, isUnspawned })
      }),
      collapse: assignWhole(({ context, event }: Args, { state }: At) => reduce(event).collapse(context, state)),
      retry: assignWhole(({ context, event }: Args, params: Retry) =>
        reduce(event).retry(context, params, event.type === 'FAIL' ? event.error.retry : undefined),
      ),
      choose: assignWhole(({ context, event }: Args, { state }: At) => reduce(event).choose(context, state)),
      resume: assignWhole(({ context, event }: Args, { state }: At) => reduce(event).resume(context, state)),
      // The two effects do nothing here. `transition` returns which one was executed, and the engine performs it.
      step: (_arguments, _params: At) => {},
      child: (_arguments, _params: At) => {},
    },
    guards: {
      starts: ({ event }: Args, { state }: At) => event.type === 'START' && event.state === state,
      waitsFor: ({ event }: Args, { events, otherwise }: GuardParams['waitsFor']) =>
        event.type === 'EVENT' && (otherwise || events.includes(event.name)),
      due: ({ context: { due }, event }: Args) => event.type === 'WAKE' && due !== null && envOf(event).turn.now >= due,
      answers: ({ context, event }: Args) => isAnswer(context, event),
      hasAttempts: ({ context, event }: Args, retry: Retry) =>
        isAnswer(context, event) && context.attempt < retry.maxAttempts && mayRetry(event),
      failed: ({ context: { turn } }: Args) => turn.error !== null,
      delayed: ({ context: { pick, due, waits } }: Args) => pick !== null && due !== null && !waits,
      picked: ({ context: { pick, due, waits } }: Args, { pick: which }: GuardParams['picked']) =>
        pick === which && due === null && !waits,
    },
  })
}

const machines = new WeakMap<CompiledFlux, AnyStateMachine>()

/**
 * The machine of a service. In its first node it waits for the event that names the state to start in; its input is the
 * state of a turn.
 */
export function machineOf(flux: CompiledFlux): AnyStateMachine {
  const known = machines.get(flux)
  if (known) return known
  const machine = library(flux).createMachine({
    id: flux.fluxName,
    context: ({ input }) => input,
    initial: endNode('begin'),
    on: { TERMINATE: `.${endNode('terminated')}` },
    states: {
      [endNode('begin')]: beginNode(flux),
      ...stateNodes(flux),
      [endNode('completed')]: { id: 'completed', type: 'final' },
      [endNode('failed')]: { id: 'failed', type: 'final' },
      [endNode('terminated')]: { id: 'terminated', type: 'final' },
    },
  })
  machines.set(flux, machine)
  return machine
}

export interface MachineTransition {
  readonly state: TurnState
  readonly phase: Phase
  /** Whether a step, or a child, is to be started. */
  readonly effect: 'step' | 'child' | null
}

/**
 * The state of the turn after an event to a context in that phase of its state; null: the event has no effect.
 * @throws NeedsHistory
 */
export function transition(
  flux: CompiledFlux,
  phase: Phase,
  state: TurnState,
  event: MachineEvent,
): MachineTransition | null {
  const machine = machineOf(flux)
  const before = { ...restingAt(flux, machine, phase, state.data.state), context: state }
  effect = null
  const after: AnyMachineSnapshot = machine.transition(before, event, scope)
  return after === before ? null : { state: after.context, phase: phaseOf(after.value), effect }
}

/** Cached snapshots by phase and state, because resolving their nodes is slow. */
const resting = new WeakMap<AnyStateMachine, Map<string, AnyMachineSnapshot>>()

function restingAt(flux: CompiledFlux, machine: AnyStateMachine, phase: Phase, state: number): AnyMachineSnapshot {
  const known = resting.get(machine) ?? new Map<string, AnyMachineSnapshot>()
  resting.set(machine, known)
  const key = `${phase} ${state}`
  const snapshot = known.get(key) ?? machine.resolveState({ value: valueOf(flux, phase, state), context: {} })
  known.set(key, snapshot)
  return snapshot
}

/** The effect of the transition in progress. Transitions are synchronous, so one variable is enough. */
let effect: MachineTransition['effect'] = null

/**
 * The actor scope that XState needs for a pure transition. Its own `transition()` creates a scope with an actor for
 * each call. The machines here do not use the actor, so all calls share one.
 */
const self = createActor(createMachine({}))
const scope: AnyActorScope = {
  self,
  id: '',
  sessionId: '',
  system: self.system,
  logger: () => {},
  defer: () => {},
  stopChild: () => {},
  emit: () => {},
  actionExecutor: ({ type }) => {
    if (type === 'step' || type === 'child') effect = type
  },
}
