// definitions: a service as an XState machine of plain data. It says what follows what; the draft of the turn says what that does to a user's data.
//
// Every state of the service is a compound node with up to five sub-states:
//   waiting ──EVENT──▶ acting ──(DONE, FAIL)──▶ leaving ──▶ the next state, or an end
//      └────────WAKE──────────────────────────▶ leaving ──(wait)──▶ delayed ──WAKE──▶ leaving
//                      acting ◀──WAKE── backoff ◀──(FAIL, attempts left)── acting
// A map needs no time: its state has no `acting`, and maps on the way into `leaving`. One that neither waits nor delays is left as soon as it is entered:
// it has no sub-states at all.
// Nodes are named s0, s1, … and events are six fixed ones, so that no name of a user's can mean something to XState.
import { assign, setup, type AnyStateMachine } from 'xstate'
import type { Json, JsonObject } from '../model/json.ts'
import type { CompiledState } from './flux.ts'

/** Index of the chosen transition, or how the context ends. */
export type Pick = number | 'completed' | 'failed' | 'terminated'

/** An error of an action, as data. */
export interface ActionError {
  readonly message: string
  readonly type: string
  readonly className: string
  readonly realException: Json
  /** Where in the sources of users it arose. */
  readonly stack?: string
}

/** What the machine asks of the turn that drives it. Nothing here throws: a failure is kept by the draft until a transition is chosen. */
export interface Draft {
  /** The present action, transition or wait has failed. */
  readonly failed: boolean
  /** The state is entered: by the transition carried last, or as the first one. */
  enter(state: number): void
  /** A waiting state begins to wait: the earliest timed transition, if any. */
  park(state: number): { due: number; pick: number } | null
  /** An event, already checked, becomes the state's. False: it was another's before in this turn. */
  take(state: number, event: string, input: JsonObject): boolean
  /** Runs a map action. */
  map(state: number): void
  /** Works out the arguments of a step or a child; gives when it times out, where that must outlive the process. */
  prepare(state: number): number | null
  /** A step or child ended well. */
  result(state: number, result: Json): void
  /** A step or child failed for good. */
  fail(error: ActionError): void
  /** Chooses what follows the action; with `due`, only then. What was picked before a delay comes back as `picked`. */
  choose(state: number, moves: number, picked: Pick | null): { pick: Pick; due: number | null }
}

export interface MachineContext {
  /** Hidden from persistence: see `persisted`. */
  readonly draft: Draft
  /** Moves since the last pause or step. */
  readonly moves: number
  /** Counts entries of states: tells a late answer from a present one. */
  readonly epoch: number
  readonly attempt: number
  /** Epoch milliseconds. */
  readonly due: number | null
  readonly pick: Pick | null
}

export type MachineEvent =
  | { readonly type: 'START'; readonly state: number }
  | { readonly type: 'EVENT'; readonly name: string; readonly input: JsonObject }
  | { readonly type: 'WAKE'; readonly now: number }
  | { readonly type: 'DONE'; readonly epoch: number; readonly attempt: number; readonly result: Json }
  /** `unborn`: a child that couldn't even be started, which is no rest from moving. */
  | { readonly type: 'FAIL'; readonly epoch: number; readonly attempt: number; readonly error: ActionError; readonly now: number; readonly unborn?: true }
  | { readonly type: 'TERMINATE' }

interface MachineInput { readonly draft: Draft }

/** The registers of a machine that nothing has happened to. */
export const BLANK: Omit<MachineContext, 'draft'> = { moves: 0, epoch: 0, attempt: 1, due: null, pick: null }

/** Milliseconds: a hundred years. */
const MAX_PAUSE = 100 * 365 * 86_400_000

const TIMED_OUT: ActionError = { message: 'the service that was invoked did not end in time', type: 'TimeoutError', className: 'TimeoutError', realException: null }

const lib = setup({
  types: { context: {} as MachineContext, events: {} as MachineEvent, input: {} as MachineInput },
  actions: {
    // Few and large, since each assignment costs a snapshot.
    /** Enters a state, as the first one or by a move from another; one that waits begins to wait. */
    enter: assign(({ context: { draft, moves: before, epoch } }, { state, moves, waits }: { state: number; moves: number; waits: boolean }) => {
      draft.enter(state)
      const timed = waits ? draft.park(state) : null
      const rests = waits && !draft.failed
      return { moves: rests ? 0 : before + moves, epoch: epoch + 1, attempt: 1, due: timed?.due ?? null, pick: timed?.pick ?? null }
    }),
    /** Enters a state in which nothing takes time, maps, and chooses. */
    pass: assign(({ context: { draft, moves: before, epoch } }, { state, moves: made }: { state: number; moves: number }) => {
      const moves = before + made
      draft.enter(state)
      draft.map(state)
      return { moves, epoch: epoch + 1, attempt: 1, ...draft.choose(state, moves, null) }
    }),
    take: assign(({ context, event }, { state }: { state: number }) => {
      if (event.type === 'EVENT') context.draft.take(state, event.name, event.input)
      return { due: null, pick: null }
    }),
    elapse: assign({ due: null, moves: 0 }),
    /** Takes the event, if one led here; maps, unless the way here led past the action (a time that came, a wait that failed); and chooses. */
    map: assign(({ context: { draft, moves, pick: picked }, event }, { state }: { state: number }) => {
      const pick = event.type === 'EVENT' && draft.take(state, event.name, event.input) ? null : picked
      if (pick === null && !draft.failed) draft.map(state)
      return draft.choose(state, moves, pick)
    }),
    prepare: assign(({ context }, { state }: { state: number }) => ({ due: context.draft.prepare(state) })),
    rest: assign(({ context }) => context.draft.failed ? {} : { moves: 0 }),
    // The two effects of the machine: the runtime finds them in the list of effects and acts on them after the commit.
    step: (_arguments, _params: { state: number }) => {},
    child: (_arguments, _params: { state: number }) => {},
    result: assign(({ context, event }, { state }: { state: number }) => {
      if (event.type === 'DONE') context.draft.result(state, event.result)
      return { due: null, moves: 0 }
    }),
    broke: assign(({ context, event }) => {
      context.draft.fail(event.type === 'FAIL' ? event.error : TIMED_OUT)
      return { due: null, ...!(event.type === 'FAIL' && event.unborn) && { moves: 0 } }
    }),
    again: assign(({ context, event }, { delay, factor, maxDelay }: { delay: number; factor: number; maxDelay: number }) => ({
      // A factor may grow beyond all numbers, and 0 times infinity is none.
      due: (event.type === 'FAIL' ? event.now : 0) + (delay === 0 ? 0 : Math.ceil(Math.min(maxDelay, MAX_PAUSE, delay * factor ** (context.attempt - 1)))),
      attempt: context.attempt + 1,
    })),
    choose: assign(({ context }, { state }: { state: number }) => context.draft.choose(state, context.moves, context.pick)),
  },
  guards: {
    starts: ({ event }, { state }: { state: number }) => event.type === 'START' && event.state === state,
    hears: ({ event }, { events, otherwise }: { events: readonly string[]; otherwise: boolean }) =>
      event.type === 'EVENT' && (otherwise || events.includes(event.name)),
    due: ({ context, event }) => event.type === 'WAKE' && context.due !== null && event.now >= context.due,
    mine: ({ context, event }) => isAnswer(context, event),
    retry: ({ context, event }, { maxAttempts }: { maxAttempts: number }) => isAnswer(context, event) && context.attempt < maxAttempts,
    failed: ({ context }) => context.draft.failed,
    delayed: ({ context }) => context.due !== null,
    picked: ({ context }, { pick }: { pick: Pick }) => context.pick === pick,
  },
})

/** An answer to an earlier attempt, or to an earlier visit of the state, changes nothing. */
function isAnswer(context: MachineContext, event: MachineEvent): boolean {
  return (event.type === 'DONE' || event.type === 'FAIL') && event.epoch === context.epoch && event.attempt === context.attempt
}

type Config = Parameters<typeof lib.createMachine>[0]
type NodeConfig = NonNullable<NonNullable<Config['states']>[string]>

/** The machine of a service. It waits in `begin` to be told in which state to start. */
export function compileMachine({ fluxName, states }: { fluxName: string; states: readonly CompiledState[] }): AnyStateMachine {
  return lib.createMachine({
    id: fluxName,
    context: ({ input }) => ({ draft: input.draft, ...BLANK }),
    initial: 'begin',
    on: { TERMINATE: '.terminated' },
    states: {
      begin: {
        on: {
          START: states.map((state) => ({ guard: { type: 'starts' as const, params: { state: state.index } }, target: `s${state.index}`, actions: entering(state, 0) })),
        },
      },
      ...Object.fromEntries(states.map((state) => [`s${state.index}`, stateNode(state, states)])),
      completed: { id: 'completed', type: 'final' },
      failed: { id: 'failed', type: 'final' },
      terminated: { id: 'terminated', type: 'final' },
    },
  })
}

function stateNode(state: CompiledState, states: readonly CompiledState[]): NodeConfig {
  if (passes(state)) return { id: `s${state.index}`, description: state.name, always: leavingNode(state, states).always }
  return {
    id: `s${state.index}`,
    description: state.name,
    initial: state.waiting ? 'waiting' : isMap(state) ? 'leaving' : 'acting',
    states: {
      ...state.waiting && { waiting: waitingNode(state) },
      ...!isMap(state) && { acting: actingNode(state) },
      ...retryOf(state) && { backoff: { on: { WAKE: { guard: 'due', target: 'acting' } } } },
      leaving: leavingNode(state, states),
      ...state.transitions.some(({ wait }) => wait) && { delayed: { on: { WAKE: { guard: 'due', target: 'leaving', actions: 'elapse' } } } },
    },
  }
}

/** Nothing in it takes time: no snapshot ever rests there. */
const passes = (state: CompiledState) => isMap(state) && !state.waiting && !state.transitions.some(({ wait }) => wait)

/** What a transition into that state does. */
const entering = (state: CompiledState, moves: number) => passes(state)
  ? { type: 'pass' as const, params: { state: state.index, moves } }
  : { type: 'enter' as const, params: { state: state.index, moves, waits: state.waiting } }

const isMap = ({ action }: CompiledState) => action.kind === 'map'

function waitingNode(state: CompiledState): NodeConfig {
  const { index, choice } = state
  const params = { state: index }
  const hears = { events: [...choice.events.keys()], otherwise: choice.otherwise !== null }
  return {
    always: { guard: 'failed', target: 'leaving' },
    on: {
      EVENT: { guard: { type: 'hears', params: hears }, ...isMap(state) ? { target: 'leaving' } : { target: 'acting', actions: { type: 'take' as const, params } } },
      ...choice.timed.length > 0 && { WAKE: { guard: 'due', target: 'leaving', actions: 'elapse' } },
    },
  }
}

function actingNode(state: CompiledState): NodeConfig {
  const params = { state: state.index }
  const retry = retryOf(state)
  return {
    entry: state.action.kind === 'flux'
      ? [{ type: 'prepare', params }, { type: 'child', params }]
      : [{ type: 'prepare', params }, 'rest', { type: 'step', params }],
    always: { guard: 'failed', target: 'leaving' },
    on: {
      DONE: { guard: 'mine', target: 'leaving', actions: { type: 'result', params } },
      FAIL: [
        ...retry ? [{ guard: { type: 'retry' as const, params: retry }, target: 'backoff', actions: { type: 'again' as const, params: retry } }] : [],
        { guard: 'mine', target: 'leaving', actions: 'broke' },
      ],
      ...state.action.kind === 'flux' && { WAKE: { guard: 'due', target: 'leaving', actions: 'broke' } },
    },
  }
}

function leavingNode(state: CompiledState, states: readonly CompiledState[]): NodeConfig {
  const params = { state: state.index }
  return {
    entry: { type: isMap(state) ? 'map' : 'choose', params },
    always: [
      ...state.transitions.some(({ wait }) => wait) ? [{ guard: 'delayed' as const, target: 'delayed' }] : [],
      ...state.transitions.flatMap(({ to }, pick) => {
        const target = states[to]
        return target ? { guard: { type: 'picked' as const, params: { pick } }, target: `#s${to}`, reenter: true, actions: entering(target, 1) } : []
      }),
      { guard: { type: 'picked', params: { pick: 'completed' } }, target: '#completed' },
      { guard: { type: 'picked', params: { pick: 'terminated' } }, target: '#terminated' },
      { target: '#failed' },
    ],
  }
}

function retryOf({ action }: CompiledState) {
  if (action.kind !== 'code' && action.kind !== 'script') return null
  const { maxAttempts, delay, factor, maxDelay } = action.retry
  return maxAttempts > 1 ? { maxAttempts, delay, factor, maxDelay } : null
}
