// engine/interpreter: a service as an XState machine, and all that is asked of XState.
//
// Every state of the service is a compound node with up to four sub-states:
//   waiting ──EVENT──▶ acting ──(FAIL, attempts left)──▶ backoff ──WAKE──▶ acting
//   waiting (WAKE), acting (DONE, FAIL), delayed (WAKE) ──▶ a transition is chosen
//   a transition is chosen ──(it has a wait)──▶ delayed, or else ──▶ the next state, or an end
// A map needs no time: its state has no `acting`, and maps as it takes the event. One that neither waits nor delays is
// left as soon as it is entered: it has no sub-states at all. What was chosen is in the context, and the node's own
// eventless transitions go there. The machine's context is the state of the turn, each action a pure reducer. Events
// are six fixed ones, so that no name of a user's can mean something to XState.
import { randomUUID } from 'node:crypto'
import {
  assign,
  createActor,
  createMachine,
  setup,
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
} from 'xstate'
import type { CompiledFlux, CompiledState, Retry } from '../../definitions/flux.ts'
import { WorkBudget } from '../../definitions/work-budget.ts'
import type { ActionError } from '../../model/action-error.ts'
import type { Json, JsonObject } from '../../model/json/value.ts'
import type { Phase, Pick as Choice } from '../../model/record.ts'
import { endNode, nodeName, phaseOf, valueOf } from './nodes.ts'
import { delays, isMap, passes, retryOf } from './places.ts'
import { Reducers } from './reducers.ts'
import type { TurnState } from './turn-state.ts'
import type { ReducerEnv } from './working-state.ts'

/** What is needed to decide; left out by whoever runs the machine with XState alone. */
interface Given {
  readonly env?: ReducerEnv
}

export type MachineEvent = Given &
  (
    | { readonly type: 'START'; readonly state: number }
    | { readonly type: 'EVENT'; readonly name: string; readonly input: JsonObject }
    | { readonly type: 'WAKE' }
    | { readonly type: 'DONE'; readonly epoch: number; readonly attempt: number; readonly result: Json }
    /** `isUnspawned`: a child that couldn't even be started, which is no rest from moving. */
    | {
        readonly type: 'FAIL'
        readonly epoch: number
        readonly attempt: number
        readonly error: ActionError
        readonly isUnspawned?: boolean
      }
    | { readonly type: 'TERMINATE' }
  )

interface Args {
  readonly context: TurnState
  readonly event: MachineEvent
}
/** Of a state of the service: its position in the definition. */
interface At {
  readonly state: number
}

/** Without a server: the present, chance, and no earlier history. */
const ownEnv = (): ReducerEnv => ({
  turn: { now: Date.now(), random: Math.random, uuid: randomUUID },
  budget: new WorkBudget(),
  history: [],
})
const envOf = ({ env }: MachineEvent): ReducerEnv => env ?? ownEnv()

/** An answer to an earlier attempt, or to an earlier visit of the state, changes nothing. */
const isAnswer = ({ epoch, attempt }: TurnState, event: MachineEvent): boolean =>
  (event.type === 'DONE' || event.type === 'FAIL') && event.epoch === epoch && event.attempt === attempt

/** The named actions and guards of that service's machine. */
function library(flux: CompiledFlux) {
  const reduce = (event: MachineEvent) => new Reducers(flux, envOf(event))
  return setup({
    types: { context: {} as TurnState, events: {} as MachineEvent, input: {} as TurnState },
    actions: {
      // Few and large, since each assignment costs a snapshot.
      enter: assign(({ context, event }: Args, { state, ...params }: At & { moves: number; waits: boolean }) =>
        reduce(event).enter(context, state, params),
      ),
      pass: assign(({ context, event }: Args, { state, ...params }: At & { moves: number }) =>
        reduce(event).pass(context, state, params),
      ),
      run: assign(({ context, event }: Args, { state }: At) => reduce(event).run(context, state)),
      take: assign(({ context, event }: Args, { state }: At) =>
        event.type === 'EVENT' ? reduce(event).take(context, state, event) : context,
      ),
      map: assign(({ context, event }: Args, { state }: At) =>
        event.type === 'EVENT' ? reduce(event).map(context, state, event) : context,
      ),
      prepare: assign(({ context, event }: Args, { state }: At) => reduce(event).prepare(context, state)),
      finish: assign(({ context, event }: Args, { state }: At) =>
        event.type === 'DONE' ? reduce(event).finish(context, state, event.result) : context,
      ),
      fail: assign(({ context, event }: Args, { state }: At) => {
        const [error, isUnspawned] = event.type === 'FAIL' ? [event.error, event.isUnspawned ?? false] : [null, false]
        return reduce(event).fail(context, state, { error, isUnspawned })
      }),
      collapse: assign(({ context, event }: Args, { state }: At) => reduce(event).collapse(context, state)),
      retry: assign(({ context, event }: Args, params: Retry) => reduce(event).retry(context, params)),
      choose: assign(({ context, event }: Args, { state }: At) => reduce(event).choose(context, state)),
      resume: assign(({ context, event }: Args, { state }: At) => reduce(event).resume(context, state)),
      // The two effects of the machine: the turn finds them in the list of effects, and they are acted on after the
      // commit.
      step: (_arguments, _params: At) => {},
      child: (_arguments, _params: At) => {},
    },
    guards: {
      starts: ({ event }: Args, { state }: At) => event.type === 'START' && event.state === state,
      waitsFor: (
        { event }: Args,
        { events, otherwise }: { readonly events: readonly string[]; readonly otherwise: boolean },
      ) => event.type === 'EVENT' && (otherwise || events.includes(event.name)),
      due: ({ context: { due }, event }: Args) => event.type === 'WAKE' && due !== null && envOf(event).turn.now >= due,
      answers: ({ context, event }: Args) => isAnswer(context, event),
      hasAttempts: ({ context, event }: Args, retry: Retry) =>
        isAnswer(context, event) && context.attempt < retry.maxAttempts,
      failed: ({ context: { turn } }: Args) => turn.error !== null,
      delayed: ({ context: { pick, due, waits } }: Args) => pick !== null && due !== null && !waits,
      picked: ({ context: { pick, due, waits } }: Args, { pick: which }: { readonly pick: Choice }) =>
        pick === which && due === null && !waits,
    },
  })
}

type Library = ReturnType<typeof library>
type Config = Parameters<Library['createMachine']>[0]
type NodeConfig = NonNullable<NonNullable<Config['states']>[string]>

const machines = new WeakMap<CompiledFlux, AnyStateMachine>()

/**
 * The machine of a service. It waits in its first node to be told in which state to start; its input is the state of a
 * turn.
 */
export function machineOf(flux: CompiledFlux): AnyStateMachine {
  const known = machines.get(flux)
  if (known) return known
  const { states } = flux
  const machine = library(flux).createMachine({
    id: flux.fluxName,
    context: ({ input }) => input,
    initial: endNode('begin'),
    on: { TERMINATE: `.${endNode('terminated')}` },
    states: {
      [endNode('begin')]: {
        on: {
          START: states.map((state) => ({
            guard: { type: 'starts', params: at(state) },
            target: idOf(state.index),
            actions: entering(state, 0),
          })),
        },
      },
      ...Object.fromEntries(states.map((state) => [nodeName(state.name), stateNode(state, states)])),
      [endNode('completed')]: { id: 'completed', type: 'final' },
      [endNode('failed')]: { id: 'failed', type: 'final' },
      [endNode('terminated')]: { id: 'terminated', type: 'final' },
    },
  })
  machines.set(flux, machine)
  return machine
}

const at = ({ index }: CompiledState): At => ({ state: index })
const idOf = (index: number) => `#s${index}`

/** What a transition into that state does. */
const entering = (state: CompiledState, moves: number) =>
  passes(state)
    ? { type: 'pass' as const, params: { ...at(state), moves } }
    : { type: 'enter' as const, params: { ...at(state), moves, waits: state.waiting } }

function stateNode(state: CompiledState, states: readonly CompiledState[]): NodeConfig {
  const params = at(state)
  const node = { id: `s${state.index}`, description: state.name, always: leaving(state, states) }
  if (passes(state)) return node
  return {
    ...node,
    initial: state.waiting ? 'waiting' : isMap(state) ? 'mapping' : 'acting',
    states: {
      // A context may stand where the state has no place any more.
      ...(state.fault !== null && everywhere(lostNode(state))),
      ...(state.waiting && { waiting: waitingNode(state) }),
      ...(!state.waiting && isMap(state) && { mapping: { entry: { type: 'run', params } } }),
      ...(!isMap(state) && { acting: actingNode(state) }),
      ...(retryOf(state) && { backoff: { on: { WAKE: { guard: 'due', target: 'acting' } } } }),
      ...(delays(state) && { delayed: { on: { WAKE: { guard: 'due', actions: { type: 'resume', params } } } } }),
    },
  }
}

/** What fails on the way in has no other way than a transition. */
const failing = (state: CompiledState) => ({
  guard: 'failed' as const,
  actions: { type: 'choose' as const, params: at(state) },
})

function waitingNode(state: CompiledState): NodeConfig {
  const { choice } = state
  const params = at(state)
  const guard = waitsFor(state)
  const isTimed = choice.timed.length > 0 || state.fault !== null
  return {
    always: failing(state),
    on: {
      EVENT: {
        guard,
        ...(isMap(state)
          ? { actions: { type: 'map' as const, params } }
          : { target: 'acting', actions: { type: 'take' as const, params } }),
      },
      ...(isTimed && { WAKE: { guard: 'due', actions: { type: 'resume' as const, params } } }),
    },
  }
}

const everywhere = (node: NodeConfig) => ({ waiting: node, acting: node, backoff: node, delayed: node })

/** Whatever would carry a context on from there fails. */
function lostNode(state: CompiledState): NodeConfig {
  const params = at(state)
  const actions = { type: 'collapse' as const, params }
  return {
    on: {
      EVENT: { guard: waitsFor(state), actions },
      WAKE: { guard: 'due', actions },
      DONE: { guard: 'answers', actions },
      FAIL: { guard: 'answers', actions: { type: 'fail' as const, params } },
    },
  }
}

const waitsFor = ({ choice: { events, otherwise } }: CompiledState) => ({
  type: 'waitsFor' as const,
  params: { events: [...events.keys()], otherwise: otherwise !== null },
})

function actingNode(state: CompiledState): NodeConfig {
  const params = at(state)
  const retry = retryOf(state)
  const {
    action: { effect: wanted },
  } = state
  return {
    entry: [
      { type: 'prepare', params },
      { type: wanted ?? 'step', params },
    ],
    always: failing(state),
    on: {
      DONE: { guard: 'answers', actions: { type: 'finish', params } },
      FAIL: [
        ...(retry
          ? [
              {
                guard: { type: 'hasAttempts' as const, params: retry },
                target: 'backoff',
                actions: { type: 'retry' as const, params: retry },
              },
            ]
          : []),
        { guard: 'answers', actions: { type: 'fail' as const, params } },
      ],
      ...(wanted === 'child' && { WAKE: { guard: 'due', actions: { type: 'fail' as const, params } } }),
    },
  }
}

const picked = (pick: Choice) => ({ type: 'picked' as const, params: { pick } })

/** Where it goes once a transition is chosen. */
function leaving(state: CompiledState, states: readonly CompiledState[]): NodeConfig['always'] {
  return [
    ...(delays(state) ? [{ guard: 'delayed' as const, target: '.delayed' }] : []),
    ...state.transitions.flatMap(({ to }, pick) => {
      const target = states[to]
      return target ? { guard: picked(pick), target: idOf(to), reenter: true, actions: entering(target, 1) } : []
    }),
    { guard: picked('completed'), target: '#completed' },
    { guard: picked('terminated'), target: '#terminated' },
    { guard: picked('failed'), target: '#failed' },
  ]
}

export interface MachineTransition {
  readonly state: TurnState
  readonly phase: Phase
  /** Whether a step, or a child, is to be started. */
  readonly effect: 'step' | 'child' | null
}

/**
 * What an event makes of a context that stands in that phase of its state; null: nothing.
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

/** Snapshots by phase and state: which nodes they stand for is worked out once. */
const resting = new WeakMap<AnyStateMachine, Map<string, AnyMachineSnapshot>>()

function restingAt(flux: CompiledFlux, machine: AnyStateMachine, phase: Phase, state: number): AnyMachineSnapshot {
  const known = resting.get(machine) ?? new Map<string, AnyMachineSnapshot>()
  resting.set(machine, known)
  const key = `${phase} ${state}`
  const snapshot = known.get(key) ?? machine.resolveState({ value: valueOf(flux, phase, state), context: {} })
  known.set(key, snapshot)
  return snapshot
}

/** The effect of the transition under way: transitions are synchronous, so one variable is enough. */
let effect: MachineTransition['effect'] = null

/**
 * What XState needs around a pure transition. Its own `transition()` makes such a scope, with an actor in it, for each
 * call; nothing in a machine of ours uses the actor, so all share one.
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
