// engine/interpreter: a service as an XState machine. Only this file, `machine-walk.ts` and `stock-machine.ts` use
// XState.
//
// The machine's context is the state of the turn, each action is a pure reducer, and a transition is a function of
// snapshot and event: nothing is started, timed or stored here.
//
// XState is used in three files only, `machine.ts`, `machine-walk.ts` and `stock-machine.ts` of `engine/interpreter/`.
// Each state of a service is a node, named by the state's name (escaped by `nodes.ts`), with up to four substates:
// `waiting`, `acting`, `backoff` and `delayed`. A map needs no `acting`, and a map in which nothing takes time has no
// substates: it is entered, mapped and left in one microstep. Seven fixed events (`START`, `RETRY`, `EVENT`, `WAKE`,
// `DONE`, `FAIL`, `TERMINATE`) carry names and data as payload.
// The machine's context is the state of the turn (`turn-state.ts`): the user's data, the count of entries, the
// attempt, the time it is due. Each action assigns what a pure reducer returns (`reducers.ts`, `choose.ts`); a reducer
// works on a copy (`working-state.ts`), on which lines run; `scope.ts` resolves the names in them. Steps and children
// are effects that a transition returns with the new state; timers are absolute times. So a snapshot is plain data,
// restoring it starts nothing, and unmodified XState can restore it and continue. XState's own `transition()` makes an
// actor and selects nodes anew for each event, which takes several times as long as the reducers. So `machine-walk.ts`
// reads the nodes that XState made of the configuration, with their transitions, guards and actions, once for each
// node and type of event, and runs the guards and actions as XState would. A test compares this with XState's
// `transition()` on all transitions of the examples and of generated services.
// The record has the position of the machine (`position`), not XState's snapshot, which `snapshot.ts` makes on
// request, with the user's data by its names. `src/machine.ts` (`actorflux/machine`) gives the same machine to
// programs without a server: `stock-machine.ts` replaces only its edges, plain snapshots and events in and out. In
// between runs the engine's machine, by XState's own functions; the state of the turn stays beside the plain context
// that shows it, and is made from it again after a restore. `picture.ts` draws a definition as configuration of
// XState, which nothing runs.
// History and transition contexts are two views of one log of moves, of which the newest 1,000 are kept. The last few
// are in the record (`tail`). When there are more, a commit moves them together to rows of their own: each row that a
// commit writes has a cost, and a long list in the record would be rewritten by each commit.
import { assign, setup, type AnyStateMachine, type ParameterizedObject } from 'xstate'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { Phase } from '../../model/record.ts'
import {
  MachineWalk,
  type GuardTable,
  type MachineArgs,
  type MachineTransition,
  type ReducerTable,
} from './machine-walk.ts'
import { endNode, takes, valueOf } from './nodes.ts'
import { Reducers } from './reducers.ts'
import { beginNode, stateNodes, type At } from './state-nodes.ts'
import { envOf, isAnswer, type MachineEvent, type TurnState } from './turn-state.ts'

/** What the named actions of a service's machine do to the state of the turn. */
function reducersOf(flux: CompiledFlux): ReducerTable {
  const reduce = (event: MachineEvent) => new Reducers(flux, envOf(event))
  return {
    // Few and large, because each assignment creates a snapshot.
    enter: ({ context, event }, params) => reduce(event).enter(context, params.state, params),
    pass: ({ context, event }, params) => reduce(event).pass(context, params.state, params),
    run: ({ context, event }, { state }) => reduce(event).run(context, state),
    take: ({ context, event }, { state }) =>
      event.type === 'EVENT' ? reduce(event).take(context, state, event) : context,
    map: ({ context, event }, { state }) =>
      event.type === 'EVENT' ? reduce(event).map(context, state, event) : context,
    prepare: ({ context, event }, { state }) => reduce(event).prepare(context, state),
    finish: ({ context, event }, { state }) =>
      event.type === 'DONE' ? reduce(event).finish(context, state, event.result) : context,
    fail({ context, event }, { state }) {
      const [error, isUnspawned] = event.type === 'FAIL' ? [event.error, event.isUnspawned ?? false] : [null, false]
      return reduce(event).fail(context, state, { error, isUnspawned })
    },
    collapse: ({ context, event }, { state }) => reduce(event).collapse(context, state),
    retry: ({ context, event }, params) =>
      reduce(event).retry(context, params, event.type === 'FAIL' ? event.error.retry : undefined),
    choose: ({ context, event }, { state }) => reduce(event).choose(context, state),
    resume: ({ context, event }, { state }) => reduce(event).resume(context, state),
  }
}

/** Whether another attempt can be of use after that failure. */
const mayRetry = (event: MachineEvent): boolean => event.type !== 'FAIL' || event.error.retry?.afterMs !== null

/** What the named guards of a service's machine ask. */
function guardsOf(flux: CompiledFlux): GuardTable {
  return {
    starts: ({ event }, { state }) => 'state' in event && event.state === state,
    waitsFor({ event }, { state: index }) {
      const state = flux.states[index]
      return event.type === 'EVENT' && state !== undefined && takes(state, event.name)
    },
    due: ({ context: { due }, event }) => event.type === 'WAKE' && due !== null && envOf(event).turn.now >= due,
    answers: ({ context, event }) => isAnswer(context, event),
    hasAttempts: ({ context, event }, retry) =>
      isAnswer(context, event) && context.attempt < retry.maxAttempts && mayRetry(event),
    failed: ({ context: { turn } }) => turn.error !== null,
    delayed: ({ context: { pick, due, waits } }) => pick !== null && due !== null && !waits,
    picked: ({ context: { pick, due, waits } }, { pick: which }) => pick === which && due === null && !waits,
  }
}

const assignAll = <P>(reducer: (args: MachineArgs, params: P) => TurnState) =>
  assign<TurnState, MachineEvent, P & ParameterizedObject['params'], MachineEvent, never>(reducer)

/** The same, as XState takes it. */
function library(flux: CompiledFlux) {
  const reducers = reducersOf(flux)
  return setup({
    types: { context: {} as TurnState, events: {} as MachineEvent, input: {} as TurnState },
    actions: {
      enter: assignAll(reducers.enter),
      pass: assignAll(reducers.pass),
      run: assignAll(reducers.run),
      take: assignAll(reducers.take),
      map: assignAll(reducers.map),
      prepare: assignAll(reducers.prepare),
      finish: assignAll(reducers.finish),
      fail: assignAll(reducers.fail),
      collapse: assignAll(reducers.collapse),
      retry: assignAll(reducers.retry),
      choose: assignAll(reducers.choose),
      resume: assignAll(reducers.resume),
      // The two effects do nothing here: the engine performs the one that a transition has.
      step: (_arguments, _params: At) => {},
      child: (_arguments, _params: At) => {},
    },
    guards: guardsOf(flux),
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
    walk = new MachineWalk(serviceMachine(flux), {
      reducers: reducersOf(flux),
      guards: guardsOf(flux),
      valueOf: (inPhase, index) => valueOf(flux, inPhase, index),
    })
    walks.set(flux, walk)
  }
  return walk.go(phase, state, event)
}

const walks = new WeakMap<CompiledFlux, MachineWalk>()
