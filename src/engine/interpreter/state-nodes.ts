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

/** A transition to that node. */
const to = (target: string, guard?: Guard, actions?: ReducerName) => ({ target, guard, actions })

/** After the action, a transition has been chosen. */
const leavingBy = (guard: Guard, actions: ReducerName) => to('leaving', guard, actions)

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
 * The nodes of a machine, those of the states by their names. `$begin`, in which it begins, waits until the state in which
 * the context stands is entered, or that state's action is run once more.
 */
export const nodesOf = ({ states }: CompiledFlux) => ({
  $begin: {
    id: 'begin',
    on: {
      START: states.map(({ index }) => to(idOf(index), stands(index), 'enter')),
      RETRY: states.map((state) =>
        isMap(state)
          ? to(`${idOf(state.index)}.leaving`, stands(state.index), 'map')
          : to(`${idOf(state.index)}.acting`, stands(state.index)),
      ),
    },
  },
  ...Object.fromEntries(states.map((state) => [nodeName(state.name), stateNode(state)])),
  $completed: { id: 'completed', type: 'final' as const },
  $failed: { id: 'failed', type: 'final' as const },
  $terminated: { id: 'terminated', type: 'final' as const },
})

function stateNode(state: CompiledState) {
  const takesEvent: Guard = ({ event }) => event.type === 'EVENT' && takes(state, event.name)
  const resumes = { WAKE: leavingBy(isDue, 'resume') }
  /** After a failure on entry. */
  const always = leavingBy(hasFailed, 'choose')
  const done = leavingBy(isAnswer, 'finish')
  const failed = leavingBy(isAnswer, 'fail')
  const waiting = {
    always,
    on: {
      EVENT: to(isMap(state) ? 'leaving' : 'acting', takesEvent, 'take'),
      ...(state.choice.timed.length > 0 && resumes),
    },
  }
  const mayRetry: Guard = ({ context, event }) =>
    isAnswer({ context, event }) &&
    context.attempt < state.action.retry.maxAttempts &&
    (event.type !== 'FAIL' || event.error.retry?.afterMs !== null)
  const acting = {
    // The effect does nothing here: the engine starts the one that the node has.
    entry: ['prepare' satisfies ReducerName, state.action.effect ?? 'step'],
    always,
    on: {
      DONE: done,
      FAIL: retries(state) ? [to('backoff', mayRetry, 'retry'), failed] : failed,
      ...(state.action.effect === 'child' && { WAKE: leavingBy(isDue, 'fail') }),
    },
  }
  /** A phase of a state with a fault: every event that would continue the context fails it. */
  const lost = {
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
      ...(retries(state) && { backoff: { on: { WAKE: to('acting', isDue) } } }),
      ...(delays(state) && { delayed: { on: resumes } }),
      // The transitions that follow the choice in the machine's context.
      leaving: {
        always: [
          ...(delays(state) ? [to('delayed', isDelayed)] : []),
          ...state.transitions.map((one, pick) => ({ ...to(idOf(one.to), picked(pick), 'enter'), reenter: true })),
          ...(['completed', 'terminated', 'failed'] as const).map((end) => to(`#${end}`, picked(end))),
        ],
      },
    },
  }
}
