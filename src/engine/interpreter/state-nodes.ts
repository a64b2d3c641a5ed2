// engine/interpreter: the nodes of a service's states, as configuration of XState.
//
// Every state of the service is a compound node with up to five sub-states:
//   waiting ──EVENT──▶ acting ──(FAIL, attempts left)──▶ backoff ──WAKE──▶ acting
//   waiting (WAKE), acting (DONE, FAIL), delayed (WAKE) ──▶ leaving: a transition has been chosen
//   leaving ──(the transition has a wait)──▶ delayed, or else ──▶ the next state, or an end
// A map takes no time: its state has no `acting`, and maps as it takes the event, or as it is entered. No context rests
// in `leaving`. The chosen transition is in the machine's context.
import type { CompiledFlux, CompiledState } from '../../definitions/flux.ts'
import type { Pick as Choice } from '../../model/context.ts'
import { delays, isMap, nodeName, retries, takes } from './nodes.ts'
import type { ReducerName } from './reducers.ts'
import type { MachineEvent, TurnState } from './turn-state.ts'

/** What guards and actions get. */
export interface MachineArgs {
  readonly context: TurnState
  readonly event: MachineEvent
}

type Guard = (args: MachineArgs) => boolean

interface TransitionPlan {
  guard?: Guard
  target?: string
  reenter?: boolean
  actions?: ReducerName
}

/** One node of the machine. */
interface NodePlan {
  id?: string
  description?: string
  initial?: string
  /** `step` and `child` change nothing: the engine starts the one that the node has. */
  entry?: (ReducerName | 'step' | 'child')[]
  always?: TransitionPlan | TransitionPlan[]
  on?: { [event in MachineEvent['type']]?: TransitionPlan | TransitionPlan[] }
  states?: { [node: string]: NodePlan }
}

const isDue: Guard = ({ context: { due }, event }) => event.type === 'WAKE' && due !== null && event.env.now >= due

/** Whether the event is the result of the current attempt. A result of an earlier attempt or entry has no effect. */
const isAnswer: Guard = ({ context: { epoch, attempt }, event }) =>
  (event.type === 'DONE' || event.type === 'FAIL') && event.epoch === epoch && event.attempt === attempt

const hasFailed: Guard = ({ context }) => context.turn.error !== null
const isDelayed: Guard = ({ context }) => context.due !== null

const stands =
  (index: number): Guard =>
  ({ context }) =>
    context.data.state === index

const picked =
  (pick: Choice): Guard =>
  ({ context }) =>
    context.pick === pick

const idOf = (index: number) => `#s${index}`

/**
 * The node in which every machine begins. It waits until the state in which it stands is entered, or that state's action
 * is run once more.
 */
export const beginNode = ({ states }: CompiledFlux): NodePlan => ({
  id: 'begin',
  on: {
    START: states.map(({ index }) => ({ guard: stands(index), target: idOf(index), actions: 'enter' })),
    RETRY: states.map((state) => ({
      guard: stands(state.index),
      ...(isMap(state)
        ? { target: `${idOf(state.index)}.leaving`, actions: 'map' as const }
        : { target: `${idOf(state.index)}.acting` }),
    })),
  },
})

/** The nodes of the states, by their names. */
export const stateNodes = ({ states }: CompiledFlux): { [node: string]: NodePlan } =>
  Object.fromEntries(states.map((state) => [nodeName(state.name), stateNode(state)]))

/** After the action, a transition has been chosen. */
const leavingBy = (guard: Guard, actions: ReducerName): TransitionPlan => ({ guard, target: 'leaving', actions })

function stateNode(state: CompiledState): NodePlan {
  const takesEvent: Guard = ({ event }) => event.type === 'EVENT' && takes(state, event.name)
  const resumes = { WAKE: leavingBy(isDue, 'resume') }
  /** After a failure on entry. */
  const always = leavingBy(hasFailed, 'choose')
  const done = leavingBy(isAnswer, 'finish')
  const failed = leavingBy(isAnswer, 'fail')
  const waiting: NodePlan = {
    always,
    on: {
      EVENT: { guard: takesEvent, target: isMap(state) ? 'leaving' : 'acting', actions: 'take' },
      ...(state.choice.timed.length > 0 && resumes),
    },
  }
  const mayRetry: Guard = ({ context, event }) =>
    isAnswer({ context, event }) &&
    context.attempt < state.action.retry.maxAttempts &&
    (event.type !== 'FAIL' || event.error.retry?.afterMs !== null)
  const acting: NodePlan = {
    entry: ['prepare', state.action.effect ?? 'step'],
    always,
    on: {
      DONE: done,
      FAIL: retries(state) ? [{ guard: mayRetry, target: 'backoff', actions: 'retry' }, failed] : failed,
      ...(state.action.effect === 'child' && { WAKE: leavingBy(isDue, 'fail') }),
    },
  }
  /** A phase of a state with a fault: every event that would continue the context fails it. */
  const lost: NodePlan = {
    on: { EVENT: leavingBy(takesEvent, 'finish'), WAKE: leavingBy(isDue, 'finish'), DONE: done, FAIL: failed },
  }
  return {
    id: `s${state.index}`,
    description: state.name,
    initial: state.waiting ? 'waiting' : isMap(state) ? 'leaving' : 'acting',
    states: {
      // A context may rest in a phase that the state no longer has, because of a fault.
      ...(state.fault !== null && { waiting: lost, acting: lost, backoff: lost, delayed: lost }),
      ...(state.waiting && { waiting }),
      ...(!isMap(state) && { acting }),
      ...(retries(state) && { backoff: { on: { WAKE: { guard: isDue, target: 'acting' } } } }),
      ...(delays(state) && { delayed: { on: resumes } }),
      leaving: { always: leaving(state) },
    },
  }
}

/** The transitions that follow the choice in the machine's context. */
const leaving = (state: CompiledState): TransitionPlan[] => [
  ...(delays(state) ? [{ guard: isDelayed, target: 'delayed' }] : []),
  ...state.transitions.map(({ to }, pick) => ({
    guard: picked(pick),
    target: idOf(to),
    reenter: true,
    actions: 'enter' as const,
  })),
  ...(['completed', 'terminated', 'failed'] as const).map((end) => ({ guard: picked(end), target: `#${end}` })),
]
