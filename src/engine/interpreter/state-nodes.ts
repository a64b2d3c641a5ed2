// engine/interpreter: the nodes of a service's states, as plain data that XState's configuration takes.
//
// Every state of the service is a compound node with up to four sub-states:
//   waiting ──EVENT──▶ acting ──(FAIL, attempts left)──▶ backoff ──WAKE──▶ acting
//   waiting (WAKE), acting (DONE, FAIL), delayed (WAKE) ──▶ a transition is chosen
//   a transition is chosen ──(it has a wait)──▶ delayed, or else ──▶ the next state, or an end
// A map takes no time: its state has no `acting`, and maps as it takes the event. A state that neither waits nor delays
// is left as soon as it is entered, and has no sub-states. The chosen transition is in the machine's context, and the
// eventless transitions of the node follow it.
import type { CompiledFlux, CompiledState, Retry } from '../../definitions/flux.ts'
import type { Pick as Choice } from '../../model/record.ts'
import { delays, isMap, nodeName, passes, retryOf } from './nodes.ts'

/** The position of a state in the definition. */
export interface At {
  readonly state: number
}

/** The parameters of each named action of the machine. */
export interface ActionParams {
  readonly enter: At & { readonly moves: number; readonly waits: boolean }
  readonly pass: At & { readonly moves: number }
  readonly run: At
  readonly take: At
  readonly map: At
  readonly prepare: At
  readonly finish: At
  readonly fail: At
  readonly collapse: At
  readonly retry: Retry
  readonly choose: At
  readonly resume: At
  readonly step: At
  readonly child: At
}

/** The parameters of each named guard of the machine; undefined: the guard has none. */
export interface GuardParams {
  readonly starts: At
  readonly waitsFor: At
  readonly due: undefined
  readonly answers: undefined
  readonly hasAttempts: Retry
  readonly failed: undefined
  readonly delayed: undefined
  readonly picked: { readonly pick: Choice }
}

export type ActionOf<K extends keyof ActionParams> = { [P in K]: { type: P; params: ActionParams[P] } }[K]
export type GuardOf<K extends keyof GuardParams> = { [P in K]: { type: P; params: GuardParams[P] } }[K]

type Action = ActionOf<keyof ActionParams>
/** A guard without parameters is its name alone. */
type Guard = {
  [K in keyof GuardParams]: GuardParams[K] extends undefined ? K : GuardOf<K>
}[keyof GuardParams]

interface TransitionPlan {
  guard?: Guard
  target?: string
  reenter?: boolean
  actions?: Action
}

/** One node of the machine. */
export interface NodePlan {
  id?: string
  description?: string
  initial?: string
  entry?: Action | Action[]
  always?: TransitionPlan | TransitionPlan[]
  on?: { [event in 'START' | 'RETRY' | 'EVENT' | 'WAKE' | 'DONE' | 'FAIL']?: TransitionPlan | TransitionPlan[] }
  states?: { [node: string]: NodePlan }
}

/**
 * The node in which every machine begins. It waits for the event that names the start state, or the state whose action is
 * to run once more.
 */
export const beginNode = ({ states }: CompiledFlux): NodePlan => ({
  on: {
    START: states.map((state) => ({
      guard: { type: 'starts', params: at(state) },
      target: idOf(state.index),
      actions: entering(state, 0),
    })),
    RETRY: states.map((state) => ({
      guard: { type: 'starts', params: at(state) },
      target: isMap(state) ? idOf(state.index) : `${idOf(state.index)}.acting`,
      // A state that neither waits nor passes maps when its node is entered.
      ...(isMap(state) && (state.waiting || passes(state)) && { actions: { type: 'run' as const, params: at(state) } }),
    })),
  },
})

/** The nodes of the states, by their names. */
export const stateNodes = ({ states }: CompiledFlux): { [node: string]: NodePlan } =>
  Object.fromEntries(states.map((state) => [nodeName(state.name), stateNode(state, states)]))

const at = ({ index }: CompiledState): At => ({ state: index })
const idOf = (index: number) => `#s${index}`

/** The action of a transition into that state. */
const entering = (state: CompiledState, moves: number) =>
  passes(state)
    ? { type: 'pass' as const, params: { ...at(state), moves } }
    : { type: 'enter' as const, params: { ...at(state), moves, waits: state.waiting } }

function stateNode(state: CompiledState, states: readonly CompiledState[]): NodePlan {
  const params = at(state)
  const node = { id: `s${state.index}`, description: state.name, always: leaving(state, states) }
  if (passes(state)) return node
  return {
    ...node,
    initial: state.waiting ? 'waiting' : isMap(state) ? 'mapping' : 'acting',
    states: {
      // A context may rest in a phase that the state no longer has, because of a fault.
      ...(state.fault !== null && everywhere(lostNode(state))),
      ...(state.waiting && { waiting: waitingNode(state) }),
      ...(!state.waiting && isMap(state) && { mapping: { entry: { type: 'run', params } } }),
      ...(!isMap(state) && { acting: actingNode(state) }),
      ...(retryOf(state) && { backoff: { on: { WAKE: { guard: 'due', target: 'acting' } } } }),
      ...(delays(state) && { delayed: { on: { WAKE: { guard: 'due', actions: { type: 'resume', params } } } } }),
    },
  }
}

/** After a failure on entry, a transition is chosen. */
const failing = (state: CompiledState) => ({
  guard: 'failed' as const,
  actions: { type: 'choose' as const, params: at(state) },
})

function waitingNode(state: CompiledState): NodePlan {
  const { choice } = state
  const params = at(state)
  const guard = waitsFor(state)
  return {
    always: failing(state),
    on: {
      EVENT: {
        guard,
        ...(isMap(state)
          ? { actions: { type: 'map' as const, params } }
          : { target: 'acting', actions: { type: 'take' as const, params } }),
      },
      ...(choice.timed.length > 0 && { WAKE: { guard: 'due', actions: { type: 'resume' as const, params } } }),
    },
  }
}

const everywhere = (node: NodePlan) => ({ waiting: node, acting: node, backoff: node, delayed: node })

/** The node of a phase of a state with a fault: every event that would continue the context fails it. */
function lostNode(state: CompiledState): NodePlan {
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

const waitsFor = (state: CompiledState) => ({ type: 'waitsFor' as const, params: at(state) })

function actingNode(state: CompiledState): NodePlan {
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

/** The eventless transitions of a node. They follow the choice in the machine's context. */
function leaving(state: CompiledState, states: readonly CompiledState[]): TransitionPlan[] {
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
