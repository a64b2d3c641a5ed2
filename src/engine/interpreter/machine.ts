// engine/interpreter: a service as an XState machine. Only this file, `machine-walk.ts` and `stock-machine.ts` use
// XState.
//
// The machine's context is the state of the turn, each action is a pure reducer, and a transition is a function of
// snapshot and event: nothing is started, timed or stored here.
import { assign, setup, type AnyActorScope, type AnyMachineSnapshot, type AnyStateMachine } from 'xstate'
import type { CompiledFlux, Retry } from '../../definitions/flux.ts'
import type { Phase } from '../../model/record.ts'
import { envOf, isAnswer, type MachineEvent } from './machine-events.ts'
import { MachineWalk, probeAction, probeGuard, type MachineArgs, type MachineTransition } from './machine-walk.ts'
import { endNode, valueOf } from './nodes.ts'
import { Reducers } from './reducers.ts'
import { beginNode, stateNodes, type ActionParams, type At, type GuardParams } from './state-nodes.ts'
import type { TurnState } from './turn-state.ts'

/**
 * As `assign`, of a reducer that returns the whole state, and cheaper. XState's own computes the value of the snapshot
 * anew from its nodes, although no assignment changes these.
 */
function assignWhole<P extends object>(reducer: (args: MachineArgs, params: P) => TurnState) {
  const resolve = (_scope: AnyActorScope, snapshot: AnyMachineSnapshot, args: MachineArgs, params: P) => {
    const isAsked = probeAction((given) => reducer(given, params))
    return [isAsked ? snapshot : { ...snapshot, context: reducer(args, params) }, undefined, undefined] as const
  }
  return Object.assign(assign<TurnState, MachineEvent, P, MachineEvent, never>(reducer), { resolve })
}

/** A guard that `MachineWalk` can learn of. */
function guard<P>(test: (args: MachineArgs, params: P) => boolean) {
  return (args: MachineArgs, params: P): boolean => probeGuard((given) => test(given, params)) ?? test(args, params)
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
      enter: assignWhole(({ context, event }: MachineArgs, params: ActionParams['enter']) =>
        reduce(event).enter(context, params.state, params),
      ),
      pass: assignWhole(({ context, event }: MachineArgs, params: ActionParams['pass']) =>
        reduce(event).pass(context, params.state, params),
      ),
      run: assignWhole(({ context, event }: MachineArgs, { state }: At) => reduce(event).run(context, state)),
      take: assignWhole(({ context, event }: MachineArgs, { state }: At) =>
        event.type === 'EVENT' ? reduce(event).take(context, state, event) : context,
      ),
      map: assignWhole(({ context, event }: MachineArgs, { state }: At) =>
        event.type === 'EVENT' ? reduce(event).map(context, state, event) : context,
      ),
      prepare: assignWhole(({ context, event }: MachineArgs, { state }: At) => reduce(event).prepare(context, state)),
      finish: assignWhole(({ context, event }: MachineArgs, { state }: At) =>
        event.type === 'DONE' ? reduce(event).finish(context, state, event.result) : context,
      ),
      fail: assignWhole(({ context, event }: MachineArgs, { state }: At) => {
        const [error, isUnspawned] = event.type === 'FAIL' ? [event.error, event.isUnspawned ?? false] : [null, false]
        return reduce(event).fail(context, state, { error, isUnspawned })
      }),
      collapse: assignWhole(({ context, event }: MachineArgs, { state }: At) => reduce(event).collapse(context, state)),
      retry: assignWhole(({ context, event }: MachineArgs, params: Retry) =>
        reduce(event).retry(context, params, event.type === 'FAIL' ? event.error.retry : undefined),
      ),
      choose: assignWhole(({ context, event }: MachineArgs, { state }: At) => reduce(event).choose(context, state)),
      resume: assignWhole(({ context, event }: MachineArgs, { state }: At) => reduce(event).resume(context, state)),
      // The two effects do nothing here. `transition` returns which one there was, and the engine performs it.
      step: (_arguments, _params: At) => {},
      child: (_arguments, _params: At) => {},
    },
    guards: {
      starts: guard(({ event }, { state }: At) => 'state' in event && event.state === state),
      waitsFor: guard(
        ({ event }, { events, otherwise }: GuardParams['waitsFor']) =>
          event.type === 'EVENT' && (otherwise || events.includes(event.name)),
      ),
      due: guard(
        ({ context: { due }, event }) => event.type === 'WAKE' && due !== null && envOf(event).turn.now >= due,
      ),
      answers: guard(({ context, event }) => isAnswer(context, event)),
      hasAttempts: guard(
        ({ context, event }, retry: Retry) =>
          isAnswer(context, event) && context.attempt < retry.maxAttempts && mayRetry(event),
      ),
      failed: guard(({ context: { turn } }) => turn.error !== null),
      delayed: guard(({ context: { pick, due, waits } }) => pick !== null && due !== null && !waits),
      picked: guard(
        ({ context: { pick, due, waits } }, { pick: which }: GuardParams['picked']) =>
          pick === which && due === null && !waits,
      ),
    },
  })
}

const machines = new WeakMap<CompiledFlux, AnyStateMachine>()

/** The machine of a service, as `newMachine` makes it. All that ask for it share it. */
export function serviceMachine(flux: CompiledFlux): AnyStateMachine {
  const known = machines.get(flux)
  if (known) return known
  const machine = newMachine(flux)
  machines.set(flux, machine)
  return machine
}

/**
 * A machine of a service. In its first node it waits for the event that names the state to start in; its input is the
 * state of a turn.
 */
export function newMachine(flux: CompiledFlux): AnyStateMachine {
  return library(flux).createMachine({
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
  let walk = walks.get(flux)
  if (walk === undefined) {
    walk = new MachineWalk(serviceMachine(flux), (inPhase, index) => valueOf(flux, inPhase, index))
    walks.set(flux, walk)
  }
  return walk.go(phase, state, event)
}

const walks = new WeakMap<CompiledFlux, MachineWalk>()
